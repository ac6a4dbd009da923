import t from 'tap'
import { AuthenticationService } from '../../../src/auth/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { CHEAP_SCRYPT, createLoginApp, SECRET, UserService } from '../login-app.ts'

const LOCAL = { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT }

t.test('AUTH-6: does not set up with what can not work, and says where it stands', async (t) => {
  const cases: [settings: object, message: RegExp][] = [
    [
      { authStrategies: ['jwt', 'locl'] },
      /'authentication\.authStrategies' names 'locl', .* are jwt, local/,
    ],
    [{ parseStrategies: ['jtw'] }, /'authentication\.parseStrategies' names 'jtw'/],
    [{ authStrategies: ['constructor'] }, /'authentication\.authStrategies' names 'constructor'/],
    [{ jwt: 'x' }, /'authentication\.jwt' must be an object/],
    [{ loginThrottle: { store: {} } }, /'authentication\.loginThrottle' must be .* a store/],
    [
      { loginThrottle: { maxAttempts: '10' } },
      /'authentication\.loginThrottle' must be .* numbers/,
    ],
    [{ local: { ...LOCAL, entity: 5 } }, /'authentication\.local\.entity' must be a text or null/],
    [{ local: { ...LOCAL, entityId: 5 } }, /'authentication\.local\.entityId' must be a text/],
    [
      { local: { ...LOCAL, service: 'nope' } },
      /'nope' service that 'authentication\.local\.service'/,
    ],
    [{ local: { ...LOCAL, service: 5 } }, /'5' service that 'authentication\.local\.service'/],
    [{ onLogin: () => undefined }, /Unknown option 'authentication\.onLogin'/],
  ]
  for (const [settings, message] of cases) {
    const { app } = createLoginApp({ settings })
    await t.rejects(app.setup(), { name: 'TypeError', message }, String(message))
  }
})

t.test('JWT-16: does not set up with logins of one service and tokens of another', async (t) => {
  const start = async (local: object, authStrategies = ['jwt', 'local']) => {
    const { app } = createLoginApp({ settings: { local: { ...LOCAL, ...local }, authStrategies } })
    app.use('admins', new UserService())
    await app.setup()
  }
  const message = /'authentication\.local\.service' is 'admins', but tokens are for 'users': use a/
  await t.rejects(start({ service: 'admins' }), { name: 'TypeError', message })
  await t.resolves(start({ service: '/users' }))
  await t.resolves(start({ service: 'admins', entity: 'admin' }), 'of which no token can be made')
  await t.resolves(start({ service: 'admins' }, ['jwt']), 'for hooks only')
})

t.test('leaves the sections of other strategies to them', async (t) => {
  const app = createApp()
  const service = new AuthenticationService(app, 'authentication', {
    ...{ secret: SECRET, entity: null, authStrategies: ['github'] },
    github: { service: 'https://github.com', entity: 7 },
  })
  service.register('github', { authenticate: async () => ({}) })
  await t.resolves(service.setup())
})
