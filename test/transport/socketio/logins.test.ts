import authenticationClient from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import socketClient from '@feathersjs/socketio-client'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext, Params } from '../../../src/core/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import type { Connection, SocketioOptions } from '../../../src/transport/socketio/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { laterTurns, until } from '../../support/until.ts'
import { CREDENTIALS } from '../../support/users.ts'
import { startSocketApp } from './socket-app.ts'
import type { SocketClient } from './socket-server.ts'

const { db, empty } = await openDatabase(t)

t.test('a login over the socket holds for its later calls, until the logout', async (t) => {
  const { app, connect, logIn } = await startSocketApp(t)
  const client = await connect()
  await t.rejects(client.call('find', 'me'), { code: 401 })
  await t.rejects(client.call('create', 'authentication', { ...CREDENTIALS, password: 'no' }), {
    code: 401,
  })
  const { accessToken } = await logIn(client)
  t.match(await client.call('find', 'me'), {
    user: { email: CREDENTIALS.email, password: undefined },
  })
  t.strictSame([app.channel('users').length, app.channel('anonymous').length], [1, 0])
  t.match(await client.call('remove', 'authentication', null), { accessToken })
  await t.rejects(client.call('find', 'me'), { code: 401 })
  t.equal(app.channel('users').length, 0)
  t.equal(client.socket.connected, true)
})

t.test('the official clients log in, and again when they reconnect', async (t) => {
  const { connect } = await startSocketApp(t)
  const { socket } = await connect({ reconnection: true, reconnectionDelay: 1 })
  const client = feathers()
  client.configure(socketClient.default(socket as never))
  const values = new Map<string, unknown>()
  const storage = {
    getItem: (key: string) => values.get(key),
    setItem: (key: string, value: unknown) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  }
  client.configure(authenticationClient.default({ storage: storage as never }))
  await client.authenticate(CREDENTIALS)
  t.match(await client.service('me').find(), { user: { email: CREDENTIALS.email } })
  socket.io.engine.close()
  await until(() => !socket.connected)
  await until(() => socket.connected)
  await client.get('authentication')
  t.match(await client.service('me').find(), { user: { email: CREDENTIALS.email } })
})

t.test('a token in the handshake logs in before the application emits connection', async (t) => {
  const { app, connect, logIn } = await startSocketApp(t)
  const { accessToken } = await logIn(await connect())
  const users: unknown[] = []
  app.on('connection', ({ user }: { user?: object }) => users.push(user))
  const options = [
    { auth: { accessToken } },
    { extraHeaders: { authorization: `Bearer ${accessToken}` } },
  ]
  for (const option of options) {
    const { call } = await connect(option)
    t.match(await call('find', 'me'), { user: { email: CREDENTIALS.email } })
  }
  t.match(users, [{ email: CREDENTIALS.email }, { email: CREDENTIALS.email }])
  t.ok(await connect({ auth: { accessToken: null } }))
  for (const wrong of ['x.y.z', 7, { $ne: null }, [accessToken]]) {
    const auth = { accessToken: wrong }
    const rejected = (await connect({ auth }).catch((error) => error)) as { data: object }
    t.match(rejected, { data: { name: 'NotAuthenticated', code: 401 } }, JSON.stringify(wrong))
    t.notOk('stack' in rejected.data)
  }
})

t.test('the user of a connection is replaced when it is patched', async (t) => {
  const { app, connect, id, logIn } = await startSocketApp(t)
  const client = await connect()
  await logIn(client)
  const [connection] = app.channel('users').connections as {
    user: { name?: string; password?: string }
  }[]
  await app.service('users').patch(id, { name: 'Ada' } as never)
  await until(() => connection?.user.name === 'Ada')
  t.equal(connection?.user.password, undefined)
})

const ENDS: readonly (readonly [string, (users: never, id: number) => Promise<unknown>])[] = [
  ['is removed', (users: { remove(id: number): Promise<unknown> }, id) => users.remove(id)],
  [
    'gets another password',
    (users: { patch(id: number, data: object): Promise<unknown> }, id) =>
      users.patch(id, { password: 'another horse' }),
  ],
]

for (const [title, change] of ENDS) {
  t.test(`a connection ends when its user ${title}`, async (t) => {
    const { app, connect, id, logIn } = await startSocketApp(t)
    const client = await connect()
    const other = await connect()
    await logIn(client)
    const events = client.collect('users patched')
    const gone: unknown[] = []
    app.on('disconnect', (connection: object) => gone.push(connection))
    await change(app.service('users') as never, id)
    await until(() => !client.socket.connected)
    t.equal(app.channel('users').length, 0)
    t.equal(gone.length, 1)
    t.equal(other.socket.connected, true)
    t.ok(events.length <= 1)
  })
}

t.test('app-wide publishers do not publish logins', async (t) => {
  const { app, connect, logIn } = await startSocketApp(t)
  const client = await connect()
  await logIn(client)
  const events = client.collect('authentication created')
  const users = client.collect('users created')
  await logIn(await connect())
  await app.service('users').create({ email: 'b@example.org', password: 'x'.repeat(12) } as never)
  await until(() => users.length > 0)
  t.strictSame(events, [])
  t.notOk('password' in (users[0] as object))
})

t.test('a call that ends its own connection is answered before that', async (t) => {
  const { connect, id, logIn } = await startSocketApp(t)
  const client = await connect()
  await logIn(client)
  const { password: _, ...user } = (await client.call('patch', 'users', id, {
    password: 'another horse',
  })) as Record<string, unknown>
  t.match(user, { id, email: CREDENTIALS.email })
  await until(() => !client.socket.connected)
})

t.test(
  'a logout that revokes the token ends other connections with it, and not its own',
  async (t) => {
    const { connect, logIn } = await startSocketApp(t, { settings: { revocation: true } })
    const client = await connect()
    const { accessToken } = await logIn(client)
    const other = await connect({ auth: { accessToken } })
    t.match(await client.call('remove', 'authentication', null), { accessToken })
    await until(() => !other.socket.connected)
    t.equal(client.socket.connected, true)
    await logIn(client)
    t.match(await client.call('find', 'me'), { user: { email: CREDENTIALS.email } })
  },
)

t.test('a login within the process logs in the connection that it names', async (t) => {
  const { app, connect } = await startSocketApp(t)
  const service = {
    create: async (_data: object, { connection }: Params) => {
      const login = app.service('authentication') as unknown as {
        create(data: object, params: Params): Promise<object>
      }
      return login.create(CREDENTIALS, { connection })
    },
  }
  app.use('links', service as never)
  const { call } = await connect()
  await call('create', 'links', {})
  t.match(await call('find', 'me'), { user: { email: CREDENTIALS.email } })
})

t.test('a client that other middleware rejects is in no channel and emits no events', async (t) => {
  const { app, connect, logIn } = await startSocketApp(t)
  const { accessToken } = await logIn(await connect())
  const told: unknown[] = []
  for (const event of ['connection', 'disconnect']) app.on(event, () => told.push(event))
  app.io.use((_socket: unknown, next: (error?: Error) => void) => next(new Error('Full')))
  const refused = connect({ auth: { accessToken } })
  await t.rejects(refused, /Full/)
  await until(() => app.channel('users').length === 1)
  t.strictSame(told, [])
})

t.test('an internal error in the login of a handshake is logged, and not sent', async (t) => {
  const { app, connect, logIn, users } = await startSocketApp(t)
  const { accessToken } = await logIn(await connect())
  const logged: unknown[] = []
  app.logger.error = (...values: unknown[]) => void logged.push(values)
  users.get = async () => {
    throw new TypeError('a secret path')
  }
  await t.rejects(connect({ auth: { accessToken } }), {
    message: 'Internal error',
    data: { name: 'GeneralError', code: 500 },
  })
  t.match(logged, [[{ err: { message: 'a secret path' } }, 'Internal error']])
})

const PASSWORD_CHANGES: readonly object[] = [
  { login: { hash: 'other' } },
  { $set: { 'login.hash': 'other' } },
  { $unset: { login: '' } },
]

for (const change of PASSWORD_CHANGES) {
  t.test(
    `a connection ends when a nested password changes: ${JSON.stringify(change)}`,
    async (t) => {
      const local = {
        usernameField: 'email',
        passwordField: 'password',
        entityPasswordField: 'login.hash',
      }
      const { app, connect, id, logIn, users } = await startSocketApp(t, { settings: { local } })
      const [user] = users.users.values()
      Object.assign(user ?? {}, { login: { hash: user?.password } })
      const client = await connect()
      await logIn(client)
      await app.service('users').patch(id, change as never)
      await until(() => !client.socket.connected)
      t.equal(app.channel('users').length, 0)
    },
  )
}

/** Starts an application with sessions in cookies. Resolves to it and to the answer of a login over HTTP. */
async function startWithCookies(t: Test, cookie: boolean | 'all', options: SocketioOptions = {}) {
  await empty('sessions')
  const server = await startSocketApp(t, {
    options,
    settings: {
      sessions: { service: 'sessions', cookie },
      jwtOptions: { issuer: 'tests', audience: 'tests', expiresIn: '1d' },
    },
    configure: (app) =>
      app.use('sessions', new MongoDBService({ Model: db.collection('sessions') }) as never),
  })
  const response = await fetch(`${server.url}/authentication`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(CREDENTIALS),
  })
  const cookies = response.headers.getSetCookie().map((one) => one.split(';')[0])
  const { accessToken } = (await response.json()) as { accessToken?: string }
  return { ...server, accessToken, cookie: cookies.join('; ') }
}

t.test('logins with session cookies are for HTTP: a socket cannot set a cookie', async (t) => {
  const { connect, logIn, url, cookie, accessToken } = await startWithCookies(t, true)
  const client = await connect({ extraHeaders: { cookie, origin: url } })
  const refusal = { name: 'BadRequest', code: 400, message: /log in over HTTP/ }
  await t.rejects(logIn(client), refusal)
  await t.rejects(client.call('create', 'authentication', { strategy: 'refresh' }), refusal)
  await client.call('create', 'authentication', { strategy: 'jwt', accessToken })
  t.match(await client.call('find', 'me'), { user: { email: CREDENTIALS.email } })
  t.equal(await db.collection('sessions').countDocuments(), 1, 'the session goes on')
})

t.test('a cookie logs in only with a page of the same origin', async (t) => {
  const origin = 'https://app.example'
  const { connect, cookie } = await startWithCookies(t, 'all', { cors: { origin } })
  const site = { 'sec-fetch-site': 'same-origin' }
  const client = await connect({ extraHeaders: { cookie, ...site } })
  t.match(await client.call('find', 'me'), { user: { email: CREDENTIALS.email } })
  const refused = connect({ extraHeaders: { cookie, origin } }).catch((error: unknown) => error)
  t.match(await refused, { data: { name: 'Forbidden', code: 403 } })
})

t.test(
  'a login that ends after its client has gone leaves nothing on the connection',
  async (t) => {
    const gate = new Gate()
    const { app, connect, openRaw, logIn } = await startSocketApp(t)
    const { accessToken } = await logIn(await connect())
    app.service('authentication').hooks({ after: { create: [async () => gate.pass()] } } as never)
    const connections: Connection[] = []
    app.on('login', (_result: unknown, { connection }: { connection: Connection }) => {
      connections.push(connection)
    })
    const gone: unknown[] = []
    app.on('disconnect', (connection: object) => gone.push(connection))
    const [raw, called] = [await openRaw(), await openRaw()]
    raw.send(`0${JSON.stringify({ accessToken })}`)
    await called.join()
    called.send(`21["create","authentication",{"strategy":"jwt","accessToken":"${accessToken}"}]`)
    await gate.arrivals(2)
    raw.close()
    called.close()
    await until(() => app.io.engine.clientsCount === 1)
    gate.open()
    await until(() => connections.length === 2)
    await until(() => connections.every(({ user, authentication }) => !(user || authentication)))
    t.equal(gone.length, 1)
  },
)

t.test('of two changes of a user, a connection keeps the later one', async (t) => {
  const gate = new Gate()
  const { app, connect, id, logIn } = await startSocketApp(t)
  await logIn(await connect())
  const [connection] = app.channel('users').connections as [{ user: { role?: string } }]
  const wait = async ({ params, result }: HookContext) => {
    if (params.provider && Reflect.get(result as object, 'role') === 'admin') await gate.pass()
  }
  app.service('users').hooks({ after: { get: [wait] } } as never)
  await app.service('users').patch(id, { role: 'admin' } as never)
  await gate.arrivals(1)
  await app.service('users').patch(id, { role: 'guest' } as never)
  await until(() => connection.user.role === 'guest')
  gate.open()
  await laterTurns()
  t.equal(connection.user.role, 'guest')
})

type EndLogin = (app: FastifyApplication, id: number, client: SocketClient) => Promise<unknown>

const ENDS_DURING_LOGIN: Readonly<Record<string, EndLogin>> = {
  'the user is removed': (app, id) => app.service('users').remove(id),
  'the token is revoked': async (_app, _id, { call, socket }) => {
    await call('remove', 'authentication', null)
    socket.close()
  },
}

for (const [title, end] of Object.entries(ENDS_DURING_LOGIN)) {
  t.test(`a login leaves no connection if, while it runs, ${title}`, async (t) => {
    const gate = new Gate()
    const { app, connect, id, logIn } = await startSocketApp(t, { settings: { revocation: true } })
    const first = await connect()
    const { accessToken } = await logIn(first)
    app.service('authentication').hooks({ after: { create: [async () => gate.pass()] } } as never)
    const called = await connect()
    const jwt = { strategy: 'jwt', accessToken }
    const login = called.call('create', 'authentication', jwt).catch(() => undefined)
    const handshake = connect({ auth: { accessToken } }).catch(() => undefined)
    await gate.arrivals(2)
    await end(app, id, first)
    await until(() => !first.socket.connected)
    gate.open()
    await Promise.all([login, handshake])
    await until(() => app.io.engine.clientsCount === 0)
    t.equal(app.channel('users').length, 0)
  })
}

t.test(
  'connections end if their user cannot be read after a change, and the error is logged',
  async (t) => {
    const { app, connect, id, logIn, users } = await startSocketApp(t)
    const client = await connect()
    await logIn(client)
    const logged: unknown[] = []
    app.logger.error = (...values: unknown[]) => void logged.push(values)
    users.get = async () => {
      throw new Error('The database is away')
    }
    await app.service('users').patch(id, { role: 'guest' } as never)
    await until(() => !client.socket.connected)
    t.match(logged, [[{ err: { message: 'The database is away' } }, 'An event listener failed']])
  },
)

t.test('the signal of a login by the handshake is not aborted', async (t) => {
  const aborted: unknown[] = []
  const { app, connect, logIn } = await startSocketApp(t)
  const { accessToken } = await logIn(await connect())
  app.service('authentication').hooks({
    before: { create: [({ params }: HookContext) => void aborted.push(params.signal?.aborted)] },
  } as never)
  await connect({ auth: { accessToken } })
  t.strictSame(aborted, [false])
})
