import officialAuthentication from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import t from 'tap'
import type { AuthenticationOptions } from '../../../src/client/index.ts'
import {
  AuthenticationClient,
  authentication,
  createClient,
  MemoryStorage,
  rest,
} from '../../../src/client/index.ts'
import { createApp, NotAuthenticated, Unavailable } from '../../../src/core/index.ts'
import { holdTimers } from '../../support/clock.ts'
import { Gate } from '../../support/gate.ts'
import { pluck } from '../../support/pluck.ts'
import { laterTurns } from '../../support/until.ts'
import { errorOf } from '../error-of.ts'
import { startOddServer } from '../odd-server.ts'
import { BEN, CREDENTIALS, startLoginServer } from './login-server.ts'

const KEY = 'feathers-jwt'
const WRONG = { ...CREDENTIALS, password: 'wrong horse' }

/** Returns a client with logins, and what its events have told. */
function connect(baseURL: string, options: AuthenticationOptions = {}) {
  const storage = new MemoryStorage()
  const client = createClient({ baseURL }).configure(authentication({ storage, ...options }))
  const events: [name: string, user: unknown][] = []
  for (const name of ['login', 'authenticated', 'logout']) {
    client.on(name, (result: { user?: { email?: string } } | null) => {
      events.push([name, result === null ? null : result.user?.email])
    })
  }
  return { client, storage, events }
}

t.test('refuses a class of logins that is none of this package, as that of Feathers', (t) => {
  const { AuthenticationClient: Official } = officialAuthentication
  for (const Class of [
    Official,
    class extends Official {},
    class {},
    Object,
    () => ({}),
    'x',
    null,
  ]) {
    const options = { Authentication: Class } as unknown as AuthenticationOptions
    const message = /'Authentication' must be a class that extends AuthenticationClient/
    t.throws(() => authentication(options), { name: 'TypeError', message })
  }
  authentication({ Authentication: AuthenticationClient })
  t.end()
})

t.test('takes what listeners and forms hand on as the client of Feathers does', async (t) => {
  const odd = await startOddServer(t, (_request, response) => response.end('{"accessToken":"a"}'))
  const official = feathers()
    .configure(restClient.default(odd.url).fetch(fetch))
    .configure(officialAuthentication.default())
  for (const client of [connect(odd.url).client, official]) {
    const { authentication: login } = client as unknown as Record<string, AuthenticationClient>
    const { authenticate, reAuthenticate } = client as unknown as AuthenticationClient
    await login?.setAccessToken('kept')
    for (const strategy of [null, ''] as string[]) await login?.reAuthenticate(true, strategy)
    // Of what is there already, as `onclick = client.reAuthenticate` asks for it.
    for (const force of [{ type: 'click' }, 1, 'true'] as unknown as boolean[]) {
      await Promise.all([reAuthenticate(force), login?.reAuthenticate(force)])
    }
    for (const data of ['', 0, false, null] as unknown as undefined[]) {
      await Promise.all([authenticate(data), login?.authenticate(data)])
    }
    const sent = odd.requests.splice(0).map(({ body }) => JSON.parse(body))
    t.strictSame(sent, [
      { strategy: 'jwt', accessToken: 'kept' },
      { strategy: 'jwt', accessToken: 'a' },
    ])
  }
})

t.test('logs in, and the calls are those of the user', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage, events } = connect(server.url)
  await t.rejects(client.service('echo').find(), { name: 'NotAuthenticated' })
  const result = await client.authenticate(CREDENTIALS)
  t.match(result, {
    accessToken: /^eyJ/,
    authentication: { strategy: 'local', payload: { sub: '1' } },
    user: { id: 1, email: CREDENTIALS.email, password: undefined },
  })
  t.equal(await storage.getItem(KEY), result.accessToken)
  t.strictSame(events, [
    ['login', CREDENTIALS.email],
    ['authenticated', CREDENTIALS.email],
  ])
  t.equal(await client.get('authentication'), result)
  t.equal(client.authentication.authenticated, true)
  t.match(await client.service('echo').find(), { user: { email: CREDENTIALS.email } })
  t.match(await client.service('echo').create({}), { user: { email: CREDENTIALS.email } })
})

t.test('works with an application of any connection, before and after its services', async (t) => {
  const server = await startLoginServer(t)
  const connection = rest(server.url).fetch(fetch)
  const app = createApp().use('echo', connection.service('echo'))
  app.configure(authentication()).configure(connection)
  const { accessToken } = await (app as unknown as AuthenticationClient).authenticate(CREDENTIALS)
  t.match(accessToken, /^eyJ/)
  t.match(await app.service('echo').find(), { user: { email: CREDENTIALS.email } })
  t.match(await app.service('users').get(2), { email: BEN.email })
})

t.test('works with an authentication service at another path', async (t) => {
  const server = await startLoginServer(t, { path: 'staff/login' })
  const { client } = connect(server.url, { path: '/staff/login/' })
  await client.authenticate(CREDENTIALS)
  t.match(await client.service('echo').find(), { user: { email: CREDENTIALS.email } })
  await client.logout()
  const seen = server.requests.map(({ line }) => line)
  t.strictSame(seen, ['POST /staff/login', 'GET /echo', 'DELETE /staff/login'])
})

t.test('two clients of one process are two users', async (t) => {
  const server = await startLoginServer(t)
  const [ada, ben] = [1, 2].map(() =>
    createClient({ baseURL: server.url }).configure(authentication()),
  )
  if (ada === undefined || ben === undefined) throw new Error('There are two')
  await Promise.all([ada.authenticate(CREDENTIALS), ben.authenticate(BEN)])
  const found = await Promise.all([ada, ben].map((client) => client.service('echo').find()))
  t.match(found, [{ user: { email: CREDENTIALS.email } }, { user: { email: BEN.email } }])
  await ada.logout()
  t.match(await ben.service('echo').find(), { user: { email: BEN.email } })
})

t.test('a wrong password ends the login that was there', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  await t.rejects(client.authenticate(WRONG), { code: 401, message: 'Invalid login' })
  t.equal(client.get('authentication'), null)
  t.equal(client.authentication.authenticated, false)
  t.equal(await storage.getItem(KEY), null)
  await t.rejects(client.service('echo').find(), { message: 'Not authenticated' })
})

t.test('logs in by the token that was kept', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  await t.rejects(client.reAuthenticate(), {
    code: 401,
    message: 'No accessToken found in storage',
  })
  t.equal(server.requests.length, 0)
  const { accessToken } = await client.authenticate(CREDENTIALS)
  const later = connect(server.url, { storage })
  const result = await later.client.authenticate()
  t.match(result, { accessToken, authentication: { strategy: 'jwt' }, user: { id: 1 } })
  t.strictSame(later.events[0], ['login', CREDENTIALS.email])
  t.equal(await later.client.reAuthenticate(), result, 'once is enough')
  t.equal(server.count('POST /authentication'), 2)
  t.not(await later.client.reAuthenticate(true), result)
  later.client.set('authentication', undefined)
  t.match(await later.client.reAuthenticate(), { accessToken })
  t.equal(server.count('POST /authentication'), 4)
  t.match(await later.client.service('echo').find(), { user: { email: CREDENTIALS.email } })
})

t.test('keeps the token while the server is out of reach, and drops it once refused', async (t) => {
  let status = 503
  const odd = await startOddServer(t, (_request, response) => response.writeHead(status).end())
  const { client, storage } = connect(odd.url)
  await storage.setItem(KEY, 'kept')
  for (const other of [503, 500, 404, 403, 429]) {
    status = other
    t.equal((await errorOf(client.reAuthenticate())).code, other)
    t.equal(await storage.getItem(KEY), 'kept')
    t.equal(client.get('authentication'), null, 'so that the next one asks again')
  }
  status = 401
  await t.rejects(client.reAuthenticate(), NotAuthenticated)
  t.equal(await storage.getItem(KEY), null)
  const gone = connect('http://127.0.0.1:1', { storage })
  await storage.setItem(KEY, 'kept')
  await t.rejects(gone.client.reAuthenticate(), Unavailable)
  t.equal(await storage.getItem(KEY), 'kept')
})

t.test('a login that gets no answer changes nothing about the one that is there', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const result = await client.authenticate(CREDENTIALS)
  client.service('authentication').hooks({
    before: {
      create: ({ params }) => {
        params.connection = { signal: AbortSignal.abort() }
      },
    },
  })
  await t.rejects(client.authenticate(BEN), { name: 'AbortError' })
  await t.rejects(client.reAuthenticate(true), { name: 'AbortError' })
  t.equal(await client.get('authentication'), result)
  t.match(await client.service('echo').find(), { user: { email: CREDENTIALS.email } })
})

t.test('of several logins the last one counts, in whatever order they are answered', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage, events } = connect(server.url)
  const slow = new Gate()
  client.service('authentication').hooks({
    after: {
      create: ({ data }) =>
        (data as { email?: string }).email === CREDENTIALS.email ? slow.pass() : undefined,
    },
  })
  const first = client.authenticate(CREDENTIALS)
  await slow.arrivals(1)
  const { accessToken } = await client.authenticate(BEN)
  slow.open()
  const taken = 'A later login or logout has taken the place of this login'
  await t.rejects(first, { name: 'NotAuthenticated', message: taken })
  t.equal(await storage.getItem(KEY), accessToken)
  t.match(await client.service('echo').find(), { user: { email: BEN.email } })
  t.strictSame(events.length, 2)
})

t.test('a login that is refused late does not end a later one', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  const slow = new Gate()
  client.service('authentication').hooks({
    error: { create: () => slow.pass() },
  })
  const first = errorOf(client.authenticate(WRONG))
  await slow.arrivals(1)
  const { accessToken } = await client.authenticate(BEN)
  slow.open()
  t.match(await first, { message: 'Invalid login' })
  t.equal(await storage.getItem(KEY), accessToken)
  t.match(await client.service('echo').find(), { user: { email: BEN.email } })
})

t.test('the end of a login leaves a later one going on', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const slow = new Gate()
  client.service('authentication').hooks({
    after: {
      create: ({ data }) => ((data as { email?: string }).email === BEN.email ? slow.pass() : null),
    },
  })
  const first = client.authenticate(CREDENTIALS)
  const second = client.authenticate(BEN)
  t.match(await first, { user: { email: CREDENTIALS.email } })
  t.equal(client.get('authentication'), second)
  const call = client.service('echo').find()
  slow.open()
  t.match(await call, { user: { email: BEN.email } })
  await second
})

t.test('each logout is of its own login', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const gate = new Gate()
  client.service('authentication').hooks({ before: { remove: () => gate.pass() } })
  const { accessToken } = await client.authenticate(CREDENTIALS)
  const first = client.logout()
  await gate.arrivals(1)
  const { accessToken: other } = await client.authenticate(BEN)
  const second = client.logout()
  await laterTurns()
  gate.open()
  t.match(await first, { user: { email: CREDENTIALS.email } })
  t.match(await second, { user: { email: BEN.email } })
  const sent = server.requests.filter(({ line }) => line.startsWith('DELETE'))
  t.strictSame(pluck(sent, 'authorization'), [`Bearer ${accessToken}`, `Bearer ${other}`])
})

t.test('logs out: on the server, and before that here', async (t) => {
  const server = await startLoginServer(t, { settings: { revocation: true } })
  const { client, storage, events } = connect(server.url)
  const { accessToken } = await client.authenticate(CREDENTIALS)
  events.length = 0
  const leaving = client.logout()
  t.equal(client.get('authentication'), null)
  t.match(await leaving, { accessToken, user: { email: CREDENTIALS.email } })
  t.equal(await storage.getItem(KEY), null)
  t.strictSame(events, [['logout', CREDENTIALS.email]])
  await t.rejects(client.service('echo').find(), { message: 'Not authenticated' })
  const headers = { authorization: `Bearer ${accessToken}` }
  await t.rejects(client.service('echo').find({ headers }), { message: 'jwt was revoked' })
  t.equal(await client.logout(), null, 'nobody is there')
  t.equal(server.count('DELETE /authentication'), 1)
})

t.test('logs out by a token that is only kept, and one that the server refuses', async (t) => {
  const server = await startLoginServer(t, { settings: { revocation: true } })
  const { client, storage } = connect(server.url)
  const { accessToken } = await client.authenticate(CREDENTIALS)
  const later = connect(server.url, { storage })
  t.match(await later.client.logout(), { accessToken })
  t.equal(await client.logout(), null)
  t.equal(client.authentication.authenticated, false)
})

t.test('a logout without an answer says so, and nobody is logged in any more', async (t) => {
  const odd = await startOddServer(t, ({ method, socket }, response) =>
    method === 'POST' ? response.end('{"accessToken":"a"}') : socket.destroy(),
  )
  const { client, storage, events } = connect(odd.url)
  await client.authenticate(CREDENTIALS)
  events.length = 0
  await t.rejects(client.logout(), Unavailable)
  t.equal(odd.requests.at(-1)?.headers.authorization, 'Bearer a')
  t.equal(await storage.getItem(KEY), null)
  t.equal(client.get('authentication'), null)
  t.strictSame(events, [['logout', null]])
})

t.test('a logout ends the login that goes on, and the calls that wait for it', async (t) => {
  const gate = new Gate()
  const odd = await startOddServer(t, (_request, response) =>
    gate.pass().then(() => response.end('{"accessToken":"late"}')),
  )
  const { client, storage, events } = connect(odd.url)
  const login = errorOf(client.authenticate(CREDENTIALS))
  const call = errorOf(client.service('things').create({}))
  await gate.arrivals(1)
  t.equal(await client.logout(), null)
  const ended = { code: 401, message: 'The login has ended before this was done' }
  t.match(await login, ended)
  t.match(await call, ended)
  gate.open()
  t.equal(odd.requests.length, 1, 'the call was not sent')
  t.equal(await storage.getItem(KEY), null)
  t.strictSame(events, [])
})

t.test('a login right after a logout is not ended by it', async (t) => {
  const server = await startLoginServer(t)
  const { client, storage } = connect(server.url)
  await client.authenticate(CREDENTIALS)
  const [, { accessToken }] = await Promise.all([client.logout(), client.authenticate(BEN)])
  t.equal(await storage.getItem(KEY), accessToken)
  t.match(await client.service('echo').find(), { user: { email: BEN.email } })
})

t.test('reset forgets the login and leaves the token', async (t) => {
  const server = await startLoginServer(t)
  const { client } = connect(server.url)
  const { accessToken } = await client.authenticate(CREDENTIALS)
  t.equal(await client.authentication.reset(), null)
  await t.rejects(client.service('echo').find(), { message: 'Not authenticated' })
  t.match(await client.reAuthenticate(), { accessToken })
})

t.test('an answer without a token is no login', async (t) => {
  for (const body of ['{}', 'null', '[]', '{"accessToken":7}', '{"accessToken":""}']) {
    const odd = await startOddServer(t, (_request, response) => response.end(body))
    const { client, storage } = connect(odd.url)
    const message = 'The server has answered a login without an access token'
    await t.rejects(client.authenticate(CREDENTIALS), { name: 'GeneralError', message })
    t.equal(client.authentication.authenticated, false)
    t.equal(await storage.getItem(KEY), null)
  }
})

t.test('a token that no header can hold is no login', async (t) => {
  const message = 'The server has answered a login with a token that no header can hold'
  for (const accessToken of ['a\n', 'a\r\nb', ' a', 'a ', 'tök', '€', '\0', '\x7f']) {
    const body = JSON.stringify({ accessToken })
    const odd = await startOddServer(t, (_request, response) => response.end(body))
    const { client, storage } = connect(odd.url)
    await t.rejects(client.authenticate(CREDENTIALS), { name: 'GeneralError', message })
    t.equal(client.authentication.authenticated, false)
    t.equal(await storage.getItem(KEY), null)
  }
})

t.test('refuses options that are unknown or invalid, at once', (t) => {
  const wrong: [options: object, message: RegExp][] = [
    [{ storge: new MemoryStorage() }, /unknown option 'storge', allowed are path, storage, /],
    [{ storage: {} }, /'storage' must be an object with getItem, setItem and removeItem/],
    [{ storageKey: '' }, /'storageKey' must be a non-empty string/],
    [{ header: 'a b' }, /'header' must be the name of a header/],
    [{ scheme: 'Bearer ' }, /'scheme' must be a string without blanks/],
    [{ path: '/' }, /'path' must be the path of a service/],
    [{ Authentication: () => null }, /'Authentication' must be a class that extends/],
  ]
  for (const [options, message] of wrong) t.throws(() => authentication(options), message)
  t.throws(() => createClient().configure(authentication as never), /lacks the call of/)
  t.end()
})

t.test('is there once, and says so where it is missing', async (t) => {
  const client = createClient({ baseURL: 'http://a' })
  for (const name of ['authenticate', 'reAuthenticate', 'logout'] as const) {
    const message = `client.${name}() needs client.configure(authentication()) before`
    await t.rejects(client[name](), { name: 'TypeError', message })
  }
  client.configure(authentication())
  t.ok(client.authentication instanceof AuthenticationClient)
  t.throws(() => client.configure(authentication()), /has been given logins already/)
  const server = createApp().set('authentication', { secret: 'a' })
  t.throws(() => server.configure(authentication()), /has a setting 'authentication'/)
})

t.test('refuses a storage beside another one in the settings', (t) => {
  const storage = new MemoryStorage()
  const client = createClient().set('storage', storage)
  const other = authentication({ storage: new MemoryStorage() })
  t.throws(() => client.configure(other), /'storage' and the setting 'storage' are two storages/)
  t.equal(client.configure(authentication({ storage })).authentication.authenticated, false)
  t.end()
})

t.test('takes a class of its own, and the storage of the setting', async (t) => {
  const server = await startLoginServer(t)
  class Own extends AuthenticationClient {
    override async getAccessToken() {
      return (await this.storage.getItem('elsewhere')) as string | null
    }
  }
  const storage = new MemoryStorage()
  const client = createClient({ baseURL: server.url }).set('storage', storage)
  client.configure(authentication({ Authentication: Own, storageKey: 'elsewhere' }))
  t.ok(client.authentication instanceof Own)
  const { accessToken } = await client.authenticate(CREDENTIALS)
  t.equal(await storage.getItem('elsewhere'), accessToken)
  t.match(await client.reAuthenticate(true), { accessToken })
})

for (const [title, remove] of [
  ['returns no promise', () => undefined],
  [
    'throws at once',
    () => {
      throw new Error('no storage')
    },
  ],
] as const) {
  t.test(`a rejection is what the caller gets, if removing the token ${title}`, async (t) => {
    const server = await startLoginServer(t)
    class Own extends AuthenticationClient {
      override removeAccessToken(): Promise<void> {
        return remove() as unknown as Promise<void>
      }
    }
    const { client } = connect(server.url, { Authentication: Own })
    client.logger = { ...console, error: () => undefined }
    await t.rejects(client.authenticate({ strategy: 'jwt', accessToken: 'forged' }), { code: 401 })
  })
}

t.test('a listener to logins that logs in again is not told of that', async (t) => {
  const server = await startLoginServer(t)
  class Program extends AuthenticationClient {
    override reAuthenticate() {
      return this.authenticate(CREDENTIALS)
    }
  }
  const { client, events } = connect(server.url, { Authentication: Program })
  let nested: Promise<unknown>[] = []
  client.on('login', () => {
    nested = [client.reAuthenticate(), client.authenticate(), client.reAuthenticate(true)]
  })
  const first = await client.authenticate(CREDENTIALS)
  const [present, without, forced] = await Promise.all(nested)
  t.equal(present, first, 'the login that is there')
  t.equal(without, first)
  t.not((forced as { accessToken: string }).accessToken, first.accessToken)
  await laterTurns()
  t.equal(server.count('POST /authentication'), 2)
  t.equal(events.length, 2)
})

t.test('a listener to logins that logs in somebody else is told of that', async (t) => {
  const server = await startLoginServer(t)
  const { client, events } = connect(server.url)
  client.once('login', () => void client.authenticate(BEN))
  await client.authenticate(CREDENTIALS)
  await client.get('authentication')
  const users = events.filter(([name]) => name === 'login').map(([, user]) => user)
  t.strictSame(users, [CREDENTIALS.email, BEN.email])
})

t.test('a storage that never answers holds a call no longer than its time limit', async (t) => {
  const server = await startLoginServer(t)
  const timeoutMs = 54_321
  const timers = holdTimers(t, timeoutMs)
  const reading = new Gate()
  const storage = new MemoryStorage()
  storage.getItem = () => reading.pass(null)
  const client = createClient({ baseURL: server.url, timeoutMs })
  client.configure(authentication({ storage }))
  const waiting = errorOf(client.reAuthenticate())
  await reading.arrivals(1)
  const error = errorOf(client.service('open').find())
  timers.fire()
  t.equal((await error).name, 'Timeout')
  reading.open()
  await waiting
  await laterTurns()
  t.strictSame(server.requests, [], 'it is not sent later')
})
