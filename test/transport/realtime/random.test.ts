import fc from 'fast-check'
import type { Document } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService, mongoEvents } from '../../../src/adapter/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { openDatabase } from '../../support/database.ts'
import type { Frame } from '../../support/event-frames.ts'
import { SharedFrames } from '../../support/shared-frames.ts'
import { until } from '../../support/until.ts'
import type { LiveServer } from './live-server.ts'
import { startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const TEAMS = ['red', 'blue', 'green'] as const

function startTasks(bufferEvents: number): Promise<LiveServer> {
  return startLiveServer(
    t,
    (app) => {
      for (const path of ['tasks', 'shaped']) {
        app.use(path, new MongoDBService({ Model, multi: true, allowClientId: true }))
      }
      app.service('shaped').hooks({ after: { find: [() => undefined] } })
    },
    { realtime: { bufferEvents } },
  )
}

const servers = [await startTasks(1_000), await startTasks(7)]

/** The queries of the subscribers, and what they mean. */
const QUERIES: Readonly<Record<string, (record: Document) => boolean>> = {
  '': () => true,
  'team=red': ({ team }) => team === 'red',
  'team[$ne]=red': ({ team }) => team !== 'red',
  'team[$in][]=red&team[$in][]=blue&rank=1': ({ team, rank }) => team !== 'green' && rank === '1',
}

/** A stream of its own, or one on a shared connection. */
interface Stream {
  next(): Promise<Frame>
  rest(): Promise<Frame[]> | Frame[]
  close(): Promise<void>
}

/** A client of the server. */
interface Client {
  /** Opens a stream of a path; goes on after the id of a frame. */
  open(url: string, after: string): Promise<Stream>
  /** Loses the connection that its streams share. */
  cut?(): Promise<void>
}

/** A client as docs tell to write one: it has a list, and goes on where it was. */
class Subscriber {
  records = new Map<string, Document>()
  readonly faults: string[] = []
  readonly #open: (after: string) => Promise<Stream>
  readonly #matches: (record: Document) => boolean
  readonly #history: { readonly lastId: string; readonly records: Map<string, Document> }[] = []
  #stream!: Stream
  #lastId = ''

  constructor(client: Client, path: string, query: string) {
    this.#open = (after) => client.open(`/${path}?${query}`, after)
    this.#matches = QUERIES[query] as never
  }

  async start(): Promise<void> {
    this.#stream = await this.#open(this.#lastId)
    if (this.#lastId === '') this.#apply(await this.#stream.next())
  }

  /** Loses its connection, and its last frames with it; comes back. */
  async reconnect(lost: number): Promise<void> {
    await this.#stream.close()
    for (const frame of await this.#stream.rest()) this.#apply(frame)
    for (let count = 0; count < lost; count += 1) this.#history.pop()
    const last = this.#history.at(-1)
    this.#lastId = last?.lastId ?? ''
    this.records = new Map(last?.records)
    await this.start()
  }

  /** Reads up to a record of this name. */
  async readTo(name: string): Promise<void> {
    let frame: Frame
    do {
      frame = await this.#stream.next()
      this.#apply(frame)
    } while (!JSON.stringify(frame.data).includes(name))
  }

  /** Reads what has come. Returns whether the list is that of `find`. */
  async isLike(found: readonly Document[]): Promise<boolean> {
    for (const frame of await this.#stream.rest()) this.#apply(frame)
    return `${toLines(this.records.values())}` === `${toLines(found)}`
  }

  #apply({ event, id, data }: Frame): void {
    if (id !== undefined) this.#lastId = id
    if (event === 'snapshot') {
      this.records = new Map(data.map((record: Document) => [record['_id'], record]))
    } else if (event === 'left' || event === 'removed') this.records.delete(data._id)
    else if (event !== 'resync') this.records.set(data._id, data)
    for (const record of event === 'snapshot' ? data : [data]) {
      const isWhole = Object.keys(record).length > 1
      if (isWhole && !this.#matches(record)) this.faults.push(`${event} ${JSON.stringify(record)}`)
    }
    this.#history.push({ lastId: this.#lastId, records: new Map(this.records) })
  }
}

/** Returns records as sorted JSON. */
function toLines(records: Iterable<Document>): string[] {
  return [...records].map((record) => JSON.stringify(record)).sort()
}

const team = fc.constantFrom(...TEAMS)
const rank = fc.constantFrom('1', '2')
/** Of the records that there are, or an id that one may have had. */
const index = fc.nat(5)

const WRITES = {
  create: fc.record({ kind: fc.constant('create'), team, rank }),
  patch: fc.record({ kind: fc.constant('patch'), index, team }),
  update: fc.record({ kind: fc.constant('update'), index, team, rank }),
  remove: fc.record({ kind: fc.constant('remove'), index }),
  patchMany: fc.record({ kind: fc.constant('patchMany'), from: team, team }),
  removeMany: fc.record({ kind: fc.constant('removeMany'), from: team, rank }),
  createMany: fc.record({ kind: fc.constant('createMany'), team, rank }),
  unread: fc.record({ kind: fc.constant('unread'), from: team, team }),
  again: fc.record({ kind: fc.constant('again'), index, team, rank }),
}

interface Write {
  readonly kind: string
  readonly index?: number
  readonly team?: string
  readonly rank?: string
  readonly from?: string
}

/** Writes of one writer, one after the other, until the end or the first that finds no record. */
async function write(server: LiveServer, path: string, writes: readonly Write[], writer: number) {
  const service = server.app.service(path) as never as Record<
    string,
    (...args: unknown[]) => Promise<unknown>
  >
  const call = (method: string, ...args: unknown[]) => service[method]?.(...args)
  const own: unknown[] = []
  for (const { kind, index = 0, team, rank, from } of writes) {
    const id = own[index % Math.max(1, own.length)] ?? 'none'
    const data = { team, rank, writer }
    const unread = { docdb: { returning: false }, query: { team: from } }
    const add = async (created: unknown): Promise<void> => {
      for (const record of [created].flat()) own.push((record as Document)['_id'])
    }
    const run: Record<string, () => Promise<unknown> | undefined> = {
      create: async () => add(await call('create', data)),
      createMany: async () => add(await call('create', [data, { ...data, team: 'red' }])),
      patch: () => call('patch', id, { team }),
      update: () => call('update', id, data),
      remove: () => call('remove', id),
      patchMany: () => call('patch', null, { team }, { query: { team: from } }),
      removeMany: () => call('remove', null, { query: { team: from, rank } }),
      unread: () => call('patch', null, { team }, unread),
      again: () => call('create', { _id: id, ...data }),
    }
    // Another writer may have removed the record.
    await run[kind]?.()?.catch(() => undefined)
  }
}

const writes = fc.array(fc.oneof(...Object.values(WRITES)), { minLength: 3, maxLength: 10 })
const losses = fc.array(fc.record({ who: fc.nat(3), lost: fc.nat(3) }), { maxLength: 6 })

let fences = 0

/** Runs random programs. @param connect returns what opens the streams of a client */
async function check(t: Test, connect: (server: LiveServer) => Client, count = 40): Promise<void> {
  const property = fc.asyncProperty(
    fc.constantFrom(0, 1),
    fc.constantFrom('tasks', 'shaped'),
    fc.tuple(writes, writes, writes),
    losses,
    async (which, path, programs, lost) => {
      const server = servers[which] as LiveServer
      await empty('tasks')
      await Model.insertOne({ team: 'red', rank: '1' })
      const client = connect(server)
      const subscribers = Object.keys(QUERIES).map((query) => new Subscriber(client, path, query))
      await Promise.all(subscribers.map((one) => one.start()))
      const loseAll = async (): Promise<void> => {
        for (const { who, lost: count } of lost) {
          await server.request('/tasks?$limit=1')
          await subscribers[who]?.reconnect(count)
          if (count === 3) await client.cut?.()
        }
      }
      await Promise.all([
        ...programs.map((program, writer) => write(server, path, program as Write[], writer)),
        loseAll(),
      ])
      fences += 1
      const service = server.app.service(path)
      const name = `fence ${fences}`
      for (const team of ['red', 'blue']) await service.create({ team, rank: '1', name } as never)
      await Promise.all(subscribers.map((one) => one.readTo(name)))
      // The fence of the other team may still be on its way.
      await service.create(
        [{ team: 'red' }, { team: 'blue' }].map((one) => ({
          ...one,
          rank: '1',
          name: `last ${name}`,
        })) as never,
      )
      await Promise.all(subscribers.map((one) => one.readTo(`last ${name}`)))
      for (const [at, query] of Object.keys(QUERIES).entries()) {
        const found = (await server.request(`/${path}?${query}`)).body as Document[]
        const { records, faults } = subscribers[at] as Subscriber
        const sort = (list: Iterable<Document>) =>
          toLines([...list].filter((record) => record['name'] !== `last ${name}`))
        if (faults.length > 0) throw new Error(`'${query}' has seen ${faults.join()}`)
        const [expected, actual] = [sort(found), sort(records.values())]
        if (`${expected}` !== `${actual}`) {
          throw new Error(`'${query}' has\n${actual.join('\n')}\nnot\n${expected.join('\n')}`)
        }
      }
      server.fastify.server.closeAllConnections()
    },
  )
  await fc.assert(property, { numRuns: Number(process.env.RUNS ?? count), endOnFailure: false })
  t.pass(`${fences} runs`)
}

t.test('whatever happens, each list is that of find in the end', (t) =>
  check(t, (server) => ({
    open: (url, after) => server.open(url, after === '' ? {} : { 'last-event-id': after }),
  })),
)

t.test('so is each list of a client whose lists share a connection', (t) =>
  check(t, (server) => new SharedFrames((subscriptions) => server.share(subscriptions)), 30),
)

t.test('and each list of a client that goes from process to process', async (t) => {
  const processes = await Promise.all(
    [1, 2].map(() => {
      const bus = mongoEvents({ collection: db.collection('events'), pollMs: 5 })
      const Service = (app: FastifyApplication) =>
        app.use('tasks', new MongoDBService({ Model, multi: true, allowClientId: true }))
      return startLiveServer(t, Service, { realtime: { bus } })
    }),
  )
  const [one, other] = processes as [LiveServer, LiveServer]
  const property = fc.asyncProperty(fc.tuple(writes, writes), losses, async (programs, lost) => {
    await empty('tasks')
    let shares = 0
    const client = new SharedFrames((subscriptions) => {
      shares += 1
      return (shares % 2 === 0 ? one : other).share(subscriptions)
    })
    const queries = Object.keys(QUERIES)
    const subscribers = queries.map((query) => new Subscriber(client, 'tasks', query))
    await Promise.all(subscribers.map((subscriber) => subscriber.start()))
    const loseAll = async (): Promise<void> => {
      for (const { who, lost: count } of lost) {
        await one.request('/tasks?$limit=1')
        await subscribers[who]?.reconnect(count)
        if (count === 3) await client.cut()
      }
    }
    await Promise.all([
      write(one, 'tasks', programs[0] as Write[], 0),
      write(other, 'tasks', programs[1] as Write[], 1),
      loseAll(),
    ])
    for (const [at, query] of queries.entries()) {
      const found = (await one.request(`/tasks?${query}`)).body as Document[]
      await until(() => subscribers[at]?.isLike(found))
      const { faults } = subscribers[at] as Subscriber
      if (faults.length > 0) throw new Error(`'${query}' has seen ${faults.join()}`)
    }
    for (const { fastify } of processes) fastify.server.closeAllConnections()
  })
  await fc.assert(property, { numRuns: Number(process.env.RUNS ?? 10), endOnFailure: false })
  t.pass('each list was that of find')
})
