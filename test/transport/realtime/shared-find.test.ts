import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import type { FindQueue } from '../../../src/transport/realtime/find-queue.ts'
import type { Found } from '../../../src/transport/realtime/shared-find.ts'
import { SharedFinds } from '../../../src/transport/realtime/shared-find.ts'
import { Turns } from '../../../src/transport/realtime/turns.ts'
import { stopClock } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import type { EventFrames } from '../../support/event-frames.ts'
import { Gate } from '../../support/gate.ts'
import { replaceMethods } from '../../support/replaced-methods.ts'
import { laterTurns } from '../../support/until.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty, commandsOf } = await openDatabase(t)
const Model = db.collection('tasks')
const MANY = 20

t.beforeEach(async () => {
  await empty('tasks')
  await Model.insertMany(['a', 'b', 'c'].map((name) => ({ name, team: 'red', secret: 1 })))
})

/** Has all streams of a service get a new snapshot. */
async function change(service: object): Promise<void> {
  const { patch } = service as { patch(id: null, data: object, params: object): Promise<unknown> }
  await patch.call(service, null, { done: true }, { docdb: { returning: false } })
}

async function nextSnapshot(stream: EventFrames): Promise<unknown> {
  const frames = await stream.upTo(({ event }) => event === 'snapshot')
  return frames.at(-1)?.data
}

/** Opens streams of paths, and has all begin anew. Resolves to their snapshots, and how often was read. */
async function beginAnew(
  t: Parameters<typeof startLiveServer>[0],
  requests: readonly (readonly [path: string, headers?: Record<string, string>])[],
  configure: (app: FastifyApplication) => unknown = () => undefined,
) {
  const server = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model, multi: true, hidden: ['secret'] }))
    return configure(app)
  })
  const streams: EventFrames[] = []
  for (const [path, headers] of requests) {
    const stream = await server.open(path, headers)
    await stream.next()
    streams.push(stream)
  }
  // Within one turn of the event loop: those that begin anew after a find has begun are served by the next one.
  stopClock(t)
  let snapshots: unknown[] = []
  const commands = await commandsOf(async () => {
    await change(server.app.service('tasks'))
    snapshots = await Promise.all(streams.map(nextSnapshot))
  })
  const finds = commands.filter(({ find }) => find === 'tasks').length
  return { server, streams, snapshots, finds }
}

t.test('one find serves all streams with the same view', async (t) => {
  const red = Array.from({ length: MANY }, () => ['/tasks?team=red&$sort[name]=1'] as const)
  const blue = Array.from({ length: MANY }, () => ['/tasks?team=blue'] as const)
  const { server, streams, snapshots, finds } = await beginAnew(t, [...red, ...blue])
  t.equal(finds, 2)
  const expected = ['a', 'b', 'c'].map((name) => ({ name, done: true }))
  for (const [index, data] of snapshots.entries()) t.match(data, index < MANY ? expected : [])
  const tasks = server.app.service('tasks')
  await tasks.create({ team: 'blue', name: 'new' } as never)
  for (const stream of streams.slice(MANY)) t.match(await stream.next(), { data: { name: 'new' } })
})

const differing: Readonly<
  Record<string, [queries: string[], expected: unknown[], change?: (context: HookContext) => void]>
> = {
  $limit: [
    ['$sort[name]=1&$limit=1', '$sort[name]=1&$limit=2'],
    [['a'], ['a', 'b']],
  ],
  $skip: [
    ['$sort[name]=1&$skip=2', '$sort[name]=1'],
    [['c'], ['a', 'b', 'c']],
  ],
  $sort: [
    ['$sort[name]=1', '$sort[name]=-1'],
    [
      ['a', 'b', 'c'],
      ['c', 'b', 'a'],
    ],
  ],
  'a hook that names the query': [
    ['caller=a', 'caller=b'],
    [['a'], ['b']],
    ({ params }) => {
      params.query = { name: params.headers?.['x-caller'] }
    },
  ],
  'options of the adapter': [
    ['$sort[name]=1', '$sort[name]=1'],
    [['a'], ['a', 'b', 'c']],
    ({ params }) => {
      const isFirst = params.headers?.['x-caller'] === 'a'
      Object.assign(params, isFirst ? { adapter: { paginate: { default: 1 } } } : {})
    },
  ],
  'the form of the result': [
    ['$sort[name]=1', '$sort[name]=1'],
    [['dispatched'], ['a', 'b', 'c']],
    (context) => {
      const isFirst = context.params.headers?.['x-caller'] === 'a'
      if (isFirst) context.dispatch = [{ name: 'dispatched' }]
    },
  ],
}

for (const [what, [queries, expected, change]] of Object.entries(differing)) {
  t.test(`streams that differ by ${what} share no snapshot`, async (t) => {
    const requests = queries.map(
      (query, index) => [`/tasks?${query}`, { 'x-caller': 'ab'[index] ?? '' }] as const,
    )
    const { snapshots } = await beginAnew(t, requests, (app) => {
      if (change !== undefined) app.service('tasks').hooks({ before: { find: [change] } })
    })
    const names = snapshots.map((body) => {
      const { data = body } = body as { data?: unknown }
      return (data as { name: string }[]).map(({ name }) => name)
    })
    t.strictSame(names, expected)
  })
}

t.test('hooks that shape a snapshot make it for each caller', async (t) => {
  const requests = ['a', 'b'].map((caller) => ['/tasks?name=a', { 'x-caller': caller }] as const)
  const { snapshots } = await beginAnew(t, requests, (app) => {
    const mark = ({ params, result }: HookContext): void => {
      for (const record of result as object[]) {
        Object.assign(record, { for: params.headers?.['x-caller'] })
      }
    }
    app.service('tasks').hooks({ after: { find: [mark] } })
  })
  t.match(snapshots, [[{ for: 'a' }], [{ for: 'b' }]])
})

t.test('a client that leaves takes the snapshot of no other', async (t) => {
  let gate: Gate | undefined
  const find = (...args: unknown[]) => {
    const cursor = Reflect.apply(Model.find, Model, args)
    const { toArray } = cursor
    cursor.toArray = async () => {
      await gate?.pass()
      return toArray.call(cursor)
    }
    return cursor
  }
  const waiting = replaceMethods(Model, { find })
  const server = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model: waiting, multi: true }))
  })
  const [first, second] = [await server.open('/tasks'), await server.open('/tasks')]
  await Promise.all([first.next(), second.next()])
  const tasks = server.app.service('tasks')
  const reading = new Gate()
  gate = reading
  await change(tasks)
  await reading.arrivals(1)
  await server.leave(first)
  reading.open()
  t.match(await nextSnapshot(second), [{ done: true }, { done: true }, { done: true }])
  t.strictSame(await linesSoFar(second, tasks), [])
  t.equal(reading.arrived, 2, 'once for both, and once for the record that follows')
})

const FOUND: Found = { json: '[]', keys: [], isCut: false, sequence: 0 }

/** Runs each call in the next turn. */
const QUEUE = {
  run: async <T>(work: () => Promise<T>): Promise<T> => {
    await laterTurns(1)
    return work()
  },
} as unknown as FindQueue

/** Counts the turns. */
class CountedTurns extends Turns {
  count = 0

  override async next(): Promise<void> {
    await super.next()
    this.count += 1
  }
}

t.test('20 streams get the result of one call in each turn', async (t) => {
  const turns = new CountedTurns()
  const finds = new SharedFinds(QUEUE, turns)
  let calls = 0
  const read = async (): Promise<Found> => {
    calls += 1
    return FOUND
  }
  const served = await Promise.all(
    Array.from({ length: 100 }, async () => {
      await finds.find('', read)
      return turns.count
    }),
  )
  t.equal(calls, 1)
  for (let turn = 1; turn <= 5; turn += 1) {
    t.equal(served.filter((one) => one === turn).length, 20, `turn ${turn}`)
  }
})
