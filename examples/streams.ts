// Orders exported as CSV and NDJSON, also by a link. It reads an export with the client; then try the lines it prints.
// `npx tsx node_modules/remex/examples/streams.ts`. Reads PORT (3030), HOST (127.0.0.1),
// MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication, Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { AuthenticationService, authenticate, JwtStrategy, requireScope } from 'remex/auth'
import { createClient } from 'remex/client'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const NewOrder = Type.Object({ customer: Type.String(), amount: Type.Number() })
const Order = Type.Object({
  _id: ObjectIdSchema(),
  ...NewOrder.properties,
})
type Order = Static<typeof Order>

const User = Type.Object({ _id: ObjectIdSchema(), email: Type.String() })
type User = Static<typeof User>

type Services = {
  orders: MongoDBService<Order>
  users: MongoDBListService<User>
  'order-links': { create(data: object, params?: Params): Promise<{ url: string }> }
  authentication: AuthenticationService
}

/** Returns the application. */
export function createOrders(db: Db, secret: string): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest({ authentication: { queryToken: true } }))
  const authentication = new AuthenticationService(app, 'authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt'],
  })
  authentication.register('jwt', new JwtStrategy())
  app.use('authentication', authentication)
  app.use('users', new MongoDBService({ Model: db.collection<User>('users') }), { methods: [] })
  const orders = new MongoDBService<Order>({
    Model: db.collection<Order>('orders'),
    paginate: { default: 10, max: 100 },
    limits: { stream: 1_000_000, timeMs: 60_000 },
    multi: ['create'],
  })
  app.use('orders', orders, {
    methods: ['find', 'create'],
    schemas: { entity: Order, create: NewOrder },
  })
  app.use('order-links', {
    create: async (_data: object, params?: Params) => {
      const token = await authentication.createAccessToken(
        { scopes: ['orders:read'] },
        { subject: String(params?.authentication?.payload?.sub), expiresIn: '2m' },
      )
      return { url: `/orders?$format=csv&access_token=${token}` }
    },
  })
  app.service('orders').hooks({
    before: {
      all: [authenticate('jwt')],
      find: [requireScope('orders:read')],
      create: [requireScope('orders:write')],
    },
  })
  app.service('order-links').hooks({
    before: { create: [authenticate('jwt'), requireScope('orders:link')] },
  })
  return app
}

/** Resolves to the sum of all orders, without having them all in memory. */
export async function sumOrders(baseURL: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const client = createClient<Services>({ baseURL, headers })
  let sum = 0
  for await (const { amount } of client.service('orders').stream()) sum += amount
  return sum
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createOrders(client.db('remex_streams'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  const orders = app.service('orders')
  const { total } = await orders.find({ query: { $limit: 0 } })
  const names = ['Ann', 'Bob', '=HYPERLINK("https://evil.example")']
  const data = Array.from({ length: 900 }, (_none, n) => ({
    customer: names[n % 3] ?? '',
    amount: n,
  }))
  if (total === 0) await orders.create(data)
  const users = app.service('users')
  const [user = await users.create({ email: 'ann@example.org' })] = await users.find()
  const token = await app
    .service('authentication')
    .createAccessToken({}, { subject: String(user._id) })
  const url = `http://${HOST}:${PORT}`
  if (PORT !== '0') console.log(`All orders: ${await sumOrders(url, token)}\n`)
  console.log(`Try

  AUTH='authorization: Bearer ${token}'
  curl -H "$AUTH" -H 'accept: application/x-ndjson' '${url}/orders?customer=Ann'
  curl -H "$AUTH" -H 'accept: text/csv' -g '${url}/orders?$select[]=customer&$select[]=amount' -o orders.csv
  curl -H "$AUTH" -X POST ${url}/order-links

and open the url that the last command prints, after ${url}, in a browser: it saves the orders.

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
