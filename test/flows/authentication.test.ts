import t from 'tap'
import type { AuthenticationHttpRequest } from '../../src/auth/index.ts'
import { authenticate, JwtStrategy } from '../../src/auth/index.ts'
import type { AuthenticationRequest } from '../../src/core/index.ts'
import type { Application, Middleware, Params } from '../../src/transport/index.ts'
import { parseAuthentication } from '../../src/transport/index.ts'
import { CREDENTIALS, forge } from '../auth/login-app.ts'
import type { AccountOptions, Accounts } from '../support/accounts.ts'
import { addAccounts, addEcho, bearer, logIn, refusalOf } from '../support/accounts.ts'
import type { Mode, TestScope } from '../support/http.ts'
import { MODES } from '../support/http.ts'
import type { TestAppOptions } from '../support/test-app.ts'
import { startApp } from '../support/test-app.ts'

const ADA = { id: 1, email: CREDENTIALS.email }

interface Options extends AccountOptions {
  readonly mode?: Mode
  readonly rest?: TestAppOptions
  readonly more?: (app: Application) => unknown
}

/** A server with users, of whom Ada is one, and a protected service. */
async function start(t: TestScope, options: Options = {}) {
  const { mode = 'standalone', rest = {}, more, ...accounts } = options
  const configure = (app: Application): void => {
    addEcho(app)
    more?.(app)
  }
  return startApp(t, { mode, ...rest, accounts, configure })
}

const NOBODY = [401, 'Not authenticated']

for (const mode of MODES) {
  t.test(`takes a token of either scheme, in any case, or of none, ${mode}`, async (t) => {
    const { server } = await start(t, { mode })
    const token = await logIn(server)
    const schemes = ['Bearer ', 'bearer ', 'JWT ', 'Bearer: ', '  Bearer ', 'Bearer\t', '']
    for (const text of schemes.map((scheme) => `${scheme}${token}`)) {
      const { status, body } = await server.request('/echo', { headers: { authorization: text } })
      t.equal(status, 200, text.slice(0, 8))
      t.match(body, { provider: 'rest', user: { email: ADA.email } })
    }
  })

  t.test(`schemes are compared as they are, ${mode}`, async (t) => {
    const { server } = await start(t, { mode })
    const token = await logIn(server)
    for (const scheme of [':', 'Bearer::', 'XBearerY', 'Basic', 'Bear', 'Bearer,JWT', '.*']) {
      const headers = { authorization: `${scheme} ${token}` }
      t.strictSame(refusalOf(await server.request('/echo', { headers })), NOBODY, scheme)
      t.equal((await server.request('/open', { headers })).status, 200, scheme)
    }
    const alone = await server.request('/echo', { headers: { authorization: 'Bearer' } })
    t.strictSame(refusalOf(alone), [401, 'jwt malformed'])
    t.strictSame(refusalOf(await server.request('/echo')), NOBODY)
  })

  t.test(`without strategies nobody logs in, and no request is read, ${mode}`, async (t) => {
    const { server } = await start(t, { mode, settings: { authStrategies: [] } })
    const login = await server.request('/authentication', { data: CREDENTIALS })
    t.match(refusalOf(login), [401, /^No authentication strategies allowed/])
    const headers = bearer(await forge())
    t.strictSame(refusalOf(await server.request('/echo', { headers })), NOBODY)
  })

  t.test(`logs in whatever the Authorization header says, ${mode}`, async (t) => {
    const { server } = await start(t, { mode })
    for (const authorization of ['Bearer broken', 'Bearer', 'Basic eDp5', 'a b c', '"', '{}']) {
      const options = { headers: { authorization }, data: CREDENTIALS }
      const { status, body } = await server.request('/authentication', options)
      t.equal(status, 201, authorization)
      t.match(body, { accessToken: String, authentication: { strategy: 'local' } })
      t.notMatch(body, { user: { password: String } })
    }
  })

  t.test(`a token without user is looked up once, and logs out, ${mode}`, async (t) => {
    const { server, users } = await start(t, { mode })
    const headers = bearer(await logIn(server))
    users.takeCalls()
    await server.request('/echo', { headers })
    t.strictSame(
      users.takeCalls().map(({ method, provider }) => [method, provider]),
      [['get', undefined]],
    )
    const { status, body } = await server.request('/authentication', { method: 'DELETE', headers })
    t.equal(status, 200)
    t.match(body, { authentication: { strategy: 'jwt' }, user: ADA })
    const anonymous = await server.request('/authentication', { method: 'DELETE' })
    t.equal(anonymous.status, 401)
    const other = { method: 'DELETE', headers }
    t.equal((await server.request('/authentication/other', other)).status, 401)
    for (const method of ['GET', 'PUT', 'PATCH']) {
      t.equal((await server.request('/authentication', { method, headers })).status, 405, method)
    }
  })

  t.test(`two services with one secret and the same ids, ${mode} (JWT-15)`, async (t) => {
    const admin = { service: 'admin-login' }
    const rest: TestAppOptions = mode === 'plugin' ? { authentication: [{}, admin] } : {}
    const extra: Accounts[] = []
    const { server } = await start(t, {
      mode,
      rest,
      more(app) {
        const jwt = { header: 'X-Admin' }
        const settings = { entity: 'admin', service: 'admins', jwt }
        const key = 'adminAuthentication'
        extra.push(addAccounts(app, { path: 'admin-login', key, settings }))
        app.use('audit', { find: async (params: Params) => ({ admin: 'admin' in params }) })
        const guard = authenticate({ service: 'admin-login', strategies: ['jwt'] })
        app.service('audit').hooks({ before: { all: [guard] } })
        if (mode === 'standalone') {
          const own = app as Application & Parameters<ReturnType<typeof parseAuthentication>>[0]
          own.configure(parseAuthentication(admin))
        }
      },
    })
    await extra[0]?.addUser(ADA)
    const userToken = await logIn(server)
    const adminToken = await logIn(server, '/admin-login')
    const statusOf = async (path: string, headers: Record<string, string>) =>
      refusalOf(await server.request(path, { headers }))
    const otherService = [401, 'jwt is for another service']
    t.strictSame(await statusOf('/echo', bearer(userToken)), [200, undefined])
    t.strictSame(await statusOf('/audit', { 'x-admin': adminToken }), [200, undefined])
    t.strictSame(await statusOf('/audit', { 'x-admin': userToken }), otherService)
    t.strictSame(await statusOf('/audit', bearer(userToken)), otherService)
    t.strictSame(await statusOf('/echo', bearer(adminToken)), otherService)
    t.strictSame(await statusOf('/echo', { 'x-admin': adminToken }), otherService)
    const data = { strategy: 'jwt', accessToken: adminToken }
    t.equal((await server.request('/authentication', { data })).status, 401)
    const logout = { method: 'DELETE', headers: { 'x-admin': adminToken } }
    t.equal((await server.request('/admin-login', logout)).status, 200)
    t.equal((await server.request('/authentication', logout)).status, 401)
  })
}

/** Reads the header after a while, as one that asks somebody would. */
class LateStrategy extends JwtStrategy {
  override parse(request: AuthenticationHttpRequest): never {
    return this.#parseLater(request) as never
  }

  async #parseLater(request: AuthenticationHttpRequest): Promise<AuthenticationRequest | null> {
    await new Promise(setImmediate)
    if (request.headers['x-fail'] !== undefined) throw new Error('the reader failed')
    return super.parse(request)
  }
}

t.test('waits for strategies that read a request later', async (t) => {
  const { server } = await start(t, { strategies: { jwt: new LateStrategy() } })
  const headers = bearer(await logIn(server))
  t.match((await server.request('/echo', { headers })).body, { user: { email: ADA.email } })
  t.strictSame(refusalOf(await server.request('/echo')), NOBODY)
  t.equal((await server.request('/open', { headers: { 'x-fail': '1' } })).status, 500)
  t.equal((await server.request('/open')).status, 200)
})

t.test('functions before a service may say who calls', async (t) => {
  const find = async ({ user }: Params) => ({ user: (user as typeof ADA).email })
  const findCaller: Middleware = async ({ headers, feathers }) => {
    const accessToken = headers['x-session']
    if (accessToken) feathers['authentication'] = { strategy: 'jwt', accessToken }
  }
  const server = await startApp(t, {
    accounts: {},
    services: { mine: [findCaller, { find }] },
    hooks: { mine: { before: { all: [authenticate('jwt')] } } },
  })
  const token = await logIn(server)
  const answer = await server.request('/mine', { headers: { 'x-session': token } })
  t.strictSame(answer.body, { user: ADA.email })
  t.equal(answer.headers['cache-control'], 'no-store')
  t.strictSame(refusalOf(await server.request('/mine')), NOBODY)
  t.equal((await server.request('/mine', { headers: bearer(token) })).status, 200)
  const forged = { 'x-session': 'forged', ...bearer(token) }
  t.equal((await server.request('/mine', { headers: forged })).status, 401)
})

t.test('tells of logins and logouts from outside, after they are done', async (t) => {
  const events: unknown[] = []
  const { server } = await start(t, {
    more(app) {
      for (const event of ['login', 'logout']) {
        app.on(event, (result, params: Params, context) => {
          const { user } = result as { user: typeof ADA }
          const { method } = context as { method: string }
          events.push([event, user.email, params.provider, method])
        })
      }
    },
  })
  await server.app.service('authentication').create(CREDENTIALS)
  t.strictSame(events, [], 'not for calls of this process')
  const headers = bearer(await logIn(server))
  await server.request('/authentication', { data: { ...CREDENTIALS, password: 'wrong horse' } })
  await server.request('/authentication', { method: 'DELETE', headers })
  await server.request('/authentication', { method: 'DELETE' })
  t.strictSame(events, [
    ['login', ADA.email, 'rest', 'create'],
    ['logout', ADA.email, 'rest', 'remove'],
  ])
})
