import type { AddressInfo } from 'node:net'
import { createApp, fastifyApp, rest } from 'remex'
import t from 'tap'
import { addReports, hashKey } from '../../examples/api-key.ts'

const API_KEY = 'k-0123456789abcdef'

t.test('a strategy of one’s own reads its header from requests', async (t) => {
  const app = fastifyApp(createApp())
  app.configure(rest())
  const clients = [{ name: 'the dashboard', keyHash: hashKey(API_KEY).toString('hex') }]
  addReports(app, clients)
  const server = await app.listen({ port: 0 })
  t.teardown(() => app.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const accepted = await fetch(`${url}/reports`, { headers: { 'x-api-key': API_KEY } })
  t.equal(accepted.status, 200)
  t.strictSame(await accepted.json(), [{ title: 'A report for the dashboard' }])
  t.equal(accepted.headers.get('cache-control'), 'no-store')

  for (const headers of [{}, { 'x-api-key': 'k-other' }, { authorization: `Bearer ${API_KEY}` }]) {
    const refused = await fetch(`${url}/reports`, { headers })
    t.equal(refused.status, 401)
    t.match(await refused.json(), { name: 'NotAuthenticated', code: 401 })
  }

  const login = await fetch(`${url}/authentication`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ strategy: 'api-key', apiKey: API_KEY }),
  })
  t.equal(login.status, 201)
  t.match(await login.json(), { authentication: { strategy: 'api-key' }, accessToken: String })
})
