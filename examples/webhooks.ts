// Users register URLs of their servers, which get the orders of their owner as signed requests. Try the lines
// it prints. `npx tsx node_modules/remex/examples/webhooks.ts`. Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL
// (an embedded database by default), AUTH_SECRET (a new one at each start by default) and NODE_ENV.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import { jobs } from 'remex/jobs'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, createdBy, limitTo, MongoDBService } from 'remex/mongodb'
import type { WebhookDeliveryService, WebhookService } from 'remex/webhooks'
import { webhooks } from 'remex/webhooks'

interface User {
  email: string
  password: string
}

interface Order {
  amount: number
  createdBy?: ObjectId
}

type Services = {
  users: MongoDBListService<User>
  authentication: AuthenticationService
  orders: MongoDBListService<Order>
  webhooks: WebhookService
  'webhook-deliveries': WebhookDeliveryService
}

/** Returns the application. Only in development, webhooks may go to this machine. */
export function createShop(
  db: Db,
  secret: string,
  isDevelopment = process.env['NODE_ENV'] === 'development',
): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'email', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  app.use('users', new MongoDBService({ Model: db.collection<User>('users') }), {
    methods: ['create'],
  })
  app.service('users').hooks({
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })
  app.configure(jobs({ collection: db.collection('jobs') }))
  app.configure(
    webhooks({
      endpoints: db.collection('webhooks'),
      deliveries: db.collection('webhook-deliveries'),
      events: { orders: ['created', 'patched', 'removed'] },
      around: [authenticate('jwt')],
      allowPrivateNetwork: isDevelopment,
    }),
  )
  app.use('orders', new MongoDBService({ Model: db.collection<Order>('orders') }))
  app.service('orders').hooks({
    around: { all: [authenticate('jwt')] },
    before: {
      all: [limitTo<Order>(({ user }) => ({ createdBy: (user as { _id: ObjectId })._id }))],
      create: [createdBy()],
    },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createShop(client.db('remex_webhooks'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/users ${json} -d '{"email":"ann@example.org","password":"correct horse"}'
  curl ${url}/authentication ${json} \\
    -d '{"strategy":"local","email":"ann@example.org","password":"correct horse"}'
  TOKEN=... # the accessToken from that response
  curl ${url}/webhooks ${json} -H "authorization: Bearer $TOKEN" \\
    -d '{"url":"https://hooks.example.org/orders","events":["orders.created"]}'
  curl ${url}/orders ${json} -H "authorization: Bearer $TOKEN" -d '{"amount":12}'
  curl ${url}/webhook-deliveries -H "authorization: Bearer $TOKEN"

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
