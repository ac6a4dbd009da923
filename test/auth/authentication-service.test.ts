import t from 'tap'
import type { AuthenticationParams } from '../../src/auth/index.ts'
import { AuthenticationService } from '../../src/auth/index.ts'
import { createApp } from '../../src/core/index.ts'
import {
  atTime,
  CREDENTIALS,
  collectLog,
  external,
  forge,
  now,
  SECRET,
  startLoginApp,
} from './login-app.ts'

/** A strategy that lets everybody in who says the word. */
class WordStrategy {
  async authenticate(request: { word?: unknown }, params: AuthenticationParams) {
    if (request.word !== 'please') throw new Error('say please')
    return { authentication: { strategy: 'word' }, seen: params }
  }
}

function startWords(settings: object = {}) {
  const app = createApp()
  collectLog(app)
  const service = new AuthenticationService(app, 'authentication', {
    ...{ secret: SECRET, entity: null, authStrategies: ['word'], ...settings },
  })
  service.register('word', new WordStrategy())
  app.use('authentication', service)
  return { app, service }
}

t.test('tells a strategy who it is, in the documented order', async (t) => {
  const { app, service } = startWords()
  const told: unknown[] = []
  const strategy = {
    setName: (name: string) => void told.push(name),
    setApplication: (one: object) => void told.push(one),
    setAuthentication: (one: object) => void told.push(one),
    verifyConfiguration: () => void told.push('verified'),
    setup: async (one: object, name: string) => void told.push([one, name]),
    authenticate: async () => ({}),
  }
  service.register('mine', strategy)
  t.strictSame(told, ['mine', app, service, 'verified'])
  await app.setup()
  t.strictSame(told.at(-1), [service, 'mine'])
  t.strictSame(service.strategyNames, ['word', 'mine'])
  t.equal(service.getStrategy('mine'), strategy)
  t.strictSame(service.getStrategies('mine', 'nobody'), [strategy, undefined])
  t.throws(() => service.register('broken', {} as never), /no authenticate method/)
})

t.test('sets up a strategy that comes late, and logs when that fails', async (t) => {
  const { app, service } = startWords()
  const log = collectLog(app)
  await app.setup()
  const authenticate = async () => ({})
  service.register('late', { authenticate, setup: () => Promise.reject(new Error('no')) })
  await new Promise((resolve) => setImmediate(resolve))
  t.match(log, [{ level: 'error', details: { strategy: 'late' } }])
})

t.test('refuses requests without a usable strategy', async (t) => {
  const { service } = startWords()
  const noStrategy = 'Invalid authentication information (no `strategy` set)'
  const notAllowed = 'Invalid authentication information (strategy not allowed in authStrategies)'
  const cases: [request: unknown, message: string][] = [
    [undefined, noStrategy],
    [null, noStrategy],
    [{}, noStrategy],
    [[{ strategy: 'word' }], noStrategy],
    [{ strategy: 'other' }, notAllowed],
    [{ strategy: 'missing' }, 'Invalid authentication information'],
  ]
  for (const [request, message] of cases) {
    const refused = service.authenticate(request as never, {}, 'word', 'missing')
    await t.rejects(refused, { name: 'NotAuthenticated', code: 401, message }, message)
  }
})

t.test('refuses names that are no strategies, all in the same way (INJ-18)', async (t) => {
  const { service } = startWords()
  const message = 'Invalid authentication information (strategy not allowed in authStrategies)'
  const names: unknown[] = ['__proto__', 'constructor', 'toString', ['word'], {}, 1, true]
  for (const strategy of [...names, 'x'.repeat(10_000), { toString: () => 'word' }]) {
    const refused = service.create({ strategy } as never, external())
    await t.rejects(refused, { code: 401, message }, String(strategy).slice(0, 20))
  }
})

t.test('hands the request to the strategy, with params that say it is being proven', async (t) => {
  const { service } = startWords()
  const params = { query: { a: 1 }, provider: 'rest' }
  const result = await service.authenticate({ strategy: 'word', word: 'please' }, params, 'word')
  t.strictSame(result, {
    authentication: { strategy: 'word' },
    seen: { ...params, authenticated: true },
  })
  t.strictSame(params, { query: { a: 1 }, provider: 'rest' }, 'the params stay as they were')
})

t.test('creates a token with the documented keys in their order', async (t) => {
  const { authentication, users } = await startLoginApp()
  const result = await authentication.create(CREDENTIALS)
  t.strictSame(Object.keys(result), ['accessToken', 'authentication', 'user'])
  t.strictSame(Object.keys(result.authentication ?? {}), ['strategy', 'payload'])
  t.match(result, {
    authentication: { strategy: 'local', payload: { sub: '1', iss: 'feathers' } },
    user: users.users.get('1'),
  })
  const payload = await authentication.verifyAccessToken(result.accessToken)
  t.strictSame(result.authentication?.payload, payload)
})

t.test('gives a token that is exchanged back as it is (JWT-26)', async (t) => {
  const { authentication } = await startLoginApp()
  const { accessToken } = await authentication.create(CREDENTIALS)
  const later = await atTime((now() + 3_600) * 1000, () =>
    authentication.create({ strategy: 'jwt', accessToken }, external()),
  )
  t.equal(later.accessToken, accessToken)
  t.strictSame(Object.keys(later), ['accessToken', 'authentication', 'user'])
  t.strictSame(Object.keys(later.authentication ?? {}), ['strategy', 'accessToken', 'payload'])
})

t.test('puts claims and options of the params into the token', async (t) => {
  const { authentication } = await startLoginApp()
  const params = { payload: { role: 'admin' }, jwtOptions: { subject: 'me' }, jwt: { jwtid: 'x' } }
  const result = await authentication.create(CREDENTIALS, params)
  t.match(result.authentication?.payload, { role: 'admin', sub: 'me', jti: 'x' })
})

t.test('lets a subclass say what is in a token', async (t) => {
  class OwnService extends AuthenticationService {
    override async getPayload() {
      return { tenant: 7 }
    }
  }
  const app = createApp()
  const service = new OwnService(app, 'authentication', {
    ...{ secret: SECRET, entity: null, authStrategies: ['word'] },
  })
  service.register('word', new WordStrategy())
  app.use('authentication', service)
  const result = await service.create({ strategy: 'word', word: 'please' } as never)
  t.match(result.authentication?.payload, { tenant: 7 })
})

t.test('refuses what it can not make a token for', async (t) => {
  const { authentication, app } = await startLoginApp()
  const params = { user: { name: 'nobody' } }
  await t.rejects(authentication.getTokenOptions(params, {}), {
    code: 401,
    message: 'Can not set subject from user.id',
  })
  authentication.register('nobody', { authenticate: async () => ({ authentication: {} }) })
  const nobody = { authStrategies: ['nobody'] }
  await t.rejects(authentication.create({ strategy: 'nobody' }, nobody), {
    code: 401,
    message: 'Can not set subject from user.id',
  })
  app.set('authentication', { ...authentication.configuration, authStrategies: [] })
  await t.rejects(authentication.create(CREDENTIALS), {
    code: 401,
    message: 'No authentication strategies allowed for creating a JWT (`authStrategies`)',
  })
  await t.resolves(authentication.create(CREDENTIALS, { authStrategies: ['local'] }))
})

t.test('logs out whoever proves who they are', async (t) => {
  const { authentication } = await startLoginApp()
  const accessToken = await forge()
  const params = external({ authentication: { strategy: 'jwt', accessToken } })
  for (const id of [null, accessToken]) {
    const result = await authentication.remove(id, params)
    t.match(result, { accessToken, authentication: { strategy: 'jwt' }, user: { id: 1 } })
  }
  await t.rejects(authentication.remove('other', params), {
    code: 401,
    message: 'Invalid access token',
  })
  await t.rejects(authentication.remove(accessToken, external()), { code: 401 })
  await t.rejects(authentication.remove(null, external()), { code: 401 })
})

t.test('a logout revokes the token at once, under every text of it (JWT-19)', async (t) => {
  const { authentication } = await startLoginApp({ settings: { revocation: true } })
  const { accessToken = '' } = await authentication.create(CREDENTIALS)
  const request = { strategy: 'jwt', accessToken }
  await authentication.remove(null, external({ authentication: request }))
  const refused = { code: 401, message: 'jwt was revoked' }
  await t.rejects(authentication.verifyAccessToken(accessToken), refused)
  await t.rejects(authentication.create(request, external()), refused)
  await t.resolves(authentication.create(CREDENTIALS), 'a new login is welcome')
})

t.test('a stored list outlives the process, and a change of keys (JWT-19)', async (t) => {
  const stored = new Map<unknown, unknown>()
  const revocation = {
    revoke: async (jti: string, expiresAt: Date) => void stored.set(jti, expiresAt),
    isRevoked: async (jti: string) => stored.has(jti),
  }
  const first = await startLoginApp({ settings: { revocation } })
  const { accessToken } = await first.authentication.create(CREDENTIALS)
  const authentication = { strategy: 'jwt', accessToken }
  await first.authentication.remove(null, external({ authentication }))
  const second = await startLoginApp({ settings: { revocation } })
  await t.rejects(second.authentication.verifyAccessToken(accessToken), { code: 401 })
  t.type([...stored.values()][0], Date)

  const { app, authentication: service } = await startLoginApp({ settings: { revocation: true } })
  const login = await service.create(CREDENTIALS)
  const request = { strategy: 'jwt', accessToken: login.accessToken }
  await service.remove(null, external({ authentication: request }))
  const secret = ['a new secret of the tests, with 32 bytes', SECRET]
  app.set('authentication', { ...service.configuration, secret })
  await t.rejects(service.verifyAccessToken(login.accessToken), { message: 'jwt was revoked' })
})

t.test('parses a request with the first strategy that finds something', async (t) => {
  const { service } = startWords()
  const authenticate = async () => ({})
  service.register('none', { authenticate, parse: () => null })
  service.register('slow', { authenticate, parse: async () => ({ strategy: 'slow' }) })
  service.register('fast', { authenticate, parse: () => ({ strategy: 'fast' }) })
  const request = { headers: {} }
  t.strictSame(service.parse(request, null, 'none', 'word', 'fast', 'slow'), { strategy: 'fast' })
  const slow = service.parse(request, null, 'none', 'slow', 'fast')
  t.type(slow, Promise)
  t.strictSame(await slow, { strategy: 'slow' })
  t.equal(service.parse(request, null, 'none', 'missing', 'constructor'), null)
  t.strictSame(service.parseStrategies, ['word'])
})
