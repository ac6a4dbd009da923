import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MongoClient } from 'mongodb'
import type { Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { MongoDBService, mongoEvents } from 'remex/mongodb'
import { realtime } from 'remex/realtime'
import type { PropertyResolverMap } from 'remex/schema'
import { resolve, resolveResult } from 'remex/schema'
import { QUESTIONS } from './child-answers.ts'
import { PEERS_FOLDER } from './peers-install.ts'
import { RECORD_ID, serveTasks } from './realtime-process.ts'

// One server of the benchmark `realtime`, in a process of its own.

/** What a server is to be. */
export interface RealtimeServer {
  readonly kind: 'floor' | 'remex' | 'socketFloor' | 'sockets' | 'feathers'
  readonly storage: 'memory' | 'mongodb'
  /** Whether a resolver makes what callers are shown. */
  readonly hasResolver?: boolean
  /** Whether other processes are told of its events. */
  readonly hasBus?: boolean
}

/** Where its records are, if it stores them. */
export interface Place {
  readonly url: string
  readonly database: string
  readonly collection: string
}

interface Server {
  readonly port: number
  patch(data: { readonly at: string }): unknown
}

const RECORD = { _id: RECORD_ID, n: 1, name: 'Ada Lovelace', text: 'x'.repeat(100), at: '0' }
/** A property that is made for each caller. */
const RESOLVER: PropertyResolverMap<typeof RECORD & { label: string }, unknown> = {
  label: async (_, { n }) => `Number ${n}`,
}

/** In memory, as that of Feathers: it knows no queries. */
class MemoryService {
  readonly id = '_id'
  #record = RECORD

  async find(_params: Params) {
    return [this.#record]
  }

  async get(_id: string, _params?: Params) {
    return this.#record
  }

  async patch(_id: string, data: object, _params?: Params) {
    this.#record = { ...this.#record, ...data }
    return this.#record
  }
}

/** Writes the bytes of the same frame to every response, and nothing else. */
async function startFloor(): Promise<Server> {
  const readers: { answer: ServerResponse; token: string }[] = []
  const server = createServer((_request, answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' })
    answer.write(`event: snapshot\ndata: ${JSON.stringify([RECORD])}\n\n`)
    readers.push({ answer, token: crypto.randomUUID() })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    patch({ at }) {
      const data = JSON.stringify({ ...RECORD, at })
      for (const { answer, token } of readers) {
        answer.write(`id: 01234567.123.${token}\nevent: patched\ndata: ${data}\n\n`)
      }
    },
  }
}

async function startRemex(server: RealtimeServer & Place): Promise<Server> {
  const db = new MongoClient(server.url).db(server.database)
  const bus = server.hasBus
    ? mongoEvents({ collection: db.collection('events'), pollMs: 50 })
    : null
  const app = fastifyApp(createApp())
  app.configure(rest())
  app.configure(realtime({ maxStreamsPerCaller: 10_000, bus }))
  const records =
    server.storage === 'memory'
      ? new MemoryService()
      : new MongoDBService({ Model: db.collection(server.collection), paginate: false })
  app.use('records', records as MemoryService)
  if (server.hasResolver) {
    app.service('records').hooks({ around: { find: [resolveResult(resolve(RESOLVER))] } })
  }
  const listening = await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    port: (listening.address() as AddressInfo).port,
    patch: (data) => app.service('records').patch(RECORD._id, data),
  }
}

/** Answers every message with the record by Socket.IO, and nothing else. */
async function startSocketFloor(): Promise<Server> {
  const { Server } = await import('socket.io')
  const server = createServer()
  const io = new Server(server, { transports: ['websocket'] })
  io.on('connection', (socket) => {
    socket.onAny((...message) => message.at(-1)(null, RECORD))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    patch: (data) => io.emit('records patched', { ...RECORD, ...data }),
  }
}

/** The part of an application with `socketio()` that the benchmark uses. */
interface Channels {
  channel(name: string): { join(connection: object): unknown }
  on(event: 'connection', listener: (connection: object) => unknown): unknown
  publish(publisher: () => unknown): unknown
}

/** Remex with Socket.IO and one channel, in which every connection is: what Feathers is started with. */
async function startSockets(server: RealtimeServer & Place): Promise<Server> {
  // Loaded here: the other servers do without this entry and its packages.
  const entry: string = 'remex/socketio'
  const { socketio } = await import(entry)
  const app = fastifyApp(createApp())
  app.configure(rest())
  app.configure(socketio())
  const db = new MongoClient(server.url).db(server.database)
  const records =
    server.storage === 'memory'
      ? new MemoryService()
      : new MongoDBService({ Model: db.collection(server.collection) })
  app.use('records', records as MemoryService)
  const channels = app as unknown as Channels
  channels.on('connection', (connection) => channels.channel('all').join(connection))
  channels.publish(() => channels.channel('all'))
  if (server.hasResolver) {
    app.service('records').hooks({ around: { all: [resolveResult(resolve(RESOLVER))] } })
  }
  const listening = await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    port: (listening.address() as AddressInfo).port,
    patch: (data) => app.service('records').patch(RECORD._id, data),
  }
}

async function startFeathers(server: RealtimeServer & Place): Promise<Server> {
  const { startChannels } = await import(new URL('feathers-socketio.mjs', PEERS_FOLDER).href)
  return startChannels({
    ...server,
    record: RECORD,
    resolver: server.hasResolver ? RESOLVER : null,
  })
}

const STARTS = {
  ...{ floor: startFloor, remex: startRemex },
  ...{ socketFloor: startSocketFloor, sockets: startSockets, feathers: startFeathers },
}

process.env['NODE_ENV'] = 'production'
let running: Server | undefined
serveTasks({
  ...QUESTIONS,
  async start(server: RealtimeServer & Place) {
    if (server.storage === 'mongodb') await storeRecord(server)
    running = await STARTS[server.kind](server)
    return running.port
  },
  patch: async () => {
    await running?.patch({ at: String(process.hrtime.bigint()) })
  },
})

async function storeRecord({ url, database, collection }: Place): Promise<void> {
  const client = new MongoClient(url)
  const records = client.db(database).collection<typeof RECORD>(collection)
  await records.replaceOne({ _id: RECORD._id }, RECORD, { upsert: true })
  await client.close()
}
