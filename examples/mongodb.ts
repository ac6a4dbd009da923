// The first lines of docs/reference/mongodb.md: a service on a collection. Ends by itself.
// `npx tsx node_modules/remex/examples/mongodb.ts`. Reads MONGODB_URL, and writes only to
// `remex_people`.
import { createApp } from 'remex/core'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'

// Your MongoDB, or one inside this process that keeps no data.
const url = process.env['MONGODB_URL'] ?? (await startEmbeddedMongo()).url
const client = await connectMongoDB(url)
const app = createApp()

app.use(
  'people',
  new MongoDBService({
    Model: client.db('remex_people').collection('people'),
    paginate: { default: 10, max: 100 },
  }),
)

await app.service('people').create({ name: 'Ann', age: 32 })
const query = { age: { $gte: 18 }, $sort: { name: 1 }, $limit: 5 }
console.log(await app.service('people').find({ query }))
// { total: 1, limit: 5, skip: 0, data: [{ _id, name: 'Ann', age: 32 }] }
await client.close()
