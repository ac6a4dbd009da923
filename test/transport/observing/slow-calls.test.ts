import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { toQueryShape } from '../../../src/transport/observing/query-shape.ts'
import { openDatabase } from '../../support/database.ts'
import { startServer } from '../../support/http.ts'

t.test('the shape of a query has its names, and none of its values', async (t) => {
  const query = {
    team: 'secret',
    $or: [{ a: 1 }, { a: 2, b: { $gt: 3 } }],
    $sort: { due: 1 },
    $select: ['x'],
  }
  t.strictSame(toQueryShape(query), ['team', '$or.a', '$or.b.$gt', '$sort.due', '$select'])
  t.strictSame(toQueryShape(undefined), [])
  t.strictSame(toQueryShape({ a: {}, at: new Date(5) }), ['a', 'at'])
  const many = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`a${index}`, 1]))
  t.equal(toQueryShape(many).length, 20)
  t.equal(toQueryShape({ ['x'.repeat(500)]: 1 })[0]?.length, 60)
})

t.test('a call that takes slowMs is logged, whatever comes of it', async (t) => {
  const services = { find: async () => [], get: () => Promise.reject(new RangeError('broken')) }
  const server = await startServer(t, 'standalone', {
    slowMs: 0,
    services: (app) => app.use('notes', services as never),
  })
  await server.request('/notes?team=secret&$sort[due]=1')
  await server.request('/notes/1')
  const slow = server.logged.filter(({ message }) => message === 'Slow call')
  t.match(slow, [
    {
      details: {
        service: 'notes',
        method: 'find',
        durationMs: Number,
        query: ['team', '$sort.due'],
      },
    },
    { details: { service: 'notes', method: 'get', requestId: String, query: [] } },
  ])
  t.notMatch(JSON.stringify(slow), /secret/)
})

t.test('nothing is logged without it, nor what is quicker', async (t) => {
  for (const options of [{}, { slowMs: 100_000 }]) {
    const server = await startServer(t, 'standalone', {
      ...options,
      services: (app) => app.use('notes', { find: async () => [] } as never),
    })
    await server.request('/notes')
    t.strictSame(server.logged, [])
  }
})

t.test('a slow call says how often it has asked the database', async (t) => {
  const { empty } = await openDatabase(t)
  const Model = await empty('notes')
  const server = await startServer(t, 'standalone', {
    slowMs: 0,
    services: (app) => {
      app.use('notes', new MongoDBService({ Model, paginate: { default: 5 } }))
      app.service('notes').hooks({
        before: {
          create: async ({ params, service }) => {
            await service.find({ ...params, query: {} })
          },
        },
      })
    },
  })
  await server.request('/notes?team=a')
  await server.request('/notes', { method: 'POST', data: { team: 'a' } })
  const slow = server.logged.map(({ details }) => details)
  t.match(slow, [
    { method: 'find', databaseCalls: 1 },
    { method: 'create', databaseCalls: 1 },
  ])
})
