import type { Application } from 'remex'
import { createApp } from 'remex'
import t from 'tap'
import { ApiKeyStrategy, addReports, hashKey } from '../../examples/api-key.ts'

const API_KEY = 'k-0123456789abcdef'
const REFUSED = { name: 'NotAuthenticated', code: 401 }

async function start(): Promise<Application> {
  const app = createApp()
  const keyHash = hashKey(API_KEY).toString('hex')
  addReports(app, [{ name: 'the dashboard', keyHash }])
  await app.setup()
  return app
}

t.test('a strategy of one’s own reads its header and proves who has the key', async (t) => {
  const app = await start()
  const authentication = app.service('authentication') as unknown as {
    parse(request: object, reply: null, ...names: string[]): Record<string, unknown> | null
  }
  const headers = { 'x-api-key': API_KEY }
  const request = authentication.parse({ headers }, null, 'api-key')
  t.strictSame(request, { strategy: 'api-key', apiKey: API_KEY })
  t.equal(authentication.parse({ headers: {} }, null, 'api-key'), null)
  const params = { provider: 'rest', query: {}, authentication: request ?? {} }
  t.strictSame(await app.service('reports').find(params), [{ title: 'A report for the dashboard' }])
})

t.test('and refuses everybody else', async (t) => {
  const app = await start()
  await t.rejects(app.service('reports').find({ provider: 'rest', query: {} }), REFUSED)
  for (const apiKey of [
    '',
    'k-other',
    `${API_KEY} `,
    undefined,
    null,
    7,
    { $ne: null },
    [API_KEY],
  ]) {
    const authentication = { strategy: 'api-key', apiKey }
    const params = { provider: 'rest', query: {}, authentication }
    await t.rejects(app.service('reports').find(params), REFUSED, String(apiKey))
  }
})

t.test('a strategy that is not registered says so', (t) => {
  t.throws(() => new ApiKeyStrategy().name, /not registered/)
  t.end()
})
