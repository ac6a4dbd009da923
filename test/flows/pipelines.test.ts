import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { openDatabase } from '../support/database.ts'
import { startOwnServer } from '../support/own-server.ts'

const { empty } = await openDatabase(t)
const orders = await empty('orders')
const customers = await empty('customers')
await customers.insertMany([
  { _id: 'ann', name: 'Ann' },
  { _id: 'bob', name: 'Bob' },
] as unknown as Document[])
const WITH_CUSTOMER = [
  { $match: { region: 'north' } },
  { $framework: {} },
  { $lookup: { from: 'customers', localField: 'by', foreignField: '_id', as: 'by' } },
  { $unwind: '$by' },
]
const params = { pipeline: WITH_CUSTOMER } as { pipeline: unknown }
const server = await startOwnServer(t, (app) => {
  app.use(
    'orders',
    new MongoDBService({ Model: orders, paginate: { default: 2 }, hidden: ['cost'] }),
  )
  app.service('orders').hooks({
    before: {
      all: async (context) => {
        Object.assign(context.params, { pipeline: params.pipeline } as MongoDBParams)
      },
    },
  })
})

t.beforeEach(async () => {
  params.pipeline = WITH_CUSTOMER
  await orders.deleteMany({})
  await orders.insertMany([
    { _id: 'a', by: 'ann', n: 1, region: 'north', cost: 'SECRET' },
    { _id: 'b', by: 'bob', n: 2, region: 'north', cost: 'SECRET' },
    { _id: 'c', by: 'ann', n: 3, region: 'south', cost: 'SECRET' },
    { _id: 'd', by: 'ann', n: 4, region: 'north', cost: 'SECRET' },
  ] as unknown as Document[])
})

t.test('a hook joins records for every method', async (t) => {
  const ann = { _id: 'a', by: { name: 'Ann' }, n: 1, cost: undefined }
  t.match(await server.request('/orders?$sort[n]=1'), {
    status: 200,
    body: { total: 3, limit: 2, skip: 0, data: [ann, { _id: 'b', by: { name: 'Bob' } }] },
  })
  t.match(await server.request('/orders/a'), { status: 200, body: ann })
  const patch = { method: 'PATCH', data: { n: 7 } }
  t.match(await server.request('/orders/a', patch), { status: 200, body: { ...ann, n: 7 } })
  const put = { method: 'PUT', data: { by: 'bob', region: 'north' } }
  t.match(await server.request('/orders/a', put), { status: 200, body: { by: { name: 'Bob' } } })
  const post = { data: { by: 'ann', region: 'north', cost: 'SECRET' } }
  const created = await server.request('/orders', post)
  t.match(created, { status: 201, body: { by: { name: 'Ann' } } })
  t.notMatch(JSON.stringify(created.body), 'SECRET')
  t.match(await server.request('/orders/d', { method: 'DELETE' }), { body: { _id: 'd', n: 4 } })
  t.equal(await orders.countDocuments({ _id: 'd' } as Document), 0)
})

t.test('records that the pipeline excludes are not there, and stay as they are', async (t) => {
  for (const request of [{}, { method: 'PATCH', data: { n: 9 } }, { method: 'DELETE' }]) {
    t.match(await server.request('/orders/c', request), { status: 404 })
  }
  t.match(await orders.findOne({ _id: 'c' } as Document), { n: 3 })
})

t.test('no query string becomes a pipeline', async (t) => {
  params.pipeline = undefined
  const nothing = { status: 200, body: { total: 0 } }
  t.match(await server.request('/orders?pipeline=1'), nothing)
  t.match(await server.request('/orders?pipeline[0][n]=1'), nothing)
  for (const query of [
    'pipeline[0][$match][n]=1',
    '$pipeline[0][n]=1',
    '$match[n]=1',
    '$framework=',
  ]) {
    t.match(await server.request(`/orders?${query}`), { status: 400 })
  }
})

t.test('a fault in a pipeline is one of the server, and is not told', async (t) => {
  params.pipeline = [{ $out: 'customers' }]
  const answer = await server.request('/orders')
  t.match(answer, { status: 500 })
  t.notMatch(JSON.stringify(answer.body), '$out')
  t.equal(await customers.countDocuments(), 2)
})
