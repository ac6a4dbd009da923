import t from 'tap'
import { startProvider, startRawProvider } from '../../auth/oauth/provider/fake-provider.ts'
import { holdTimers } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { LATER, startReceiver, startShop } from './webhook-app.ts'

const database = await openDatabase(t)
const { db } = database

/** What users see of each request without a response. */
const NO_RESPONSE = 'No valid response from a public address in time'

t.test('tries a delivery again until it succeeds, with the same id and body', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database)
  const { url, received } = await startReceiver(t, 500, 404)
  await addEndpoint(url)
  await send('POST', '/orders', { amount: 1 })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 }, 'it waits')
  t.match(await listDeliveries(), [{ status: 'pending', answers: [{ error: 'Status 500' }] }])
  await app.jobs.run({ at: LATER })
  await app.jobs.run({ at: LATER })
  const [delivery] = await listDeliveries()
  t.equal(delivery.status, 'delivered')
  t.strictSame(
    delivery.answers.map(({ status }: { status: number }) => status),
    [500, 404, 204],
  )
  t.equal(new Set(received.map(({ body }) => body)).size, 1)
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1)
})

t.test('a delivery fails after its attempts, and can be sent again by its owner', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database, {
    webhooks: { attempts: 2 },
  })
  const { url, received } = await startReceiver(t, 500, 503)
  await addEndpoint(url)
  await send('POST', '/orders', {})
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  t.strictSame(await app.jobs.run({ at: LATER }), { done: 1, failed: 0 })
  const [failed] = await listDeliveries()
  t.match(failed, { status: 'failed', answers: [{ status: 500 }, { status: 503 }] })
  t.equal(await db.collection('jobs').countDocuments(), 0, 'no dead job is left')
  const again = await send('PATCH', `/webhook-deliveries/${failed._id}`, { status: 'pending' })
  t.match(again, { status: 200, body: { status: 'pending' } })
  await send('PATCH', `/webhook-deliveries/${failed._id}`, { status: 'pending' })
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 }, 'one job, however often it is asked')
  t.match(await listDeliveries(), [{ status: 'delivered', answers: { length: 3 } }])
  t.equal(received.length, 3)
})

t.test('a delivery ends whose process was killed in the last attempt', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database, {
    webhooks: { attempts: 1 },
  })
  const { url } = await startReceiver(t, 500)
  await addEndpoint(url)
  await send('POST', '/orders', {})
  const left = { lease: 'of a killed process', attempts: 1, runAt: new Date(0) }
  await db.collection('jobs').updateMany({}, { $set: left })
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.match(await listDeliveries(), [{ status: 'failed', answers: [{ status: 500 }] }])
  t.equal(await db.collection('jobs').countDocuments(), 0)
})

t.test('disables an endpoint after failures in a row, until its owner enables it', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database, {
    webhooks: { attempts: 1, disableAfter: 2 },
  })
  const { url, received } = await startReceiver(t, 500, 200, 500, 502)
  const { _id } = await addEndpoint(url)
  const order = async () => {
    await send('POST', '/orders', {})
    await app.jobs.run()
  }
  const get = async () => (await send('GET', `/webhooks/${_id}`)).body
  await order()
  await order()
  await order()
  t.match(await get(), { enabled: true, reason: null }, 'a success between them counts')
  await send('POST', '/orders', {})
  await order()
  t.match(await get(), {
    enabled: false,
    reason: '2 deliveries in a row have failed. The last one: Status 502',
  })
  t.equal(received.length, 4)
  t.match((await listDeliveries()).at(-1), {
    status: 'failed',
    answers: [{ status: null, error: 'The endpoint is disabled or was removed' }],
  })
  await order()
  t.equal((await listDeliveries()).length, 5, 'no delivery is stored for it')
  const enabled = await send('PATCH', `/webhooks/${_id}`, { enabled: true })
  t.match(enabled.body, { enabled: true, reason: null })
  await order()
  t.equal(received.length, 5)
})

t.test('an endpoint that is gone, disabled or removed gets nothing more', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database)
  const gone = await startReceiver(t, 410)
  const { _id } = await addEndpoint(gone.url)
  await send('POST', '/orders', {})
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  const { body } = await send('GET', `/webhooks/${_id}`)
  t.match(body, { enabled: false, reason: 'It responded with status 410: gone' })
  const other = await startReceiver(t)
  for (const [method, data] of [['PATCH', { enabled: false }], ['DELETE']] as const) {
    const endpoint = await addEndpoint(other.url)
    await send('POST', '/orders', {})
    t.match(await send(method, `/webhooks/${endpoint._id}`, data), { status: 200 })
    t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  }
  t.equal(other.received.length, 0)
  t.match(await listDeliveries(), [{}, { status: 'failed' }, { status: 'failed' }])
})

t.test('rejects URLs of private networks, however they are written (HOOK-1)', async (t) => {
  const { send } = await startShop(t, database, { webhooks: { allowPrivateNetwork: false } })
  const urls = [
    ...['https://169.254.169.254/latest', 'https://[::ffff:127.0.0.1]/', 'https://127.0.0.1/'],
    ...['https://2130706433/', 'https://0177.0.0.1/', 'https://0x7f.1/', 'https://[::1]:8080/'],
    ...['http://hooks.example/', 'ftp://hooks.example/', 'https://a:b@hooks.example/', 'hooks', ''],
  ]
  const events = ['orders.created']
  for (const url of urls) {
    t.match(await send('POST', '/webhooks', { url, events }), { status: 400 }, url)
  }
  const { status, body } = await send('POST', '/webhooks', { url: 'https://a.example/', events })
  t.equal(status, 201)
  const change = { url: 'https://10.0.0.1/' }
  t.match(await send('PATCH', `/webhooks/${body._id}`, change), { status: 400 })
})

t.test('connects to no private network, whatever is stored (HOOK-1)', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database, {
    webhooks: { allowPrivateNetwork: false },
  })
  const { server, received } = await startReceiver(t)
  await addEndpoint('https://hooks.example/')
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '169.254.169.254']) {
    const url = `https://${host}:${server.port}/`
    await db.collection('webhooks').updateOne({}, { $set: { url, pause: null } })
    await send('POST', '/orders', {})
    await app.jobs.run()
    const { answers } = (await listDeliveries()).at(-1)
    t.match(answers, [{ status: null, error: NO_RESPONSE }], host)
  }
  t.strictSame([server.connections, received.length], [0, 0])
})

t.test('follows no redirect (HOOK-3)', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database)
  const inner = await startReceiver(t)
  const server = await startProvider(t, (_request, reply) => {
    reply.writeHead(307, { location: inner.url }).end()
  })
  await addEndpoint(server.origin)
  await send('POST', '/orders', {})
  await app.jobs.run()
  t.match(await listDeliveries(), [
    { answers: [{ status: 307, error: 'Status 307: redirects are not followed' }] },
  ])
  t.equal(inner.received.length, 0)
})

t.test('stores 500 bytes of an answer of 100 MB (HOOK-4)', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database)
  const server = await startRawProvider(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
    const chunk = Buffer.alloc(65_536, 'x')
    const go = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', go)
    go()
  })
  await addEndpoint(server.origin)
  await send('POST', '/orders', {})
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  const [{ status, answers }] = await listDeliveries()
  t.equal(status, 'delivered')
  t.equal(answers[0].body, 'x'.repeat(500))
  await until(() => server.open === 0)
})

t.test('an endpoint that never answers ends with the time limit (HOOK-4)', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database, {
    webhooks: { timeoutMs: 4321 },
  })
  const timers = holdTimers(t, 4321)
  const server = await startRawProvider(t, () => undefined)
  await addEndpoint(server.origin)
  await send('POST', '/orders', {})
  const running = app.jobs.run()
  await until(() => server.connections >= 1, running)
  timers.fire()
  t.strictSame(await running, { done: 0, failed: 1 })
  t.match(await listDeliveries(), [
    { status: 'pending', answers: [{ status: null, error: NO_RESPONSE }] },
  ])
  await until(() => server.open === 0)
})

t.test('an application that closes counts no failure, and leaves the delivery', async (t) => {
  const { app, send, addEndpoint } = await startShop(t, database, {
    webhooks: { timeoutMs: 600_000 },
  })
  const server = await startRawProvider(t, () => undefined)
  await addEndpoint(server.origin)
  await send('POST', '/orders', {})
  const timers = holdTimers(t, 10_000)
  const running = app.jobs.run()
  await until(() => server.connections >= 1, running)
  const closing = app.close()
  await until(() => timers.size >= 1)
  timers.fire()
  await Promise.all([closing, running])
  const stored = await db.collection('deliveries').findOne({})
  t.match(stored, { status: 'pending', answers: { length: 0 } })
  t.match(await db.collection('jobs').findOne({}), { state: 'open', attempts: 0, lease: null })
})

t.test('the database removes deliveries after their time', async (t) => {
  await startShop(t, database)
  const indexes = await db.collection('deliveries').indexes()
  t.match(
    indexes.find(({ key }) => key['expiresAt'] === 1),
    { expireAfterSeconds: 0 },
  )
})

t.test('tells users nothing of the network, and the log everything (HOOK-1)', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database, {
    webhooks: { allowPrivateNetwork: false, attempts: 2 },
  })
  const logged = { info: [] as unknown[], errors: [] as unknown[] }
  const error = (details: object) => logged.errors.push(details)
  app.logger = { error, warn: error, info: (...entry) => logged.info.push(entry) }
  for (const host of ['localhost', 'unknown.invalid']) {
    await addEndpoint(`https://${host}/`)
    await send('POST', '/orders', {})
    t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
    await app.jobs.run({ at: LATER })
    await db.collection('webhooks').deleteMany({})
  }
  const seen = (await listDeliveries()).flatMap(({ answers }: { answers: object[] }) =>
    answers.map((answer) => ({ ...answer, at: null, ms: 0 })),
  )
  const answer = { at: null, ms: 0, status: null, body: '', error: NO_RESPONSE }
  t.strictSame(seen, [answer, answer, answer, answer])
  const text = JSON.stringify(logged.info)
  t.equal(text.match(/https:\/\/localhost has an address that is not public/g)?.length, 2, text)
  t.equal(text.match(/https:\/\/unknown.invalid cannot be reached/g)?.length, 2)
  t.notMatch(text, /stack/)
  t.strictSame(logged.errors, [], 'a failed delivery is no error of the application')
})

t.test('slow endpoints hold up no other jobs, and have all of their time', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await startShop(t, database, {
    webhooks: { timeoutMs: 600_000 },
  })
  t.match(app.jobs.handlers.get('webhook'), { concurrency: 5, timeoutMs: 630_000 })
  const { url } = await startReceiver(t)
  await addEndpoint(url)
  await send('POST', '/orders', {})
  const stored = () => db.collection('jobs').find().toArray()
  t.match(await stored(), [{ priority: -1 }])
  await app.jobs.run()
  const [{ _id }] = await listDeliveries()
  await send('PATCH', `/webhook-deliveries/${_id}`, { status: 'pending' })
  t.match(await stored(), [{ priority: -1 }])
})
