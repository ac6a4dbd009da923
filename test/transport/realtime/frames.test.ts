import { EventSource } from 'eventsource'
import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService, ObjectIdSchema } from '../../../src/adapter/index.ts'
import { DateSchema, Type } from '../../../src/core/schema/index.ts'
import { openDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const server = await startLiveServer(
  t,
  (app) => {
    app.use('tasks', new MongoDBService({ Model, multi: true, paginate: { default: 2, max: 50 } }))
    app.use('lists', new MongoDBService({ Model, multi: true }))
    const schema = Type.Object({
      _id: ObjectIdSchema(),
      owner: ObjectIdSchema(),
      due: DateSchema(),
      points: Type.Number(),
      name: Type.String(),
    })
    const schemas = { entity: schema, create: true, update: true, patch: true } as const
    app.use('typed', new MongoDBService({ Model }), { schemas })
  },
  { realtime: { heartbeatMs: 20 } },
)
const tasks = server.app.service('tasks')

t.beforeEach(() => empty('tasks'))

t.test('begins with when to come back, the headers of a stream and the page of find', async (t) => {
  await tasks.create([1, 2, 3].map((team) => ({ team, name: `task ${team}` })))
  const stream = await server.open('/tasks?$sort[team]=1&$skip=1')
  const { event, id, data } = await stream.next()
  t.match(stream.headers, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  })
  t.equal(stream.retryMs, 2_000)
  t.equal(event, 'snapshot')
  t.ok(id)
  t.strictSame(data, (await server.request('/tasks?$sort[team]=1&$skip=1')).body)
  t.match(data, { total: 3, limit: 2, skip: 1, data: [{ team: 2 }, { team: 3 }] })
})

t.test('begins with the list of a service without pages', async (t) => {
  await tasks.create({ team: 'red' })
  const stream = await server.open('/lists?team=red')
  t.strictSame((await stream.next()).data, (await server.request('/lists?team=red')).body)
})

t.test('tells what is created, updated, patched and removed, each as find shows it', async (t) => {
  const stream = await server.open('/tasks?team=red')
  await stream.next()
  const { _id } = (await tasks.create({ team: 'red', name: 'a' })) as { _id: ObjectId }
  t.match(await stream.next(), {
    event: 'created',
    data: { _id: `${_id}`, team: 'red', name: 'a' },
  })
  await tasks.update(_id, { team: 'red', name: 'b' })
  t.match(await stream.next(), { event: 'updated', data: { _id: `${_id}`, name: 'b' } })
  await tasks.patch(_id, { name: 'c' })
  const patched = await stream.next()
  t.equal(patched.event, 'patched')
  const { data } = (await server.request('/tasks?team=red')).body as { data: Document[] }
  t.strictSame(patched.data, data[0])
  await tasks.remove(_id)
  t.match(await stream.next(), { event: 'removed', data: { _id: `${_id}`, name: 'c' } })
  const ids = stream.frames.map(({ id }) => id)
  t.equal(new Set(ids).size, 5, 'each has an id of its own')
})

t.test('tells writes from outside as well as those of the process', async (t) => {
  const stream = await server.open('/tasks?team=red')
  await stream.next()
  const { body } = await server.request('/tasks', { data: { team: 'red', name: 'by rest' } })
  t.strictSame((await stream.next()).data, body)
})

t.test('compares with the values that the schema makes of the query string', async (t) => {
  const owner = new ObjectId()
  const query = `/typed?owner=${owner}&due[$gte]=2026-01-01T00:00:00Z&points[$lt]=10`
  const stream = await server.open(query)
  t.equal((await stream.next()).event, 'snapshot')
  const typed = server.app.service('typed')
  const due = new Date('2026-05-01')
  const record = { owner, due, points: 9, name: 'right' }
  await typed.create({ ...record, points: 10, name: 'many points' })
  await typed.create({ ...record, due: new Date('2025-12-31'), name: 'early' })
  await typed.create({ ...record, owner: new ObjectId(), name: 'other owner' })
  await typed.create(record)
  t.match(await stream.next(), { event: 'created', data: { name: 'right', owner: `${owner}` } })
})

t.test('a query by _id is one by ObjectId', async (t) => {
  const _id = new ObjectId()
  const stream = await server.open(`/tasks?_id=${_id}`)
  await stream.next()
  await tasks.create({ name: 'other' })
  await tasks.create({ _id, name: 'this' })
  t.match(await stream.next(), { event: 'created', data: { name: 'this' } })
})

t.test('$limit and $skip shape the snapshot alone', async (t) => {
  await tasks.create([1, 2, 3].map((rank) => ({ team: 'red', rank })))
  const stream = await server.open('/tasks?team=red&$limit=1&$skip=1&$sort[rank]=1')
  t.match((await stream.next()).data, { total: 3, limit: 1, data: [{ rank: 2 }] })
  for (const name of ['d', 'e', 'f']) await tasks.create({ team: 'red', name })
  t.strictSame(await linesSoFar(stream, tasks, { team: 'red' }), [
    'created d',
    'created e',
    'created f',
  ])
})

t.test('$limit=0 is a page without records, and a stream all the same', async (t) => {
  await tasks.create({ team: 'red' })
  const stream = await server.open('/tasks?team=red&$limit=0')
  t.match((await stream.next()).data, { total: 1, limit: 0, data: [] })
  await tasks.create({ team: 'red', name: 'heard' })
  t.match(await stream.next(), { event: 'created', data: { name: 'heard' } })
})

t.test('a stream without events has comments', async (t) => {
  const stream = await server.open('/tasks')
  await until(() => stream.comments >= 3)
  t.equal(stream.frames.length, 1)
})

t.test('text of any kind comes as it was', async (t) => {
  const stream = await server.open('/tasks')
  await stream.next()
  const name = 'a\n\nevent: removed\rdata: {}\r\n\u2028"\\ \u{1F600} ü \u0000'
  await tasks.create({ name })
  t.match(await stream.next(), { event: 'created', data: { name } })
})

t.test('the official EventSource reads a stream, and comes back to it', async (t) => {
  const sent: unknown[] = []
  const fetchNoting = (url: string | URL, init: RequestInit): Promise<Response> => {
    sent.push((init.headers as Record<string, string>)['Last-Event-ID'])
    return fetch(url, init)
  }
  const source = new EventSource(`${server.url}/tasks?team=red`, { fetch: fetchNoting as never })
  t.teardown(() => source.close())
  const heard: string[] = []
  for (const event of ['snapshot', 'created', 'removed', 'resync']) {
    source.addEventListener(event, ({ data, lastEventId }) => {
      const { _id, total } = JSON.parse(data)
      heard.push(`${event} ${_id ?? total} ${lastEventId === '' ? 'lost' : 'kept'}`)
    })
  }
  await until(() => heard.length >= 1)
  await tasks.create({ _id: 'a', team: 'red' } as object)
  await until(() => heard.length >= 2)
  server.fastify.server.closeAllConnections()
  await until(() => source.readyState === EventSource.CONNECTING)
  await tasks.create({ _id: 'b', team: 'red' } as object)
  await tasks.remove('a')
  await until(() => heard.length >= 4)
  t.strictSame(heard, ['snapshot 0 kept', 'created a kept', 'created b kept', 'removed a kept'])
  t.equal(sent.length, 2)
  t.match(sent[1], /\S/)
})

t.test('a change of several at once is told in the order of the events', async (t) => {
  const stream = await server.open('/tasks?team=red')
  await stream.next()
  await tasks.create(['a', 'b', 'c'].map((name) => ({ team: 'red', name })))
  const frames = [await stream.next(), await stream.next(), await stream.next()]
  t.strictSame(toLines(frames), ['created a', 'created b', 'created c'])
})
