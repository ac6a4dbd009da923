import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openBenchDatabase } from './database.ts'
import { installPeers, readVersions } from './peers-install.ts'
import { pinLoad } from './pin.ts'
import type { Place, RealtimeServer } from './realtime-child.ts'
import type { TaskProcess } from './realtime-process.ts'
import { startProcess } from './realtime-process.ts'
import type { Readers } from './realtime-readers.ts'
import { STEADY_FLAGS } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable } from './table.ts'

// What streams cost the server, and when readers hear of a write, beside Feathers with Socket.IO:
// node build/bench/realtime.js [--quick]

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  strict: false,
})
const SIZES = values.quick
  ? { streams: 200, idleMs: 15_000, turns: 4, events: 5, delays: 50 }
  : { streams: 1_000, idleMs: 30_000, turns: 20, events: 10, delays: 300 }
/** Before anything is measured: what the first ones leave behind is there to stay. */
const WARM_UP = { streams: 100, events: 20 }
const BUS_POLL_MS = 50

interface Kind extends RealtimeServer {
  readonly title: string
  /** Of the streams: the same query, or another one for each. Services in memory know none. */
  readonly target?: string
}

const SAME = '/records?text[$gte]=0'
const FLOOR: Kind = { title: 'node:http, the same bytes', kind: 'floor', storage: 'memory' }
const REMEX: Kind = { title: 'Remex, MongoDB', kind: 'remex', storage: 'mongodb', target: SAME }
const REMEX_MEMORY: Kind = { title: 'Remex, memory', kind: 'remex', storage: 'memory' }
const FEATHERS: Kind = { title: 'Feathers, MongoDB', kind: 'feathers', storage: 'mongodb' }
const FEATHERS_MEMORY: Kind = { ...FEATHERS, title: 'Feathers, memory', storage: 'memory' }
const ALL = [FLOOR, REMEX, FEATHERS, REMEX_MEMORY, FEATHERS_MEMORY]

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
    const { kind, target = '/records' } = this.#kind
    const protocol = kind === 'feathers' ? 'socket.io' : 'events'
    const readers: Readers = { protocol, port: this.#port, count, target }
    await this.#readers.ask('open', readers)
    this.count += count
  }

  /** Has writes told one after the other. Returns what each reader waited for each, in ms. */
  async tell(events: number, writer: Pair = this, pauseMs = 0): Promise<readonly number[]> {
    const delays: number[] = []
    for (let event = 0; event < events; event += 1) {
      this.#frames += this.count
      await writer.server.ask('patch')
      delays.push(...(await this.#readers.ask<number[]>('reach', this.#frames)))
      // Not at the same time after each poll.
      if (pauseMs > 0) await delay(Math.random() * pauseMs)
    }
    return delays
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
in memory know no queries either. Subscribers and the database are in processes of their own.`)
  await compareIdle([FLOOR, REMEX, FEATHERS_MEMORY])
  await compareFanOut([
    ...ALL,
    { ...REMEX, title: 'Remex, MongoDB, another query each', target: '/records?text[$gte]=#' },
    { ...REMEX, title: 'Remex, MongoDB, a resolver', hasResolver: true },
    { ...FEATHERS, title: 'Feathers, MongoDB, a resolver', hasResolver: true },
  ])
  for (const count of [1, 100]) await compareDelays(count)
} finally {
  await database.close()
}

/** Compares streams that nothing is written to, all at the same time. */
async function compareIdle(kinds: readonly Kind[]): Promise<void> {
  const { streams, idleMs } = SIZES
  const rows = kinds.map(async (kind) => {
    const pair = await new Pair(kind).start()
    const ask = (question: string): Promise<number> => pair.server.ask(question)
    await pair.open(WARM_UP.streams)
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

/** Compares what an event costs for each subscriber, in turns beside each other. */
async function compareFanOut(kinds: readonly Kind[]): Promise<void> {
  const { streams, turns, events } = SIZES
  const runs: { pair: Pair; times: number[] }[] = []
  for (const kind of kinds) {
    const pair = await new Pair(kind, STEADY_FLAGS).start()
    await pair.open(streams)
    await pair.tell(WARM_UP.events)
    runs.push({ pair, times: [] })
  }
  for (let turn = 0; turn < turns; turn += 1) {
    for (const { pair, times } of runs) {
      const before = await pair.server.ask<number>('cpu')
      await pair.tell(events)
      times.push((((await pair.server.ask<number>('cpu')) - before) * 1_000) / events / streams)
    }
  }
  const rows = runs.map(({ pair, times }, index) => {
    pair.stop()
    const { median, low, high } = toRatio(times, runs[0]?.times ?? [])
    const quartiles = `${low.toFixed(2)} to ${high.toFixed(2)}`
    return [kinds[index]?.title ?? '', toMedian(times).toFixed(1), median.toFixed(2), quartiles]
  })
  printTable(
    [`an event to ${streams}`, 'CPU for each, µs', 'of the floor', 'quartiles'],
    ['---', '---:', '---:', '---:'],
    ...rows,
  )
}

/** Compares how long it takes from a call of `patch` to the record in a reader. */
async function compareDelays(count: number): Promise<void> {
  const by = process.env.MONGODB_URL ? 'of MONGODB_URL' : `polled every ${BUS_POLL_MS} ms`
  const bus: Kind = { ...REMEX, title: `Remex, from another process, ${by}`, hasBus: true }
  printTable([`to ${count}`, 'p50, ms', 'p99, ms'], ['---', '---:', '---:'])
  for (const kind of [...ALL, bus]) {
    const pair = await new Pair(kind).start('delays')
    const writer = kind === bus ? await new Pair(kind).start('delays') : pair
    await pair.open(count)
    await pair.tell(WARM_UP.events, writer)
    const delays = await pair.tell(SIZES.delays, writer, kind === bus ? 2 * BUS_POLL_MS : 0)
    const sorted = delays.toSorted((one, other) => one - other)
    const [middle, late] = [0.5, 0.99].map((share) => sorted[Math.floor(share * sorted.length)])
    printTable([kind.title, `${middle?.toFixed(1)}`, `${late?.toFixed(1)}`])
    for (const one of [pair, writer]) one.stop()
  }
}
