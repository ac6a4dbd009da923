// What an application does apart from requests: it seeds data, sends an email after a write, and deletes old records every
// hour. `npx tsx node_modules/remex/examples/housekeeping.ts`. Reads PORT (3030), HOST (127.0.0.1) and MONGODB_URL
// (an embedded database by default).
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { FastifyApplication, HookContext, Logger } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { DateSchema, Type } from 'remex/schema'

const NewOrder = Type.Object({ email: Type.String(), product: Type.String() })
const Order = Type.Object({
  _id: Type.Unsafe<ObjectId>(ObjectIdSchema()),
  ...NewOrder.properties,
  createdAt: DateSchema(),
})
type Order = Static<typeof Order>

type Services = { orders: MongoDBListService<Order> }
export type Shop = FastifyApplication<Services>

export interface Email {
  readonly to: string
  readonly subject: string
}

/** Sends an email, such as `(email) => nodemailerTransport.sendMail(email)`. */
export type SendEmail = (email: Email) => Promise<unknown>

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Returns the application. Its orders are forgotten after 30 days. */
export function createShop(db: Db, sendEmail: SendEmail): Shop {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  const Model = db.collection<Order>('orders')
  app.use('orders', new MongoDBService({ Model, multi: ['remove'] }), {
    methods: ['create'],
    schemas: { entity: Order, create: NewOrder },
  })
  app.service('orders').hooks({
    before: {
      create: (context: HookContext) => {
        Object.assign(context.data as object, { createdAt: new Date() })
      },
    },
    after: {
      create: ({ result, params }: HookContext) => {
        // Seeds and other internal calls send no emails.
        if (params.provider === undefined) return
        const { email, product } = result as Order
        // Not awaited: a failing email must not fail an order that is stored.
        sendEmail({ to: email, subject: `Your order: ${product}` }).catch((error: unknown) => {
          app.logger.error({ err: error }, 'The email of an order was not sent')
        })
      },
    },
  })
  runEvery(app, HOUR_MS, () => deleteOldOrders(app))
  return app
}

/** Deletes the orders of more than 30 days ago. */
export async function deleteOldOrders(app: Shop): Promise<void> {
  const $lt = new Date(Date.now() - 30 * DAY_MS)
  await app.service('orders').remove(null, { query: { createdAt: { $lt } } })
}

/** Runs a job from the start of the application to its end. A failure is logged. */
export function runEvery(app: Shop, intervalMs: number, job: () => Promise<void>): void {
  const { logger }: { logger: Logger } = app
  let timer: NodeJS.Timeout
  app.hooks({
    setup: [
      async (_context, next) => {
        await next()
        timer = setInterval(() => {
          job().catch((error: unknown) => logger.error({ err: error }, 'A job has failed'))
        }, intervalMs)
      },
    ],
    teardown: [
      async (_context, next) => {
        clearInterval(timer)
        await next()
      },
    ],
  })
}

/** Stores orders to start with. Internal calls need no login, and run the hooks. */
export async function seed(app: Shop): Promise<void> {
  const orders = app.service('orders')
  // A second run adds nothing.
  if ((await orders.find({ query: { $limit: 1 } })).length > 0) return
  for (const product of ['tea', 'coffee']) {
    await orders.create({ email: 'ada@example.org', product } as Order)
  }
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createShop(client.db('remex_housekeeping'), async (email) => console.log(email))
  await seed(app)
  await app.listen({ port: Number(PORT), host: HOST })
  console.log(`Orders at http://${HOST}:${PORT}/orders. Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
