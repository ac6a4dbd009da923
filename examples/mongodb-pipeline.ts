// Orders with their customers, joined by the database:
// `npx tsx node_modules/remex/examples/mongodb-pipeline.ts`. Ends by itself. Reads MONGODB_URL (an
// embedded database by default), and writes only to `remex_pipeline`.
import { MongoClient } from 'mongodb'
import { createApp } from 'remex/core'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBParams } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'

interface Order {
  _id: number
  customer: string
  item: string
  price: number
  count: number
  region: string
}

type Services = { orders: MongoDBService<Order> }

const { MONGODB_URL } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const client = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const db = client.db('remex_pipeline')
await db.dropDatabase()
await db.collection<{ _id: string; name: string }>('customers').insertMany([
  { _id: 'ann', name: 'Ann Ash' },
  { _id: 'bob', name: 'Bob Birch' },
])

const app = createApp<Services>()
app.use(
  'orders',
  new MongoDBService<Order>({
    Model: db.collection<Order>('orders'),
    paginate: { default: 2 },
    multi: ['create'],
  }),
)
const orders = app.service('orders')
await orders.create([
  { _id: 1, customer: 'ann', item: 'tea', price: 4, count: 2, region: 'north' },
  { _id: 2, customer: 'bob', item: 'cup', price: 9, count: 1, region: 'north' },
  { _id: 3, customer: 'ann', item: 'pot', price: 30, count: 1, region: 'north' },
  { _id: 4, customer: 'bob', item: 'tea', price: 4, count: 5, region: 'south' },
])

const withCustomer = [
  {
    $lookup: {
      from: 'customers',
      localField: 'customer',
      foreignField: '_id',
      as: 'customer',
    },
  },
  { $unwind: '$customer' },
]

const page = await orders.find({
  query: { price: { $lt: 20 }, $sort: { _id: 1 } },
  pipeline: [
    ...withCustomer,
    {
      $addFields: { total: { $multiply: ['$price', '$count'] } },
    },
  ],
})
// { total: 3, limit: 2, skip: 0,
//   data: [{ _id: 1, customer: { _id: 'ann', … }, total: 8, … }, …] }

console.log('page:', JSON.stringify(page))
console.log('one:', JSON.stringify(await orders.get(3, { pipeline: withCustomer })))

const onlyNorth = ({ params }: { params: MongoDBParams }) => {
  const match = { $match: { region: 'north' } }
  params.pipeline = [match, { $framework: {} }, ...withCustomer]
}
orders.hooks({
  before: {
    find: [onlyNorth],
    get: [onlyNorth],
    update: [onlyNorth],
    patch: [onlyNorth],
    remove: [onlyNorth],
  },
})

console.log('in the north:', JSON.stringify(await orders.find()))
console.log('patched:', JSON.stringify(await orders.patch(2, { count: 3 })))
console.log('in the south:', await orders.patch(4, { count: 3 }).catch(String))

const cursor = await orders.aggregateRaw({
  query: { region: 'north' },
  paginate: false,
  pipeline: [
    {
      $group: { _id: '$customer', orders: { $sum: 1 } },
    },
    { $sort: { _id: 1 } },
  ],
})

for await (const row of cursor) console.log('orders:', JSON.stringify(row))

await db.dropDatabase()
await client.close()
await embedded?.close()
