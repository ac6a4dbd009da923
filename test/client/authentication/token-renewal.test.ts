import t from 'tap'
import type { AuthenticationOptions } from '../../../src/client/index.ts'
import {
  AuthenticationClient,
  authentication,
  createClient,
  MemoryStorage,
} from '../../../src/client/index.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { errorOf } from '../error-of.ts'
import { refuse, startOddServer } from '../odd-server.ts'

const ANN = { strategy: 'key', user: 'ann' }
const BEN = { strategy: 'key', user: 'ben' }
const EXP = 7
const EXPIRED = { name: 'TokenExpiredError', expiredAt: new Date(EXP * 1000).toISOString() }

function connect(baseURL: string, options: AuthenticationOptions = {}) {
  return createClient({ baseURL }).configure(authentication(options))
}

/**
 * Starts a server whose tokens say nothing of their user: each user has the tokens `ann1`, `ann2` and
 * so on, and the first one has expired for all services.
 */
async function startServerWithoutSub(t: TestScope) {
  const gate = new Gate()
  const counts = new Map<string, number>()
  const odd = await startOddServer(t, async ({ method, url, headers }, response) => {
    if (method === 'DELETE') return response.end('null')
    if (url === '/authentication') {
      const { user, accessToken } = JSON.parse(odd.requests.at(-1)?.body ?? '')
      const name = user ?? String(accessToken).replace(/\d/, '')
      const count = (counts.get(name) ?? 0) + 1
      counts.set(name, count)
      const result = { accessToken: `${name}${count}`, authentication: { payload: { exp: EXP } } }
      return response.end(JSON.stringify(result))
    }
    if (url === '/slow') await gate.pass()
    if (headers.authorization?.endsWith('1')) return refuse(response, EXPIRED)
    return response.end(JSON.stringify({ sentAs: headers.authorization }))
  })
  const calls = () =>
    odd.requests
      .filter(({ url }) => url !== '/authentication')
      .map(({ method, headers }) => `${method} ${headers.authorization}`)
  return { ...odd, gate, calls }
}

/** Logs Ann in with a key, whatever the storage holds. */
class Program extends AuthenticationClient {
  override reAuthenticate() {
    return this.authenticate(ANN)
  }
}

t.test('tokens that name no user: a renewed login sends its calls again', async (t) => {
  for (const options of [{}, { Authentication: Program }]) {
    const server = await startServerWithoutSub(t)
    const client = connect(server.url, options)
    await client.authenticate(ANN)
    const slow = client.service('slow').find()
    await server.gate.arrivals(1)
    t.match(await client.service('notes').create({}), { sentAs: 'Bearer ann2' })
    server.gate.open()
    t.match(await slow, { sentAs: 'Bearer ann2' }, 'refused after the renewal')
    t.strictSame(server.calls(), [
      ...['GET Bearer ann1', 'POST Bearer ann1', 'POST Bearer ann2', 'GET Bearer ann2'],
    ])
  }
})

t.test('tokens that name no user: no call is sent by the token of another page', async (t) => {
  for (const options of [{}, { Authentication: Program }]) {
    const server = await startServerWithoutSub(t)
    const storage = new MemoryStorage()
    const client = connect(server.url, { storage, ...options })
    await client.authenticate(ANN)
    await connect(server.url, { storage }).authenticate(BEN)
    t.match(await errorOf(client.service('notes').create({})), { data: EXPIRED })
    t.strictSame(server.calls(), ['POST Bearer ann1'])
  }
})

t.test('tokens that name no user: no call is sent as whoever logs in next', async (t) => {
  for (const leave of [true, false]) {
    const server = await startServerWithoutSub(t)
    const client = connect(server.url)
    await client.authenticate(ANN)
    const call = errorOf(client.service('slow').create({}))
    await server.gate.arrivals(1)
    if (leave) await client.logout()
    await client.authenticate(BEN)
    server.gate.open()
    t.match(await call, { data: EXPIRED })
    t.strictSame(server.calls(), ['POST Bearer ann1'])
  }
})

t.test('tokens that name no user: a login during the renewal is not its result', async (t) => {
  const server = await startServerWithoutSub(t)
  const renewing = new Gate()
  class Slow extends AuthenticationClient {
    override async reAuthenticate() {
      await renewing.pass()
      return this.authenticate(ANN)
    }
  }
  const client = connect(server.url, { Authentication: Slow })
  await client.authenticate(ANN)
  const call = errorOf(client.service('notes').create({}))
  await renewing.arrivals(1)
  await client.authenticate(BEN)
  renewing.open()
  t.match(await call, { data: EXPIRED })
  t.strictSame(server.calls(), ['POST Bearer ann1'])
})

t.test('tokens that name no user: a storage that can not be read proves nothing', async (t) => {
  const server = await startServerWithoutSub(t)
  const storage = new MemoryStorage()
  const client = connect(server.url, { storage, Authentication: Program })
  await client.authenticate(ANN)
  storage.getItem = () => Promise.reject(new RangeError('closed'))
  t.match(await errorOf(client.service('notes').create({})), { data: EXPIRED })
  t.match(await client.service('notes').create({}), { sentAs: 'Bearer ann2' })
})

t.test('a token that the server confirms is not renewed for the same reason again', async (t) => {
  let data: object = { name: 'JsonWebTokenError' }
  let accessToken = 'a'
  const odd = await startOddServer(t, ({ url }, response) => {
    if (url !== '/authentication') return refuse(response, data)
    const result = { accessToken, authentication: { payload: { sub: '1', exp: EXP } } }
    return response.end(JSON.stringify(result))
  })
  const logins = () => odd.requests.filter(({ url }) => url === '/authentication').length
  const client = connect(odd.url)
  const events: unknown[] = []
  client.on('login', (result: { accessToken: string }) => events.push(result.accessToken))
  await client.authenticate(ANN)
  for (let call = 0; call < 3; call += 1) await errorOf(client.service('notes').find())
  t.equal(logins(), 2)
  data = EXPIRED
  for (let call = 0; call < 3; call += 1) await errorOf(client.service('notes').find())
  t.equal(logins(), 3, 'an expiry is another reason')
  t.strictSame(events, ['a'], 'nothing is new')
  accessToken = 'b'
  await client.reAuthenticate(true)
  await errorOf(client.service('notes').find())
  t.equal(logins(), 5, 'another token is renewed')
  t.strictSame(events, ['a', 'b'])
})
