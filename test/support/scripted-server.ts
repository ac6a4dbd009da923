import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Document } from 'mongodb'
import { Dispatcher } from '../../src/adapter/embedded/dispatch.ts'
import { serveConnection } from '../../src/adapter/embedded/serve-connection.ts'
import type { TestScope } from './http.ts'

/**
 * Answers a command in the place of the embedded server, or lets that run it. What it throws breaks
 * the connection: the reply is lost.
 */
export type Script = (
  name: string,
  command: Document,
  run: () => Promise<Document>,
) => Promise<Document>

/** Lets the embedded server run everything: it says that it is the primary of a replica set. */
export const runAll: Script = (_name, _command, run) => run()

/** The commands that a driver sends by itself: to open a connection, look after it, and close it. */
export const DRIVER_COMMANDS: ReadonlySet<string> = new Set(['hello', 'ismaster', 'endSessions'])

/** Returns a script that answers the next commands of a name with an error: `{ code, errmsg }`. */
export function failTimes(times: number, failing: string, error: Document): Script {
  let left = times
  return async (name, _command, run) => {
    if (name !== failing || left === 0) return run()
    left -= 1
    return { ok: 0, ...error }
  }
}

/** Returns a script for a server that is no member of a replica set: it repeats no writes. */
export function asStandalone(script: Script = runAll): Script {
  return (name, command, run) =>
    script(name, command, async () => {
      if (command.txnNumber !== undefined) return { ok: 0, code: 20, errmsg: NO_NUMBERS }
      return { ...(await run()), setName: undefined, hosts: undefined }
    })
}

const NO_NUMBERS = 'Transaction numbers are only allowed on a replica set member or mongos'

/** Returns a script that adds each command of a name which the server has carried out to a list. */
export function keepJournal(journal: Document[], kept: string, script: Script = runAll): Script {
  return (name, command, run) =>
    script(name, command, async () => {
      const reply = await run()
      if (name === kept && reply.ok === 1) journal.push(command)
      return reply
    })
}

/** The embedded server, with a script between it and its clients. */
class ScriptedDispatcher extends Dispatcher {
  readonly #script: Script

  constructor(address: string, script: Script) {
    super(address)
    this.#script = script
  }

  override run(readBody: () => Document): Promise<Document> {
    const command = readBody()
    const [name = ''] = Object.keys(command)
    return this.#script(name, command, () => super.run(() => command))
  }
}

/** Resolves to the URL of a server on a free port; it is closed at the end of the test. */
export async function startScriptedServer(
  t: Pick<TestScope, 'teardown'>,
  script: Script,
): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const dispatcher = new ScriptedDispatcher(address, script)
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    serveConnection(socket, dispatcher)
  })
  t.teardown(() => {
    dispatcher.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `mongodb://${address}/`
}
