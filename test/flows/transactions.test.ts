import { MongoClient } from 'mongodb'
import t from 'tap'

import { MongoDBService, transaction } from '../../src/adapter/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { Conflict } from '../../src/core/index.ts'
import { startOwnServer } from '../support/own-server.ts'
import {
  asStandalone,
  DRIVER_COMMANDS,
  failTimes,
  runAll,
  startScriptedServer,
} from '../support/scripted-server.ts'

/** What happens to commands in the test that runs; none of them is recorded outside of tests. */
let script = runAll
let commands: string[] = []

const url = await startScriptedServer(t, (name, command, run) => {
  if (!DRIVER_COMMANDS.has(name)) commands.push(name)
  return script(name, command, run)
})
const client = new MongoClient(url, { replicaSet: 'rs0' })
t.teardown(() => client.close())
const db = client.db('shop')
const seen: string[] = []
let attempts = 0

/** Changes all that a context has, so that one sees what the next attempt finds. */
function prepare(context: HookContext): void {
  attempts += 1
  const data = context.data as { steps?: number }
  context.data = { ...data, steps: (data.steps ?? 0) + 1 }
  context.params = { ...context.params, query: {} }
  context.http.headers = { ...context.http.headers, 'x-attempts': `${attempts}` }
  Reflect.set(context, 'note', `${Reflect.get(context, 'note') ?? ''}!`)
}

async function takeFromStock(context: HookContext): Promise<void> {
  const { item, note } = context.result as { item: string; note?: string }
  const stock = context.app.service('stock')
  const { left } = (await stock.patch(item, { $inc: { left: -1 } })) as { left: number }
  await context.app.service('log').create({ text: note ?? 'sold' })
  if (left < 0) throw new Conflict('There is none left')
}

const server = await startOwnServer(t, (app) => {
  for (const path of ['orders', 'stock', 'log']) {
    app.use(path, new MongoDBService({ Model: db.collection(path), paginate: { default: 10 } }))
    for (const event of ['created', 'patched']) {
      app.service(path).on(event, () => seen.push(`${path} ${event}`))
    }
  }
  app.service('orders').hooks({
    around: { create: [transaction()] },
    before: { create: [prepare] },
    after: { create: [takeFromStock] },
  })
  app.service('log').hooks({ around: { create: [transaction()] } })
})

t.beforeEach(async () => {
  await Promise.all(['orders', 'stock', 'log'].map((name) => db.collection(name).deleteMany({})))
  await db.collection('stock').insertOne({ _id: 'pen' as never, left: 1 })
  script = runAll
  attempts = 0
  commands = []
  seen.length = 0
})

const order = () => server.request('/orders', { data: { item: 'pen' } })

const countAll = () =>
  Promise.all(['orders', 'log'].map((name) => db.collection(name).countDocuments()))

t.test('a request writes through several services in one transaction', async (t) => {
  const { status, body } = await order()
  t.match({ status, body }, { status: 201, body: { item: 'pen', steps: 1 } })
  t.strictSame(commands, ['insert', 'findAndModify', 'insert', 'commitTransaction'])
  t.strictSame(seen, ['stock patched', 'log created', 'orders created'])
})

t.test('a hook that throws after three writes leaves nothing (DB-15)', async (t) => {
  await db.collection('stock').updateOne({}, { $set: { left: 0 } })
  const { status, body } = await order()
  t.match({ status, body }, { status: 409, body: { message: 'There is none left' } })
  t.equal(commands.at(-1), 'abortTransaction')
  t.strictSame(await countAll(), [0, 0])
  t.match(await db.collection('stock').findOne(), { left: 0 })
  t.strictSame(seen, [])
})

t.test('a write conflict is tried again, with the context as it was (DB-14)', async (t) => {
  const errorLabels = ['TransientTransactionError']
  script = failTimes(2, 'findAndModify', { code: 112, errmsg: 'WriteConflict', errorLabels })
  const { status, body, headers } = await order()
  t.match({ status, body }, { status: 201, body: { item: 'pen', steps: 1 } })
  t.equal(headers['x-attempts'], '3')
  t.equal(commands.filter((name) => name === 'abortTransaction').length, 2)
  t.strictSame(await countAll(), [1, 1])
  t.strictSame(seen, ['stock patched', 'log created', 'orders created'])
})

t.test('a commit that the database refuses is tried again with all before it', async (t) => {
  const errorLabels = ['TransientTransactionError']
  script = failTimes(1, 'commitTransaction', {
    code: 251,
    errmsg: 'NoSuchTransaction',
    errorLabels,
  })
  const { status, body, headers } = await order()
  t.match({ status, body }, { status: 201, body: { item: 'pen', steps: 1 } })
  t.equal(headers['x-attempts'], '2')
  t.strictSame(await countAll(), [1, 1])
  t.match(await db.collection('stock').findOne(), { left: 0 })
  t.strictSame(seen, ['stock patched', 'log created', 'orders created'])
})

t.test('a write conflict in creating many is tried again', async (t) => {
  const errorLabels = ['TransientTransactionError']
  script = failTimes(1, 'insert', { code: 112, errmsg: 'WriteConflict', errorLabels })
  const lines = server.app.service('log')
  const params = { adapter: { multi: true } } as object
  await transaction(server.app, () => lines.create([{ text: 'a' }, { text: 'b' }], params))
  t.strictSame(commands, ['insert', 'abortTransaction', 'insert', 'commitTransaction'])
  t.strictSame(await countAll(), [0, 2])
})

t.test('a commit whose reply is lost twice has happened once (DB-16)', async (t) => {
  let lost = 0
  script = async (name, _command, run) => {
    const reply = await run()
    if (name !== 'commitTransaction' || lost === 2) return reply
    lost += 1
    throw new Error('lost')
  }
  t.equal((await order()).status, 201)
  t.equal(lost, 2)
  t.equal(attempts, 1)
  t.strictSame(await countAll(), [1, 1])
  t.strictSame(seen, ['stock patched', 'log created', 'orders created'])
})

t.test('a commit that is not confirmed gives 503, and emits nothing (DB-16)', async (t) => {
  script = async (name, _command, run) => {
    const reply = await run()
    return name === 'commitTransaction' ? { ok: 0, code: 50, errmsg: 'secret' } : reply
  }
  const { status, body, headers } = await order()
  t.match({ status, body }, { status: 503, body: { errors: { outcome: 'unknown' } } })
  t.ok(headers['retry-after'])
  t.strictSame(seen, [])
})

t.test('a caller that has gone is not tried for again', async (t) => {
  const controller = new AbortController()
  const errorLabels = ['TransientTransactionError']
  const conflict = failTimes(9, 'findAndModify', { code: 112, errmsg: 'conflict', errorLabels })
  script = (name, command, run) => {
    if (name === 'abortTransaction') controller.abort()
    return conflict(name, command, run)
  }
  const call = server.app.service('orders').create({ item: 'pen' }, { signal: controller.signal })
  await t.rejects(call, { name: 'BadRequest', message: 'The call was aborted' })
  t.equal(attempts, 1)
})

t.test('a call that sets a result before the hook keeps it', async (t) => {
  const app = server.app
  const context = { result: undefined as unknown }
  app.use('cached', new MongoDBService({ Model: db.collection('log') }))
  app.service('cached').hooks([
    async (call, next) => {
      call.result = { cached: true }
      await next()
      context.result = call.result
    },
    transaction(),
  ])
  t.strictSame(await app.service('cached').create({ text: 'x' }), { cached: true })
  t.strictSame(commands, [])
})

t.test('a standalone server is answered with 501, whatever comes first', async (t) => {
  const standalone = await startScriptedServer(t, asStandalone())
  const single = new MongoClient(standalone)
  t.teardown(() => single.close())
  const service = new MongoDBService({ Model: single.db('shop').collection('log') })
  server.app.use('single', service)
  const refused = {
    name: 'NotImplemented',
    code: 501,
    message: 'Transactions need a replica set or a sharded cluster',
  }
  const options = { client: single }
  await t.rejects(
    transaction(server.app, () => service.create({ a: 1 }), options),
    refused,
  )
  await t.rejects(
    transaction(server.app, () => service.find(), options),
    refused,
  )
})
