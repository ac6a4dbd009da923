import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openBenchDatabase } from './database.ts'
import { installPeers, readVersions } from './peers-install.ts'
import { pinLoad } from './pin.ts'
import type { Place, RealtimeServer } from './realtime-child.ts'
import type { TaskProcess } from './realtime-process.ts'
import { RECORD_ID, startProcess } from './realtime-process.ts'
import type { Readers } from './realtime-readers.ts'
import { STEADY_FLAGS } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable } from './table.ts'

// What streams cost the server, and when readers hear of a write, beside Feathers with Socket.IO:
// node build/bench/realtime.js [--quick] [--sockets] [--calls]
// With --sockets only what Socket.IO costs, of Remex and of Feathers; with --calls only calls over it.

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    sockets: { type: 'boolean', default: false },
    calls: { type: 'boolean', default: false },
  },
  strict: false,
})
const SIZES = values.quick
  ? { streams: 200, idleMs: 15_000, turns: 4, events: 5, calls: 2_000 }
  : { streams: 1_000, idleMs: 30_000, turns: 20, events: 10, calls: 5_000 }
const WARM_UP_EVENTS = 20
const WARM_UP_CALLS = 20_000
/** How many sockets share the calls. */
const CALLERS = 16

interface Kind extends RealtimeServer {
  readonly title: string
  /** Of the streams: the same query, or another one for each. Services in memory know none. */
  readonly target?: string
  /** How many streams share a connection. Default: each has its own. */
  readonly share?: number
}

const SAME = '/records?text[$gte]=0'
const FLOOR: Kind = { title: 'node:http, the same bytes', kind: 'floor', storage: 'memory' }
const REMEX: Kind = { title: 'Remex, MongoDB', kind: 'remex', storage: 'mongodb', target: SAME }
const REMEX_MEMORY: Kind = { title: 'Remex, memory', kind: 'remex', storage: 'memory' }
const SHARED: Kind = { ...REMEX, title: 'Remex, MongoDB, 20 on each connection', share: 20 }
const FEATHERS: Kind = { title: 'Feathers, MongoDB', kind: 'feathers', storage: 'mongodb' }
const FEATHERS_MEMORY: Kind = { ...FEATHERS, title: 'Feathers, memory', storage: 'memory' }
const SOCKETS: Kind = { title: 'Remex, Socket.IO, MongoDB', kind: 'sockets', storage: 'mongodb' }
const SOCKETS_MEMORY: Kind = { ...SOCKETS, title: 'Remex, Socket.IO, memory', storage: 'memory' }
const SOCKET_FLOOR: Kind = { title: 'Socket.IO alone', kind: 'socketFloor', storage: 'memory' }
/** The same service of both, the first being what the others are compared with. */
const SOCKET_KINDS: readonly (readonly Kind[])[] = [
  [FEATHERS_MEMORY, SOCKETS_MEMORY, SOCKET_FLOOR],
  [FEATHERS, SOCKETS],
  [
    { ...FEATHERS, title: 'Feathers, MongoDB, a resolver', hasResolver: true },
    { ...SOCKETS, title: 'Remex, Socket.IO, MongoDB, a resolver', hasResolver: true },
  ],
]
const KINDS: readonly Kind[] = [
  ...[FLOOR, REMEX, FEATHERS, REMEX_MEMORY, FEATHERS_MEMORY],
  SHARED,
  { ...REMEX, title: 'Remex, MongoDB, another query each', target: '/records?text[$gte]=#' },
  { ...REMEX, title: 'Remex, MongoDB, a resolver', hasResolver: true },
  { ...FEATHERS, title: 'Feathers, MongoDB, a resolver', hasResolver: true },
  { ...REMEX, title: 'Remex, by a bus from another process', hasBus: true },
]

const pinServer = pinLoad()
const database = await openBenchDatabase()

/** A server and its subscribers. */
class Pair {
  readonly server: TaskProcess
  readonly #readers: TaskProcess
  readonly #kind: Kind
  #port = 0
  #frames = 0
  /** How many subscribers there are. */
  count = 0

  constructor(kind: Kind, flags: readonly string[] = []) {
    this.#kind = kind
    this.server = startProcess('./realtime-child.js', ['--expose-gc', ...flags])
    this.#readers = startProcess('./realtime-readers.js')
  }

  /** @param collection where its record is. Default: one of its own */
  async start(collection = `records${this.server.pid}`): Promise<Pair> {
    const { url, db } = database
    const place: Place = { url, database: db.databaseName, collection }
    this.#port = await this.server.ask('start', { ...this.#kind, ...place })
    pinServer(this.server.pid)
    return this
  }

  async open(count: number): Promise<void> {
    const { kind, target = '/records', share } = this.#kind
    const isSocket = kind !== 'floor' && kind !== 'remex'
    const protocol = isSocket ? 'socket.io' : 'events'
    const readers: Readers = { protocol, port: this.#port, count, target, share }
    await this.#readers.ask('open', readers)
    this.count += count
  }

  /** Has writes told one after the other. Returns from `patch` to the frame, for each reader, in ms. */
  async tell(events: number, writer: Pair = this): Promise<readonly number[]> {
    const delays: number[] = []
    for (let event = 0; event < events; event += 1) {
      this.#frames += this.count
      await writer.server.ask('patch')
      delays.push(...(await this.#readers.ask<number[]>('reach', this.#frames)))
      // Not always at the same time after a poll.
      if (writer !== this) await delay(Math.random() * 100)
    }
    return delays
  }

  /** Has the sockets read the record so often, together. */
  async call(count: number): Promise<void> {
    await this.#readers.ask('call', { id: RECORD_ID, count })
  }

  stop(): void {
    this.server.stop()
    this.#readers.stop()
  }
}

try {
  installPeers()
  console.log(`\n${readVersions().join(', ')}
Remex answers by server-sent events. It reads each record that is written once more, and judges it for
each subscriber, by his query. Feathers emits what the call has answered to all connections, which are in
one channel: it reads and judges nothing, knows no queries, and its resolver runs once for all. Services
in memory know no queries either. Subscribers and the database are in processes of their own; the time of
their process is part of what many of them wait. The bus ${process.env.MONGODB_URL ? 'is that of MONGODB_URL' : 'is asked every 50 ms'}.`)
  if (!values.sockets && !values.calls) {
    await compareIdle([FLOOR, REMEX, SHARED, FEATHERS_MEMORY])
    for (const count of [1, 100, SIZES.streams]) await compareEvents(count, KINDS, 'the floor')
  }
  console.log(`
Both by Socket.IO, with all connections in one channel and the official client. Targets: an event costs at
most 1.1 times what it costs Feathers, a call at most 0.5 times.`)
  if (!values.calls) {
    for (const kinds of SOCKET_KINDS) await compareEvents(SIZES.streams, kinds, 'Feathers')
  }
  for (const kinds of SOCKET_KINDS) await compareCalls(kinds)
} finally {
  await database.close()
}

/** Compares streams that nothing is written to, all at the same time. */
async function compareIdle(kinds: readonly Kind[]): Promise<void> {
  const { streams, idleMs } = SIZES
  const rows = kinds.map(async (kind) => {
    const pair = await new Pair(kind).start()
    const ask = (question: string): Promise<number> => pair.server.ask(question)
    // The first ones make the process what it is.
    await pair.open(streams)
    const [heap, rss] = [await ask('heap'), await ask('memory')]
    await pair.open(streams)
    const more = [(await ask('heap')) - heap, (await ask('memory')) - rss]
    const cpu = await ask('cpu')
    await delay(idleMs)
    const perMinute = ((await ask('cpu')) - cpu) * (60_000 / idleMs)
    pair.stop()
    const kilobytes = more.map((bytes) => (bytes / streams / 1_000).toFixed(1))
    return [kind.title, ...kilobytes, ((perMinute * 1_000) / pair.count).toFixed(0)]
  })
  printTable(
    [`${streams} idle streams, each`, 'heap, kB', 'RSS, kB', 'CPU of a minute, µs'],
    ['---', '---:', '---:', '---:'],
    ...(await Promise.all(rows)),
  )
}

/**
 * Compares what an event costs for each subscriber, and from when on he knows, in turns beside each other.
 * @param base the first kind, which the others are compared with
 */
async function compareEvents(count: number, kinds: readonly Kind[], base: string): Promise<void> {
  const { turns, events } = SIZES
  const runs: { pair: Pair; writer: Pair; times: number[]; delays: number[] }[] = []
  for (const kind of kinds) {
    // The processes of a bus have their record, and their events, in the same collections.
    const collection = kind.hasBus ? `shared${count}` : undefined
    const pair = await new Pair(kind, STEADY_FLAGS).start(collection)
    const writer = kind.hasBus ? await new Pair(kind).start(collection) : pair
    await pair.open(count)
    await pair.tell(WARM_UP_EVENTS, writer)
    runs.push({ pair, writer, times: [], delays: [] })
  }
  for (let turn = 0; turn < turns; turn += 1) {
    for (const { pair, writer, times, delays } of runs) {
      const before = await pair.server.ask<number>('cpu')
      delays.push(...(await pair.tell(events, writer)))
      times.push((((await pair.server.ask<number>('cpu')) - before) * 1_000) / events / count)
    }
  }
  const rows = runs.map(({ pair, writer, times, delays }, index) => {
    for (const one of [pair, writer]) one.stop()
    const { median, low, high } = toRatio(times, runs[0]?.times ?? [])
    const sorted = delays.toSorted((one, other) => one - other)
    const waits = [0.5, 0.99].map((share) => sorted[Math.floor(share * sorted.length)]?.toFixed(1))
    const quartiles = `${low.toFixed(2)} to ${high.toFixed(2)}`
    const cost = [toMedian(times).toFixed(1), median.toFixed(2), quartiles]
    return [kinds[index]?.title ?? '', ...cost, ...waits.map(String)]
  })
  printTable(
    [`an event to ${count}`, 'CPU for each, µs', `of ${base}`, 'quartiles', 'p50, ms', 'p99, ms'],
    ['---', '---:', '---:', '---:', '---:', '---:'],
    ...rows,
  )
}

/** Compares what a call of `get` over a socket costs the server, in turns beside each other. */
async function compareCalls(kinds: readonly Kind[]): Promise<void> {
  const { turns, calls } = SIZES
  const runs: { pair: Pair; times: number[] }[] = []
  for (const kind of kinds) {
    const pair = await new Pair(kind, STEADY_FLAGS).start()
    await pair.open(CALLERS)
    await pair.call(WARM_UP_CALLS)
    runs.push({ pair, times: [] })
  }
  for (let turn = 0; turn < turns; turn += 1) {
    for (const { pair, times } of runs) {
      const before = await pair.server.ask<number>('cpu')
      await pair.call(calls)
      times.push((((await pair.server.ask<number>('cpu')) - before) * 1_000) / calls)
    }
  }
  const rows = runs.map(({ pair, times }, index) => {
    pair.stop()
    const { median, low, high } = toRatio(times, runs[0]?.times ?? [])
    const quartiles = `${low.toFixed(2)} to ${high.toFixed(2)}`
    return [kinds[index]?.title ?? '', toMedian(times).toFixed(1), median.toFixed(2), quartiles]
  })
  printTable(
    [`a call over ${CALLERS} sockets`, 'CPU, µs', 'of Feathers', 'quartiles'],
    ['---', '---:', '---:', '---:'],
    ...rows,
  )
}
