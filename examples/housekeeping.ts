// What an application does apart from requests: it seeds data, and sends an email after a write. `npx tsx
// node_modules/remex/examples/housekeeping.ts`. Reads PORT (3030), HOST (127.0.0.1) and MONGODB_URL (an embedded database
// by default).
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication, HookContext } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const NewOrder = Type.Object({ email: Type.String(), product: Type.String() })
const Order = Type.Object({
  _id: ObjectIdSchema(),
  ...NewOrder.properties,
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

/** Returns the application. */
export function createShop(db: Db, sendEmail: SendEmail): Shop {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.use('orders', new MongoDBService({ Model: db.collection<Order>('orders') }), {
    methods: ['create'],
    schemas: { entity: Order, create: NewOrder },
  })
  app.service('orders').hooks({
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
  return app
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
