// Payments that are made once, however often their request is sent. The client repeats a request if its
// response is lost. `npx tsx node_modules/remex/examples/repeats.ts`. Reads PORT (3030), HOST (127.0.0.1),
// MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication, HookContext } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
} from 'remex/auth'
import { createClient } from 'remex/client'
import { startEmbeddedMongo } from 'remex/embedded'
import { PaymentError } from 'remex/errors'
import type { StoredAnswer } from 'remex/mongodb'
import {
  connectMongoDB,
  createdBy,
  idempotent,
  MongoDBListService,
  MongoDBService,
  ObjectIdSchema,
} from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = ObjectIdSchema()

const NewUser = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ minLength: 12 }),
})
const User = Type.Object({ _id: Id, ...NewUser.properties, balance: Type.Integer() })
type User = Static<typeof User>

const NewPayment = Type.Object({ to: Type.String(), cents: Type.Integer({ minimum: 1 }) })
type NewPayment = Static<typeof NewPayment>
const Payment = Type.Object({ _id: Id, ...NewPayment.properties, createdBy: Id })
type Payment = Static<typeof Payment>

type Services = {
  users: MongoDBListService<User>
  payments: MongoDBListService<Payment, NewPayment>
  repeats: MongoDBListService<StoredAnswer>
  authentication: AuthenticationService
}

/** Takes the money from the payer, or rejects the payment. */
async function withdraw({ app, data, params }: HookContext): Promise<void> {
  const { cents } = data as unknown as NewPayment
  const { _id } = params.user as unknown as User
  const query = { _id, balance: { $gte: cents } }
  const users = (app as unknown as FastifyApplication<Services>).service('users')
  const change = { $inc: { balance: -cents } }
  const [payer] = await users.patch(null, change, { query, adapter: { multi: true } })
  if (payer === undefined) throw new PaymentError('The balance is too low')
}

/** Returns the application. */
export function createPayments(db: Db, secret: string): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'name', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)

  const users = new MongoDBListService<User>({
    Model: db.collection<User>('users'),
    hidden: ['password'],
    indexes: [{ key: { name: 1 }, unique: true }],
  })
  app.use('users', users, {
    methods: ['get', 'create'],
    schemas: { entity: Type.Omit(User, ['password']), create: NewUser },
  })
  const addBalance = (context: HookContext) => {
    context.data = { ...(context.data as object), balance: 1_000 } as never
  }
  app.service('users').hooks({
    around: { get: [authenticate('jwt')] },
    before: { create: [hashPassword('password'), addBalance] },
  })
  addPayments(app, db)
  return app
}

function addPayments(app: FastifyApplication<Services>, db: Db): void {
  const repeats = new MongoDBService({
    Model: db.collection<StoredAnswer>('repeats'),
    indexes: [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }],
  })
  app.use('repeats', repeats, { methods: [] })
  const payments = new MongoDBListService<Payment, NewPayment>({ Model: db.collection('payments') })
  app.use('payments', payments, {
    methods: ['find', 'create'],
    schemas: { entity: Payment, create: NewPayment },
  })
  app.service('payments').hooks({
    around: {
      all: [authenticate('jwt')],
      create: [idempotent({ service: 'repeats', required: true })],
    },
    before: { create: [createdBy(), withdraw] },
  })
}

/** Pays over a bad connection: the client sends a request again if its response is lost. */
export async function pay(baseURL: string, accessToken: string): Promise<unknown> {
  const client = createClient<Services>({
    baseURL,
    headers: { authorization: `Bearer ${accessToken}` },
    retries: 5,
    idempotencyKeys: ['payments'],
  })
  return client.service('payments').create({ to: 'Ben', cents: 250 })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createPayments(client.db('remex_repeats'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/users ${json} -d '{"name":"Ann","password":"correct horse battery"}'
  curl ${url}/authentication ${json} -d '{"strategy":"local","name":"Ann","password":"correct horse battery"}'
  AUTH="authorization: Bearer ..." # the accessToken from that response
  curl -i ${url}/payments ${json} -H "$AUTH" -H 'Idempotency-Key: a' -d '{"to":"Ben","cents":250}' # twice: the same
  curl -i ${url}/payments ${json} -H "$AUTH" -H 'Idempotency-Key: a' -d '{"to":"Ben","cents":9}' # 422
  curl -i ${url}/payments ${json} -H "$AUTH" -d '{"to":"Ben","cents":9}' # 400
  curl ${url}/payments -H "$AUTH" # one payment

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
