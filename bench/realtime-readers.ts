import { Agent, get } from 'node:http'
import { PEERS_FOLDER } from './peers-install.ts'
import { serveTasks } from './realtime-process.ts'

// Subscribers of one server, in a process of their own: their CPU time is not the server's.

/** What subscribers are to be opened. */
export interface Readers {
  readonly protocol: 'events' | 'socket.io'
  readonly port: number
  readonly count: number
  /** Of streams; `#` becomes the number of the reader. */
  readonly target: string
}

const FRAME = /event: (\w+)\ndata: (.*)\n\n/g
/** How many connect at the same time. */
const BATCH = 50

const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
/** From the call of `patch` to the frame, in ms. */
const delays: number[] = []
let received = 0
let awaited = { count: 0, resolve: (): void => undefined }

serveTasks({
  async open({ protocol, port, count, target }: Readers) {
    const openReader = protocol === 'events' ? openEvents : await importSocket()
    for (let index = 0; index < count; index += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, count - index) }, (_, at) => index + at)
      const targets = numbers.map((number) => target.replace('#', `${number}`))
      await Promise.all(targets.map((path) => openReader(port, onRecord, path)))
    }
  },
  /** Waits until as many frames have come. Returns the delays of those since the last call. */
  async reach(count: number) {
    await new Promise<void>((resolve) => {
      awaited = { count, resolve }
      if (received >= count) resolve()
    })
    return delays.splice(0)
  },
})

function onRecord({ at }: { readonly at: string }): void {
  delays.push(Number(process.hrtime.bigint() - BigInt(at)) / 1e6)
  received += 1
  if (received === awaited.count) awaited.resolve()
}

/** Resolves once a stream has had its snapshot. */
function openEvents(port: number, onFrame: typeof onRecord, path: string): Promise<void> {
  const headers = { accept: 'text/event-stream' }
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, headers, agent }, (answer) => {
      let rest = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        rest += text
        for (const [, name, data = ''] of rest.matchAll(FRAME)) {
          if (name === 'snapshot') resolve()
          else if (name === 'patched') onFrame(JSON.parse(data))
          else reject(new Error(`A stream was told '${name}': ${data}`))
        }
        rest = rest.slice(rest.lastIndexOf('\n\n') + 2)
      })
    })
    request.on('error', reject)
  })
}

async function importSocket(): Promise<typeof openEvents> {
  return (await import(new URL('feathers-socketio.mjs', PEERS_FOLDER).href)).openSocket
}
