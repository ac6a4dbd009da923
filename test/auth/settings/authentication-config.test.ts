import t from 'tap'
import { AuthenticationService, findAuthentication, JwtStrategy } from '../../../src/auth/index.ts'
import { createApp, NotFound } from '../../../src/core/index.ts'
import { collectLog, createLoginApp, SECRET, startLoginApp, UserService } from '../login-app.ts'

t.test('writes the defaults into the setting, key by key', (t) => {
  const app = createApp()
  app.set('authentication', { secret: SECRET, jwtOptions: { issuer: 'me', header: { cty: 'x' } } })
  const service = new AuthenticationService(app, 'authentication', { entity: null })
  t.strictSame(app.get('authentication'), {
    authStrategies: [],
    jwtOptions: {
      header: { typ: 'access', cty: 'x' },
      audience: 'https://yourdomain.com',
      issuer: 'me',
      algorithm: 'HS256',
      expiresIn: '1d',
    },
    loginThrottle: true,
    secret: SECRET,
    entity: null,
  })
  t.strictSame(service.configuration, app.get('authentication'))
  t.equal(app.get('defaultAuthentication'), 'authentication')
  t.end()
})

t.test('gives the configuration as a frozen deep copy', async (t) => {
  const { app, authentication } = await startLoginApp()
  const { configuration } = authentication
  t.not(configuration, app.get('authentication'))
  t.throws(() => Object.assign(configuration.jwtOptions, { algorithm: 'none' }), TypeError)
  t.throws(() => (configuration.authStrategies as string[]).push('x'), TypeError)
  t.throws(() => Object.assign(app.get('authentication') as object, { secret: 'x' }), TypeError)
  t.equal(configuration, authentication.configuration, 'it is made once')
  app.set('authentication', { ...configuration, authStrategies: ['jwt'] })
  t.strictSame(authentication.configuration.authStrategies, ['jwt'])
})

t.test('sees changes of the setting until it is set up', (t) => {
  const { app, authentication } = createLoginApp()
  const setting = app.get('authentication') as Record<string, unknown>
  setting['entity'] = null
  t.equal(authentication.configuration.entity, null)
  t.end()
})

t.test('does not touch the object that the options came in', async (t) => {
  const options = { secret: SECRET, entity: null, jwtOptions: { issuer: 'me' } }
  const copy = structuredClone(options)
  const service = new AuthenticationService(createApp(), 'authentication', options)
  await service.setup()
  t.strictSame(options, copy)
  t.notOk(Object.isFrozen(options.jwtOptions))
})

t.test('merges settings without touching a prototype (FTH-11)', async (t) => {
  const app = createApp()
  const evil = JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"jwtOptions":{"__proto__":{"polluted":1},"header":{"__proto__":{"polluted":1}}}}',
  )
  app.set('authentication', evil)
  const service = new AuthenticationService(app, 'authentication', evil)
  const { configuration } = service
  const { jwtOptions } = configuration
  for (const holder of [
    {},
    configuration,
    jwtOptions,
    jwtOptions.header,
    app.get('authentication'),
  ]) {
    t.equal((holder as { polluted?: unknown }).polluted, undefined)
    t.notOk(Object.hasOwn(holder as object, '__proto__'))
    t.notOk(Object.hasOwn(holder as object, 'constructor'))
  }
  const params = { jwtOptions: JSON.parse('{"__proto__":{"polluted":1},"issuer":"me"}') }
  t.strictSame(await service.getTokenOptions({}, params), { issuer: 'me' })
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
})

t.test('does not set up with missing or wrong settings, and names them (AUTH-6)', async (t) => {
  const cases: [settings: object, message: string | RegExp][] = [
    [{ secret: undefined }, "A 'secret' must be provided in your authentication configuration"],
    [{ service: undefined }, "The 'service' option is not set in the authentication configuration"],
    [{ entity: undefined }, "The 'entity' option is not set in the authentication configuration"],
    [{ service: 'people' }, /The 'people' service that 'authentication\.service' names/],
    [
      { service: 'nothing' },
      "The 'nothing' service does not have an 'id' property and no 'entityId' option is set.",
    ],
    [{ secrett: 'x' }, /'authentication': unknown option 'secrett'; did you mean 'secret'\?/],
    [{ onLogin: 'x' }, /unknown option 'onLogin', allowed are jwt, secret, entity/],
    [{ authStrategies: 'jwt' }, /'authentication': the option 'authStrategies' must be a list/],
    [{ jwtOptions: 'x' }, /'authentication': the option 'jwtOptions' must be an object/],
    [{ loginThrottle: { max: 3 } }, /'authentication': unknown option 'loginThrottle\.max'/],
    [{ loginThrottle: { maxAttempts: 0 } }, /'loginThrottle\.maxAttempts' must be a whole number/],
    [{ loginThrottle: { maxAttemptsPerAddress: 0.5 } }, /maxAttemptsPerAddress' must be a whole/],
    [{ loginThrottle: { maxAttempts: Number.POSITIVE_INFINITY } }, /maxAttempts' must be a whole/],
    [
      { loginThrottle: { windowSeconds: Number.POSITIVE_INFINITY } },
      /windowSeconds' must be a num/,
    ],
    [{ loginThrottle: { knownAddressDays: Number.NaN } }, /knownAddressDays' must be a number/],
    [{ revocation: {} }, /'authentication': the option 'revocation' must be/],
  ]
  for (const [settings, message] of cases) {
    const app = createApp()
    app.use('nothing', { find: async () => [] })
    app.use('users', new UserService())
    const usual = { secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt'] }
    app.set('authentication', { ...usual, ...settings })
    app.use('authentication', new AuthenticationService(app).register('jwt', new JwtStrategy()))
    await t.rejects(app.setup(), { name: 'TypeError', message }, String(message))
  }
})

t.test('sets up with an entity id of the settings, and sections of later strategies', async (t) => {
  const app = createApp()
  app.use('nothing', { find: async () => [] })
  const service = new AuthenticationService(app, 'authentication', {
    ...{ secret: SECRET, entity: 'user', service: 'nothing', entityId: '_id' },
    ...{ authStrategies: ['later'], later: { anything: 1 }, oauth: {} },
  })
  await t.resolves(service.setup())
})

t.test('needs an application', (t) => {
  t.throws(() => new AuthenticationService(undefined as never), {
    message: 'An application instance has to be passed to the authentication service',
  })
  t.end()
})

t.test('finds the default service, by key and by path', async (t) => {
  const app = createApp()
  collectLog(app)
  t.equal(findAuthentication(app), null)
  const { defaultAuthentication } = app as unknown as Record<string, undefined>
  t.equal(defaultAuthentication, undefined)
  const first = new AuthenticationService(app, 'first', { secret: SECRET, entity: null })
  const second = new AuthenticationService(app, 'second', { secret: SECRET, entity: null })
  const find = (path?: string) =>
    (app as unknown as { defaultAuthentication(path?: string): unknown }).defaultAuthentication(
      path,
    )
  t.equal(find(), null, 'not registered yet')
  app.use('two', second)
  app.use('one', first)
  t.equal(app.get('defaultAuthentication'), 'first')
  t.equal(find(), first)
  t.equal(find('two'), second)
  t.throws(() => find('three'), NotFound)
  app.set('defaultAuthentication', 'second')
  t.equal(find(), second)
  await app.unuse('two')
  t.equal(find(), null)
})

t.test('services with one secret do not accept the tokens of each other (JWT-15)', async (t) => {
  const app = createApp()
  app.use('users', new UserService())
  const settings = { secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt'] }
  const services = ['authentication', 'adminAuthentication', 'thirdAuthentication'].map((key) =>
    new AuthenticationService(app, key, settings).register('jwt', new JwtStrategy()),
  )
  for (const [index, service] of services.entries()) app.use(`login/${index}`, service)
  await app.setup()
  for (const issuer of services) {
    const token = await issuer.createAccessToken({}, { subject: '1' })
    for (const service of services) {
      if (service === issuer) await t.resolves(service.verifyAccessToken(token))
      else await t.rejects(service.verifyAccessToken(token), { code: 401 })
    }
  }
})
