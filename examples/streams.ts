// Orders exported as CSV and NDJSON. It reads an export with the client; then try the lines it prints.
// `npx tsx node_modules/remex/examples/streams.ts`. Reads PORT (3030), HOST (127.0.0.1)
// and MONGODB_URL (an embedded database by default).
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { createClient } from 'remex/client'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const NewOrder = Type.Object({ customer: Type.String(), amount: Type.Number() })
const Order = Type.Object({
  _id: ObjectIdSchema(),
  ...NewOrder.properties,
})
type Order = Static<typeof Order>

type Services = { orders: MongoDBService<Order> }

/** Returns the application. */
export function createOrders(db: Db): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  const orders = new MongoDBService<Order>({
    Model: db.collection<Order>('orders'),
    paginate: { default: 10, max: 100 },
    limits: { stream: 1_000_000, timeMs: 60_000 },
    multi: ['create'],
  })
  app.use('orders', orders, { schemas: { entity: Order, create: NewOrder } })
  return app
}

/** Resolves to the sum of all orders, without having them all in memory. */
export async function sumOrders(baseURL: string): Promise<number> {
  const client = createClient<Services>({ baseURL })
  let sum = 0
  for await (const { amount } of client.service('orders').stream()) sum += amount
  return sum
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createOrders(client.db('remex_streams'))
  await app.listen({ port: Number(PORT), host: HOST })
  const orders = app.service('orders')
  const { total } = await orders.find({ query: { $limit: 0 } })
  const names = ['Ann', 'Bob', '=HYPERLINK("https://evil.example")']
  const data = Array.from({ length: 900 }, (_none, n) => ({
    customer: names[n % 3] ?? '',
    amount: n,
  }))
  if (total === 0) await orders.create(data)
  const url = `http://${HOST}:${PORT}`
  if (PORT !== '0') console.log(`All orders: ${await sumOrders(url)}\n`)
  console.log(`Try

  curl -H 'accept: application/x-ndjson' '${url}/orders?customer=Ann'
  curl -H 'accept: text/csv' -g '${url}/orders?$select[]=customer&$select[]=amount' -o orders.csv

and open ${url}/orders?$format=csv in a browser, which saves it.

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
