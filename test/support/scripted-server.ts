import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Document } from 'mongodb'
import { serveConnection } from '../../src/adapter/embedded/connection.ts'
import { Dispatcher } from '../../src/adapter/embedded/dispatch.ts'
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
