import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBListService, MongoDBService } from '../../src/adapter/index.ts'
import {
  ApiKeyStrategy,
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
} from '../../src/auth/index.ts'
import type { Application } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { addAccounts } from '../support/accounts.ts'
import { openDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { startOwnServer } from '../support/own-server.ts'
import { ADA } from '../support/test-app.ts'
import { laterTurns, until } from '../support/until.ts'
import { LOCAL, SECRET } from '../support/users.ts'

const database = await openDatabase(t)
const NAMES = ['authentication', 'users', 'sessions', 'api-keys'] as const
const SECTIONS = {
  sessions: { service: 'sessions' },
  'api-key': { service: 'api-keys', prefix: 'acme' },
}

/** Returns all orders of a list. */
function orders<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((first) =>
    orders(items.filter((one) => one !== first)).map((rest) => [first, ...rest]),
  )
}

/** Returns a key, and what would be stored of it. */
function forgeKey(userId: string) {
  const secret = 'A'.repeat(43)
  const record = {
    ...{ userId, name: 'forged', prefix: 'acme', scopes: [], expiresAt: null, usedAt: null },
    secretHash: createHash('sha256').update(secret).digest('base64url'),
  }
  const toKey = (id: unknown): string => {
    const text = `acme_${id}_${secret}`
    return text + crc32(text).toString(36).padStart(7, '0')
  }
  return { record, toKey }
}

/** Starts a server without logins. The functions of its result add them while it runs. */
async function startWithoutLogins(
  t: Test,
  { db = database.db, sections = SECTIONS as object } = {},
) {
  await Promise.all(['users', 'sessions', 'api-keys'].map((name) => database.empty(name)))
  const server = await startOwnServer(t, (app) => {
    app.set('authentication', {
      ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
      parseStrategies: ['jwt', 'api-key'],
      local: LOCAL,
      ...sections,
    })
    app.use('me', { find: async () => [] } as never)
  })
  const { request } = server
  const app = server.app as Application
  const createAuthentication = () => {
    const authentication = new AuthenticationService(app)
    authentication.register('local', new LocalStrategy()).register('jwt', new JwtStrategy())
    app.service('me').hooks({ before: { all: [authenticate('jwt', 'api-key')] } } as never)
    return authentication.register('api-key', new ApiKeyStrategy())
  }
  const add = (name: string, authentication: AuthenticationService): void => {
    if (name === 'authentication') app.use(name, authentication as never)
    else if (name === 'users') {
      app.use(name, new MongoDBListService({ Model: db.collection(name) }) as never)
      app.service(name).hooks({ before: { create: [hashPassword('password')] } } as never)
    } else app.use(name, new MongoDBService({ Model: db.collection(name) }) as never)
  }
  /** Resolves to the statuses of what nobody may do who is not logged in. */
  const trespass = async (): Promise<number[]> => {
    const { record, toKey } = forgeKey('0123456789abcdef01234567')
    const made = await request('/api-keys', { data: record })
    const { _id } = (made.body ?? {}) as { _id?: string }
    const answers = await Promise.all([
      request('/api-keys'),
      request('/sessions'),
      request('/sessions', { data: { userId: 'u1' } }),
      request('/me', { headers: { 'x-api-key': toKey(_id ?? '0123456789abcdef01234567') } }),
    ])
    return [made, ...answers].map(({ status }) => status)
  }
  const logIn = async () =>
    (await request('/authentication', { data: { strategy: 'local', ...ADA } })).body as {
      readonly accessToken?: string
      readonly refreshToken?: string
    }
  /** Resolves to what a user can do when everything is set up. */
  const use = async () => {
    const { accessToken, refreshToken } = await logIn()
    const headers = { authorization: `Bearer ${accessToken}` }
    const made = await request('/api-keys', { headers, data: { name: 'backup' } })
    const { key = '' } = made.body as { key?: string }
    const data = { strategy: 'refresh', refreshToken }
    const answers = [
      made,
      await request('/me', { headers: { 'x-api-key': key } }),
      await request('/sessions', { headers }),
      await request('/authentication', { data }),
    ]
    return answers.map(({ status }) => status)
  }
  return { server, app, request, createAuthentication, add, trespass, logIn, use }
}

const WORKS = [201, 200, 200, 201]

for (const order of orders(NAMES)) {
  t.test(`services that are added late are guarded in the order ${order.join(', ')}`, async (t) => {
    const { app, createAuthentication, add, trespass, use } = await startWithoutLogins(t)
    const authentication = createAuthentication()
    for (const name of order) {
      add(name, authentication)
      const statuses = await trespass()
      t.notOk(
        statuses.some((status) => status < 400),
        `after ${name}: ${statuses}`,
      )
    }
    await app.service('users').create(ADA)
    t.strictSame(await use(), WORKS)
    t.strictSame(await trespass(), [401, 401, 401, 405, 401])
  })
}

t.test('all services that are added at once are guarded, and nothing fails', async (t) => {
  const { server, app, createAuthentication, add, trespass, use } = await startWithoutLogins(t)
  const authentication = createAuthentication()
  for (const name of NAMES) add(name, authentication)
  t.strictSame(await trespass(), [401, 401, 401, 405, 401])
  await app.service('users').create(ADA)
  t.strictSame(await use(), WORKS)
  t.notOk(server.logged.some(({ message }) => /setup/.test(String(message))))
})

t.test('services that were there before are guarded when the settings name them', async (t) => {
  const given = await startWithoutLogins(t, { sections: {} })
  const { app, createAuthentication, add, trespass, use } = given
  for (const name of ['users', 'sessions', 'api-keys']) add(name, undefined as never)
  app.set('authentication', { ...(app.get('authentication') as object), ...SECTIONS })
  const authentication = createAuthentication()
  t.strictSame(await trespass(), [401, 401, 401, 405, 401], 'before it is registered')
  add('authentication', authentication)
  await laterTurns()
  t.strictSame(await trespass(), [401, 401, 401, 405, 401])
  await app.service('users').create(ADA)
  t.strictSame(await use(), WORKS)
})

t.test('a service that the settings name in place of another is guarded at once', async (t) => {
  const given = await startWithoutLogins(t)
  const { app, createAuthentication, add, request, trespass, use } = given
  add('users', undefined as never)
  add('sessions', undefined as never)
  app.use('api-keys', new MongoDBService({ Model: database.db.collection('api-keys') }) as never)
  const other = { ...SECTIONS['api-key'], service: 'keys-to-come' }
  const setting = app.get('authentication') as object
  app.set('authentication', { ...setting, 'api-key': other })
  const authentication = createAuthentication()
  t.equal((await request('/api-keys')).status, 200, 'it is no service of keys yet')
  app.set('authentication', { ...setting, ...SECTIONS })
  add('authentication', authentication)
  t.strictSame(await trespass(), [401, 401, 401, 405, 401])
  await app.service('users').create(ADA)
  t.strictSame(await use(), WORKS)
})

t.test('services whose indexes could not be created are closed, and recover', async (t) => {
  const proxy = await startFaultProxy(t, database.url)
  const client = new MongoClient(proxy.url, { retryReads: false, retryWrites: false })
  t.teardown(() => client.close())
  const db = client.db(database.db.databaseName)
  const given = await startWithoutLogins(t, { db })
  const { server, app, createAuthentication, add, trespass, logIn, use } = given
  await client.connect()
  const authentication = createAuthentication()
  proxy.loseCommand('createIndexes', 100)
  for (const name of NAMES) add(name, authentication)
  await until(() => server.logged.length > 0)
  t.match(server.logged, [{ message: 'The setup of a service failed' }])
  // Each of these tries again, and loses its command.
  t.strictSame(await trespass(), [503, 503, 503, 503, 503])
  await app.service('users').create(ADA)
  t.match(await logIn(), { code: 503 })
  proxy.mend()
  t.strictSame(await use(), WORKS)
  t.strictSame(await trespass(), [401, 401, 401, 405, 401])
})

t.test('the first login after a late start hands out no token meant for a cookie', async (t) => {
  const sections = { ...SECTIONS, sessions: { service: 'sessions', cookie: 'all' } }
  const { app, createAuthentication, add, request } = await startWithoutLogins(t, { sections })
  const authentication = createAuthentication()
  for (const name of NAMES) add(name, authentication)
  await app.service('users').create(ADA)
  const data = { strategy: 'local', ...ADA }
  const first = await request('/authentication', { data })
  t.equal(first.status, 201)
  t.notMatch(first.text, /accessToken|refreshToken/)
  await app.unuse('authentication')
  app.use('authentication', authentication as never)
  const again = await request('/authentication', { data })
  t.equal(again.status, 201)
  t.notMatch(again.text, /accessToken|refreshToken/, 'nor where the service was registered anew')
})

t.test('a password that is changed during the set-up ends the sessions of a user', async (t) => {
  const { app, createAuthentication, add, logIn, request } = await startWithoutLogins(t)
  const authentication = createAuthentication()
  for (const name of NAMES) add(name, authentication)
  const { _id } = (await app.service('users').create(ADA)) as unknown as { _id: string }
  const { refreshToken } = await logIn()
  await app.unuse('users')
  add('users', authentication)
  await app.service('users').patch(_id, { password: 'another horse' })
  const data = { strategy: 'refresh', refreshToken }
  t.equal((await request('/authentication', { data })).status, 401)
})

t.test('services of an application mounted late are guarded by both of their paths', async (t) => {
  const { server, request } = await startWithoutLogins(t)
  const inner = createApp()
  for (const name of ['users', 'sessions', 'api-keys']) {
    inner.use(name, new MongoDBService({ Model: database.db.collection(name) }) as never)
  }
  const settings = server.app.get('authentication') as object
  const strategies = { 'api-key': new ApiKeyStrategy() }
  addAccounts(inner, { users: null, settings, strategies })
  server.app.use('inner', inner as never)
  const { record } = forgeKey('u1')
  t.equal((await request('/inner/api-keys', { data: record })).status, 401)
  t.equal((await request('/inner/sessions')).status, 401)
  const keys = inner.service('api-keys') as unknown as { find(params: object): Promise<unknown> }
  await t.rejects(keys.find({ provider: 'rest' }), { code: 401 })
})

t.test('a service that takes the place of another is closed until it has indexes', async (t) => {
  const { app, createAuthentication, add, request, trespass } = await startWithoutLogins(t)
  const authentication = createAuthentication()
  for (const name of NAMES) add(name, authentication)
  t.strictSame(await trespass(), [401, 401, 401, 405, 401])
  await app.unuse('api-keys')
  app.use('api-keys', { find: async () => [] } as never)
  t.equal((await request('/api-keys')).status, 503, 'it can keep no keys')
  await app.unuse('api-keys')
  const renamed = new MongoDBService({ Model: database.db.collection('renamed') })
  app.use('api-keys', renamed as never)
  t.strictSame(await trespass(), [401, 401, 401, 405, 401])
  const indexes = await database.db.collection('renamed').indexes()
  t.ok(indexes.some(({ expireAfterSeconds }) => expireAfterSeconds !== undefined))
})

t.test('a service that the settings named at first is open where they name another', async (t) => {
  const { app, request } = await startWithoutLogins(t)
  app.use('sessions', { find: async () => ['ours'] } as never)
  const authentication = new AuthenticationService(app)
  t.equal((await request('/sessions')).status, 503)
  const setting = app.get('authentication') as object
  app.set('authentication', { ...setting, sessions: { service: 'logins' } })
  t.equal((await request('/sessions')).status, 200)
  t.equal(authentication.configuration.sessions?.service, 'logins')
})
