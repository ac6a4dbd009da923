import t from 'tap'
import { AuthenticationService, JwtStrategy } from '../../../src/auth/index.ts'
import { createApp, GeneralError } from '../../../src/core/index.ts'
import { until } from '../../support/until.ts'
import type { LoginAppOptions } from '../login-app.ts'
import {
  atTime,
  collectLog,
  createLoginApp,
  external,
  forge,
  now,
  SECRET,
  startLoginApp,
  UserService,
} from '../login-app.ts'

const REFUSED = { name: 'NotAuthenticated', code: 401 }

async function start(options: LoginAppOptions = {}) {
  const started = await startLoginApp(options)
  return { ...started, accessToken: await forge() }
}

t.test('parses the header, with a scheme that is exactly one of those', (t) => {
  const { jwt } = createLoginApp()
  const cases: [header: unknown, accessToken: string | null][] = [
    ['Bearer a.b.c', 'a.b.c'],
    ['bearer a.b.c', 'a.b.c'],
    ['JWT a.b.c', 'a.b.c'],
    ['Bearer   a.b.c ', 'a.b.c'],
    ['a.b.c', 'a.b.c'],
    ['Bearer', 'Bearer'],
    ['Bearer a b', 'a b'],
    ['Bearer: a.b.c', 'a.b.c'],
    ['  Bearer a.b.c', 'a.b.c'],
    ['Bearer\ta.b.c', 'a.b.c'],
    ['  a.b.c  ', 'a.b.c'],
    ['   ', null],
    [': a.b.c', null],
    ['Bearer:: a.b.c', null],
    ['Bearer:a.b.c', 'Bearer:a.b.c'],
    ['Basic: YTpi', null],
    ['XBearerY a.b.c', null],
    ['Basic YTpi', null],
    ['', null],
    [undefined, null],
    [['Bearer a.b.c', 'Bearer d.e.f'], null],
  ]
  for (const [authorization, accessToken] of cases) {
    const parsed = jwt.parse({ headers: { authorization: authorization as string } })
    const expected = accessToken === null ? null : { strategy: 'jwt', accessToken }
    t.strictSame(parsed, expected, JSON.stringify(authorization))
  }
  t.equal(jwt.parse({}), null, 'no headers at all')
  t.end()
})

t.test('parses another header under another name', (t) => {
  const { authentication } = createLoginApp({
    settings: { other: { header: 'X-Access-Token', schemes: [] } },
  })
  authentication.register('other', new JwtStrategy())
  const strategy = authentication.getStrategy('other')
  const headers = { 'x-access-token': 'a.b.c', authorization: 'Bearer d.e.f' }
  t.strictSame(strategy?.parse?.({ headers }), { strategy: 'other', accessToken: 'a.b.c' })
  t.end()
})

t.test('does not take options that are none of its own', (t) => {
  const cases: [section: object, message: string | RegExp][] = [
    [
      { expiresIn: '1h' },
      "the setting 'authentication.jwt': the option 'expiresIn' belongs to the setting 'authentication.jwtOptions'",
    ],
    [
      { nonsense: 1 },
      "the setting 'authentication.jwt': unknown option 'nonsense', allowed are entity, service, entityId, header, schemes",
    ],
    [{ headers: 'X-Token' }, /unknown option 'headers'; did you mean 'header'\?/],
    [{ header: 7 }, /'authentication\.jwt': the option 'header' must be a non-empty string/],
    [{ schemes: 'Bearer' }, /the option 'schemes' must be a list of non-empty strings/],
  ]
  for (const [jwt, message] of cases) {
    t.throws(() => createLoginApp({ settings: { jwt } }), { message })
  }
  t.end()
})

t.test('proves who the token is for, with one look at the entity', async (t) => {
  const { jwt, users, accessToken } = await start()
  const params = { query: { name: 'ZZ' }, route: {} }
  const result = await jwt.authenticate({ strategy: 'jwt', accessToken }, params)
  t.strictSame(Object.keys(result), ['accessToken', 'authentication', 'user'])
  t.match(result, {
    accessToken,
    authentication: { strategy: 'jwt', accessToken, payload: { sub: '1' } },
    user: { id: 1, email: 'ada@example.org' },
  })
  t.match(users.takeCalls(), [{ method: 'get', query: {}, provider: undefined }])
})

t.test('refuses requests without a valid token', async (t) => {
  const { jwt } = await start()
  const cases: [accessToken: unknown, message: string | RegExp][] = [
    [undefined, 'No access token'],
    ['', 'No access token'],
    [null, 'No access token'],
    [{ $ne: null }, 'jwt must be a string'],
    [['a'], 'jwt must be a string'],
    ['Bearer', 'jwt malformed'],
  ]
  for (const [accessToken, message] of cases) {
    await t.rejects(jwt.authenticate({ accessToken }, external()), { ...REFUSED, message })
  }
})

t.test('looks twice where the entity is shown outside, and takes no query there', async (t) => {
  const { authentication, users, accessToken } = await start()
  const request = { strategy: 'jwt', accessToken }
  await authentication.create(request, external({ query: { $select: ['x'] } }))
  const calls = users.takeCalls().map(({ query, provider }) => ({ query, provider }))
  const inside = { query: {}, provider: undefined }
  t.strictSame(calls, [inside, { query: {}, provider: 'rest' }])
  await authentication.create(request)
  t.equal(users.takeCalls().length, 1)
})

t.test('refuses an entity of its own, for a token does not name one (JWT-16)', async (t) => {
  const cases: [jwt: object, message: RegExp][] = [
    [
      { service: 'admins' },
      /'authentication\.jwt\.service' is 'admins', but .* for 'users': use a/,
    ],
    [{ entity: 'admin' }, /'authentication\.jwt\.entity' is 'admin', but .* for 'user': use a/],
    [{ entity: null }, /'authentication\.jwt\.entity' is 'null'/],
  ]
  for (const [jwt, message] of cases) {
    t.throws(() => createLoginApp({ settings: { jwt } }), { name: 'TypeError', message })
  }
  const jwt = { service: 'users', entity: 'user', entityId: 'id' }
  await t.resolves(startLoginApp({ settings: { jwt } }))
})

t.test('a deleted, unknown or excluded user is not authenticated any more', async (t) => {
  class ActiveStrategy extends JwtStrategy {
    override async getEntityQuery() {
      return { active: true }
    }
  }
  const { jwt, users, accessToken } = await start({ jwt: new ActiveStrategy() })
  const message = 'The user of the token does not exist'
  const authenticate = () => jwt.authenticate({ accessToken }, external())
  await t.rejects(authenticate(), { ...REFUSED, message }, 'disabled (JWT-19)')
  await users.patch(1, { active: true })
  await t.resolves(authenticate())
  await users.remove(1)
  await t.rejects(authenticate(), { ...REFUSED, message }, 'deleted (JWT-19)')
  const other = await forge({ claims: { sub: 'not an id' } })
  await t.rejects(jwt.authenticate({ accessToken: other }, external()), { ...REFUSED, message })
})

t.test('says nothing about the token when the entity can not be read', async (t) => {
  const { app, jwt, accessToken } = await start()
  app.service('users').hooks({
    before: {
      get: () => {
        throw new GeneralError('the database is away')
      },
    },
  })
  await t.rejects(jwt.authenticate({ accessToken }, {}), { code: 500 })
})

t.test('works without an entity, and looks up none', async (t) => {
  const { authentication, jwt, users } = await startLoginApp({ settings: { entity: null } })
  const accessToken = await authentication.createAccessToken({ free: true })
  const result = await jwt.authenticate({ accessToken }, external())
  t.strictSame(Object.keys(result), ['accessToken', 'authentication'])
  t.match(result, { authentication: { payload: { free: true } } })
  t.strictSame(users.takeCalls(), [])
})

t.test('a token for an admin opens nothing of a user with the same id (JWT-16)', async (t) => {
  const app = createApp()
  const services: AuthenticationService[] = []
  collectLog(app)
  app.use('users', new UserService())
  app.use('admins', new UserService())
  for (const [key, service] of [
    ['authentication', 'users'],
    ['adminAuthentication', 'admins'],
  ] as const) {
    const settings = { secret: SECRET, entity: 'user', service, authStrategies: ['jwt'] }
    const one = new AuthenticationService(app, key, settings)
    services.push(one.register('jwt', new JwtStrategy()))
    app.use(key, one)
    await app.service(service).create({ id: 1 })
  }
  await app.setup()
  const [users, admins] = services as [AuthenticationService, AuthenticationService]
  const accessToken = await admins.createAccessToken({}, { subject: '1' })
  const request = { strategy: 'jwt', accessToken }
  await t.resolves(admins.create(request, external()))
  await t.rejects(users.create(request, external()), REFUSED)
})

t.test('keeps who is behind a connection until logout, disconnect or expiry', async (t) => {
  const { app, authentication, accessToken } = await start()
  const login = async (token: string) => {
    const connection: Record<string, unknown> = {}
    const result = await authentication.create({ strategy: 'jwt', accessToken: token })
    await authentication.handleConnection('login', connection, result)
    return { connection, result }
  }
  const nextTick = () => new Promise((resolve) => setImmediate(resolve))
  const first = await login(accessToken)
  t.match(first.connection, { authentication: { strategy: 'jwt', accessToken }, user: { id: 1 } })
  await authentication.handleConnection('logout', first.connection, { accessToken: 'other' })
  await nextTick()
  t.ok(first.connection['user'], 'the logout was of somebody else')
  await authentication.handleConnection('logout', first.connection, first.result)
  await nextTick()
  t.strictSame(first.connection, {})

  const second = await login(accessToken)
  app.emit('disconnect', second.connection)
  await nextTick()
  t.strictSame(second.connection, {})

  const exp = now() + 600
  const third = await authentication.create({
    strategy: 'jwt',
    accessToken: await forge({ claims: { exp } }),
  })
  const connection: Record<string, unknown> = {}
  await atTime(exp * 1000 - 1, () => authentication.handleConnection('login', connection, third))
  t.match(connection, { user: { id: 1 } })
  await until(() => Object.keys(connection).length === 0)
})
