import type { Application } from 'remex'
import { createApp } from 'remex'
import t from 'tap'
import { addReports, ProxyStrategy } from '../../examples/own-strategy.ts'

const PROXY_SECRET = 'the secret of the proxy'
const REFUSED = { name: 'NotAuthenticated', code: 401 }

async function start(): Promise<Application> {
  const app = createApp()
  addReports(app, PROXY_SECRET)
  await app.setup()
  return app
}

t.test('a strategy of one’s own reads its headers and proves who is behind them', async (t) => {
  const app = await start()
  const authentication = app.service('authentication') as unknown as {
    parse(request: object, reply: null, ...names: string[]): Record<string, unknown> | null
  }
  const headers = { 'x-forwarded-user': 'ada', 'x-proxy-secret': PROXY_SECRET }
  const request = authentication.parse({ headers }, null, 'proxy')
  t.strictSame(request, { strategy: 'proxy', person: 'ada', proxySecret: PROXY_SECRET })
  t.equal(authentication.parse({ headers: {} }, null, 'proxy'), null)
  const params = { provider: 'rest', query: {}, authentication: request ?? {} }
  t.strictSame(await app.service('reports').find(params), [{ title: 'A report for ada' }])
})

t.test('and refuses everybody else', async (t) => {
  const app = await start()
  await t.rejects(app.service('reports').find({ provider: 'rest', query: {} }), REFUSED)
  const secrets = [
    '',
    'other',
    `${PROXY_SECRET} `,
    undefined,
    null,
    7,
    { $ne: null },
    [PROXY_SECRET],
  ]
  for (const proxySecret of secrets) {
    const authentication = { strategy: 'proxy', person: 'ada', proxySecret }
    const params = { provider: 'rest', query: {}, authentication }
    await t.rejects(app.service('reports').find(params), REFUSED, String(proxySecret))
  }
  for (const person of ['', undefined, null, 7, { $ne: null }]) {
    const authentication = { strategy: 'proxy', person, proxySecret: PROXY_SECRET }
    const params = { provider: 'rest', query: {}, authentication }
    await t.rejects(app.service('reports').find(params), REFUSED, String(person))
  }
})

t.test('a strategy that is not registered says so', (t) => {
  t.throws(() => new ProxyStrategy().name, /not registered/)
  t.end()
})
