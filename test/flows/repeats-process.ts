// Counters whose writes have an `Idempotency-Key`, in a process of their own, for tests that end processes. Each
// write adds a mark, in the same transaction: the marks tell how often it was done. Prints its port when it is
// ready, and then the id of each session that it begins transactions by. The argument is JSON: `{ url, name }`,
// where the name is that of the database.
import type { AddressInfo } from 'node:net'
import { MongoClient } from 'mongodb'
import { idempotent, MongoDBService } from '../../src/adapter/index.ts'
import type { AnyServices, Application, AroundHook, Hook } from '../../src/core/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'

const { url, name } = JSON.parse(process.argv[2] ?? '{}')

const client = await MongoClient.connect(url, { monitorCommands: true })
const db = client.db(name)
const app = fastifyApp(createApp<AnyServices>()).configure(rest())
// Lost connections and killed processes are what the tests are about.
app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined }

const logIn: AroundHook = ({ params }, next) => {
  params.user = { _id: params.headers?.['user'] } as never
  return next()
}

const mark: Hook = async ({ app, data, method }) => {
  const { tag } = data as { tag: string }
  await (app as Application<AnyServices>).service('marks').create({ tag, method })
}

app.use(
  'counters',
  new MongoDBService({
    Model: db.collection('counters'),
    version: 'v',
    updateOperators: ['$inc'],
  }) as never,
)
app.use('marks', new MongoDBService({ Model: db.collection('marks') }) as never, { methods: [] })
const repeats = new MongoDBService({
  Model: db.collection('repeats'),
  indexes: [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }],
})
app.use('repeats', repeats as never, { methods: [] })
app.service('counters').hooks({
  around: { all: [logIn, idempotent({ service: 'repeats', required: true })] },
  after: { create: [mark], patch: [mark] },
} as never)

const server = await app.listen(0)
console.log((server.address() as AddressInfo).port)

const sessions = new Set<string>()
client.on('commandStarted', ({ command }) => {
  const id = command['startTransaction'] ? command['lsid'].id.toString('hex') : undefined
  if (id === undefined || sessions.has(id)) return
  sessions.add(id)
  console.log(id)
})
