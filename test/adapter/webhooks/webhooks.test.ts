import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { FileService } from '../../../src/adapter/files/index.ts'
import { transaction } from '../../../src/adapter/index.ts'
import { jobs } from '../../../src/adapter/jobs/index.ts'
import type { WebhookService, WebhooksOptions } from '../../../src/adapter/webhooks/index.ts'
import { webhooks } from '../../../src/adapter/webhooks/index.ts'
import { protect } from '../../../src/auth/index.ts'
import type { AnyApplication, AroundHook, Hook } from '../../../src/transport/index.ts'
import { addExternalForm, createApp } from '../../../src/transport/index.ts'
import { openDatabase } from '../../support/database.ts'
import type { Received } from './webhook-app.ts'
import { LATER, startReceiver, startShop } from './webhook-app.ts'

const database = await openDatabase(t)
const { db } = database

/** Returns whether the library of Standard Webhooks accepts a request. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

t.test('sends the record of a write to the endpoint of its owner, signed', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database)
  const { url, received } = await startReceiver(t)
  const endpoint = await addEndpoint(url)
  t.match(endpoint, { url, events: ['orders.created'], enabled: true, reason: null })
  t.match(endpoint.secret, /^whsec_.{44}$/)
  const { body: order } = await send('POST', '/orders', { amount: 12 })
  t.match(await listDeliveries(), [{ status: 'pending', answers: [] }])
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  const [request] = received as [Received]
  t.equal(received.length, 1)
  t.ok(isSigned(request, endpoint.secret))
  t.notOk(isSigned(request, (await addEndpoint(url)).secret))
  t.notOk(isSigned({ ...request, body: `${request.body} ` }, endpoint.secret))
  t.equal(request.headers['content-type'], 'application/json')
  const message = JSON.parse(request.body)
  t.strictSame(message.data, order)
  t.match(message, { type: 'orders.created', timestamp: /^\d{4}-.*Z$/ })
  const [delivery] = await listDeliveries()
  t.match(delivery, { event: 'orders.created', endpointId: endpoint._id, status: 'delivered' })
  t.match(delivery.answers, [{ status: 204, body: '', error: null, ms: Number, at: String }])
  t.equal(request.headers['webhook-id'], `msg_${delivery._id}`)
  t.equal(delivery.body, request.body)
})

t.test('sends the events that an endpoint lists, also of many records at once', async (t) => {
  const { app, send, addEndpoint } = await startShop(t, database)
  const { url, received } = await startReceiver(t)
  await addEndpoint(url, 'ann', ['orders.created', 'orders.removed'])
  const { body } = await send('POST', '/orders', [{ amount: 1 }, { amount: 2 }])
  await send('PATCH', `/orders/${body[0]._id}`, { amount: 3 })
  await send('DELETE', `/orders/${body[1]._id}`)
  await send('GET', '/orders')
  await app.jobs.run()
  const sent = received.map(({ body }) => [JSON.parse(body).type, JSON.parse(body).data.amount])
  t.strictSame(sent.sort(), [
    ['orders.created', 1],
    ['orders.created', 2],
    ['orders.removed', 2],
  ])
})

t.test('stores deliveries if, and only if, the write is committed (HOOK-5)', async (t) => {
  const { app, orders, send, addEndpoint } = await startShop(t, database)
  const { url, received } = await startReceiver(t)
  await addEndpoint(url)
  const count = async () => [
    await db.collection('orders').countDocuments(),
    await db.collection('deliveries').countDocuments(),
    await db.collection('jobs').countDocuments(),
  ]
  const write = (isAborted: boolean) =>
    transaction(app, async () => {
      await orders.create({ createdBy: 'ann' })
      t.strictSame(await app.jobs.run(), { done: 0, failed: 0 }, 'not visible before the commit')
      if (isAborted) throw new Error('no')
    })
  await t.rejects(write(true), { message: 'no' })
  const refuse = (): never => {
    throw new Error('refused after the write')
  }
  let isRefused = true
  orders.hooks({ after: { create: [() => (isRefused ? refuse() : undefined)] } })
  t.match(await send('POST', '/orders', {}), { status: 500 })
  t.strictSame(await count(), [0, 0, 0])
  isRefused = false
  await write(false)
  t.strictSame(await count(), [1, 1, 1])
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.equal(received.length, 1)
})

t.test('a write that runs again after a conflict has one delivery (HOOK-5)', async (t) => {
  const { app, orders, addEndpoint, send } = await startShop(t, database)
  const { url, received } = await startReceiver(t)
  await addEndpoint(url, 'ann', ['orders.patched'])
  const { body } = await send('POST', '/orders', { amount: 1 })
  let runs = 0
  orders.hooks({
    before: {
      patch: [
        async () => {
          runs += 1
          if (runs > 1) return
          await orders.get(body._id)
          await db.collection('orders').updateOne({}, { $set: { note: 'by another process' } })
        },
      ],
    },
  })
  t.match(await send('PATCH', `/orders/${body._id}`, { amount: 2 }), { status: 200 })
  t.equal(runs, 2)
  await app.jobs.run()
  t.match(received, [{ data: { amount: 2, note: 'by another process' } }])
  t.equal(received.length, 1)
})

t.test('sends records to no one but their owners (HOOK-6)', async (t) => {
  const { app, orders, send, addEndpoint } = await startShop(t, database)
  const [ann, eve] = [await startReceiver(t), await startReceiver(t)]
  await addEndpoint(ann.url, 'ann')
  await addEndpoint(eve.url, 'eve')
  await send('POST', '/orders', { amount: 1 }, 'ann')
  await send('POST', '/orders', { amount: 2 }, 'eve')
  await orders.create({ amount: 3 })
  await orders.create({ amount: 4, createdBy: null })
  await orders.create({ amount: 5, createdBy: ['ann', 'eve'] })
  await orders.create({ amount: 6, createdBy: /./ })
  await orders.create([
    { amount: 7, createdBy: 'ann' },
    { amount: 8, createdBy: 'eve' },
  ])
  await app.jobs.run()
  t.strictSame(ann.received.map(({ data }) => data.amount).sort(), [1, 7])
  t.strictSame(eve.received.map(({ data }) => data.amount).sort(), [2, 8])
})

t.test('`may` decides in place of the owner: only `true` sends (HOOK-6)', async (t) => {
  const asked: unknown[] = []
  const verdicts: Record<string, unknown> = { ann: true, bob: 'yes', eve: false, kim: undefined }
  const { app, send, addEndpoint } = await startShop(t, database, {
    webhooks: {
      may: async (record, owner, context) => {
        asked.push([record.cost, owner, context.method])
        return verdicts[String(owner)] as boolean
      },
    },
  })
  const { url, received } = await startReceiver(t)
  for (const user of Object.keys(verdicts)) await addEndpoint(url, user)
  t.match(await send('POST', '/orders', { cost: 9 }, 'eve'), { status: 201 })
  t.strictSame(asked.length, 4)
  t.strictSame(asked[0], [9, 'ann', 'create'])
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.equal(received.length, 1)
})

t.test('`may` that fails lets the write fail, and sends nothing (HOOK-6)', async (t) => {
  const may = () => Promise.reject(new Error('no'))
  const { send, addEndpoint } = await startShop(t, database, { webhooks: { may } })
  await addEndpoint('http://127.0.0.1:1/')
  t.match(await send('POST', '/orders', {}), { status: 500 })
  t.equal(await db.collection('orders').countDocuments(), 0)
  t.equal(await db.collection('jobs').countDocuments(), 0)
})

t.test('sends no field that external callers do not see (HOOK-7)', async (t) => {
  const text = { type: 'string' }
  const { app, orders, send, addEndpoint } = await startShop(t, database, {
    store: { hidden: ['cost'] },
    service: {
      methods: ['find', 'get', 'patch', 'remove'],
      schemas: {
        entity: { type: 'object', properties: { _id: text, name: text, pin: text, note: text } },
        patch: { type: 'object', properties: { name: text } },
      },
    },
  })
  orders.hooks({ after: { all: [protect('pin')] } })
  const { url, received } = await startReceiver(t)
  await addEndpoint(url, 'ann', ['orders.created', 'orders.patched', 'orders.removed'])
  const secrets = { cost: 1, pin: '1234', margin: 2, createdBy: 'ann' }
  const order = (await orders.create({ name: 'a', note: 'n', ...secrets })) as { _id: string }
  await orders.patch(order._id, { name: 'b' })
  await orders.patch(order._id, { name: 'c' }, { query: { $select: ['cost'] } })
  await send('PATCH', `/orders/${order._id}?$select[]=name`, { name: 'd' })
  await orders.remove(order._id)
  await app.jobs.run()
  const _id = String(order._id)
  const shown = ['a', 'b', 'c', 'd', 'd'].map((name) => ({ _id, name, note: 'n' }))
  t.strictSame(
    received.map(({ data }) => data).sort((a, b) => (a.name < b.name ? -1 : 1)),
    shown,
  )
})

t.test('sends the external form of a record, without hidden fields (HOOK-7)', async (t) => {
  const { app, orders, addEndpoint } = await startShop(t, database, {
    store: { hidden: ['cost', 'address.street'] },
  })
  const hidePin = ({ pin: _, ...others }: Record<string, unknown>) => others
  const addForm: Hook = ({ result }) => addExternalForm(result as object, hidePin as never)
  orders.hooks({ after: { all: [addForm] } })
  const { url, received } = await startReceiver(t)
  await addEndpoint(url)
  const address = { street: 'a', town: 'b' }
  await orders.create({ createdBy: 'ann', name: 'a', pin: '1234', cost: 1, address })
  await app.jobs.run()
  const { _id, ...sent } = (received as [Received])[0].data
  t.strictSame(sent, { createdBy: 'ann', name: 'a', address: { town: 'b' } })
})

t.test('sends what hooks have set in place of the result (HOOK-7)', async (t) => {
  const { app, orders, send, addEndpoint } = await startShop(t, database)
  const show: AroundHook = async (context, next) => {
    await next()
    const hide = ({ cost: _, ...others }: Record<string, unknown>) => others
    const { result } = context as { result: unknown }
    context.dispatch = Array.isArray(result) ? result.map(hide) : hide(result as never)
  }
  orders.hooks({ around: { all: [show] } })
  const { url, received } = await startReceiver(t)
  await addEndpoint(url, 'ann', ['orders.created', 'orders.patched'])
  const { body } = await send('POST', '/orders', [
    { name: 'a', cost: 1 },
    { name: 'b', cost: 2 },
  ])
  await send('PATCH', `/orders/${body[0]._id}?$select[]=cost`, { name: 'c' })
  await app.jobs.run()
  t.strictSame(received.map(({ data }) => data.name).sort(), ['a', 'b', 'c'])
  t.notOk(received.some(({ data }) => 'cost' in data))
})

t.test('applies the hooks of the application, whenever they were added (HOOK-7)', async (t) => {
  const hidePin = ({ pin: _, ...others }: Record<string, unknown>) => others
  const addForm: Hook = ({ result }) => addExternalForm(result as object, hidePin as never)
  const addHooks = (app: AnyApplication) => app.hooks({ around: [addAround], after: [addForm] })
  const addAround: AroundHook = async (context, next) => {
    await next()
    context.dispatch = { ...(context.result as object), seen: true }
  }
  for (const isFirst of [true, false]) {
    const shop = await startShop(t, database, isFirst ? { configure: addHooks } : {})
    if (!isFirst) addHooks(shop.app)
    const { url, received } = await startReceiver(t)
    await shop.addEndpoint(url)
    await shop.orders.create({ createdBy: 'ann', name: 'a', pin: '1234' })
    await shop.app.jobs.run()
    t.match(received, [{ data: { name: 'a', seen: true } }], `first: ${isFirst}`)
  }
})

t.test('`$select` hides neither the owner nor the record of an event (HOOK-6)', async (t) => {
  const { app, send, addEndpoint } = await startShop(t, database)
  const { url, received } = await startReceiver(t)
  await addEndpoint(url, 'ann', ['orders.created', 'orders.patched', 'orders.removed'])
  const { body } = await send('POST', '/orders?$select[]=_id', { amount: 1 })
  t.strictSame(Object.keys(body), ['_id'])
  await send('PATCH', `/orders/${body._id}?$select[]=_id`, { amount: 2 })
  await send('DELETE', `/orders/${body._id}?$select[]=_id`)
  await app.jobs.run()
  t.equal(received.length, 3)
  t.strictSame(received.flatMap(({ data }) => data.amount ?? []).sort(), [1, 2])
})

t.test('sends events that hooks choose, of services without a collection too', async (t) => {
  const addBills = (app: AnyApplication) => {
    const choose: Hook = (context) => {
      context.event = 'paid'
    }
    const service = { pay: async (data: object) => data }
    app.use('shops/:shop/bills', service, { methods: ['pay'], serviceEvents: ['paid'] })
    app.service('shops/:shop/bills').hooks({ after: { pay: [choose] } })
  }
  const { app, addEndpoint } = await startShop(t, database, {
    configure: addBills,
    webhooks: {
      events: { orders: ['created'], 'shops/:shop/bills': ['paid'] },
      ownerField: 'owner',
    },
  })
  const { url, received } = await startReceiver(t)
  await addEndpoint(url, 'ann', ['shops/:shop/bills.paid'])
  const bills = app.service('shops/:shop/bills') as unknown as { pay(data: object): unknown }
  await bills.pay({ owner: 'ann', amount: 1 })
  await bills.pay({ owner: 'eve', amount: 2 })
  await app.jobs.run()
  t.strictSame(
    received.map(({ data }) => data),
    [{ owner: 'ann', amount: 1 }],
  )
})

t.test('callers see and change only their own endpoints and deliveries (HOOK-8)', async (t) => {
  const { app, send, addEndpoint } = await startShop(t, database)
  const { url } = await startReceiver(t)
  const endpoint = await addEndpoint(url)
  await send('POST', '/orders', {})
  await app.jobs.run()
  const [delivery] = (await send('GET', '/webhook-deliveries')).body.data
  const listed = `/webhook-deliveries?endpointId=${endpoint._id}&status=delivered`
  t.match(await send('GET', listed), { body: { total: 1 } })
  const paths = [`/webhooks/${endpoint._id}`, `/webhook-deliveries/${delivery._id}`]
  for (const path of paths) {
    t.match(await send('GET', path), { status: 200 })
    t.match(await send('GET', path, undefined, 'eve'), { status: 404 })
    t.match(await send('GET', path, undefined, null), { status: 401 })
  }
  for (const path of ['/webhooks', '/webhook-deliveries']) {
    t.match(await send('GET', path, undefined, 'eve'), { body: { total: 0, data: [] } })
    t.match(await send('GET', path, undefined, null), { status: 401 })
    t.match(await send('GET', `${path}?owner=ann`, undefined, 'eve'), { status: 400 })
  }
  t.match(await send('PATCH', paths[0] as string, { enabled: false }, 'eve'), { status: 404 })
  t.match(await send('DELETE', paths[0] as string, undefined, 'eve'), { status: 404 })
  t.match(await send('PATCH', paths[1] as string, { status: 'pending' }, 'eve'), { status: 404 })
  const forged = { url, events: ['orders.created'], owner: 'ann' }
  t.match(await send('POST', '/webhooks', forged, 'eve'), { status: 400 })
  t.match(await send('POST', '/webhooks', { ...forged, secrets: [] }), { status: 400 })
  t.match(await send('POST', '/webhooks', { url, events: ['users.created'] }), { status: 400 })
  t.match(await send('PATCH', paths[1] as string, { body: '{}' }), { status: 400 })
  t.strictSame(await app.jobs.run({ at: LATER }), { done: 0, failed: 0 })
})

t.test('limits the endpoints of an owner (HOOK-8)', async (t) => {
  const { send, addEndpoint } = await startShop(t, database, { webhooks: { maxPerOwner: 2 } })
  const data = { url: 'https://hooks.example/', events: ['orders.created'] }
  await addEndpoint(data.url)
  t.match(await send('POST', '/webhooks', data), { status: 201 })
  const { status, body } = await send('POST', '/webhooks', data)
  t.strictSame([status, body.message], [409, 'You have 2 webhooks, the maximum. Remove one first'])
  t.match(await send('POST', '/webhooks', data, 'eve'), { status: 201 })
})

t.test('limits the endpoints of an owner who creates many at once (HOOK-8)', async (t) => {
  const { send } = await startShop(t, database, { webhooks: { maxPerOwner: 3 } })
  const data = { url: 'https://hooks.example/', events: ['orders.created'] }
  const all = await Promise.all(Array.from({ length: 12 }, () => send('POST', '/webhooks', data)))
  const created = all.filter(({ status }) => status === 201).length
  const refused = all.filter(({ status }) => status === 409).length
  t.equal(created + refused, 12)
  t.ok(created <= 3)
  t.equal(await db.collection('webhooks').countDocuments(), created)
})

t.test('stores the deliveries of many records by a few commands', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database)
  const { url, received } = await startReceiver(t)
  for (let index = 0; index < 2; index += 1) await addEndpoint(url)
  const entry = app.entries.get('orders')?.service as { hideFields(record: object): unknown }
  const hide = entry.hideFields.bind(entry)
  let shown = 0
  entry.hideFields = (record) => {
    shown += 1
    return hide(record)
  }
  const data = Array.from({ length: 20 }, (_, amount) => ({ amount }))
  const params = { user: { _id: 'ann' } } as never
  const commands = await database.commandsOf(() => app.service('orders').create(data, params))
  const writes = commands.filter(({ insert, update, findAndModify }) =>
    ['deliveries', 'jobs'].includes(insert ?? update ?? findAndModify),
  )
  t.equal(writes.length, 2)
  t.equal(shown, 20, 'a record is shown once')
  t.equal((await send('GET', '/webhook-deliveries')).body.total, 40)
  t.strictSame(await app.jobs.run(), { done: 40, failed: 0 })
  t.equal(new Set(received.map((one) => one.data.amount)).size, 20)
  t.match(await listDeliveries(), [{ status: 'delivered' }])
})

t.test('refuses a call with more deliveries than a transaction should have', async (t) => {
  const { app, db, addEndpoint } = await startShop(t, database)
  await addEndpoint('https://hooks.example/')
  const data = Array.from({ length: 1_001 }, (_, amount) => ({ amount }))
  const params = { user: { _id: 'ann' } } as never
  await t.rejects(app.service('orders').create(data, params), {
    code: 400,
    errorCode: 'INVALID_REQUEST',
    message:
      'The call has 1001 deliveries of webhooks, more than 1000. Write fewer records at once',
  })
  t.equal(await db.collection('orders').countDocuments(), 0)
})

t.test('shows a secret once, and never again (HOOK-9)', async (t) => {
  const { app, send, addEndpoint } = await startShop(t, database)
  const seen: unknown[] = []
  const { secret, _id } = await addEndpoint('https://hooks.example/')
  for (const [path, data] of [
    [`/webhooks/${_id}`],
    ['/webhooks'],
    [`/webhooks/${_id}`, { enabled: true }],
    ['/webhooks?$select[]=secrets'],
    [`/webhooks?secrets.key=${encodeURIComponent(secret)}`],
    ['/webhooks?$sort[secrets]=1'],
  ] as const) {
    seen.push(await send(data === undefined ? 'GET' : 'PATCH', path, data))
  }
  t.strictSame(
    seen.map((answer) => (answer as { status: number }).status),
    [200, 200, 200, 400, 400, 400],
  )
  t.notOk(JSON.stringify(seen).includes(secret.slice(6)))
  t.strictSame(app.entries.get('webhooks')?.options.serviceEvents, [])
})

t.test(
  'internal calls create endpoints for owners, and get the secret once (HOOK-9)',
  async (t) => {
    const { app } = await startShop(t, database)
    const endpoints = app.service('webhooks') as unknown as WebhookService
    const params = {}
    const data = { url: 'https://hooks.example/', events: ['orders.created'] }
    const { _id, secret } = await endpoints.create({ ...data, owner: 'ann' }, params)
    t.match(secret, /^whsec_/)
    const patched = await endpoints.patch(_id, { enabled: false }, params)
    t.match(patched, { secret: undefined, enabled: false, reason: 'Disabled by its owner' })
    t.match((await endpoints.patch(_id, { rotateSecret: true }, params)).secret, /^whsec_/)
    t.strictSame(params, {})
    await t.rejects(endpoints.create(data), { code: 400, message: 'A webhook needs an owner' })
    const events = ['orders.created', 'users.created']
    const invalid = endpoints.create({ ...data, events, owner: 'ann' })
    await t.rejects(invalid, { code: 400, message: /Allowed are orders.created, / })
  },
)

t.test('signs by both secrets for a day after a rotation (HOOK-9)', async (t) => {
  const { app, send, addEndpoint } = await startShop(t, database)
  const { url, received } = await startReceiver(t)
  const { secret: old, _id } = await addEndpoint(url)
  const { status, body } = await send('PATCH', `/webhooks/${_id}`, { rotateSecret: true })
  t.equal(status, 200, body.message)
  t.not(body.secret, old)
  const sendOne = async () => {
    await send('POST', '/orders', {})
    await app.jobs.run()
    return received.at(-1) as Received
  }
  const first = await sendOne()
  t.equal(String(first.headers['webhook-signature']).split(' ').length, 2)
  t.ok(isSigned(first, body.secret))
  t.ok(isSigned(first, old))
  const yesterday = new Date('2026-01-01')
  await db.collection('webhooks').updateOne({}, { $set: { 'secrets.0.at': yesterday } })
  const second = await sendOne()
  t.ok(isSigned(second, body.secret))
  t.notOk(isSigned(second, old))
})

t.test('can only be configured so that nothing is missed', async (t) => {
  const collection = db.collection('jobs')
  const options = {
    ...{ endpoints: db.collection('webhooks'), deliveries: db.collection('deliveries') },
    events: { orders: ['created'] },
  }
  const notes = () => ({ get: async () => ({}), create: async () => ({}) })
  const withJobs = () => createApp().configure(jobs({ collection, start: false }))
  t.throws(() => createApp().configure(webhooks(options)), /needs jobs\(\)/)
  t.throws(
    () => webhooks({ ...options, events: { orders: 'created' } as never }),
    /'events' must be/,
  )
  t.throws(() => webhooks({ ...options, evnts: {} } as never), /did you mean 'events'/)
  t.throws(() => webhooks({ events: {} } as never), /'endpoints' is required/)
  const setUp = (events: WebhooksOptions['events'], service: object = notes()) =>
    withJobs()
      .configure(webhooks({ ...options, events }))
      .use('orders', service as never)
      .setup()
  await t.rejects(setUp({ orders: ['create'] }), /'orders' has no event 'create'/)
  await t.rejects(setUp({ order: ['created'] }), /no service 'order'/)
  const files = new FileService({ Model: db.collection('files') })
  await t.rejects(setUp({ orders: ['created'] }, files), {
    errorCode: 'INVALID_OPTION',
    message: "webhooks(): a create of 'orders' cannot be part of a transaction",
  })
  const mounted = createApp().use('notes', notes())
  await t.rejects(setUp({ 'orders/notes': ['created'] }, mounted), /no service 'orders\/notes'/)
})

t.test('services without events or files have no hooks of them, nor have reads', async (t) => {
  const notes = () => ({ get: async () => ({}), create: async () => ({}) })
  const app = createApp().use('earlier', notes())
  app.configure(jobs({ collection: db.collection('jobs'), start: false }))
  app.configure(
    webhooks({
      ...{ endpoints: db.collection('webhooks'), deliveries: db.collection('deliveries') },
      events: { earlier: ['created'], later: ['created'] },
    }),
  )
  app.use('later', notes()).use('plain', notes())
  app.use('files', new FileService({ Model: db.collection('files') }))
  await app.setup()
  t.teardown(() => app.teardown())
  const listHooked = (path: string): string[] =>
    [...(app.entries.get(path)?.methods.values() ?? [])]
      .filter(({ chain }) => chain !== null)
      .map(({ name }) => name)
  t.strictSame(['earlier', 'later', 'plain', 'files'].map(listHooked), [
    ['create'],
    ['create'],
    [],
    ['create', 'patch'],
  ])
})
