import type { Test } from 'tap'
import t from 'tap'
import { MongoDBListService, MongoDBService } from '../../src/adapter/index.ts'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  OAuthStrategy,
  oauth,
  protect,
} from '../../src/auth/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import {
  createApp,
  fastifyApp,
  openapiDocument,
  rest,
  Unavailable,
} from '../../src/transport/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import { openDatabase } from '../support/database.ts'
import { openFrames } from '../support/event-frames.ts'
import { startOwnServer } from '../support/own-server.ts'
import { until } from '../support/until.ts'
import { CHEAP_SCRYPT, SECRET } from '../support/users.ts'

const { db, empty } = await openDatabase(t)

const ADA = { email: 'ada@example.org', password: 'correct horse' }

interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
}

async function start(t: Test, sessions: object = {}, settings: object = {}) {
  await Promise.all(['users', 'sessions', 'notes'].map((name) => empty(name)))
  let authentication: AuthenticationService | undefined
  const events: [name: string, value: unknown][] = []
  const server = await startOwnServer(t, (app: FastifyApplication) => {
    app.set('authentication', {
      ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
      jwtOptions: { issuer: 'tests', audience: 'tests', expiresIn: '1d' },
      local: { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
      loginThrottle: { maxAttempts: 100 },
      // A slow machine may take longer for 50 refreshes than clients have for a lost answer.
      sessions: { service: 'sessions', graceMs: 600_000, ...sessions },
      ...settings,
    })
    app.configure(realtime())
    authentication = new AuthenticationService(app)
    authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
    app.use('authentication', authentication as never)
    app.use('users', new MongoDBListService({ Model: db.collection('users') }) as never)
    app.service('users').hooks({
      before: {
        create: [hashPassword('password')],
        patch: [authenticate('jwt'), hashPassword('password')],
      },
      after: { all: [protect('password')] },
    } as never)
    app.use(
      'sessions',
      new MongoDBService({ Model: db.collection('sessions'), paginate: { default: 10 } }) as never,
    )
    app.use('notes', new MongoDBService({ Model: db.collection('notes') }) as never)
    app.service('notes').hooks({ before: { all: [authenticate('jwt')] } } as never)
    for (const name of ['login', 'reuse', 'sessionEnd']) {
      app.on(name, (value: unknown) => void events.push([name, value]))
    }
  })
  await server.request('/users', { data: ADA })
  const post = async (data: object) => server.request('/authentication', { data })
  const logIn = async (): Promise<Tokens> =>
    (await post({ strategy: 'local', ...ADA })).body as Tokens
  const refresh = (refreshToken: unknown) => post({ strategy: 'refresh', refreshToken })
  const withToken = (accessToken: string) => ({ authorization: `Bearer ${accessToken}` })
  const readNotes = async ({ accessToken }: Tokens): Promise<number> =>
    (await server.request('/notes', { headers: withToken(accessToken) })).status
  return {
    ...{ server, events, logIn, refresh, withToken, readNotes },
    authentication: authentication as unknown as AuthenticationService,
    stored: db.collection('sessions'),
  }
}

const claimsOf = ({ accessToken }: Tokens) =>
  JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())

t.test('a login begins a session, which is stored without its tokens', async (t) => {
  const { logIn, stored, readNotes } = await start(t)
  const tokens = await logIn()
  const { sid, sub, iat, exp } = claimsOf(tokens)
  t.equal(exp - iat, 600, 'ten minutes')
  const [session, ...others] = await stored.find().toArray()
  t.strictSame(others, [])
  t.match(session, { _id: sid, userId: sub, address: '127.0.0.1', spent: {} })
  t.notMatch(JSON.stringify(session), tokens.refreshToken)
  t.equal(await readNotes(tokens), 200)
  const indexes = await stored.indexes()
  const expiring = indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds === 0)
  t.strictSame(
    expiring.map(({ key }) => key),
    [{ expiresAt: 1 }, { endsAt: 1 }],
  )
})

t.test('a refresh answers a new pair, and is no login', async (t) => {
  const { logIn, refresh, readNotes, events } = await start(t)
  const first = await logIn()
  const { status, body } = await refresh(first.refreshToken)
  const second = body as Tokens
  t.equal(status, 201)
  t.match(body, { user: { email: ADA.email }, authentication: { strategy: 'refresh' } })
  t.notMatch(JSON.stringify(body), /password/)
  t.not(second.refreshToken, first.refreshToken)
  t.equal(claimsOf(second).sid, claimsOf(first).sid)
  t.equal(await readNotes(second), 200)
  t.equal(events.filter(([name]) => name === 'login').length, 1)
})

t.test('JWT-25: of 50 refreshes at once one rotates, and all get the same pair', async (t) => {
  const { logIn, refresh, stored } = await start(t)
  const { refreshToken } = await logIn()
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(refreshToken)))
  const pairs = answers.map(({ body }) => {
    const { accessToken, refreshToken } = body as Tokens
    return `${accessToken} ${refreshToken}`
  })
  t.equal(new Set(pairs).size, 1)
  const [session] = await stored.find().toArray()
  t.strictSame(Object.keys(session?.['spent']), ['0'])
})

t.test('a lost answer is repeated from any of the tokens before it', async (t) => {
  const { logIn, refresh } = await start(t)
  const tokens = [await logIn()]
  for (let count = 0; count < 3; count += 1) {
    tokens.push((await refresh(tokens.at(-1)?.refreshToken)).body as Tokens)
  }
  const last = tokens.at(-1)?.refreshToken
  for (const { refreshToken } of tokens.slice(0, -1)) {
    t.equal(((await refresh(refreshToken)).body as Tokens).refreshToken, last)
  }
})

t.test('JWT-25: a token that is used later again ends its session, and says so', async (t) => {
  const { logIn, refresh, stored, events, server } = await start(t, { graceMs: 0 })
  const [victim, other] = [await logIn(), await logIn()]
  const thief = (await refresh(victim.refreshToken)).body as Tokens
  await stored.updateMany({ 'spent.0': { $exists: true } }, { $set: { 'spent.0.at': new Date(0) } })
  const { status, body } = await refresh(victim.refreshToken)
  t.equal(status, 401)
  t.match(body, { message: 'The refresh token is not valid' })
  t.equal((await refresh(thief.refreshToken)).status, 401, 'that of the thief is over too')
  t.equal((await refresh(other.refreshToken)).status, 201, 'other sessions go on')
  const { sid, sub } = claimsOf(victim)
  t.strictSame(
    events.filter(([name]) => name === 'reuse'),
    [['reuse', { sid, userId: sub }]],
  )
  const reuse = server.logged.filter(({ message }) => message === 'A refresh token was used again')
  t.match(reuse, [{ details: { event: 'reuse', sid, userId: sub, address: '127.0.0.1' } }])
  t.notMatch(JSON.stringify(server.logged), victim.refreshToken)
})

t.test('JWT-25: a refresh in between gives a copied token no new time', async (t) => {
  const { logIn, refresh, stored, events } = await start(t)
  const first = await logIn()
  const second = (await refresh(first.refreshToken)).body as Tokens
  await stored.updateMany({}, { $set: { 'spent.0.at': new Date(0) } })
  t.equal((await refresh(second.refreshToken)).status, 201)
  const answers = await Promise.all([refresh(first.refreshToken), refresh(first.refreshToken)])
  t.strictSame(
    answers.map(({ status }) => status),
    [401, 401],
  )
  t.equal(events.filter(([name]) => name === 'reuse').length, 1, 'told once')
})

t.test('JWT-14: what is no refresh token of a session is refused the same', async (t) => {
  const { logIn, refresh, stored, readNotes } = await start(t)
  const tokens = await logIn()
  const { accessToken, refreshToken } = tokens
  const [sid, random, code] = refreshToken.split('.') as [string, string, string]
  const forged = [
    ...[undefined, null, '', 7, {}, [], [refreshToken], { $ne: null }, accessToken],
    ...[refreshToken.slice(0, -1), `${refreshToken}A`, ` ${refreshToken}`, 'a'.repeat(900_000)],
    `${sid}.${random}.${'A'.repeat(code.length)}`,
    `${'A'.repeat(sid.length)}.${random}.${code}`,
    `${sid}.${'A'.repeat(random.length)}.${code}`,
  ]
  for (const one of forged) {
    const { status, body } = await refresh(one)
    t.equal(status, 401, String(one).slice(0, 30))
    t.match(body, { message: 'The refresh token is not valid' })
  }
  t.equal((await refresh(refreshToken)).status, 201, 'nobody is logged out by them')
  t.equal(await readNotes({ ...tokens, accessToken: refreshToken }), 401)
  await stored.deleteMany({})
  t.equal((await refresh(refreshToken)).status, 401, 'a session that has ended')
})

t.test('sessions end by time: without use, and in any case', async (t) => {
  const { logIn, refresh, stored } = await start(t)
  for (const field of ['expiresAt', 'endsAt']) {
    const { refreshToken } = await logIn()
    await stored.updateMany({}, { $set: { [field]: new Date(0) } })
    t.equal((await refresh(refreshToken)).status, 401, field)
  }
})

t.test('a logout ends the session, all ends those of the user', async (t) => {
  const { logIn, refresh, server, withToken, stored } = await start(t)
  const [one, two, three] = [await logIn(), await logIn(), await logIn()]
  const remove = (path: string, { accessToken }: Tokens) =>
    server.request(`/authentication${path}`, { method: 'DELETE', headers: withToken(accessToken) })
  t.equal((await remove('', one)).status, 200)
  t.equal((await refresh(one.refreshToken)).status, 401)
  t.equal((await remove('/all?keep=this', two)).status, 400)
  t.equal((await remove('/all?kept=current', two)).status, 400)
  t.equal((await remove('/all?keep=current', two)).status, 200)
  t.strictSame(
    (await stored.find().toArray()).map(({ _id }) => String(_id)),
    [claimsOf(two).sid],
  )
  t.equal((await refresh(three.refreshToken)).status, 401)
  t.equal((await remove('/all', two)).status, 200)
  t.equal(await stored.countDocuments(), 0)
})

t.test('people see and end their own sessions, and nothing of the tokens', async (t) => {
  const { logIn, server, withToken, refresh } = await start(t)
  const [one, two] = [await logIn(), await logIn()]
  const bob = { email: 'bob@example.org', password: 'correct horse' }
  await server.request('/users', { data: bob })
  const { body: login } = await server.request('/authentication', {
    data: { strategy: 'local', ...bob },
  })
  const headers = withToken(one.accessToken)
  const { body } = await server.request('/sessions?$sort[createdAt]=1', { headers })
  const { data } = body as { data: object[] }
  t.equal(data.length, 2)
  const names = ['_id', 'address', 'createdAt', 'current', 'expiresAt', 'usedAt', 'userAgent']
  t.strictSame(Object.keys(data[0] ?? {}).sort(), names)
  t.match(data, [
    { _id: claimsOf(one).sid, current: true },
    { _id: claimsOf(two).sid, current: false },
  ])
  const theirs = `/sessions/${claimsOf(login as Tokens).sid}`
  const mine = `/sessions/${claimsOf(two).sid}`
  const refusals: [string, object, number][] = [
    ['/sessions', {}, 401],
    [theirs, { headers }, 404],
    [theirs, { method: 'DELETE', headers }, 404],
    ['/sessions', { method: 'DELETE', headers }, 400],
    ['/sessions?tokenHash[$gte]=a', { headers }, 400],
    ['/sessions?userId=1', { headers }, 400],
    ['/sessions', { data: { userId: 'x' }, headers }, 405],
    [mine, { method: 'PATCH', data: { userId: 'x' }, headers }, 405],
    [mine, { method: 'PUT', data: { userId: 'x' }, headers }, 405],
  ]
  for (const [path, options, status] of refusals) {
    t.equal(
      (await server.request(path, options)).status,
      status,
      `${JSON.stringify(options)} ${path}`,
    )
  }
  t.match((await server.request(mine, { method: 'DELETE', headers })).body, { current: false })
  t.equal((await refresh(two.refreshToken)).status, 401)
})

t.test(
  'an access token of a session that has ended is refused at once where it is looked up',
  async (t) => {
    for (const [checkSession, checkCacheMs, status] of [
      ['never', 0, 200],
      ['always', 0, 401],
      ['always', 60_000, 401],
    ] as const) {
      const { logIn, authentication, readNotes } = await start(t, { checkSession, checkCacheMs })
      const tokens = await logIn()
      t.equal(await readNotes(tokens), 200)
      await authentication.endSessions(claimsOf(tokens).sub)
      t.equal(await readNotes(tokens), status, `${checkSession} ${checkCacheMs}`)
    }
  },
)

t.test('a changed password or name ends the other sessions of a user', async (t) => {
  const { logIn, server, withToken, refresh, authentication } = await start(t)
  const users = authentication.app.service('users') as never as {
    patch(id: unknown, data: object): Promise<unknown>
    remove(id: unknown): Promise<unknown>
  }
  const changes: [data: object, isOver: boolean][] = [
    [{ email: ADA.email, nickname: 'Ada' }, false],
    [{ isActive: true }, false],
    [{ password: 'battery staple' }, true],
    [{ $set: { email: 'ada@example.com' } }, true],
    [{ isActive: false }, true],
  ]
  for (const [data, isOver] of changes) {
    const { refreshToken, ...tokens } = await logIn()
    await users.patch(claimsOf({ refreshToken, ...tokens }).sub, data)
    t.equal((await refresh(refreshToken)).status, isOver ? 401 : 201, JSON.stringify(data))
    if ('password' in data) await users.patch(claimsOf({ refreshToken, ...tokens }).sub, ADA)
    if ('$set' in data) await users.patch(claimsOf({ refreshToken, ...tokens }).sub, ADA)
  }
  const [mine, other] = [await logIn(), await logIn()]
  const { sub } = claimsOf(mine)
  const headers = withToken(mine.accessToken)
  await server.request(`/users/${sub}`, { method: 'PATCH', data: { password: 'new one' }, headers })
  t.equal((await refresh(other.refreshToken)).status, 401)
  t.equal(
    (await refresh(mine.refreshToken)).status,
    201,
    'the one that has made the change goes on',
  )
  await users.remove(sub)
  t.equal((await refresh(mine.refreshToken)).status, 401)
})

t.test('streams end with their session, and those of others go on', async (t) => {
  const { logIn, server, withToken } = await start(t)
  const [one, two] = [await logIn(), await logIn()]
  const open = async ({ accessToken }: Tokens) => {
    const frames = await openFrames(t, `${server.url}/notes`, withToken(accessToken))
    await frames.next()
    return frames
  }
  const [mine, other] = [await open(one), await open(two)]
  await server.request('/authentication', { method: 'DELETE', headers: withToken(one.accessToken) })
  const rest = await mine.rest()
  t.equal(rest.at(-1)?.event, 'end')
  t.notOk(other.hasEnded)
})

t.test('settings that can not work are refused at the start', async (t) => {
  const wrong: [object, RegExp][] = [
    [{ service: 'nowhere' }, /'nowhere' service that 'authentication\.sessions\.service' names/],
    [{ idle: '5m' }, /'authentication\.sessions\.idle' must be longer/],
    [{ accessExpiresIn: '10ms' }, /'authentication\.sessions\.accessExpiresIn' must be at least/],
    [{ checkSession: 'sometimes' }, /checkSession' must be 'always' or 'never'/],
    [{ graceSeconds: 10 }, /unknown option 'sessions\.graceSeconds'/],
  ]
  for (const [sessions, message] of wrong) await t.rejects(start(t, sessions), message)
})

t.test('an OAuth login that ends on a page gives it a code, not tokens in its URL', async (t) => {
  const settings = (response?: string) => ({
    oauth: {
      redirect: '/',
      github: { key: 'key', secret: 'secret', ...(response === undefined ? {} : { response }) },
    },
  })
  const startWith = (response?: string) => {
    const app = fastifyApp(createApp())
    app.configure(rest())
    app.set('authentication', {
      ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'github'] },
      ...settings(response),
      sessions: { service: 'sessions' },
    })
    const authentication = new AuthenticationService(app)
    authentication.register('jwt', new JwtStrategy()).register('github', new OAuthStrategy())
    app.use('authentication', authentication as never)
    for (const name of ['users', 'sessions']) {
      app.use(name, new MongoDBListService({ Model: db.collection(name) }) as never)
    }
    app.configure(oauth())
    t.teardown(() => app.close())
    return app.setup()
  }
  await t.rejects(startWith(), /'authentication\.oauth\.github\.response' must be 'code'/)
  await startWith('code')
})

t.test('the document of the API has what a refresh sends and gets', async (t) => {
  const { server } = await start(t)
  const { components } = await openapiDocument(server.app as never, {
    info: { title: 'Notes', version: '1' },
  })
  const properties = { refreshToken: { type: 'string' } }
  t.match(components['schemas'], {
    AuthenticationCreateData: {
      properties: { ...properties, strategy: { enum: ['jwt', 'local', 'refresh'] } },
    },
    AuthenticationResult: { properties },
  })
})

t.test('the order of strategies does not count, and a store has one keeper', async (t) => {
  const app = fastifyApp(createApp())
  app.set('authentication', settingsOf('authentication'))
  app.set('admin', { ...settingsOf('admin'), service: 'users' })
  const [authentication, admin] = ['authentication', 'admin'].map((key) =>
    new AuthenticationService(app, key)
      .register('local', new LocalStrategy())
      .register('jwt', new JwtStrategy()),
  ) as [AuthenticationService, AuthenticationService]
  app.use('users', new MongoDBListService({ Model: db.collection('users') }) as never)
  app.use('sessions', new MongoDBListService({ Model: db.collection('sessions') }) as never)
  app.use('authentication', authentication as never)
  app.use('admin', admin as never)
  t.teardown(() => app.close())
  await t.rejects(app.setup(), /keeps the sessions of another authentication service/)
})

t.test(
  'a store that can not rotate by one command is refused, and so is a missing JwtStrategy',
  async (t) => {
    const startWith = (service: object, hasJwt: boolean) => {
      const app = fastifyApp(createApp())
      const authStrategies = hasJwt ? ['jwt', 'local'] : ['local']
      app.set('authentication', { ...settingsOf('authentication'), authStrategies })
      const authentication = new AuthenticationService(app).register('local', new LocalStrategy())
      if (hasJwt) authentication.register('jwt', new JwtStrategy())
      app.use('users', new MongoDBListService({ Model: db.collection('users') }) as never)
      app.use('sessions', service as never)
      app.use('authentication', authentication as never)
      t.teardown(() => app.close())
      return app.setup()
    }
    const Model = db.collection('sessions')
    const stores = [{ find: async () => [] }, new MongoDBListService({ Model, id: 'uid' })]
    for (const store of stores) await t.rejects(startWith(store, true), /whose id is '_id'/)
    await t.rejects(startWith(new MongoDBListService({ Model }), false), /needs a JwtStrategy/)
  },
)

t.test('what hooks of the service show of sessions is not what callers get', async (t) => {
  const { logIn, server, withToken } = await start(t)
  server.app.service('sessions').hooks({ after: { all: [protect('tokenHash')] } } as never)
  const { accessToken } = await logIn()
  const { text } = await server.request('/sessions', { headers: withToken(accessToken) })
  t.match(text, /"current":true/)
  t.notMatch(text, /tokenHash|spent|userId|endsAt/)
  const accept = { ...withToken(accessToken), accept: 'text/event-stream' }
  t.equal((await server.request('/sessions', { headers: accept })).status, 406, 'no stream of them')
})

t.test('services that take the place of others are guarded and watched as well', async (t) => {
  const { logIn, server, refresh, authentication } = await start(t)
  const { app } = authentication
  const { refreshToken, ...tokens } = await logIn()
  for (const name of ['sessions', 'users']) {
    await app.unuse(name)
    app.use(name, new MongoDBListService({ Model: db.collection(name) }) as never)
  }
  t.equal((await server.request('/sessions')).status, 401)
  const users = app.service('users') as never as {
    patch(id: string, data: object): Promise<unknown>
  }
  await users.patch(claimsOf({ refreshToken, ...tokens }).sub, { password: 'another one' })
  t.equal((await refresh(refreshToken)).status, 401)
  const setting = app.get('authentication') as object
  app.set('authentication', { ...setting, sessions: { service: 'users' } })
  t.equal(authentication.configuration.sessions?.service, 'sessions', 'the old one stays in effect')
})

t.test('a user who can not be read keeps the token', async (t) => {
  const { logIn, refresh, authentication } = await start(t, { graceMs: 0 })
  const { refreshToken } = await logIn()
  let isAway = true
  authentication.app.service('users').hooks({
    before: {
      get: [
        () => {
          if (isAway) throw new Unavailable('away')
        },
      ],
    },
  } as never)
  for (let count = 0; count < 3; count += 1) t.equal((await refresh(refreshToken)).status, 503)
  isAway = false
  t.equal((await refresh(refreshToken)).status, 201)
})

t.test('bad refreshes of an address do not lock good ones out', async (t) => {
  const { logIn, refresh } = await start(t, {}, { loginThrottle: { maxAttempts: 1 } })
  const { refreshToken } = await logIn()
  const statuses = await Promise.all(Array.from({ length: 5 }, () => refresh('nonsense')))
  t.ok(statuses.some(({ status }) => status === 429))
  t.equal((await refresh(refreshToken)).status, 201)
})

t.test('sessions of nobody are not ended, and wrong ids are refused', async (t) => {
  const { authentication, stored, logIn } = await start(t)
  await logIn()
  for (const id of [undefined, null, '', {}]) {
    await t.rejects(authentication.endSessions(id), /takes the id of a user/)
  }
  t.equal(await stored.countDocuments(), 1)
})

t.test('a login that is under way with an old password ends as well', async (t) => {
  const { logIn, refresh, stored, authentication } = await start(t)
  const timers: (() => void)[] = []
  const { setTimeout: original } = globalThis
  t.teardown(() => Object.assign(globalThis, { setTimeout: original }))
  const users = authentication.app.service('users') as never as {
    patch(id: string, data: object): Promise<unknown>
  }
  const first = await logIn()
  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms: number) => {
      if (ms !== 10_000) return original(run, ms)
      timers.push(run)
      return { unref: Object }
    },
  })
  await users.patch(claimsOf(first).sub, ADA)
  Object.assign(globalThis, { setTimeout: original })
  const [late, fresh] = [await logIn(), await logIn()]
  await stored.updateOne({ _id: claimsOf(late).sid }, { $set: { loginAt: new Date(0) } })
  t.equal(timers.length, 1)
  timers[0]?.()
  await until(async () => (await stored.countDocuments()) === 1)
  t.equal((await refresh(late.refreshToken)).status, 401)
  t.equal((await refresh(fresh.refreshToken)).status, 201)
})

function settingsOf(key: string) {
  return {
    ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
    jwtOptions: { issuer: key, audience: key, expiresIn: '1d' },
    local: { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
    sessions: { service: 'sessions' },
  }
}
