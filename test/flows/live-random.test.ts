import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { MongoClient } from 'mongodb'
import t from 'tap'
import type { MongoDBListService } from '../../src/adapter/index.ts'
import { MongoDBService, mongoEvents, transaction } from '../../src/adapter/index.ts'
import type { Static } from '../../src/core/schema/index.ts'
import { querySyntax, Type } from '../../src/core/schema/index.ts'
import type { Application } from '../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import { openDatabase } from '../support/database.ts'
import type { Frame, LiveRecord } from '../support/live-list.ts'
import { LiveList, recordsOf, sortById } from '../support/live-list.ts'
import { until } from '../support/until.ts'

t.setTimeout(600_000)

const SEED = Number(process.env.LIVE_SEED ?? 20_261_126)
const RUNS = Number(process.env.LIVE_RUNS ?? 15)

const TEAMS = ['red', 'blue', 'green'] as const
const Task = Type.Object({ _id: Type.String(), team: Type.String(), rank: Type.Integer() })
type Task = Static<typeof Task>
type Tasks = MongoDBListService<Task>

/** One process of several: an application with a client of its own. */
interface Process {
  readonly app: Application<{ tasks: Tasks }>
  readonly url: string
}

const { db, empty, url: databaseUrl } = await openDatabase(t)
const logged: unknown[] = []

async function startProcess(): Promise<Process> {
  const client = await MongoClient.connect(databaseUrl)
  const own = client.db(db.databaseName)
  const app = fastifyApp(createApp<{ tasks: Tasks }>()).configure(rest())
  const log = (details: unknown): unknown => logged.push(details)
  app.logger = { error: log, warn: log, info: () => undefined }
  app.configure(realtime({ bus: mongoEvents({ collection: own.collection('events'), pollMs: 5 }) }))
  const Model = own.collection<Task>('tasks')
  app.use('tasks', new MongoDBService({ Model, multi: true, allowClientId: true }), {
    methods: ['find'],
    schemas: { entity: Task, query: querySyntax(Task) },
  })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    await client.close()
  })
  return { app, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks` }
}

const processes = [await startProcess(), await startProcess()] as const

/** What is followed, and whether a record is in it. */
const QUERIES: readonly (readonly [query: string, matches: (task: Task) => boolean])[] = [
  ['', () => true],
  ['?team=red', ({ team }) => team === 'red'],
  ['?team[$in][]=red&team[$in][]=blue', ({ team }) => team !== 'green'],
  ['?team=blue&rank[$gt]=4', ({ team, rank }) => team === 'blue' && rank > 4],
  ['?$or[0][team]=green&$or[1][rank][$lt]=3', ({ team, rank }) => team === 'green' || rank < 3],
]

/** One thing that a writer does, at one of the processes. */
const WRITE = fc.record({
  does: fc.constantFrom(
    ...(['create', 'create', 'create', 'move', 'move', 'rank', 'update', 'remove'] as const),
    ...(['create many', 'move many', 'rank many', 'remove many'] as const),
  ),
  team: fc.constantFrom(...TEAMS),
  rank: fc.nat(9),
  /** Chooses among the tasks that there are. */
  which: fc.nat(1_000),
  /** Whether it is in a transaction, with another write behind it, and how that ends. */
  end: fc.constantFrom('alone', 'alone', 'alone', 'committed', 'aborted'),
  at: fc.nat(1),
})
type Write = Valued<typeof WRITE>
type Valued<A> = A extends fc.Arbitrary<infer Value> ? Value : never

/** One follower leaves after so many writes, and comes back to one of the processes after some more. */
const MOVE = fc.record({
  who: fc.nat(QUERIES.length - 1),
  to: fc.nat(1),
  after: fc.nat(4),
  away: fc.nat(4),
})

type Move = Valued<typeof MOVE>

const PLAN = fc.record({
  writers: fc.tuple(...[1, 2, 3].map(() => fc.array(WRITE, { maxLength: 15 }))),
  moves: fc.array(MOVE, { maxLength: 12 }),
})

/** The ids of all tasks of a run, gone ones too. */
let ids: string[] = []
let count = 0
/** How many writes have ended, and how many writers are still at work. */
let written = 0
let writing = 0

function newId(): string {
  count += 1
  const id = `task ${count}`
  ids.push(id)
  return id
}

function run(tasks: Tasks, { does, team, rank, which }: Write): Promise<unknown> {
  const id = ids[which % ids.length] ?? ''
  const query = { team }
  switch (does) {
    case 'create':
      return tasks.create({ _id: newId(), team, rank })
    case 'create many':
      return tasks.create(TEAMS.map((one) => ({ _id: newId(), team: one, rank })))
    case 'move':
      return tasks.patch(id, { team })
    case 'rank':
      return tasks.patch(id, { rank })
    case 'update':
      return tasks.update(id, { team, rank })
    case 'remove':
      return tasks.remove(id)
    case 'move many':
      return tasks.patch(null, { team: TEAMS[which % 3] }, { query })
    case 'rank many':
      return tasks.patch(null, { rank }, { query })
    case 'remove many':
      return tasks.remove(null, { query: { team, rank } })
  }
}

/** What may go wrong where others write the same tasks: they are gone, or another one was first. */
const EXPECTED = new Set(['Taken back', 'NotFound', 'Conflict'])

async function perform(write: Write): Promise<void> {
  const { app } = processes[write.at] ?? processes[0]
  const tasks = app.service('tasks')
  const inTransaction = async (): Promise<void> => {
    await run(tasks, write)
    await run(tasks, { ...write, does: 'create' })
    if (write.end === 'aborted') throw new Error('Taken back')
  }
  try {
    await (write.end === 'alone' ? run(tasks, write) : transaction(app, inTransaction))
  } catch (error) {
    const { name, message } = error as Error
    if (!EXPECTED.has(name) && !EXPECTED.has(message)) throw error
  }
}

/** Follows one query, and notes each record that it should not have been shown. */
class Follower {
  readonly query: string
  readonly wrong: Frame[] = []
  readonly list: LiveList

  constructor([query, matches]: (typeof QUERIES)[number]) {
    this.query = query
    this.list = new LiveList((frame) => {
      const shown = recordsOf(frame) as unknown as Task[]
      if (!shown.every(matches)) this.wrong.push(frame)
    })
  }

  follow(process: number): Promise<void> {
    return this.list.follow(`${(processes[process] ?? processes[0]).url}${this.query}`)
  }
}

/** Moves followers until nobody writes any more: then those that are away come back. */
async function move(followers: readonly Follower[], moves: readonly Move[]): Promise<void> {
  const writes = (more: number): Promise<void> => {
    const enough = written + more
    return until(() => written >= enough || writing === 0)
  }
  for (const { who, to, after, away } of moves) {
    await writes(after)
    followers[who]?.list.leave()
    await writes(away)
    await followers[who]?.follow(to)
  }
}

/** Writes tasks at both processes that every query finds some of. Resolves to their ids. */
async function writeLast(): Promise<readonly string[]> {
  const last: string[] = []
  for (const { app } of processes) {
    const tasks = TEAMS.map((team) => ({ _id: newId(), team, rank: 9 }))
    await app.service('tasks').create(tasks)
    last.push(...tasks.map(({ _id }) => _id))
  }
  return last
}

const property = fc.asyncProperty(PLAN, async ({ writers, moves }) => {
  await empty('tasks')
  ids = []
  const followers = QUERIES.map((query) => new Follower(query))
  try {
    for (const [index, follower] of followers.entries()) await follower.follow(index % 2)
    const write = async (writes: readonly Write[]): Promise<void> => {
      writing += 1
      try {
        for (const one of writes) {
          await perform(one)
          written += 1
        }
      } finally {
        writing -= 1
      }
    }
    await Promise.all([...writers.map(write), move(followers, moves)])
    const last = await writeLast()
    for (const { query, list, wrong } of followers) {
      const response = await fetch(processes[0].url + query)
      const found = sortById((await response.json()) as LiveRecord[])
      const expected = found.filter(({ _id }) => last.includes(_id))
      await until(() => expected.every(({ _id }) => list.seen('_id').includes(_id)))
      assert.deepEqual(list.list(), found, query)
      assert.deepEqual(wrong, [], query)
      assert.equal(list.isClosed, false)
    }
    assert.deepEqual(logged, [])
  } finally {
    for (const { list } of followers) list.leave()
  }
})

t.test('every list ends as find answers, whoever writes and leaves and comes back', async () => {
  // What happens at the same time is not the same twice: nothing can be made smaller.
  await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true })
})
