import { once } from 'node:events'
import { request as sendRequest } from 'node:http'
import t from 'tap'
import type { AuthenticationParams } from '../../src/auth/index.ts'
import { hashPassword, LocalStrategy } from '../../src/auth/index.ts'
import type { AroundHook, Hook } from '../../src/core/index.ts'
import type { Application } from '../../src/transport/index.ts'
import { CREDENTIALS, forge } from '../auth/login-app.ts'
import type { AccountOptions } from '../support/accounts.ts'
import { addAccounts, addEcho, bearer, logIn, refusalOf } from '../support/accounts.ts'
import { stopClock, stopTime } from '../support/clock.ts'
import { Gate } from '../support/gate.ts'
import type { Answer, Mode, TestScope } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'
import { startApp } from '../support/test-app.ts'

const ADA = { id: 1, email: CREDENTIALS.email }
const INVALID_LOGIN = [401, 'Invalid login']
const NOBODY = [401, 'Not authenticated']

function start(t: TestScope, mode: Mode, accounts: AccountOptions = {}) {
  return startApp(t, { mode, accounts, configure: (app) => addEcho(app) })
}

/** Waits at a gate once it has hashed. */
class SlowStrategy extends LocalStrategy {
  readonly gate = new Gate()
  readonly params: AuthenticationParams[] = []

  override async hashPassword(password: unknown, params: AuthenticationParams = {}) {
    this.params.push(params)
    const hash = await super.hashPassword(password, params)
    await this.gate.pass()
    return hash
  }
}

const NO_TEXTS: readonly unknown[] = [
  ...[{ $ne: null }, { $gt: '' }, { $regex: '.*' }, { toString: 'x' }],
  ...[[CREDENTIALS.email], [], [{ $ne: null }], 7, 0, true, null, undefined, ''],
]

for (const mode of MODES) {
  t.test(`nothing but text gets to a query, ${mode} (INJ-17)`, async (t) => {
    const { server, users } = await start(t, mode)
    for (const value of NO_TEXTS) {
      for (const field of ['email', 'password']) {
        const data = { ...CREDENTIALS, [field]: value }
        const answer = await server.request('/authentication', { data })
        t.strictSame(refusalOf(answer), INVALID_LOGIN, `${field} ${JSON.stringify(value)}`)
      }
    }
    const forms = ['email[$gt]=&password=x', 'email[]=a&password=x', 'email=a&password[$ne]=x']
    for (const form of forms) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const body = `strategy=local&${form}`
      const answer = await server.request('/authentication', { headers, body })
      t.strictSame(refusalOf(answer), INVALID_LOGIN, form)
    }
    t.strictSame(users.takeCalls(), [])
    const query = '?email=bob@example.org&$select[]=password&password[$ne]=x'
    const { status, text } = await server.request(`/authentication${query}`, { data: CREDENTIALS })
    t.equal(status, 201, 'the query of a login is no query for users')
    t.notMatch(text, /scrypt/)
  })

  t.test(`names that are no strategies, ${mode} (INJ-18)`, async (t) => {
    const { server } = await start(t, mode, { settings: { authStrategies: ['local'] } })
    const names: unknown[] = ['__proto__', 'constructor', 'toString', 'x'.repeat(10_000), 'jwt']
    names.push(['local'], {}, { $ne: null }, 7, true, 'Local', 'local ')
    const texts = new Set<string>()
    for (const strategy of names) {
      const data = { ...CREDENTIALS, strategy, accessToken: await forge() }
      const answer = await server.request('/authentication', { data })
      t.equal(answer.status, 401, JSON.stringify(strategy).slice(0, 20))
      texts.add(answer.text)
    }
    t.equal(texts.size, 1)
    for (const data of [{}, [], [CREDENTIALS], { strategy: null }, { strategy: '' }]) {
      const answer = await server.request('/authentication', { data })
      t.ok([400, 401, 405].includes(answer.status), `${answer.status} ${JSON.stringify(data)}`)
    }
  })

  t.test(`nothing in a request forges who calls, ${mode} (INJ-19)`, async (t) => {
    const { server } = await start(t, mode)
    const query = [
      ...['provider=', 'user[_id]=1', 'user[id]=1', 'authentication[strategy]=jwt'],
      ...['authenticated=true', 'route[userId]=2', 'userId=2', 'jwt[secret]=x', 'secret=x'],
    ].join('&')
    const data = {
      ...{ provider: null, user: { id: 1 }, authenticated: true, authentication: {} },
      ...{ params: { provider: null, authenticated: true }, query: { provider: null } },
    }
    const headers = { provider: '', user: '1', authentication: 'x', authenticated: 'true' }
    const options = { data, headers: { ...headers, 'content-type': 'application/json' } }
    t.strictSame(refusalOf(await server.request(`/echo?${query}`, { headers })), NOBODY)
    t.strictSame(refusalOf(await server.request(`/echo?${query}`, options)), NOBODY)
    const { body } = await server.request(`/open/1/notes?${query}`, options)
    t.match(body, { provider: 'rest', route: { userId: '1' } })
    t.notMatch(body, { user: {} })
    t.notMatch(body, { authentication: {} })
  })

  t.test(`the same bytes for whoever fails to log in, ${mode} (AUTH-1)`, async (t) => {
    const { server, users } = await start(t, mode)
    await users.create({ id: 2, email: 'bob@example.org' })
    await users.create({ id: 3, email: 'eve@example.org', password: 'no hash' })
    const answers: Answer[] = []
    for (const email of ['nobody@example.org', ADA.email, 'bob@example.org', 'eve@example.org']) {
      const data = { ...CREDENTIALS, email, password: 'wrong horse' }
      answers.push(await server.request('/authentication', { data }))
    }
    const shown = answers.map(({ status, text, headers }) => {
      const { date: _date, ...others } = headers
      return JSON.stringify([status, text, others])
    })
    t.equal(new Set(shown).size, 1)
    t.match(answers[0], { status: 401, body: { message: 'Invalid login' } })
  })

  t.test(`the eleventh failing login of a minute, ${mode} (RES-17)`, async (t) => {
    stopClock(t)
    const { server } = await start(t, mode)
    const wrong = { ...CREDENTIALS, password: 'wrong horse' }
    for (let count = 1; count <= 10; count += 1) {
      const answer = await server.request('/authentication', { data: wrong })
      t.strictSame(refusalOf(answer), INVALID_LOGIN, String(count))
    }
    const { status, headers, body } = await server.request('/authentication', { data: wrong })
    t.equal(status, 429)
    t.match(body, { name: 'TooManyRequests', message: 'Too many failed logins' })
    t.equal(headers['retry-after'], '60')
    t.equal(headers['cache-control'], 'no-store')
    const right = await server.request('/authentication', { data: CREDENTIALS })
    t.equal(right.status, 429, 'not even with the right password, from where nobody is known')
    const token = bearer(await forge())
    t.equal((await server.request('/echo', { headers: token })).status, 200, 'tokens go on')
  })

  t.test(`the owner gets in from where he is known, ${mode} (RES-18)`, async (t) => {
    stopClock(t)
    const { server, authentication } = await start(t, mode)
    await logIn(server)
    const wrong = { ...CREDENTIALS, password: 'wrong horse' }
    for (let host = 1; host <= 100; host += 1) {
      const params = { provider: 'rest', query: {}, address: `192.0.2.${host}` }
      await t.rejects(authentication.create(wrong, params))
    }
    await t.resolves(logIn(server))
  })
}

/** Sends a login; resolves to status and `Retry-After`. */
function sendLogin(url: string): Promise<{ status: number; retryAfter: string | undefined }> {
  const payload = JSON.stringify(CREDENTIALS)
  const headers = { 'content-type': 'application/json', 'content-length': payload.length }
  return new Promise((resolve, reject) => {
    const request = sendRequest(url, { method: 'POST', headers, agent: false }, (response) => {
      response.resume().once('end', () => {
        const { statusCode: status = 0 } = response
        resolve({ status, retryAfter: response.headers['retry-after'] })
      })
    })
    request.once('error', reject).end(payload)
  })
}

t.test('200 logins at once leave the server its time for others (RES-11)', async (t) => {
  // The hashes may take longer in all than a call may.
  stopClock(t)
  // Each takes a sixth of what it takes by default: long enough for turns in between.
  const scrypt = { cost: 2 ** 14, blockSize: 8, parallelization: 1, concurrency: 1 }
  const local = { usernameField: 'email', passwordField: 'password', scrypt }
  const { server } = await start(t, 'standalone', { settings: { local } })
  const gate = new Gate()
  server.app.service('authentication').hooks({ before: { create: [() => gate.pass()] } })
  let isDone = false
  const logins = Promise.all(
    Array.from({ length: 200 }, () => sendLogin(`${server.url}/authentication`)),
  ).finally(() => {
    isDone = true
  })
  await gate.arrivals(200)
  gate.open()
  const probes: number[] = []
  while (!isDone) probes.push((await server.request('/health/live')).status)
  t.strictSame(new Set(probes), new Set([200]))
  const answers = await logins
  const accepted = answers.filter(({ status }) => status === 201)
  // From one address: logins from many are refused by the queue for hashes, with 503.
  const refused = answers.filter(({ status }) => status === 429)
  t.equal(accepted.length, 52, 'two that run, fifty waiting')
  t.equal(refused.length, 148)
  t.ok(refused.every(({ retryAfter }) => Number(retryAfter) >= 1))
  // There is a turn for others after each hash at least, and a probe takes a few.
  t.ok(probes.length > 5, `${probes.length} probes were answered meanwhile`)
})

t.test('nothing more is hashed for a client who has gone, or had its time (RES-11)', async (t) => {
  for (const way of ['gone', 'late']) {
    const strategy = new SlowStrategy()
    const ended: Promise<unknown>[] = []
    const time = way === 'late' ? stopTime(t) : null
    const copy: Hook = (context) => {
      context.params = { ...context.params }
    }
    const wait: AroundHook = async (_context, next) => {
      const call = next()
      ended.push(call.catch((error: unknown) => error))
      await call
    }
    const server = await startServer(t, 'standalone', {
      ...(way === 'late' && { handlerTimeoutMs: 50 }),
      services(app: Application) {
        addAccounts(app, { strategies: { local: strategy } })
        app.use('members', { create: async (data: unknown) => data })
        const before = { create: [copy, hashPassword('password')] }
        app.service('members').hooks({ around: { create: [wait] }, before })
      },
    })
    const body = JSON.stringify(Array.from({ length: 5 }, () => ({ password: 'pony' })))
    const headers = { 'content-type': 'application/json' }
    const request = sendRequest(`${server.url}/members`, { method: 'POST', headers })
    request.on('error', () => undefined).end(body)
    await strategy.gate.arrivals(1)
    if (time === null) request.destroy()
    else {
      time.pass(100)
      await once(request, 'response')
    }
    const [params] = strategy.params
    if (!params?.signal?.aborted) await once(params?.signal as AbortSignal, 'abort')
    strategy.gate.open()
    t.match(await ended[0], { message: /client has gone|No answer within/ }, way)
    t.equal(strategy.params.length, 1, way)
  }
})
