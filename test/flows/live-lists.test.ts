import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { LiveList, RealtimeOptions } from '../../src/client/realtime/index.ts'
import { realtime as clientRealtime } from '../../src/client/realtime/index.ts'
import type { HookContext, Query } from '../../src/core/index.ts'
import { resolve, resolveExternal } from '../../src/core/schema/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import { openDatabase } from '../support/database.ts'
import { startOwnServer } from '../support/own-server.ts'
import { until } from '../support/until.ts'

t.setTimeout(300_000)

const { db } = await openDatabase(t)
const paginate = { default: 3, max: 10 }
const server = await startOwnServer(t, (app) => {
  app.configure(realtime({ recheckMs: 20 }))
  for (const path of ['tasks', 'lists', 'hidden']) {
    const Model = db.collection(path)
    const options = { Model, multi: true, ...(path === 'lists' ? {} : { paginate }) }
    app.use(path, new MongoDBService(options as never) as never)
  }
  const readTeam = ({ params }: HookContext): void => {
    const { team, ...others } = params.query ?? {}
    params.query = team === undefined ? others : { team: Number(team), ...others }
  }
  for (const path of ['tasks', 'lists', 'hidden']) {
    app.service(path).hooks({ before: { find: [readTeam] } })
  }
  const hide = resolveExternal(resolve({ rank: async () => undefined }) as never)
  app.service('hidden').hooks({ around: { all: [hide] } })
})

function connect(options: RealtimeOptions = {}) {
  const client = createClient({ baseURL: server.url })
  t.teardown(() => Promise.all([...client.entries.keys()].map((path) => client.unuse(path))))
  return client.configure(
    clientRealtime({ reconnectMs: 1, maxReconnectMs: 1, recountMs: 1, ...options }),
  )
}

interface Found {
  readonly total?: number
  readonly data?: readonly unknown[]
}

/** Resolves when a list is what `find` answers, with its order and its total. */
async function settles(service: object, query: Query, list: LiveList): Promise<void> {
  await until(async () => {
    const found = await (service as { find(params: object): Promise<Found> }).find({ query })
    const { total, data = found } = found
    return isDeepStrictEqual([list.data, list.total], [data, total])
  })
}

const LATE = new Date(Date.UTC(12_345, 0, 1))

/** Records with values that the server sorts in another way than texts, and what is written then. */
const ORDERS: readonly (readonly [title: string, path: string, query: Query, ranks: unknown[]])[] =
  [
    ['$select leaves its field out', 'lists', { $select: ['text'] }, [5, 1, 3, 0, 9]],
    ['a resolver takes its field away', 'hidden', {}, [5, 1, 3, 0, 9]],
    ['dates are later than 9999', 'lists', {}, [new Date(), LATE, new Date(5), new Date(0)]],
    ['texts stand beside dates', 'lists', {}, [new Date(), 'a', '2', '3', new Date(0), '']],
    ['some have no value', 'tasks', {}, [3, undefined, 1, undefined, null]],
    ['values are lists', 'lists', {}, [[3, 1], [2], 2, [0, 9], 1]],
  ]

for (const [title, path, query, ranks] of ORDERS) {
  for (const direction of [1, -1]) {
    t.test(`a list is in the order of find where ${title}: ${direction}`, async () => {
      await db.collection(path).deleteMany({})
      const service = connect().service(path)
      const own = server.app.service(path)
      const sorted = { ...query, $sort: { rank: direction, _id: 1 }, $limit: 4 }
      const list = (await service.live({ query: sorted })) as LiveList
      for (const [index, rank] of ranks.entries()) {
        const task = { _id: new ObjectId(), text: `${index}`, ...(rank !== undefined && { rank }) }
        await own.create(task as never)
        await settles(service, sorted, list)
      }
      const [first] = (await db.collection(path).find().toArray()) as [{ _id: ObjectId }]
      await own.patch(first._id as never, { rank: ranks.at(-1) } as never)
      await settles(service, sorted, list)
      await own.remove(first._id as never)
      await settles(service, sorted, list)
      list.close()
    })
  }
}

t.test('the total of a page counts records that enter it', async () => {
  await db.collection('tasks').deleteMany({})
  const service = connect().service('tasks')
  const own = server.app.service('tasks')
  const others = await own.create([9, 8, 7, 6, 5].map((rank) => ({ rank, team: 2 })) as never)
  await own.create([4, 3, 2, 1].map((rank) => ({ rank, team: 1 })) as never)
  const query = { team: 1, $sort: { rank: -1 } }
  const list = (await service.live({ query })) as LiveList
  for (const { _id } of others as unknown as { _id: ObjectId }[]) {
    await own.patch(_id as never, { team: 1 } as never)
    await settles(service, query, list)
  }
  list.close()
})

t.test('lists that come and go are counted once', async (t) => {
  const limited = await startOwnServer(t, (app) => {
    app.configure(realtime({ maxStreamsPerCaller: 14 }))
    app.use('tasks', new MongoDBService({ Model: db.collection('tasks') }))
  })
  const client = createClient({ baseURL: limited.url })
  t.teardown(() => client.unuse('tasks'))
  const service = client.configure(clientRealtime()).service('tasks')
  const open = (rank: number): Promise<LiveList> =>
    service.live({ query: { rank: `${rank}` } }) as Promise<LiveList>
  await db.collection('tasks').deleteMany({})
  const lists = await Promise.all(Array.from({ length: 10 }, (_value, rank) => open(rank)))
  const statuses = new Set<string>()
  for (const list of lists) list.on('change', ({ status }) => statuses.add(status))
  for (let index = 0; index < 30; index += 1) {
    const list = await open(100 + index)
    list.close()
  }
  const own = limited.app.service('tasks')
  await own.create({ rank: '7' } as never)
  await until(() => lists[7]?.data.length === 1)
  await settles(service, { rank: '7' }, lists[7] as LiveList)
  t.strictSame([...statuses], ['open'])
})

const WRITE = fc.record({
  does: fc.constantFrom(
    ...([
      'create',
      'create',
      'rank',
      'rank',
      'enter',
      'leave',
      'remove',
      'open',
      'close',
      'cut',
      'cut',
    ] as const),
  ),
  which: fc.nat(100),
  rank: fc.nat(9),
  who: fc.nat(1),
})

type Write = typeof WRITE extends fc.Arbitrary<infer Value> ? Value : never

const QUERIES: readonly Query[] = [
  { team: 1, $sort: { rank: 1, _id: 1 } },
  { team: 1, $sort: { rank: -1, _id: 1 }, $limit: 2 },
  { $sort: { rank: 1, _id: 1 }, $limit: 10 },
  { team: 1, $sort: { rank: 1, _id: 1 }, $select: ['text'] },
  { $sort: { rank: 1, _id: 1 }, $skip: 1 },
]

t.test('lists that come and go are what find answers, with order and total', async () => {
  const own = server.app.service('tasks')
  const clients = [connect(), connect()].map((client) => client.service('tasks'))
  // Comparisons outlive the cuts.
  const finder = createClient({ baseURL: server.url, retries: 5 }).service('tasks')
  const run = async (writes: readonly Write[]): Promise<void> => {
    await own.remove(null, { query: {} } as never).catch(() => undefined)
    await db.collection('tasks').deleteMany({})
    const open: { query: Query; list: LiveList }[] = []
    let ids: ObjectId[] = []
    for (const { does, which, rank, who } of writes) {
      const id = ids[which % Math.max(ids.length, 1)] as never
      const query = QUERIES[which % QUERIES.length] as Query
      if (does === 'create') {
        const _id = new ObjectId()
        ids.push(_id)
        await own.create({ _id, rank, team: (which % 2) + 1, text: `${which}` } as never)
      } else if (does === 'open') {
        const list = (await clients[who]?.live({ query })) as LiveList
        open.push({ query, list })
      } else if (does === 'cut') {
        ;(server.app as FastifyApplication).fastify.server.closeAllConnections()
      } else if (does === 'close') {
        for (const { list } of open.splice(which % 3, 1)) list.close()
      } else if (id !== undefined && does === 'remove') {
        ids = ids.filter((one) => one !== id)
        await own.remove(id)
      } else if (id !== undefined) {
        await own.patch(
          id,
          (does === 'rank' ? { rank } : { team: does === 'enter' ? 1 : 2 }) as never,
        )
      }
    }
    for (const { query, list } of open) await settles(finder, query, list)
    for (const { list } of open) list.close()
  }
  const all = fc.array(WRITE, { minLength: 5, maxLength: 40 })
  await fc.assert(fc.asyncProperty(all, run), { numRuns: 25, endOnFailure: true })
})
