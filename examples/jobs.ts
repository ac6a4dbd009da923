// Orders whose confirmation is sent by a job, and a job that removes old carts each night. Try the lines it
// prints. `npm install croner`, then `npx tsx node_modules/remex/examples/jobs.ts`. Reads PORT (3030), HOST
// (127.0.0.1) and MONGODB_URL (an embedded database by default).
import { fileURLToPath } from 'node:url'
import { Cron } from 'croner'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { jobs } from 'remex/jobs'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService, transaction } from 'remex/mongodb'

interface Order {
  email: string
  amount: number
}

interface Cart {
  changedAt: Date
}

type Services = {
  orders: MongoDBListService<Order>
  carts: MongoDBListService<Cart>
}

/** Sends an email, for example with nodemailer. */
export type SendEmail = (to: string, text: string, id: string) => Promise<void>

declare module 'remex/jobs' {
  interface JobData {
    'confirm-order': { email: string; amount: number }
    'remove-carts': null
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** Returns the application. */
export function createShop(
  db: Db,
  sendEmail: SendEmail,
  start = true,
): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.configure(
    jobs({
      collection: db.collection('jobs'),
      start,
      handlers: {
        'confirm-order': async ({ email, amount }, { job }) => {
          await sendEmail(email, `Thank you for ${amount} EUR`, job.id)
        },
        'remove-carts': {
          schedule: new Cron('0 3 * * *', { timezone: 'Europe/Berlin' }),
          run: async (_data, params) => {
            const changedAt = { $lt: new Date(Date.now() - 30 * DAY_MS) }
            await app.service('carts').remove(null, { ...params, query: { changedAt } })
          },
        },
      },
    }),
  )
  app.use('orders', new MongoDBService({ Model: db.collection<Order>('orders') }))
  app.use('carts', new MongoDBService({ Model: db.collection<Cart>('carts'), multi: true }), {
    methods: [],
  })
  app.service('orders').hooks({
    around: { create: [transaction()] },
    after: {
      create: [
        async ({ result, params }) => {
          const { email, amount } = result as Order
          await app.jobs.enqueue('confirm-order', { email, amount }, { params })
        },
      ],
    },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createShop(client.db('remex_jobs'), async (to, text) => console.log(`${to}: ${text}`))
  await app.listen({ port: Number(PORT), host: HOST })
  const data = '{"email":"ann@example.org","amount":12}'
  console.log(`Try

  curl http://${HOST}:${PORT}/orders -H 'content-type: application/json' -d '${data}'

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
