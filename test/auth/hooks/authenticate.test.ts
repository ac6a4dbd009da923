import t from 'tap'
import type { AuthenticationParams } from '../../../src/auth/index.ts'
import {
  AuthenticationService,
  authenticate,
  authenticateParams,
  JwtStrategy,
} from '../../../src/auth/index.ts'
import type { AroundHook, HookContext, Params } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { LoginAppOptions } from '../login-app.ts'
import { collectLog, external, forge, SECRET, startLoginApp } from '../login-app.ts'

const REFUSED = { name: 'NotAuthenticated', code: 401 }

/** Params as a transport makes them: a class with getters on its prototype. */
class TransportParams implements Params {
  query = {}
  provider = 'rest'
  declare authentication?: Params['authentication']
  user?: unknown

  constructor(authentication?: Params['authentication']) {
    if (authentication !== undefined) this.authentication = authentication
  }

  get requestId(): string {
    return 'req-1'
  }
}

/** The application with a protected service that returns its params. */
async function start(hook = authenticate('jwt'), options: LoginAppOptions = {}) {
  const started = await startLoginApp(options)
  const { app } = started
  app.use('echo', { get: async (_id: unknown, params: Params) => params })
  app.service('echo').hooks({ before: { all: [hook] } })
  const accessToken = await forge()
  const get = (params?: Params) => app.service('echo').get(1, params) as Promise<Params>
  return { ...started, get, accessToken, request: { strategy: 'jwt', accessToken } }
}

t.test('lets pass whoever proves who they are, and says who that is', async (t) => {
  for (const hook of [authenticate('jwt'), authenticate({ strategies: ['other', 'jwt'] })]) {
    const { get, users, request } = await start(hook)
    const params = new TransportParams(request)
    const seen = await get(params)
    t.equal(seen, params, 'params of a transport are changed in place')
    t.equal(seen.requestId, 'req-1')
    t.match(seen, {
      provider: 'rest',
      authenticated: true,
      authentication: { ...request, payload: { sub: '1' } },
      user: { id: 1, password: String },
    })
    t.notOk('accessToken' in seen)
    t.match(users.takeCalls(), [{ method: 'get', query: {}, provider: undefined }])
  }
})

t.test('changes no params that the caller may use again', async (t) => {
  const { get, request } = await start()
  const kept = { anything: 1 }
  const params = Object.freeze({ provider: 'rest', authentication: request, kept })
  const seen = (await get(params)) as typeof params
  t.not(seen, params)
  t.equal(seen.kept, kept)
})

t.test('refuses who does not, in the documented order', async (t) => {
  const { get, app, request } = await start()
  await t.rejects(get(external()), { ...REFUSED, message: 'Not authenticated' })
  await t.rejects(get(external({ user: { id: 1 } })), { message: 'Not authenticated' })
  await t.rejects(get(external({ authentication: { ...request, accessToken: 'x' } })), REFUSED)
  const local = { strategy: 'local' }
  await t.rejects(get(external({ authentication: local })), { message: /strategy not allowed/ })
  await t.resolves(get(), 'internal calls need no authentication')
  await t.rejects(get({ authentication: local }), REFUSED, 'unless they bring one')
  t.match(await get({ authentication: request }), { user: { id: 1 } })

  t.throws(() => authenticate({ strategies: [] }), /at least one allowed strategy/)
  t.throws(() => (authenticate as () => unknown)(), /at least one allowed strategy/)
  const mistyped = { servce: 'admin', strategies: ['jwt'] }
  t.throws(() => authenticate(mistyped), /unknown option 'servce'; did you mean 'service'/)
  app.service('echo').hooks({ after: { get: [authenticate('jwt')] } })
  await t.rejects(get(), {
    ...REFUSED,
    message: 'The authenticate hook must be used as a before hook',
  })
})

t.test('needs an authentication service', async (t) => {
  const app = createApp()
  app.use('echo', { get: async () => 1 })
  app.service('echo').hooks({ before: { all: [authenticate('jwt')] } })
  await t.rejects(app.service('echo').get(1), {
    ...REFUSED,
    message: 'Could not find a valid authentication service',
  })
  app.use('fake', { get: async () => 1 })
  app.use('other', { get: async () => 1 })
  const hook = authenticate({ service: 'fake', strategies: ['jwt'] })
  app.service('other').hooks({ before: { all: [hook] } })
  await t.rejects(app.service('other').get(1), { message: /valid authentication service/ })
})

t.test('refuses to protect the authentication service itself (AUTH-7)', async (t) => {
  const { app } = await start()
  app.service('authentication').hooks({ before: { create: [authenticate('jwt')] } })
  await t.rejects(app.service('authentication').create({ strategy: 'local' }, external()), {
    ...REFUSED,
    message: 'The authenticate hook does not need to be used on the authentication service',
  })
})

t.test('takes the user from the database, whatever stands in the params (AUTH-7)', async (t) => {
  const { get, request, app } = await start()
  app.service('users').hooks({ before: { all: [authenticate('jwt')] } })
  const params = new TransportParams(request)
  params.user = { id: 2, role: 'admin' }
  t.match(await get(params), { user: { id: 1, email: 'ada@example.org' } })
  const visible = (await app.service('users').get(1, new TransportParams(request))) as object
  t.match(visible, { id: 1 }, 'the entity service itself may be protected')
})

t.test('nothing in an outside call passes for a proof (INJ-19)', async (t) => {
  const { get, request } = await start()
  const proven = (await get(new TransportParams(request))).authentication
  const claims = [
    { authenticated: true },
    { authenticated: true, user: { id: 1 }, authentication: undefined },
    { user: { id: 1 }, authentication: undefined },
  ]
  for (const claim of claims) {
    const params = external(claim as Partial<AuthenticationParams>)
    await t.rejects(get(params), { ...REFUSED, message: 'Not authenticated' })
  }
  const copy = { ...proven, accessToken: 'forged' }
  await t.rejects(get(external({ authentication: copy, authenticated: true })), REFUSED)
})

t.test('a proof goes along with params, and only with those', async (t) => {
  const { get, users, request } = await start()
  const proven = await get(new TransportParams(request))
  users.takeCalls()
  const again = await get(proven)
  t.equal(again, proven)
  const { authentication, user } = proven
  await get({ provider: 'rest', authentication, user })
  await get({ ...proven, provider: undefined } as Params)
  t.strictSame(users.takeCalls(), [], 'nobody is looked up again')
  t.match(await get({ provider: 'rest', authentication }), { user: { id: 1 } })
  t.equal(users.takeCalls().length, 1, 'without its user a proof is none')
  const params = new TransportParams({ ...request, accessToken: 'other' })
  params.user = user
  await t.rejects(get(params), REFUSED, 'another token is not proven by it')
})

t.test('two hooks in a row look up the user once', async (t) => {
  const { app, get, users, request } = await start()
  app.service('echo').hooks({ before: { get: [authenticate('jwt')] } })
  await get(new TransportParams(request))
  t.equal(users.takeCalls().length, 1)
})

t.test('what one service has proven is nothing to another (JWT-15)', async (t) => {
  const { app, get, request } = await start()
  const settings = { secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt'] }
  const admin = new AuthenticationService(app, 'admin', settings)
  app.use('admin', admin.register('jwt', new JwtStrategy()))
  await admin.setup()
  const hook = authenticate({ service: 'admin', strategies: ['jwt'] })
  app.service('echo').hooks({ before: { get: [hook] } })
  await t.rejects(get(new TransportParams(request)), REFUSED)
  const accessToken = await admin.createAccessToken({}, { subject: '1' })
  await t.rejects(get(new TransportParams({ strategy: 'jwt', accessToken })), REFUSED)
})

t.test('what a weaker strategy has proven is nothing to a hook that excludes it', async (t) => {
  const { app, get, authentication } = await start(authenticate('jwt', 'guest'))
  authentication.register('guest', { authenticate: async () => ({ guest: true }) })
  t.match(await get(external({ authentication: { strategy: 'guest' } })), { guest: true })
  app.service('echo').hooks({ before: { get: [authenticate('jwt')] } })
  await t.rejects(get(external({ authentication: { strategy: 'guest' } })), {
    message: /strategy not allowed/,
  })
})

t.test('a strategy can not turn an outside call into an inside one', async (t) => {
  const { get, authentication } = await start(authenticate('odd'))
  const shared = { strategy: 'odd' }
  authentication.register('odd', {
    authenticate: async () => ({ provider: undefined, authentication: shared, accessToken: 'x' }),
  })
  const seen = await get(external({ authentication: { strategy: 'odd' } }))
  t.equal(seen.provider, 'rest')
  t.not(seen.authentication, shared, 'and an object that it keeps becomes no proof')
})

t.test('works around, as a before hook, and for params alone', async (t) => {
  const { app, request } = await startLoginApp().then(async (started) => ({
    ...started,
    request: { strategy: 'jwt', accessToken: await forge() },
  }))
  app.use('around', { get: async (_id: unknown, params: Params) => params })
  app.service('around').hooks({ around: { all: [authenticate('jwt') as AroundHook] } })
  const around = app.service('around')
  t.match((await around.get(1, new TransportParams(request))) as object, { user: { id: 1 } })
  await t.rejects(around.get(1, external()), REFUSED)
  t.match((await around.get(1)) as object, {})

  const params = new TransportParams(request)
  t.equal(await authenticateParams(app, params, 'jwt'), params)
  t.match(params, { user: { id: 1 } })
  await t.rejects(authenticateParams(app, external(), 'jwt'), REFUSED)
  const options = { service: 'authentication', strategies: ['jwt'] }
  t.match(await authenticateParams(app, { authentication: request }, options), { user: { id: 1 } })
  const context = { app, params: new TransportParams(request) } as unknown as HookContext
  await authenticate('jwt')(context)
  t.match(context.params, { user: { id: 1 } }, 'a context without a type is before')
})

t.test('many calls at a time each see their own user (MEM-3)', async (t) => {
  const { get, users } = await start()
  const tokens = new Map<string, string>()
  for (let id = 2; id < 52; id += 1) {
    await users.create({ id })
    tokens.set(String(id), await forge({ claims: { sub: String(id), jti: String(id) } }))
  }
  collectLog(createApp())
  const ids = Array.from({ length: 2000 }, (_, index) => String(2 + (index % 50)))
  const seen = await Promise.all(
    ids.map((id) => get(new TransportParams({ strategy: 'jwt', accessToken: tokens.get(id) }))),
  )
  t.ok(seen.every(({ user }, index) => String((user as { id: number }).id) === ids[index]))
})
