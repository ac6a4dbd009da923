import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { holdTimers } from '../../support/clock.ts'
import type { TestServer } from '../../support/http.ts'
import { openImpatientClient } from '../../support/impatient-client.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { createSocketPath } from '../../support/socket-path.ts'
import { laterTurns, until } from '../../support/until.ts'

async function probe(server: TestServer): Promise<[live: number, ready: number]> {
  const live = await server.request('/health/live')
  const ready = await server.request('/health/ready', { ownErrorBody: true })
  return [live.status, ready.status]
}

t.test('both probes answer 200 without details, and are not to be stored (HEALTH-1)', async (t) => {
  const server = await startOwnServer(t, () => undefined)
  for (const path of ['/health/live', '/health/ready']) {
    const { status, body, headers } = await server.request(path)
    t.strictSame([status, body], [200, { status: 'ok' }])
    t.match(headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  }
})

t.test('one check that fails makes it not ready, only the log says why (HEALTH-1)', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.readiness.set('queue', async () => Promise.reject(new Error('redis://user:pass@queue')))
    app.readiness.set('other', async () => true)
  })
  t.strictSame(await probe(server), [200, 503])
  const { body } = await server.request('/health/ready', { ownErrorBody: true })
  t.strictSame(body, { status: 'unavailable' })
  t.match(server.logged[0], { message: 'queue is not ready', details: { err: Error } })
  server.app.readiness.set('queue', async () => true)
  t.strictSame(await probe(server), [200, 200])
})

t.test('a check that hangs is given up after 2 seconds; probes share it (HEALTH-1)', async (t) => {
  const timers = holdTimers(t, 2_000)
  let checks = 0
  let probes = 0
  const server = await startOwnServer(t, (app) => {
    app.fastify.addHook('onRequest', async ({ url }) => {
      if (url === '/health/ready') probes += 1
    })
    app.readiness.set('hanging', () => {
      checks += 1
      return new Promise(() => undefined)
    })
    app.readiness.set('throwing', () => {
      throw new Error('at once')
    })
  })
  const answers = Promise.all(Array.from({ length: 20 }, () => probe(server)))
  await until(() => probes >= 20)
  await laterTurns()
  timers.fire()
  t.same(new Set((await answers).map(String)), new Set(['200,503']))
  t.equal(checks, 1)
})

t.test('the probes can be left out, and leave the paths to services then', async (t) => {
  const server = await startOwnServer(
    t,
    (app) => app.use('health', { get: async (id: string) => ({ id }) }),
    {
      health: false,
    },
  )
  t.strictSame((await server.request('/health/live')).body, { id: 'live' })
})

t.test('a route of the application takes the place of a probe', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.fastify.get('/health/live', async () => ({ own: true }))
  })
  t.strictSame((await server.request('/health/live')).body, { own: true })
  t.equal((await server.request('/health/ready')).status, 200)
})

t.test('a MongoDB that is gone makes it not ready, without stopping it (HEALTH-1)', async (t) => {
  const { url, start } = createSocketPath(t)
  const first = await start()
  const client = await openImpatientClient(t, url)
  const server = await startOwnServer(t, (app) => {
    app.use('people', new MongoDBService({ Model: client.db('a').collection('people') }))
  })
  const isReady = async (): Promise<boolean> => (await probe(server))[1] === 200
  await until(isReady)
  await first.close()
  t.strictSame(await probe(server), [200, 503])
  t.equal((await server.request('/people')).status, 503)
  await start()
  await until(isReady)
  t.equal((await server.request('/people')).status, 200)
})
