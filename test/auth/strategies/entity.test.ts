import t from 'tap'
import {
  AuthenticationBaseStrategy,
  AuthenticationService,
  authenticate,
  JwtStrategy,
  LocalStrategy,
  protect,
} from '../../../src/auth/index.ts'
import type { HookContext, Params } from '../../../src/core/index.ts'
import { LOCAL } from '../../support/users.ts'
import type { User } from '../login-app.ts'
import { CREDENTIALS, createLoginApp, external, SECRET, startLoginApp } from '../login-app.ts'

const REFUSED = { name: 'NotAuthenticated', code: 401 }

/** What a login shows outside, by password and by token. */
async function showLogins(hooks: object) {
  const { app, authentication, users } = await startLoginApp()
  await users.patch(1, { ssn: '123' })
  app.service('users').hooks(hooks)
  const first = await authentication.create(CREDENTIALS, external())
  const request = { strategy: 'jwt', accessToken: first.accessToken }
  const second = await authentication.create(request, external())
  return [first['user'], second['user']]
}

const SHOWN = { id: 1, email: CREDENTIALS.email }

t.test('a login shows what an external get of the user shows (MASS-3)', async (t) => {
  const hideInGet = (context: HookContext) => {
    if (!context.params.provider) return
    const { ssn: _ssn, ...shown } = context.result as User
    context.result = shown
    context.dispatch = shown
  }
  const shown = await showLogins({ after: { all: [protect('password')], get: [hideInGet] } })
  t.strictSame(shown, [SHOWN, SHOWN])
})

t.test('a dispatch that is made for calls inside is not shown (MASS-3)', async (t) => {
  const hide = (user: User) => {
    const { password: _password, ssn: _ssn, ...shown } = user
    return shown
  }
  const dispatch = (context: HookContext) => {
    const result = context.result as User | User[]
    const shown = Array.isArray(result) ? result.map(hide) : hide(result)
    context.dispatch = context.params.provider ? shown : result
  }
  t.strictSame(await showLogins({ after: { all: [dispatch] } }), [SHOWN, SHOWN])
})

t.test('a login opens nothing that another service protects (JWT-15)', async (t) => {
  const { app, authentication } = await startLoginApp()
  const settings = { secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt'] }
  const admin = new AuthenticationService(app, 'adminAuth', settings)
  app.use('admin-login', admin.register('jwt', new JwtStrategy()))
  app.use('secret', { find: async () => 'the secret' })
  const hook = authenticate({ service: 'admin-login', strategies: ['jwt'] })
  app.service('secret').hooks({ before: { all: [hook] } })
  const found: unknown[] = []
  app.service('users').hooks({
    before: { get: [authenticate('jwt')] },
    after: {
      get: async ({ params }) => {
        if (!params.provider) return
        const finding = app.service('secret').find({ ...params, query: {} } as Params)
        found.push(await finding.catch((error: unknown) => error))
      },
    },
  })
  t.match(await authentication.create(CREDENTIALS, external()), { user: { id: 1 } })
  t.match(found, [REFUSED])
})

t.test('a login shows its user, whichever service the hooks of the user ask for', async (t) => {
  const { app, authentication } = await startLoginApp()
  const settings = { secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt'] }
  const admin = new AuthenticationService(app, 'adminAuth', settings)
  app.use('admin-login', admin.register('jwt', new JwtStrategy()))
  const hook = authenticate({ service: 'admin-login', strategies: ['jwt'] })
  app.service('users').hooks({ before: { get: [hook] } })
  t.match(await authentication.create(CREDENTIALS, external()), { user: { id: 1 } })
})

t.test('an entity under a name of its own is known to the hooks of its service', async (t) => {
  class AccountService extends AuthenticationService {
    override async getTokenOptions() {
      return { subject: '1' }
    }
  }
  const { app, users } = await startLoginApp()
  const service = new AccountService(app, 'accountAuth', {
    ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['local'] },
    local: { ...LOCAL, entity: 'account' },
  })
  app.use('account-login', service.register('local', new LocalStrategy()))
  const hook = authenticate({ service: 'account-login', strategies: ['local'] })
  app.service('users').hooks({ before: { get: [hook] } })
  t.match(await service.create(CREDENTIALS, external()), { account: { id: 1 } })
  t.match(users.takeCalls().at(-1), { provider: 'rest', params: { account: { id: 1 } } })
})

/** A strategy that writes down its params. */
class NotingStrategy extends AuthenticationBaseStrategy {
  readonly seen: object[] = []

  async authenticate(_request: object, params: Params) {
    this.seen.push(params)
    return { authentication: { strategy: this.name }, user: { id: 1 } }
  }
}

t.test('strategies and the entity service get the keys that Feathers gives them', async (t) => {
  const noting = new NotingStrategy()
  const authStrategies = ['jwt', 'local', 'noting']
  const { app, authentication, local, users } = createLoginApp({ settings: { authStrategies } })
  authentication.register('noting', noting)
  app.use('echo', { find: async () => [] })
  app.service('echo').hooks({ before: { all: [authenticate('noting', 'jwt')] } })
  await app.setup()
  const password = await local.hashPassword(CREDENTIALS.password)
  users.users.set('1', { id: 1, email: CREDENTIALS.email, password })
  const keys = () => [...noting.seen.splice(0), ...users.takeCalls().map(({ params }) => params)]
  const keysAfter = async (call: () => Promise<unknown>) => {
    await call()
    return keys().map((params) => Object.keys(params).sort().join(' '))
  }
  const request = { strategy: 'noting' }
  t.strictSame(await keysAfter(() => authentication.create(request)), ['authenticated'])
  t.strictSame(await keysAfter(() => authentication.create(request, external())), [
    'authenticated headers provider query',
  ])
  t.strictSame(await keysAfter(() => authentication.create(CREDENTIALS)), ['authenticated query'])
  t.strictSame(
    await keysAfter(() => authentication.create(CREDENTIALS, external())),
    ['authenticated headers query', 'authenticated authentication headers provider query user'],
    'nor what counts the login',
  )
  const authenticated = { authentication: request }
  const inside = () => app.service('echo').find({ ...authenticated } as Params)
  t.strictSame(await keysAfter(inside), ['authenticated'])
  const outside = () => app.service('echo').find(external(authenticated))
  t.strictSame(await keysAfter(outside), ['authenticated headers query'])
  const accessToken = await authentication.createAccessToken({}, { subject: '1' })
  const jwt = () =>
    app.service('echo').find(external({ authentication: { strategy: 'jwt', accessToken } }))
  t.strictSame(await keysAfter(jwt), ['authenticated headers query'])
  const address = '192.0.2.1'
  t.strictSame(await keysAfter(() => authentication.create(request, external({ address }))), [
    'address authenticated headers provider query',
  ])
})
