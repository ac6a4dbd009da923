import { inspect } from 'node:util'
import t from 'tap'
import type { AuthenticationOptions } from '../../../src/client/index.ts'
import {
  AuthenticationClient,
  authentication,
  createClient,
  MemoryStorage,
  rest,
} from '../../../src/client/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { atTime, forge, now } from '../../auth/login-app.ts'
import { Gate } from '../../support/gate.ts'
import { pluck } from '../../support/pluck.ts'
import { laterTurns, until } from '../../support/until.ts'
import { CONNECTORS } from '../connectors.ts'
import { errorOf } from '../error-of.ts'
import { refuse, startOddServer } from '../odd-server.ts'
import { BEN, CREDENTIALS, startLoginServer } from './login-server.ts'

const KEY = 'feathers-jwt'
const AFTER_EXPIRY = (now() + 2 * 24 * 60 * 60) * 1000

/** Logs in with its password whenever it needs a token, which it has to look up. */
class Program extends AuthenticationClient {
  override async reAuthenticate() {
    await laterTurns()
    return this.authenticate(CREDENTIALS)
  }
}

function connect(baseURL: string, options: AuthenticationOptions = {}) {
  const storage = new MemoryStorage()
  const client = createClient({ baseURL }).configure(authentication({ storage, ...options }))
  return { client, storage }
}

for (const [library, { connect: connectBy }] of Object.entries(CONNECTORS)) {
  t.test(`a token that expires during 20 calls is renewed once, ${library} (CLI-9)`, async (t) => {
    const server = await startLoginServer(t)
    const client = createApp().configure(connectBy(server.url))
    client.configure(authentication({ Authentication: Program }))
    await (client as unknown as AuthenticationClient).reAuthenticate()
    server.requests.length = 0
    const answers = await atTime(AFTER_EXPIRY, () =>
      Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          index % 2 ? client.service('echo').find() : client.service('echo').create({}),
        ),
      ),
    )
    t.equal(answers.length, 20)
    t.ok(
      answers.every((one) => (one as { user: { email: string } }).user.email === CREDENTIALS.email),
    )
    t.equal(server.count('POST /authentication'), 1)
    t.equal(server.requests.length, 41)
  })
}

t.test('where there is no new token, all calls are refused, once (CLI-9)', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  server.requests.length = 0
  await atTime(AFTER_EXPIRY, async () => {
    const calls = Array.from({ length: 20 }, () => errorOf(client.service('echo').find()))
    for (const error of await Promise.all(calls)) {
      t.match(error, { code: 401, message: 'jwt expired', data: { name: 'TokenExpiredError' } })
    }
  })
  t.equal(server.count('POST /authentication'), 1)
  t.equal(server.requests.length, 21)
  t.equal(await storage.getItem(KEY), null)
  t.equal(client.get('authentication'), null)
})

t.test('takes the token that another page has kept meanwhile', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  await atTime(AFTER_EXPIRY, async () => {
    const { client: other } = connect(server.url, { storage })
    const { accessToken } = await other.authenticate(CREDENTIALS)
    t.match(await client.service('echo').find(), { user: { email: CREDENTIALS.email } })
    t.match(await client.get('authentication'), { accessToken })
  })
})

t.test('sends no call again as that of another user', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  await atTime(AFTER_EXPIRY, async () => {
    await connect(server.url, { storage }).client.authenticate(BEN)
    await t.rejects(client.service('echo').create({}), { message: 'jwt expired' })
    t.equal(server.count('POST /echo'), 1)
    t.match(await client.service('echo').find(), { user: { email: BEN.email } })
  })
})

t.test('a call that is refused while somebody logs in leaves that login alone', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  const gate = new Gate()
  client.service('authentication').hooks({ before: { create: () => gate.pass() } })
  await atTime(AFTER_EXPIRY, async () => {
    const call = errorOf(client.service('echo').find())
    const login = client.authenticate(BEN)
    await until(() => server.count('GET /echo') >= 1)
    await laterTurns()
    gate.open()
    t.match(await login, { user: { email: BEN.email } })
    t.match(await call, { code: 401, message: 'jwt expired' })
    t.match(await client.service('echo').find(), { user: { email: BEN.email } })
  })
  t.equal(server.count('POST /authentication'), 2)
})

t.test('a token that the server accepts at a login is not sent a second time', async (t) => {
  const odd = await startOddServer(t, ({ url }, response) =>
    url === '/authentication'
      ? response.end('{"accessToken":"a"}')
      : refuse(response, { name: 'JsonWebTokenError' }),
  )
  const { client } = connect(odd.url)
  await client.authenticate(CREDENTIALS)
  await t.rejects(client.service('a').find(), { code: 401 })
  const seen = odd.requests.map(({ method, url }) => `${method} ${url}`)
  t.strictSame(seen, ['POST /authentication', 'GET /a', 'POST /authentication'])
  t.equal(client.authentication.authenticated, true)
})

t.test('a call fails with its own error where the new login is refused', async (t) => {
  let logins = 0
  const odd = await startOddServer(t, ({ url }, response) => {
    if (url !== '/authentication') return refuse(response, { name: 'JsonWebTokenError' })
    logins += 1
    return logins === 1 ? response.end('{"accessToken":"a"}') : refuse(response, { of: 'login' })
  })
  const { client } = connect(odd.url)
  await client.authenticate(CREDENTIALS)
  const error = await errorOf(client.service('a').find())
  t.match(error, { code: 401, data: { name: 'JsonWebTokenError' } })
})

t.test('what the authentication service refuses leads to no further login', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  const direct = client.service('authentication')
  const expired = { code: 401, message: 'jwt expired' }
  await atTime(AFTER_EXPIRY, () => t.rejects(direct.remove(null as never), expired))
  t.match(await direct.remove(null as never), { user: { email: CREDENTIALS.email } })
  t.equal(server.count('POST /authentication'), 1)
})

t.test('a second refusal is the answer', async (t) => {
  const data = { name: 'TokenExpiredError', expiredAt: new Date(7000).toISOString() }
  let logins = 0
  const odd = await startOddServer(t, ({ method, url }, response) => {
    if (url !== '/authentication') return refuse(response, data)
    if (method !== 'POST') return response.end('null')
    logins += 1
    const result = { accessToken: `t${logins}`, authentication: { payload: { exp: 7 } } }
    return response.end(JSON.stringify(result))
  })
  const { client } = connect(odd.url, { Authentication: Program })
  await client.authenticate(CREDENTIALS)
  await t.rejects(client.service('a').find(), { code: 401 })
  await t.rejects(client.service('a').create({}), { code: 401 })
  t.equal(odd.requests.filter(({ url }) => url === '/a').length, 4)
  t.equal(logins, 3)
})

t.test('a write is sent again only if its own token had expired', async (t) => {
  const expiredAt = (seconds: number): string => new Date(seconds * 1000).toISOString()
  const reasons: [data: object, reads: number, writes: number][] = [
    [{ name: 'TokenExpiredError', expiredAt: expiredAt(7) }, 2, 2],
    [{ name: 'TokenExpiredError', expiredAt: expiredAt(8) }, 2, 1],
    [{ name: 'TokenExpiredError' }, 2, 1],
    [{ name: 'JsonWebTokenError' }, 2, 1],
    [{ name: 'Other' }, 1, 1],
    [{}, 1, 1],
  ]
  for (const [data, reads, writes] of reasons) {
    let logins = 0
    const odd = await startOddServer(t, ({ url }, response) => {
      if (url !== '/authentication') return refuse(response, data)
      logins += 1
      const result = { accessToken: `t${logins}`, authentication: { payload: { exp: 7 } } }
      return response.end(JSON.stringify(result))
    })
    const { client } = connect(odd.url, { Authentication: Program })
    await client.authenticate(CREDENTIALS)
    const count = (verb: string) =>
      odd.requests.filter(({ method, url }) => method === verb && url === '/a').length
    await t.rejects(client.service('a').find(), { code: 401, data })
    t.equal(count('GET'), reads, JSON.stringify(data))
    await t.rejects(client.service('a').create({}), { code: 401, data })
    t.equal(count('POST'), writes, JSON.stringify(data))
  }
})

t.test('a server that is out of reach during a new login is what the call gets', async (t) => {
  const odd = await startOddServer(t, ({ method, url, socket }, response) => {
    if (url !== '/authentication') return refuse(response, { name: 'JsonWebTokenError' })
    if (odd.requests.length === 1) return response.end('{"accessToken":"a"}')
    return method === 'POST' ? socket.destroy() : response.end('null')
  })
  const { client, storage } = connect(odd.url)
  await client.authenticate(CREDENTIALS)
  await t.rejects(client.service('a').find(), { name: 'Unavailable' })
  t.equal(await storage.getItem(KEY), 'a')
  t.equal(client.authentication.authenticated, true)
})

t.test('hooks and events see one call, and no token', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url, { Authentication: Program })
  const seen: unknown[] = []
  client.service('echo').on('created', () => seen.push('created'))
  client.hooks({
    around: {
      all: async (context, next) => {
        await next()
        seen.push(context.path, JSON.stringify([context, context.params]))
      },
    },
  })
  const { accessToken } = await client.reAuthenticate()
  seen.length = 0
  await client.service('open').find({ query: { a: 'b' } })
  t.notMatch(JSON.stringify(seen), 'Bearer')
  seen.length = 0
  await atTime(AFTER_EXPIRY, () => client.service('echo').create({}))
  t.equal(seen.filter((one) => one === 'echo').length, 1)
  t.equal(seen.filter((one) => one === 'created').length, 1)
  t.equal(
    server.requests.some(({ authorization }) => authorization === `Bearer ${accessToken}`),
    true,
  )
})

t.test('a login and a logout are sent without the header of an earlier login', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const first = await client.authenticate(CREDENTIALS)
  const second = await client.authenticate(BEN)
  client.use('login', rest(server.url).fetch(fetch).service('authentication'))
  await client.service('login').create(BEN)
  await client.reAuthenticate(true)
  await client.logout()
  t.not(first.accessToken, second.accessToken)
  t.strictSame(
    server.requests.map(({ line, authorization }) => [line, authorization]),
    [
      ...Array.from({ length: 4 }, () => ['POST /authentication', undefined]),
      ['DELETE /authentication', `Bearer ${second.accessToken}`],
    ],
  )
})

t.test('a header of the call itself wins, in any case, and is not renewed', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  const token = await forge({ claims: { sub: '2' } })
  const headers = { AUTHORIZATION: `Bearer ${token}` }
  t.match(await client.service('echo').find({ headers }), { user: { email: BEN.email } })
  t.match(await client.service('echo').find({ connection: { headers } }), {
    user: { email: BEN.email },
  })
  await t.rejects(client.service('echo').find({ headers: { authorization: 'Bearer a' } }), {
    message: 'jwt malformed',
  })
  t.equal(server.count('POST /authentication'), 1)
})

t.test('the token wins over the headers of the connection', async (t) => {
  const server = await startLoginServer(t)
  const headers = { Authorization: 'Basic YTpi' }
  const client = createClient({ baseURL: server.url, headers }).configure(authentication())
  await client.authenticate(CREDENTIALS)
  t.match(await client.service('echo').find(), { user: { email: CREDENTIALS.email } })
})

t.test('sends the token in another header, with or without a scheme', async (t) => {
  const odd = await startOddServer(t, (_request, response) => response.end('{"accessToken":"a"}'))
  const { client } = connect(odd.url, { header: 'X-Token', scheme: '' })
  await client.authenticate(CREDENTIALS)
  await client.service('things').find()
  t.match(odd.requests.at(-1)?.headers, { 'x-token': 'a', authorization: undefined })
})

t.test('a header may have a name that every object has', async (t) => {
  const odd = await startOddServer(t, (_request, response) => response.end('{"accessToken":"a"}'))
  const { client } = connect(odd.url, { header: 'constructor' })
  await client.authenticate(CREDENTIALS)
  await client.service('things').find()
  t.equal(odd.requests.at(-1)?.headers['constructor'], 'Bearer a')
})

t.test('no other server gets the token, nor a base URL beside this one', async (t) => {
  const server = await startLoginServer(t)
  const other = await startOddServer(t, (_request, response) => response.end('{}'))
  const { client } = connect(server.url)
  const origin = server.url.replace(/\/api.*/, '')
  client.use('other', rest(other.url).fetch(fetch).service('open'))
  client.use('beside', rest(origin).fetch(fetch).service('host'))
  client.use('again', rest(`${server.url}/`).fetch(fetch).service('echo'))
  client.use('local', { find: async (params) => params })
  await client.authenticate(CREDENTIALS)
  await client.service('other').find()
  await client.service('beside').find()
  t.strictSame(await client.service('local').find(), {})
  t.match(await client.service('again').find(), { user: { email: CREDENTIALS.email } })
  t.equal(other.requests[0]?.headers.authorization, undefined)
  const beside = server.requests.find(({ line }) => line === 'GET /host')
  t.match(beside, { authorization: undefined })
})

t.test('an application inside another one has a login of its own', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const inner = createClient({ baseURL: server.url })
  inner.service('open')
  client.use('inner', inner)
  await client.authenticate(CREDENTIALS)
  t.notMatch(await client.service('inner/open').find(), { authentication: {} })
  t.match(await client.service('open').find(), { authentication: { strategy: 'jwt' } })
})

t.test('a redirect to another origin goes without the token (CLI-8)', async (t) => {
  for (const [library, { connect: connectBy, followsRedirects }] of Object.entries(CONNECTORS)) {
    if (!followsRedirects) continue
    const other = await startOddServer(t, (_request, response) => response.end('{}'))
    const odd = await startOddServer(t, ({ url }, response) =>
      url === '/authentication'
        ? response.end('{"accessToken":"a"}')
        : response.writeHead(302, { location: `${other.url}/things` }).end(),
    )
    const client = createApp().configure(connectBy(odd.url)).configure(authentication())
    await (client as unknown as AuthenticationClient).authenticate(CREDENTIALS)
    await client.service('things').find()
    t.equal(odd.requests.at(-1)?.headers.authorization, 'Bearer a', library)
    t.equal(other.requests.length, 1, library)
    t.equal(other.requests[0]?.headers.authorization, undefined, library)
  }
})

t.test('with a token in another header, no redirect is followed (CLI-8)', async (t) => {
  for (const [library, { connect: connectBy }] of Object.entries(CONNECTORS)) {
    const other = await startOddServer(t, (_request, response) => response.end('{}'))
    const odd = await startOddServer(t, ({ url }, response) =>
      url === '/authentication'
        ? response.end('{"accessToken":"a"}')
        : response.writeHead(302, { location: `${other.url}/things` }).end(),
    )
    const client = createApp().configure(connectBy(odd.url))
    client.configure(authentication({ header: 'X-Token' }))
    await (client as unknown as AuthenticationClient).authenticate(CREDENTIALS)
    await t.rejects(client.service('things').find(), /The server redirects this call/, library)
    t.equal(odd.requests.at(-1)?.headers['x-token'], 'Bearer a', library)
    t.equal(other.requests.length, 0, library)
  }
})

t.test('no error of a call holds the token (CLI-6)', async (t) => {
  for (const [library, { connect: connectBy }] of Object.entries(CONNECTORS)) {
    const odd = await startOddServer(t, ({ method, socket }, response) =>
      method === 'POST' ? response.end('{"accessToken":"geheim"}') : socket.destroy(),
    )
    const client = createApp().configure(connectBy(odd.url)).configure(authentication())
    const { authenticate, logout } = client as unknown as AuthenticationClient
    await authenticate(CREDENTIALS)
    for (const call of [() => client.service('things').find(), logout]) {
      const error = await errorOf(call())
      t.equal(error.name, 'Unavailable', library)
      t.equal(odd.requests.at(-1)?.headers.authorization, 'Bearer geheim', library)
      const shown = inspect(error, { depth: 20, showHidden: true, getters: true })
      t.equal(shown.includes('geheim'), false, library)
    }
  }
})

t.test('a call of somebody whose token is gone is not sent as that of nobody', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  await storage.removeItem(KEY)
  const again = errorOf(client.reAuthenticate(true))
  await t.rejects(client.service('open').create({}), { message: 'No accessToken found in storage' })
  await again
  t.equal(server.count('POST /open'), 0)
})

t.test('calls wait for the login that goes on', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const login = client.authenticate(CREDENTIALS)
  t.match(await client.service('echo').find(), { user: { email: CREDENTIALS.email } })
  await login
})

t.test('a login that fails fails the calls that wait for it, but one without token', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const login = errorOf(client.authenticate({ ...CREDENTIALS, password: 'wrong horse' }))
  await t.rejects(client.service('open').create({}), { message: 'Invalid login' })
  await login
  t.equal(server.count('POST /open'), 0)
  const nobody = errorOf(client.reAuthenticate())
  t.match(await client.service('open').find(), { provider: 'rest' })
  t.match(await nobody, { message: 'No accessToken found in storage' })
})

t.test('a call that is given up while it waits is not sent', async (t) => {
  const gate = new Gate()
  const odd = await startOddServer(t, (_request, response) =>
    gate.pass().then(() => response.end('{"accessToken":"a"}')),
  )
  const { client } = connect(odd.url)
  const login = client.authenticate(CREDENTIALS)
  const controller = new AbortController()
  const connection = { signal: controller.signal }
  const call = errorOf(client.service('things').create({}, { connection }))
  await gate.arrivals(1)
  controller.abort()
  t.match(await call, { name: 'AbortError' })
  gate.open()
  await login
  await client.service('things').find()
  t.strictSame(pluck(odd.requests, 'method'), ['POST', 'GET'])
})

t.test('a removed service has no login any more', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  const service = client.service('open')
  t.match(await service.find(), { authentication: { strategy: 'jwt' } })
  await client.unuse('open')
  t.notMatch(await service.find(), { authentication: {} })
})
