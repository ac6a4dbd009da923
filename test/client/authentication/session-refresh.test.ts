import type { ServerResponse } from 'node:http'
import t from 'tap'
import {
  AuthenticationClient,
  authentication,
  createClient,
  MemoryStorage,
} from '../../../src/client/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { holdTimers, stopClock } from '../../support/clock.ts'
import type { TestScope } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { CONNECTORS } from '../connectors.ts'
import { errorOf } from '../error-of.ts'
import type { ReceivedRequest } from '../odd-server.ts'
import { startOddServer } from '../odd-server.ts'
import { showParts } from './page.ts'

const ANN = { strategy: 'key', user: 'ann' }
const LIFETIME_S = 600
const DUE_MS = (LIFETIME_S - 30) * 1000

/** Returns a token with claims, as far as clients read it. */
function toToken(claims: object): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'none' })}.${encode(claims)}.${encode({ claims })}`
}

/**
 * Starts a server with sessions, as a client sees it: tokens are numbered, and `expired` is the number up to which
 * services refuse them.
 */
async function startServer(t: TestScope, { inCookies = false } = {}) {
  const state = {
    count: 0,
    expired: 0,
    /** What the next refreshes are answered with, in place of tokens. */
    faults: [] as ('lost' | number)[],
    ended: new Set<string>(),
  }
  const issued = new Map<string, { sid: string; sub: string }>()
  const issue = (sid: string, sub: string, more: object = {}): object => {
    state.count += 1
    const jti = `${sub}${state.count}`
    const payload = { sub, sid, jti, iat: 1_000, exp: 1_000 + LIFETIME_S }
    const refreshToken = `refresh-${jti}`
    issued.set(refreshToken, { sid, sub })
    const tokens = inCookies ? {} : { accessToken: toToken(payload), refreshToken }
    return { ...tokens, authentication: { payload }, user: { name: sub }, ...more }
  }
  const refuse = (response: ServerResponse, code: number, data = {}): unknown => {
    response.writeHead(code, { 'content-type': 'application/json' })
    const name = code === 401 ? 'NotAuthenticated' : 'Unavailable'
    return response.end(JSON.stringify({ name, message: 'refused', code, data }))
  }
  const readToken = (header = ''): { jti: string; sid: string; sub: string } | undefined => {
    const claims = header.split('.')[1]
    return claims && JSON.parse(Buffer.from(claims, 'base64url').toString())
  }
  const isExpired = (jti: string): boolean => Number(/\d+$/.exec(jti)) <= state.expired
  const expiry = { name: 'TokenExpiredError', expiredAt: new Date((1_000 + LIFETIME_S) * 1000) }

  const odd = await startOddServer(t, ({ method, url, headers }, response) => {
    const claims = readToken(headers.authorization)
    const send = (body: unknown) => response.end(JSON.stringify(body))
    if (url !== '/authentication' || method === 'DELETE') {
      const isGood = inCookies || (claims !== undefined && !isExpired(claims.jti))
      if (!isGood) return refuse(response, 401, expiry)
      if (method === 'DELETE' && claims !== undefined) state.ended.add(claims.sid)
      return send({ sentAs: claims?.jti })
    }
    const data = JSON.parse(odd.requests.at(-1)?.body ?? '')
    if (data.strategy === 'key') return send(issue(`s-${data.user}-${state.count}`, data.user))
    if (data.strategy === 'jwt') {
      const known = readToken(data.accessToken)
      if (known === undefined || isExpired(known.jti)) return refuse(response, 401, expiry)
      const { accessToken } = data
      return send({ accessToken, authentication: { payload: known }, user: { name: known.sub } })
    }
    if (data.strategy === 'wrong') return refuse(response, 401)
    const fault = state.faults.shift()
    if (fault === 'lost') return response.destroy()
    if (fault !== undefined) return refuse(response, fault)
    if (inCookies) return send(issue('s-ann-0', 'ann'))
    const { sid, sub } = issued.get(data.refreshToken) ?? {}
    issued.delete(data.refreshToken)
    if (sid === undefined || sub === undefined || state.ended.has(sid)) return refuse(response, 401)
    return send(issue(sid, sub))
  })
  const logins = (): unknown[] =>
    odd.requests
      .filter(({ method, url }) => method === 'POST' && url === '/authentication')
      .map(({ body }) => JSON.parse(body).strategy)
  return { ...odd, state, logins }
}

function connect(baseURL: string, options: Parameters<typeof authentication>[0] = {}) {
  const client = createClient({ baseURL }).configure(authentication(options))
  const events: string[] = []
  for (const name of ['login', 'logout', 'expired']) client.on(name, () => events.push(name))
  return { client, events, read: () => client.service('notes').find() }
}

const sentAs = (requests: readonly ReceivedRequest[]): number =>
  requests.filter(({ url }) => url === '/notes').length

t.test('a token is renewed shortly before its end, once for all calls', async (t) => {
  const clock = stopClock(t)
  const { url, logins, requests } = await startServer(t)
  const { client, events, read } = connect(url)
  await client.authenticate(ANN)
  clock.advance(DUE_MS - 1)
  t.strictSame(await read(), { sentAs: 'ann1' })
  clock.advance(1)
  const answers = await Promise.all([read(), read(), read(), read(), read()])
  t.strictSame(answers, Array(5).fill({ sentAs: 'ann2' }))
  t.strictSame(logins(), ['key', 'refresh'])
  t.equal(sentAs(requests), 6, 'no call was sent twice')
  t.strictSame(events, ['login'], 'nobody has logged in by that')
  t.match(await client.get('authentication'), { user: { name: 'ann' } })
  clock.advance(DUE_MS)
  t.strictSame(await read(), { sentAs: 'ann3' })
})

t.test('a token that is refused is renewed, once for all calls', async (t) => {
  const { url, logins, state } = await startServer(t)
  const { client, events, read } = connect(url)
  await client.authenticate(ANN)
  state.expired = 1
  const answers = await Promise.all([read(), read(), client.service('notes').create({})])
  t.strictSame(answers, Array(3).fill({ sentAs: 'ann2' }))
  t.strictSame(logins(), ['key', 'refresh'])
  t.strictSame(events, ['login'])
})

for (const [name, { connect: toServer }] of Object.entries(CONNECTORS)) {
  t.test(`a login by ${name} goes on after its token`, async (t) => {
    const { url, logins, state } = await startServer(t)
    const app = createApp().configure(toServer(url)).configure(authentication())
    const client = app as unknown as ReturnType<typeof connect>['client']
    await client.authenticate(ANN)
    state.expired = 1
    t.strictSame(await client.service('notes').find(), { sentAs: 'ann2' })
    t.strictSame(logins(), ['key', 'refresh'])
  })
}

t.test('the next visit goes on with the session', async (t) => {
  const { url, logins, state } = await startServer(t)
  const storage = new MemoryStorage()
  await connect(url, { storage }).client.authenticate(ANN)
  const second = connect(url, { storage })
  await second.client.reAuthenticate()
  t.strictSame(logins(), ['key', 'jwt'])
  state.expired = 1
  const third = connect(url, { storage })
  t.match(await third.client.reAuthenticate(), { user: { name: 'ann' } })
  t.strictSame(logins(), ['key', 'jwt', 'jwt', 'refresh'])
  t.strictSame(third.events, ['login'])
  t.strictSame(await third.read(), { sentAs: 'ann2' })
})

t.test('a refusal ends the login, once', async (t) => {
  const { url, state, logins } = await startServer(t)
  const storage = new MemoryStorage()
  const { client, events, read } = connect(url, { storage })
  await client.authenticate(ANN)
  state.expired = 2
  state.faults = [401]
  const errors = await Promise.all([errorOf(read()), errorOf(read()), errorOf(read())])
  for (const error of errors) t.match(error, { code: 401 })
  t.strictSame(events, ['login', 'expired'])
  t.strictSame(logins(), ['key', 'refresh'])
  t.equal(await client.get('authentication'), null)
  t.equal(await storage.getItem('feathers-jwt'), null)
  t.equal(await storage.getItem('feathers-jwt-refresh'), null)
  await errorOf(read())
  t.strictSame(events, ['login', 'expired'])
})

t.test('a lost answer is asked for again', async (t) => {
  const waits = [holdTimers(t, 250), holdTimers(t, 1000)]
  const { url, state, logins } = await startServer(t)
  const { client, events, read } = connect(url)
  await client.authenticate(ANN)
  state.expired = 1
  state.faults = ['lost', 503]
  const answer = read()
  for (const timers of waits) {
    await until(() => timers.size === 1)
    timers.fire()
  }
  t.strictSame(await answer, { sentAs: 'ann2' })
  t.strictSame(logins(), ['key', 'refresh', 'refresh', 'refresh'])
  t.strictSame(events, ['login'])
})

t.test('without an answer nobody is logged out, and a good token is used', async (t) => {
  const clock = stopClock(t)
  const waits = [holdTimers(t, 250), holdTimers(t, 1000)]
  const fire = async (): Promise<void> => {
    for (const timers of waits) {
      await until(() => timers.size === 1)
      timers.fire()
    }
  }
  const { url, state, logins } = await startServer(t)
  const { client, events, read } = connect(url)
  await client.authenticate(ANN)
  clock.advance(DUE_MS)
  state.faults = [503, 503, 503]
  const early = [read(), read()]
  await fire()
  t.strictSame(await Promise.all(early), [{ sentAs: 'ann1' }, { sentAs: 'ann1' }])
  const { length } = logins()
  for (let call = 0; call < 5; call += 1) t.strictSame(await read(), { sentAs: 'ann1' })
  t.equal(logins().length, length, 'calls do not ask again and again')
  clock.advance(5_000)
  state.expired = 1
  state.faults = [503, 503, 503, 503, 503, 503]
  const late = errorOf(read())
  await fire()
  await fire()
  t.match(await late, { code: 503 })
  t.strictSame(events, ['login'])
  t.strictSame(await read(), { sentAs: 'ann2' })
  state.expired = 2
  state.faults = [429]
  t.match(await errorOf(read()), { code: 429 })
  t.strictSame(events, ['login'])
})

t.test('a logout ends the session, also after the access token', async (t) => {
  const { url, state, logins } = await startServer(t)
  const storage = new MemoryStorage()
  const { client, events } = connect(url, { storage })
  await client.authenticate(ANN)
  state.expired = 1
  t.match(await client.logout(), { sentAs: 'ann2' })
  t.strictSame([...state.ended], ['s-ann-0'])
  t.strictSame(logins(), ['key', 'refresh'])
  t.strictSame(events, ['login', 'logout'])
  t.equal(await storage.getItem('feathers-jwt-refresh'), null)
  t.equal(await client.logout(), null)
})

for (const expired of [0, 1]) {
  t.test(`a logout ends a session that another tab has renewed, ${expired} expired`, async (t) => {
    const { url, state } = await startServer(t)
    const storage = new MemoryStorage()
    const [one, two] = [connect(url, { storage }), connect(url, { storage })]
    await one.client.authenticate(ANN)
    await two.client.reAuthenticate()
    await two.client.reAuthenticate(true)
    state.expired = expired
    t.match(await one.client.logout(), { sentAs: 'ann2' })
    t.strictSame([...state.ended], ['s-ann-0'])
    t.equal(await storage.getItem('feathers-jwt'), null)
    t.equal(await storage.getItem('feathers-jwt-refresh'), null)
  })
}

t.test('a logout leaves the token of another login in the storage', async (t) => {
  const { url, state } = await startServer(t)
  const storage = new MemoryStorage()
  const [one, two] = [connect(url, { storage }), connect(url, { storage })]
  await one.client.authenticate(ANN)
  await two.client.authenticate(ANN)
  t.match(await one.client.logout(), { sentAs: 'ann1' })
  t.strictSame([...state.ended], ['s-ann-0'])
  t.match(await two.read(), { sentAs: 'ann2' })
  t.not(await storage.getItem('feathers-jwt'), null)
})

t.test('a refresh token serves the access token alone that it came with', async (t) => {
  const { url, state, logins } = await startServer(t)
  const storage = new MemoryStorage()
  const { client } = connect(url, { storage })
  await client.authenticate(ANN)
  state.expired = 7
  const other = toToken({ sub: 'ben', jti: 'ben1' })
  await storage.setItem('feathers-jwt', other)
  const second = connect(url, { storage })
  t.match(await errorOf(second.client.reAuthenticate()), { code: 401 })
  t.strictSame(logins(), ['key', 'jwt'])
})

/** Has the browser share locks, until the end of the test. */
function showLocks(t: TestScope, locks: object): void {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
  t.teardown(() => {
    if (before === undefined) Reflect.deleteProperty(globalThis, 'navigator')
    else Object.defineProperty(globalThis, 'navigator', before)
  })
  Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true })
  showParts(t, { location: { hash: '' } })
}

t.test('a browser that denies locks renews without them', async (t) => {
  const request = async () => Promise.reject(new DOMException('denied', 'SecurityError'))
  showLocks(t, { request })
  const { url, state, logins } = await startServer(t)
  const { client, read } = connect(url)
  await client.authenticate(ANN)
  state.expired = 1
  t.strictSame(await read(), { sentAs: 'ann2' })
  state.faults = [401]
  t.match(await errorOf(client.reAuthenticate(true)), { code: 401 })
  t.strictSame(logins(), ['key', 'refresh', 'refresh'])
})

t.test('tabs renew a session once: the second one takes what the first has kept', async (t) => {
  const held: string[] = []
  let last: Promise<unknown> = Promise.resolve()
  const locks = {
    request<T>(name: string, work: () => Promise<T>): Promise<T> {
      held.push(name)
      const done = last.then(work)
      last = done.catch(() => undefined)
      return done
    },
  }
  showLocks(t, locks)
  const { url, state, logins } = await startServer(t)
  const storage = new MemoryStorage()
  const [one, two] = [connect(url, { storage }), connect(url, { storage })]
  await one.client.authenticate(ANN)
  await two.client.reAuthenticate()
  state.expired = 1
  t.strictSame(await Promise.all([one.read(), two.read()]), Array(2).fill({ sentAs: 'ann2' }))
  t.strictSame(logins(), ['key', 'jwt', 'refresh', 'jwt'])
  t.strictSame(held, Array(3).fill('remex feathers-jwt /authentication'))
  t.strictSame([one.events, two.events], [['login'], ['login']])
})

t.test('a login or logout in another tab is one here', async (t) => {
  type Listener = (change: object) => void
  const listeners: Listener[] = []
  const addEventListener = (name: string, listener: Listener): void => {
    t.equal(name, 'storage')
    listeners.push(listener)
  }
  showParts(t, { location: { hash: '' } })
  Object.assign(globalThis, { addEventListener })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'addEventListener'))
  const { url, logins } = await startServer(t)
  const storage = new MemoryStorage()
  const here = connect(url, { storage })
  const [tell] = listeners
  const change = async (): Promise<void> => {
    const newValue = await storage.getItem('feathers-jwt')
    tell?.({ key: 'feathers-jwt', newValue, storageArea: storage })
  }
  const there = connect(url, { storage })
  await there.client.authenticate(ANN)
  await change()
  await until(() => here.events.length === 1)
  t.strictSame(here.events, ['login'])
  t.strictSame(logins(), ['key', 'jwt'])
  // The same user once more, and items that are none of ours.
  await there.client.authenticate(ANN)
  await change()
  tell?.({ key: 'other', newValue: null, storageArea: storage })
  tell?.({ key: 'feathers-jwt', newValue: null, storageArea: {} })
  t.strictSame(here.events, ['login'])
  await there.client.authenticate({ strategy: 'key', user: 'ben' })
  await change()
  await until(() => here.events.length === 2)
  t.match(await here.client.get('authentication'), { user: { name: 'ben' } })
  await there.client.logout()
  await change()
  t.strictSame(here.events, ['login', 'login', 'logout'])
  t.equal(await here.client.get('authentication'), null)
  await change()
  t.strictSame(here.events.length, 3)
})

t.test('with cookies no token is kept', async (t) => {
  const clock = stopClock(t)
  const { url, logins, requests, state } = await startServer(t, { inCookies: true })
  const storage = new MemoryStorage()
  const { client, events, read } = connect(url, { storage, cookie: true })
  await client.authenticate(ANN)
  t.equal(await storage.getItem('feathers-jwt'), 'ann', 'other tabs are told who it is')
  t.equal(await client.authentication.getAccessToken(), null)
  await read()
  clock.advance(DUE_MS)
  await Promise.all([read(), read()])
  t.strictSame(logins(), ['key', 'refresh'])
  t.strictSame(events, ['login'])
  for (const { headers } of requests) t.equal(headers.authorization, undefined)
  await client.logout()
  t.equal(requests.at(-1)?.method, 'DELETE')
  t.strictSame(events, ['login', 'logout'])
  t.equal(await storage.getItem('feathers-jwt'), null)
  t.match(await errorOf(client.authentication.setAccessToken('x')), { name: 'TypeError' })
  const next = connect(url, { cookie: true })
  t.match(await next.client.reAuthenticate(), { user: { name: 'ann' } })
  state.faults = [401, 401]
  const nobody = connect(url, { cookie: true })
  const reAuthenticated = errorOf(nobody.client.reAuthenticate())
  t.match(await nobody.read(), {}, 'calls go on without a login')
  t.match(await reAuthenticated, { code: 401, message: /There is no login/ })
  t.strictSame(nobody.events, [])
})

t.test('with cookies, no link replaces a login, and no wrong password ends it', async (t) => {
  const page = { location: { hash: '#code=of-ben&strategy=key' } }
  showParts(t, page)
  const { url, logins, state } = await startServer(t, { inCookies: true })
  const { client, events } = connect(url, { cookie: true, storage: new MemoryStorage() })
  t.match(await client.reAuthenticate(), { user: { name: 'ann' } })
  t.strictSame(logins(), ['refresh'])
  t.equal(page.location.hash, '', 'the code is gone all the same')
  t.match(await errorOf(client.authenticate({ strategy: 'wrong' })), { code: 401 })
  t.match(await client.get('authentication'), { user: { name: 'ann' } })
  t.strictSame(events, ['login'])
  page.location.hash = '#code=of-ben&strategy=key'
  state.faults = [401, 401]
  const visitor = connect(url, { cookie: true, storage: new MemoryStorage() })
  await visitor.client.reAuthenticate()
  t.strictSame(logins(), ['refresh', 'wrong', 'refresh', 'key'])
  t.equal(page.location.hash, '')
  page.location.hash = '#error=denied'
  const denied = connect(url, { cookie: true, storage: new MemoryStorage() })
  t.match(await errorOf(denied.client.reAuthenticate()), { name: 'OauthError', message: 'denied' })
})

t.test('a client for cookies refuses a server without them, and the other way round', async (t) => {
  const without = await startServer(t)
  const one = connect(without.url, { cookie: true })
  t.match(await errorOf(one.client.authenticate(ANN)), { message: /sessions.cookie/ })
  const within = await startServer(t, { inCookies: true })
  const two = connect(within.url)
  t.match(await errorOf(two.client.authenticate(ANN)), { message: /without an access token/ })
  t.throws(() => authentication({ cookie: 'all' } as never), { message: /'cookie' must be/ })
})

t.test('a class of one’s own decides what takes the place of a token', async (t) => {
  class Program extends AuthenticationClient {
    override reAuthenticate(force?: boolean) {
      return super.reAuthenticate(force).catch(() => this.authenticate(ANN))
    }
  }
  const { url, state, logins } = await startServer(t)
  const { client, read } = connect(url, { Authentication: Program })
  await client.authenticate(ANN)
  state.expired = 1
  t.strictSame(await read(), { sentAs: 'ann2' })
  state.expired = 2
  state.faults = [401]
  t.strictSame(await read(), { sentAs: 'ann3' })
  t.strictSame(logins(), ['key', 'refresh', 'refresh', 'key'])
})
