import t from 'tap'
import {
  AuthenticationService,
  authenticate,
  JwtStrategy,
  LocalStrategy,
  protect,
} from '../../../src/auth/index.ts'
import type { HookContext, Params } from '../../../src/core/index.ts'
import type { User } from '../login-app.ts'
import { CHEAP_SCRYPT, CREDENTIALS, external, SECRET, startLoginApp } from '../login-app.ts'

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

t.test('MASS-3: a login shows what an external get of the user shows', async (t) => {
  const hideInGet = (context: HookContext) => {
    if (!context.params.provider) return
    const { ssn: _ssn, ...shown } = context.result as User
    context.result = shown
    context.dispatch = shown
  }
  const shown = await showLogins({ after: { all: [protect('password')], get: [hideInGet] } })
  t.strictSame(shown, [SHOWN, SHOWN])
})

t.test('MASS-3: a dispatch that is made for calls inside is not shown', async (t) => {
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

t.test('JWT-15: a login opens nothing that another service protects', async (t) => {
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
      get: [
        async ({ params }) => {
          if (!params.provider) return
          const finding = app.service('secret').find({ ...params, query: {} } as Params)
          found.push(await finding.catch((error: unknown) => error))
        },
      ],
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
    local: {
      ...{ entity: 'account', usernameField: 'email', passwordField: 'password' },
      scrypt: CHEAP_SCRYPT,
    },
  })
  app.use('account-login', service.register('local', new LocalStrategy()))
  const hook = authenticate({ service: 'account-login', strategies: ['local'] })
  app.service('users').hooks({ before: { get: [hook] } })
  t.match(await service.create(CREDENTIALS, external()), { account: { id: 1 } })
  t.match(users.takeCalls().at(-1), { provider: 'rest', params: { account: { id: 1 } } })
})
