import type { RequestOptions } from 'node:http'
import { Agent, request as sendRequest } from 'node:http'
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
  /** How many streams share a connection. Default: each has its own. */
  readonly share?: number | undefined
}

/** What calls clients of Socket.IO are to make. */
export interface SocketCalls {
  readonly id: string
  readonly count: number
}

/** The part of `bench/peers/feathers-socketio.mjs` that clients use: Socket.IO is installed there. */
interface SocketClients {
  openSocket(port: number, onFrame: typeof onRecord): Promise<object>
  getRecord(socket: object, id: string): Promise<{ readonly _id: string }>
}

const FRAME = /event: (?:\w+\/)?(\w+)\ndata: (.*)\n\n/g
/** How many connect at the same time. */
const BATCH = 50

const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
/** From the call of `patch` to the frame, in ms. */
const delays: number[] = []
/** The clients of Socket.IO. */
const sockets: object[] = []
let received = 0
let awaited = { count: 0, resolve: (): void => undefined }

serveTasks({
  async open({ protocol, port, count, target, share }: Readers) {
    if (share !== undefined) {
      for (let index = 0; index < count; index += share) {
        await openShared(port, Math.min(share, count - index), target)
      }
      return
    }
    const openReader = protocol === 'events' ? openEvents : openSocket
    for (let index = 0; index < count; index += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, count - index) }, (_, at) => index + at)
      const targets = numbers.map((number) => target.replace('#', `${number}`))
      await Promise.all(targets.map((path) => openReader(port, onRecord, path)))
    }
  },
  /** Has the clients of Socket.IO make calls: each the next one when it has the result of the one before. */
  async call({ id, count }: SocketCalls) {
    const { getRecord } = await importClients()
    let left = count
    const callOn = async (socket: object): Promise<void> => {
      while (left-- > 0) {
        const record = await getRecord(socket, id)
        if (record._id !== id) throw new Error(`A call has returned ${JSON.stringify(record)}`)
      }
    }
    await Promise.all(sockets.map(callOn))
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
  return readEvents({ port, path, headers: { accept: EVENTS } }, '', 1, onFrame)
}

/** Resolves once all streams of a connection have had their snapshots. */
function openShared(port: number, count: number, url: string): Promise<void> {
  const subscriptions = Array.from({ length: count }, (_, index) => ({ id: `${index}`, url }))
  const headers = { accept: EVENTS, 'content-type': 'application/json' }
  const options = { port, path: '/live-queries', method: 'POST', headers }
  return readEvents(options, JSON.stringify({ subscriptions }), count, onRecord)
}

const EVENTS = 'text/event-stream'

function readEvents(
  options: RequestOptions,
  body: string,
  snapshots: number,
  onFrame: typeof onRecord,
): Promise<void> {
  let left = snapshots
  return new Promise((resolve, reject) => {
    const request = sendRequest({ host: '127.0.0.1', agent, ...options }, (answer) => {
      let rest = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        rest += text
        for (const [, name, data = ''] of rest.matchAll(FRAME)) {
          if (name === 'snapshot') {
            left -= 1
            if (left === 0) resolve()
          } else if (name === 'patched') onFrame(JSON.parse(data))
          else if (name !== 'open') reject(new Error(`A stream was told '${name}': ${data}`))
        }
        rest = rest.slice(rest.lastIndexOf('\n\n') + 2)
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

async function openSocket(port: number, onFrame: typeof onRecord): Promise<void> {
  const { openSocket: open } = await importClients()
  sockets.push(await open(port, onFrame))
}

function importClients(): Promise<SocketClients> {
  return import(new URL('feathers-socketio.mjs', PEERS_FOLDER).href)
}
