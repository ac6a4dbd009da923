import type { Test } from 'tap'
import t from 'tap'
import { startProvider, startRawProvider } from '../../auth/oauth/provider/fake-provider.ts'
import { holdTimers } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { until } from '../../support/until.ts'
import { LATER, startReceiver, startShop } from './webhook-app.ts'

const database = await openDatabase(t)
const { db } = database

/** Longer than any test takes. */
const LONG_MS = 600_000

/** A pause that is over. The next one takes five minutes. */
const OVER = { ms: 300_000, until: new Date(0), probe: null }

const readPause = async () => (await db.collection('webhooks').findOne({}))?.['pause']
const setPause = (pause: object) => db.collection('webhooks').updateMany({}, { $set: { pause } })
const listJobs = () => db.collection('jobs').find().sort({ _id: 1 }).toArray()

/** Starts a shop whose deliveries are tried again after an hour. */
const start = (t: Test, webhooks: object = {}) =>
  startShop(t, database, { webhooks: { backoffMs: () => 3_600_000, ...webhooks } })

/** Starts an endpoint that closes connections without a response as long as it is down. */
async function startUnsteady(t: Test) {
  const state = { isDown: true, requests: 0 }
  const server = await startProvider(t, (request, reply) => {
    state.requests += 1
    if (state.isDown) request.socket.destroy()
    else reply.writeHead(204).end()
  })
  return Object.assign(state, { url: `${server.origin}/hook` })
}

t.test('deliveries wait after a request without a response, those of others do not', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await start(t)
  const [down, eve] = [await startUnsteady(t), await startReceiver(t)]
  const { _id } = await addEndpoint(down.url)
  await addEndpoint(eve.url, 'eve')
  await setPause(OVER)
  await send('POST', '/orders', [{ amount: 1 }, { amount: 2 }, { amount: 3 }])
  await send('POST', '/orders', {}, 'eve')
  const commands = await database.commandsOf(async () => {
    t.strictSame(await app.jobs.run(), { done: 1, failed: 1 })
  })
  t.strictSame([down.requests, eve.received.length], [1, 1])
  const claims = commands.filter(({ findAndModify }) => findAndModify === 'jobs')
  t.equal(claims.length, 3, 'those that wait are not claimed')
  const pause = await db.collection('webhooks').findOne({ 'pause.ms': 300_000 })
  const waiting = [{ attempts: 1 }, ...Array(2).fill({ attempts: 0, runAt: pause?.pause.until })]
  t.match(await listJobs(), waiting, 'they wait for the end of the pause')
  await send('POST', '/orders', {})
  await send('POST', '/orders', {}, 'eve')
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.match((await listJobs()).at(-1), { attempts: 0, lease: null, runAt: pause?.pause.until })
  t.strictSame([down.requests, eve.received.length], [1, 2])
  t.strictSame(
    (await listDeliveries()).map(({ answers }: { answers: object[] }) => answers.length),
    [1, 0, 0, 0],
  )
  t.notOk('pause' in (await send('GET', `/webhooks/${_id}`)).body)
  t.match(await send('GET', '/webhooks?$select[]=pause'), { status: 400 })
  t.match(await send('PATCH', `/webhooks/${_id}`, { pause: null }), { status: 400 })
})

t.test('after a pause one delivery goes first, and all go on if it succeeds', async (t) => {
  const { app: other } = await start(t, { timeoutMs: LONG_MS })
  const { app, send, addEndpoint } = await start(t, { timeoutMs: LONG_MS })
  const gate = new Gate()
  const server = await startProvider(t, async (_request, reply) => {
    await gate.pass()
    reply.writeHead(204).end()
  })
  await addEndpoint(server.origin)
  await setPause(OVER)
  await send('POST', '/orders', [{}, {}, {}, {}])
  const running = app.jobs.run()
  await gate.arrivals(1)
  await send('POST', '/orders', {})
  t.strictSame(await other.jobs.run(), { done: 0, failed: 0 }, 'in another process')
  t.equal(gate.arrived, 1)
  gate.open()
  t.strictSame(await running, { done: 5, failed: 0 })
  t.equal(gate.arrived, 5)
  t.equal(await readPause(), null)
})

t.test('a pause doubles with each request without a response, up to five minutes', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await start(t, { attempts: 3 })
  const down = await startUnsteady(t)
  await addEndpoint(down.url)
  await send('POST', '/orders', {})
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  t.match(await readPause(), { ms: 5_000, probe: null })
  t.strictSame(await app.jobs.run({ at: LATER }), { done: 1, failed: 1 })
  t.match(await readPause(), { ms: 20_000, probe: null })
  t.match(await listDeliveries(), [{ status: 'failed', answers: { length: 3 } }])
  await setPause({ ...OVER, ms: 200_000 })
  await send('POST', '/orders', {})
  await app.jobs.run()
  t.match(await readPause(), { ms: 300_000 })
})

t.test('another delivery goes first if the process of one was killed', async (t) => {
  const { app, send, addEndpoint } = await start(t)
  const { url, received } = await startReceiver(t)
  await addEndpoint(url)
  await setPause({ ...OVER, until: LATER, probe: 'of another process' })
  await send('POST', '/orders', [{}, {}])
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  t.match(await listJobs(), Array(2).fill({ attempts: 0, runAt: LATER, lease: null }))
  await setPause({ ...OVER, probe: 'of another process' })
  await send('POST', '/orders', {})
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.equal(received.length, 1)
  t.equal(await readPause(), null)
})

t.test('a request that began before the pause does not change it', async (t) => {
  const { app, send, addEndpoint } = await start(t, { timeoutMs: LONG_MS })
  const gate = new Gate()
  const server = await startProvider(t, async (request) => {
    await gate.pass()
    request.socket.destroy()
  })
  await addEndpoint(server.origin)
  await send('POST', '/orders', {})
  const running = app.jobs.run()
  await gate.arrivals(1)
  const pause = { ms: 10_000, until: LATER, probe: 'of another process' }
  await setPause(pause)
  gate.open()
  t.strictSame(await running, { done: 0, failed: 1 })
  t.strictSame(await readPause(), pause)
})

t.test('what its owner sends again goes first, if no other delivery does', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await start(t, { attempts: 1 })
  const unsteady = await startUnsteady(t)
  await addEndpoint(unsteady.url)
  await setPause(OVER)
  await send('POST', '/orders', {})
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  const [{ _id, status }] = await listDeliveries()
  t.equal(status, 'failed')
  unsteady.isDown = false
  await setPause({ ...OVER, until: LATER, probe: 'of another process' })
  const again = () => send('PATCH', `/webhook-deliveries/${_id}`, { status: 'pending' })
  t.match(await again(), { status: 200 })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  await setPause({ ...OVER, until: LATER })
  await send('POST', '/orders', {})
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  await again()
  t.strictSame(await app.jobs.run(), { done: 2, failed: 0 }, 'and the others follow')
  t.match(await listDeliveries(), [{ status: 'delivered' }, { status: 'delivered' }])
  t.equal(await readPause(), null)
})

t.test('an owner who changes the URL or enables the endpoint ends the pause', async (t) => {
  const { app, send, addEndpoint } = await start(t)
  const { url, received } = await startReceiver(t)
  const { _id } = await addEndpoint('http://127.0.0.1:1/')
  for (const change of [{ url }, { enabled: true }]) {
    await setPause({ ...OVER, until: LATER })
    t.match(await send('PATCH', `/webhooks/${_id}`, { events: ['orders.created'] }), {})
    t.match(await readPause(), { until: LATER })
    t.match(await send('PATCH', `/webhooks/${_id}`, change), { status: 200 })
    await send('POST', '/orders', {})
    t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  }
  t.equal(received.length, 2)
})

t.test('any status is a response', async (t) => {
  const { app, send, addEndpoint } = await start(t)
  const { url, received } = await startReceiver(t, 500, 503)
  await addEndpoint(url)
  await send('POST', '/orders', [{}, {}, {}])
  t.strictSame(await app.jobs.run(), { done: 1, failed: 2 })
  t.equal(received.length, 3)
  t.equal(await readPause(), undefined)
})

t.test('a disabled endpoint ends its deliveries, although it is paused', async (t) => {
  const { app, send, addEndpoint, listDeliveries } = await start(t, { disableAfter: 1 })
  const { _id } = await addEndpoint('http://127.0.0.1:1/')
  await setPause({ ...OVER, until: LATER })
  await send('POST', '/orders', {})
  await send('PATCH', `/webhooks/${_id}`, { enabled: false })
  await setPause({ ...OVER, until: LATER })
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.match(await listDeliveries(), [{ status: 'failed' }])
})

t.test('one endpoint holds a part of the places before anything is known of it', async (t) => {
  const { app, send, addEndpoint } = await start(t, { timeoutMs: 4321 })
  const timers = holdTimers(t, 4321)
  const [server, eve] = [await startRawProvider(t, () => undefined), await startReceiver(t)]
  await addEndpoint(server.origin)
  await addEndpoint(eve.url, 'eve')
  await send('POST', '/orders', Array(10).fill({}))
  await send('POST', '/orders', {}, 'eve')
  const running = Promise.all(Array.from({ length: 5 }, () => app.jobs.run()))
  await until(() => eve.received.length >= 1 && server.connections >= 2, running)
  t.equal(server.connections, 2)
  await db.collection('webhooks').updateMany({}, { $set: { enabled: false } })
  timers.fire()
  await running
  t.equal(server.connections, 2)
})
