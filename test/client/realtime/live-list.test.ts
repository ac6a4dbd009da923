import t from 'tap'
import type { LiveList } from '../../../src/client/realtime/index.ts'
import type { Query } from '../../../src/core/index.ts'
import { Forbidden } from '../../../src/core/index.ts'
import { holdTimers } from '../../support/clock.ts'
import type { EventServer, ServedStream } from '../../support/event-server.ts'
import { startEventServer } from '../../support/event-server.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { laterTurns, until } from '../../support/until.ts'
import { errorOf } from '../error-of.ts'
import { connect } from './live-client.ts'

interface Opened {
  readonly server: EventServer
  readonly stream: ServedStream
  readonly list: LiveList
  /** What `find` was asked for. */
  readonly finds: string[]
  /** Sends an event. Resolves when the list has been told of it. */
  send(event: string, data: unknown): Promise<void>
}

/** Opens a list with a snapshot; `find` answers with the next of the others. */
async function open(
  t: TestScope,
  query: Query,
  snapshot: unknown,
  ...found: unknown[]
): Promise<Opened> {
  const finds: string[] = []
  const server = await startEventServer(t, ({ url = '' }, response) => {
    finds.push(url)
    response.end(JSON.stringify(found.shift()))
  })
  const opening = connect(t, server.url).service('tasks').live({ query })
  const stream = (await server.stream(0)).open(snapshot)
  const list = await opening
  return {
    server,
    stream,
    list,
    finds,
    async send(event, data) {
      const changed = new Promise<void>((resolve) => {
        const stop = list.on('change', () => {
          stop()
          resolve()
        })
      })
      stream.send(event, data)
      await changed
    },
  }
}

const page = (data: unknown[], total = data.length, limit = 3) => ({ total, limit, skip: 0, data })

t.test('a list is what find answers, and another one after each change', async (t) => {
  const { list, send } = await open(t, {}, [{ id: 1 }])
  t.strictSame([list.data, list.total, list.status], [[{ id: 1 }], undefined, 'open'])
  const before = list.data
  await send('created', { id: 2 })
  t.strictSame([before, list.data], [[{ id: 1 }], [{ id: 1 }, { id: 2 }]])
  t.not(list.data, before)
})

const CHANGES = [
  ['created', { id: 3 }, [{ id: 1 }, { id: 2 }, { id: 3 }]],
  ['created', { id: 2, again: true }, [{ id: 1 }, { id: 2, again: true }]],
  ['updated', { id: 1, b: 2 }, [{ id: 1, b: 2 }, { id: 2 }]],
  ['patched', { id: 1, c: 3 }, [{ id: 1, c: 3 }, { id: 2 }]],
  ['patched', { id: 3 }, [{ id: 1 }, { id: 2 }, { id: 3 }]],
  ['removed', { id: 1, whole: true }, [{ id: 2 }]],
  ['left', { id: 2 }, [{ id: 1 }]],
  ['left', { id: 9 }, [{ id: 1 }, { id: 2 }]],
] as const

for (const [event, data, expected] of CHANGES) {
  t.test(`${event} ${JSON.stringify(data)}`, async (t) => {
    const { list, send } = await open(t, {}, page([{ id: 1 }, { id: 2 }]))
    await send(event, data)
    t.strictSame(list.data, expected)
    t.equal(list.total, expected.length)
  })
}

t.test('events that tell of no record change nothing', async (t) => {
  const { list, stream, send } = await open(t, {}, [{ id: 1 }])
  const { data } = list
  stream.send('reminded', { id: 1, text: 'x' }).send('resync', {}).send('created', null)
  stream.send('patched', 7)
  t.equal(list.data, data)
  await send('snapshot', [{ id: 2 }])
  t.strictSame(list.data, [{ id: 2 }])
})

t.test('records are known by _id, else by id, else by what the server names', async (t) => {
  const records = [
    { _id: 'a', id: 1 },
    { _id: 'b', id: 1 },
  ]
  const { list, send } = await open(t, {}, records)
  await send('patched', { _id: 'b', id: 1, x: 1 })
  t.strictSame(list.data, [
    { _id: 'a', id: 1 },
    { _id: 'b', id: 1, x: 1 },
  ])
  await send('left', { _id: 'a' })
  t.strictSame(list.data, [{ _id: 'b', id: 1, x: 1 }])
  const named = await open(t, {}, [{ slug: 'a', text: 1 }, { slug: 'b' }, { slug: { c: 1 } }])
  await named.send('left', { slug: 'a' })
  await named.send('left', { slug: { c: 1 } })
  t.strictSame(named.list.data, [{ slug: 'b' }])
})

t.test('a list is sorted by the $sort of its query', async (t) => {
  const query = { $sort: { rank: -1, 'author.name': 1 } }
  const first = [
    { id: 1, rank: 2, author: { name: 'b' } },
    { id: 2, rank: 1, author: { name: 'a' } },
  ]
  const { list, send } = await open(t, query, first)
  await send('created', { id: 3, rank: 2, author: { name: 'a' } })
  await send('created', { id: 4, rank: null, author: { name: 'a' } })
  t.strictSame(ids(list), [3, 1, 2, 4])
  await send('patched', { id: 2, rank: 3 })
  t.strictSame(ids(list), [2, 3, 1, 4])
})

t.test('a list is cut at its limit: that of its query, or that of the server', async (t) => {
  const first = [{ id: 1 }, { id: 3 }]
  const query = { $sort: { id: 1 }, $limit: 2 }
  for (const snapshot of [first, { total: 2, limit: 2, skip: 0, data: first }]) {
    const { list, send, finds } = await open(t, query, snapshot)
    await send('created', { id: 2 })
    t.strictSame(ids(list), [1, 2])
    await send('created', { id: 4 })
    t.strictSame(ids(list), [1, 2])
    t.strictSame(finds, [])
  }
  const { list, send } = await open(t, { $sort: { id: 1 } }, page([{ id: 2 }, { id: 3 }], 2, 2))
  await send('created', { id: 1 })
  t.strictSame([ids(list), list.total], [[1, 2], 3])
})

t.test('what a record leaves open at the end of a list is asked for, once', async (t) => {
  const after = page([{ id: 4 }, { id: 5 }], 2)
  const { list, stream, finds } = await open(
    t,
    { $sort: { id: 1 }, $limit: 3 },
    page([{ id: 1 }, { id: 2 }, { id: 3 }], 5),
    after,
  )
  stream.write([1, 2, 3].map((id) => `event: 1/removed\ndata: {"id":${id}}\n\n`).join(''))
  await until(() => ids(list).includes(5))
  t.strictSame([list.data, list.total], [after.data, 2])
  t.equal(finds.length, 1)
  t.match(finds[0], /^\/tasks\?%24sort%5Bid%5D=1&%24limit=3$/)
})

t.test('a list that holds all there is asks for nothing', async (t) => {
  const { list, send, finds } = await open(
    t,
    { $limit: 3 },
    page([{ id: 1 }, { id: 2 }, { id: 3 }]),
  )
  await send('removed', { id: 1 })
  await send('left', { id: 2 })
  await laterTurns()
  t.strictSame([ids(list), list.total, finds], [[3], 1, []])
})

t.test('a record that moves behind the end of a cut list makes it ask', async (t) => {
  const records = [{ id: 1 }, { id: 2 }, { id: 3 }].map(({ id }) => ({ id, rank: id }))
  const query = { $sort: { rank: 1 }, $limit: 3 }
  const { list, send, finds, stream } = await open(t, query, page(records, 4), page([{ id: 9 }], 4))
  await send('patched', { id: 1, rank: 2.5 })
  await send('patched', { id: 3, rank: 3, text: 'the same place' })
  t.strictSame([ids(list), finds], [[2, 1, 3], []])
  stream.send('patched', { id: 2, rank: 7 })
  await until(() => ids(list).includes(9))
  t.equal(finds.length, 1)
})

t.test('a list that begins behind others asks where they shift it', async (t) => {
  const query = { $sort: { id: 1 }, $skip: 1 }
  for (const event of ['created', 'removed', 'left']) {
    const { list, stream, send, finds } = await open(t, query, [{ id: 5 }], [{ id: 9 }])
    await send('patched', { id: 5, text: 'in its place' })
    t.strictSame(finds, [])
    stream.send(event, { id: 1 })
    await until(() => ids(list)[0] === 9)
    t.equal(finds.length, 1)
  }
})

t.test('a list whose order its records do not show asks for it', async (t) => {
  for (const [event, record] of [
    ['created', { id: 3 }],
    ['patched', { id: 1, text: 'new' }],
    ['patched', { id: 4, rank: 1 }],
  ] as const) {
    const found = page([{ id: 9 }])
    const records = [{ id: 1 }, { id: 2, rank: 2 }]
    const { list, stream, finds } = await open(t, { $sort: { rank: 1 } }, page(records), found)
    stream.send(event, record)
    await until(() => ids(list)[0] === 9)
    t.equal(finds.length, 1)
  }
})

t.test('however many records come meanwhile, it asks twice', async (t) => {
  const gate = new Gate()
  t.teardown(() => gate.open())
  const finds: unknown[] = []
  const server = await startEventServer(t, async ({ url }, response) => {
    await gate.pass()
    response.end(`[{"id":${finds.push(url)}}]`)
  })
  const opening = connect(t, server.url)
    .service('tasks')
    .live({ query: { $sort: { rank: 1 } } })
  const stream = (await server.stream(0)).open([{ id: 7 }])
  const list = await opening
  stream.send('created', { id: 8 })
  await gate.arrivals(1)
  for (let id = 10; id < 99; id += 1) stream.send('created', { id })
  const told = new Promise((resolve) => list.on('change', resolve))
  stream.send('end', { reason: 'closing' })
  await told
  gate.open()
  await until(() => ids(list)[0] === 2)
  t.equal(finds.length, 2)
})

t.test(
  'the total counts what is written behind the end of a cut list, and is asked for',
  async (t) => {
    const { random } = Math
    t.teardown(() => Object.assign(Math, { random }))
    Math.random = () => 1
    const timers = holdTimers(t, 5_000)
    const found = page([{ id: 1 }], 6, 1)
    const { list, send, finds } = await open(
      t,
      { $sort: { id: 1 } },
      page([{ id: 1 }], 5, 1),
      found,
    )
    await send('created', { id: 7 })
    t.equal(list.total, 6)
    await send('removed', { id: 8 })
    t.equal(list.total, 5)
    await send('patched', { id: 9 })
    t.equal(list.total, 5)
    t.strictSame([timers.count, finds.length], [1, 0])
    timers.fire()
    await until(() => list.total === 6)
    await send('patched', { id: 9 })
    t.strictSame([timers.count, finds.length], [2, 1])
    list.close()
    await until(() => timers.size === 0)
  },
)

t.test('a total that is known is not asked for', async (t) => {
  const timers = holdTimers(t, 5_000)
  const { random } = Math
  t.teardown(() => Object.assign(Math, { random }))
  Math.random = () => 1
  for (const snapshot of [page([{ id: 1 }], 1, 3), [{ id: 1 }, { id: 2 }]]) {
    const { send } = await open(t, { $limit: 2 }, snapshot)
    await send('patched', { id: 5 })
    await send('left', { id: 6 })
  }
  t.equal(timers.count, 0)
})

t.test('the list is told of until its listener is removed', async (t) => {
  const { list, stream, send } = await open(t, {}, [])
  const told: unknown[] = []
  const stop = list.on('change', (changed) => told.push([changed === list, changed.data.length]))
  await send('created', { id: 1 })
  stop()
  await send('created', { id: 2 })
  t.strictSame(told, [[true, 1]])
  t.throws(() => list.on('changed' as 'change', () => undefined), /'change'/)
  stream.end()
})

t.test('a listener that fails stops no other one', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const logged: unknown[] = []
  const log = (details: unknown): void => void logged.push(details)
  client.logger = { ...console, error: log }
  const opening = client.service('tasks').live()
  const stream = (await server.stream(0)).open([])
  const list = await opening
  const err = new Error('of the listener')
  list.on('change', () => {
    throw err
  })
  const changed = new Promise((resolve) => list.on('change', resolve))
  stream.send('created', { id: 1 })
  await changed
  t.match(logged, [{ err }])
})

t.test('a list that is closed keeps its records, and changes no more', async (t) => {
  const { list, stream } = await open(t, {}, [{ id: 1 }])
  const statuses: string[] = []
  list.on('change', ({ status }) => statuses.push(status))
  list.close()
  list.close()
  await until(() => stream.isClosed)
  t.strictSame([list.data, list.status, list.error], [[{ id: 1 }], 'closed', undefined])
  t.strictSame(statuses, ['closed'])
})

t.test('a signal closes a list, and one that is not there yet is refused', async (t) => {
  const server = await startEventServer(t)
  const tasks = connect(t, server.url).service('tasks')
  const controller = new AbortController()
  const opening = tasks.live({ signal: controller.signal })
  ;(await server.stream(0)).open([])
  const list = await opening
  const late = errorOf(tasks.live({ query: { a: 1 }, signal: controller.signal }))
  await server.stream(1)
  controller.abort()
  t.match(await late, { name: 'AbortError' })
  t.equal(list.status, 'closed')
  await until(() => server.streams.every(({ isClosed }) => isClosed))
})

t.test('a list that the server refuses is no list', async (t) => {
  const server = await startEventServer(t)
  const error = errorOf(connect(t, server.url).service('tasks').live())
  ;(await server.stream(0)).refuse(403, 'Forbidden')
  t.ok((await error) instanceof Forbidden)
})

t.test('a list that the server refuses later says so, and keeps its records', async (t) => {
  const { list, stream } = await open(t, {}, [{ id: 1 }])
  stream.end('refused', 'no longer')
  await until(() => list.status === 'closed')
  t.match(list.error, { name: 'Forbidden', message: 'no longer' })
  t.strictSame(list.data, [{ id: 1 }])
})

t.test('a find that answers neither a list nor a page makes no list', async (t) => {
  const server = await startEventServer(t)
  for (const [index, snapshot] of [{ count: 1 }, 7, { data: 'none' }].entries()) {
    const error = errorOf(connect(t, server.url).service('tasks').live())
    const stream = (await server.stream(index)).open(snapshot)
    t.match(await error, { name: 'TypeError', message: /a list or a page/ })
    await until(() => stream.isClosed)
  }
})

t.test('a snapshot that is none ends a list, which says so', async (t) => {
  const { list, stream } = await open(t, {}, [{ id: 1 }])
  stream.send('snapshot', { count: 1 })
  await until(() => list.error !== undefined)
  t.match(list.error, { name: 'TypeError' })
  t.equal(list.status, 'closed')
  await until(() => stream.isClosed)
})

t.test('two lists of one query share a connection', async (t) => {
  const { server, list, stream } = await open(t, {}, [{ id: 1 }])
  list.close()
  await until(() => stream.isClosed)
  const tasks = connect(t, server.url).service('tasks')
  const opening = Promise.all([tasks.live(), tasks.live()])
  ;(await server.stream(1)).open([{ id: 1 }])
  const lists = await opening
  server.streams[1]?.send('created', { id: 2 })
  for (const one of lists) {
    await until(() => one.data.length === 2)
    t.strictSame(ids(one), [1, 2])
  }
  t.equal(server.streams.length, 2)
})

function ids(list: LiveList): unknown[] {
  return list.data.map((one) => (one as { id: unknown }).id)
}
