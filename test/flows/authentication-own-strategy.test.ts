import type { AddressInfo } from 'node:net'
import { createApp, fastifyApp, rest } from 'remex'
import t from 'tap'
import { addReports } from '../../examples/own-strategy.ts'

const PROXY_SECRET = 'the secret of the proxy'

t.test('a strategy of one’s own reads its headers from requests', async (t) => {
  const app = fastifyApp(createApp())
  app.configure(rest())
  addReports(app, PROXY_SECRET)
  const server = await app.listen({ port: 0 })
  t.teardown(() => app.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const headers = { 'x-forwarded-user': 'ada', 'x-proxy-secret': PROXY_SECRET }
  const accepted = await fetch(`${url}/reports`, { headers })
  t.equal(accepted.status, 200)
  t.strictSame(await accepted.json(), [{ title: 'A report for ada' }])
  t.equal(accepted.headers.get('cache-control'), 'no-store')

  const wrong = { 'x-forwarded-user': 'ada', 'x-proxy-secret': 'other' }
  for (const headers of [{}, wrong, { 'x-forwarded-user': 'ada' }]) {
    const refused = await fetch(`${url}/reports`, { headers })
    t.equal(refused.status, 401)
    t.match(await refused.json(), { name: 'NotAuthenticated', code: 401 })
  }

  const login = await fetch(`${url}/authentication`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ strategy: 'proxy', person: 'ada', proxySecret: PROXY_SECRET }),
  })
  t.equal(login.status, 201)
  t.match(await login.json(), { authentication: { strategy: 'proxy' }, accessToken: String })
})
