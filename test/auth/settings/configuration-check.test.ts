import cluster from 'node:cluster'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { AuthenticationBaseStrategy, AuthenticationService } from '../../../src/auth/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { LOCAL } from '../../support/users.ts'
import { createLoginApp, SECRET, UserService } from '../login-app.ts'

t.test('does not set up with what can not work, and says where it stands (AUTH-6)', async (t) => {
  const cases: [settings: object, message: RegExp][] = [
    [
      { authStrategies: ['jwt', 'locl'] },
      /'authentication\.authStrategies' names 'locl', .* are jwt, local/,
    ],
    [{ parseStrategies: ['jtw'] }, /'authentication\.parseStrategies' names 'jtw'/],
    [{ authStrategies: ['constructor'] }, /'authentication\.authStrategies' names 'constructor'/],
    [{ jwt: 'x' }, /'authentication': the option 'jwt' must be an object/],
    [{ loginThrottle: { store: {} } }, /the option 'loginThrottle\.store' must be a store/],
    [
      { loginThrottle: { maxAttempts: '10' } },
      /the option 'loginThrottle\.maxAttempts' must be a whole number/,
    ],
    [
      { local: { ...LOCAL, entity: 5 } },
      /\.local': the option 'entity' must be a non-empty string or null/,
    ],
    [
      { local: { ...LOCAL, entityId: 5 } },
      /\.local': the option 'entityId' must be a non-empty string/,
    ],
    [
      { local: { ...LOCAL, service: 'nope' } },
      /'nope' service that 'authentication\.local\.service'/,
    ],
    [
      { local: { ...LOCAL, service: 5 } },
      /\.local': the option 'service' must be the path of a service/,
    ],
    [{ onLogin: () => undefined }, /'authentication': unknown option 'onLogin'/],
  ]
  for (const [settings, message] of cases) {
    const start = async () => createLoginApp({ settings }).app.setup()
    await t.rejects(start(), { name: 'TypeError', message }, String(message))
  }
})

t.test('leaves settings to other packages that are named, and no others', async (t) => {
  const start = async (settings: object) => {
    const { app } = createLoginApp({ settings })
    await app.setup()
    return app.get('authentication') as Readonly<Record<string, unknown>>
  }
  const others = { 'refresh-token': { secret: 'x' }, path: '/login', onLogin: () => undefined }
  const extensions = Object.keys(others)
  t.match(await start({ ...others, extensions }), others)
  await t.resolves(start({ extensions: ['not-there'] }))
  const cases: [settings: object, message: RegExp][] = [
    [
      others,
      /'refresh-token', allowed are .*\. If another package reads it, name it in 'authentication\.ext/,
    ],
    [{ ...others, extensions: extensions.slice(1) }, /unknown option 'refresh-token'/],
    [{ extensions: ['path'], Path: 1 }, /unknown option 'Path'; did you mean 'path'\?/],
    [{ extensions: 'path', path: 'x' }, /unknown option 'path'/],
    [{ extensions: 'path' }, /the option 'extensions' must be a list/],
    [{ extensions: [''] }, /the option 'extensions' must be a list/],
    [{ extensions: [5] }, /the option 'extensions' must be a list/],
    [{ extensions: ['secret'] }, /extensions' names 'secret', which the authentication service/],
    [{ extensions: ['local'] }, /extensions' names 'local'/],
    [{ extensions: ['loginThrottle'] }, /extensions' names 'loginThrottle'/],
    [{ extensions: ['guest'], authStrategies: ['guest'], guest: 1 }, /'guest' must be an object/],
    [{ extensions: ['guest'], authStrategies: ['guest'], guest: {} }, /extensions' names 'guest'/],
    [{ extensions: ['extensions'] }, /extensions' names 'extensions'/],
  ]
  for (const [settings, message] of cases) {
    await t.rejects(start(settings), { name: 'TypeError', message }, String(message))
  }
})

t.test('does not set up with logins of one service and tokens of another (JWT-16)', async (t) => {
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

/** A strategy of the application, with settings of its own beside those of the base class. */
class GuestStrategy extends AuthenticationBaseStrategy {
  override async authenticate() {
    return { authentication: { strategy: this.name } }
  }
}

t.test('checks what an own strategy says of the entity, and nothing else of it', async (t) => {
  const start = async (guest: object) => {
    const { app, authentication } = createLoginApp({ settings: { guest } })
    authentication.register('guest', new GuestStrategy())
    await app.setup()
  }
  await t.resolves(start({ entity: null, room: 7 }))
  await t.rejects(start({ entity: 7 }), { message: /'authentication\.guest': the option 'entity'/ })
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

t.test('a worker of a cluster tells of what it counts for itself (RES-17)', async (t) => {
  const exec = fileURLToPath(new URL('cluster-worker.js', import.meta.url))
  cluster.setupPrimary({ exec, args: [] })
  const worker = cluster.fork()
  const [[logs]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')])
  const [throttle, revocation] = ['authentication.loginThrottle.store', 'authentication.revocation']
  const toLine = (...settings: unknown[]) => [{ level: 'warn', settings, message: String }]
  t.match(logs, {
    default: toLine(throttle),
    memory: toLine(throttle, revocation),
    'revocation alone': toLine(revocation),
    shared: [],
  })
  t.strictSame(logs.shared, [])
  t.match(logs.memory[0].message, `'${throttle}', '${revocation}'`)
  const { app, log } = createLoginApp({ settings: { revocation: true } })
  await app.setup()
  t.strictSame(log, [], 'one process alone has nothing to share')
})
