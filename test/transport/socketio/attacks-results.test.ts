import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { ApiKeyStrategy } from '../../../src/auth/index.ts'
import { Conflict } from '../../../src/core/index.ts'
import { Type } from '../../../src/core/schema/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { sendRaw } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { CREDENTIALS } from '../../support/users.ts'
import { startSocketApp } from './socket-app.ts'

const { db, empty } = await openDatabase(t)

const circle: Record<string, unknown> = {}
circle['self'] = circle

class StrangeError extends Conflict {
  override toJSON(): never {
    throw new Error('toJSON')
  }
}

const RESULTS: Readonly<Record<string, () => unknown>> = {
  'a BigInt': () => ({ a: 1n }),
  'a circle': () => circle,
  'a toJSON that throws': () => ({
    toJSON() {
      throw new TypeError('secret')
    },
  }),
  'a getter that throws': () => ({
    get a() {
      throw new TypeError('secret')
    },
  }),
  'a stream': () => Readable.from(['a']),
  bytes: () => Buffer.from('a'),
  'a method that throws at once': () => {
    throw new TypeError('secret')
  },
  'an error that throws': () => {
    throw new StrangeError('secret')
  },
  'something else that is thrown': () => {
    throw null
  },
  'a rejection with a circle': () => Promise.reject(circle),
}

t.test('SIO-19: results that JSON cannot have, and methods that throw', async (t) => {
  const logged: unknown[] = []
  const { connect, app } = await startSocketApp(t, {
    configure: (app) => {
      for (const [index, run] of Object.values(RESULTS).entries()) {
        app.use(`strange/${index}`, { get: run as () => Promise<object>, create: run as never })
      }
    },
  })
  const error = (...values: unknown[]) => void logged.push(values)
  app.logger = { error, warn: error, info: error } as never
  const client = await connect()
  for (const [index, name] of Object.keys(RESULTS).entries()) {
    for (const values of [['get', 1] as const, ['create', {}] as const]) {
      const [method, argument] = values
      const answer = await client
        .call(method, `strange/${index}`, argument)
        .catch((reason: unknown) => reason)
      t.match(answer, { name: 'GeneralError', code: 500, message: String }, `${method}: ${name}`)
      t.notMatch(JSON.stringify(answer), /stack|\.js:|secret/, `${method}: ${name}`)
    }
  }
  t.match(await client.call('get', 'notes', 1), { id: 1 })
  t.equal(client.socket.connected, true)
})

t.test('SIO-20: a logger that throws while an error is answered', async (t) => {
  const { connect, logIn, users, app } = await startSocketApp(t, {
    rest: { errorHandler: { logger: throwError } },
    configure: (app) =>
      app.use('broken', {
        get: async () => {
          throw new TypeError('secret')
        },
      } as never),
  })
  app.logger = { error: throwError, warn: throwError, info: () => undefined } as never
  const client = await connect()
  await t.rejects(client.call('get', 'broken', 1), { code: 500, message: 'Internal error' })
  t.match(await client.call('get', 'notes', 1), { id: 1 })
  const { accessToken } = await logIn(client)
  users.get = async () => {
    throw new TypeError('secret')
  }
  await t.rejects(connect({ auth: { accessToken } }), { message: 'Internal error' })
  t.match(await client.call('get', 'notes', 1), { id: 1 })
})

function throwError(): never {
  throw new Error('logger')
}

t.test('SIO-21: a call that never ends, with a time limit; the server closes anyway', async (t) => {
  const gate = new Gate()
  const { connect, app } = await startSocketApp(t, {
    rest: { handlerTimeoutMs: 20 },
    configure: (app) =>
      app.use('stuck', {
        get: async (id: unknown) => gate.pass({ id }),
        create: async (data: object) => gate.pass(data),
      } as never),
  })
  const client = await connect()
  await t.rejects(client.call('get', 'stuck', 1), {
    code: 503,
    message: /No answer within 20 ms/,
  })
  await t.rejects(client.call('create', 'stuck', {}), {
    code: 503,
    errors: { outcome: 'unknown' },
  })
  t.match(await client.call('get', 'notes', 1), { id: 1 })
  await app.close()
  await until(() => !client.socket.connected)
  t.equal(gate.arrived, 2, 'the methods are still waiting')
  gate.open()
})

t.test('SIO-22: calls while the server closes', async (t) => {
  const gate = new Gate()
  const { connect, app } = await startSocketApp(t, {
    configure: (app) => app.use('slow', { get: async (id: unknown) => gate.pass({ id }) } as never),
  })
  const client = await connect()
  const first = client.call('get', 'slow', 1)
  await gate.arrivals(1)
  const closing = app.close()
  let refusal: unknown
  await until(async () => {
    refusal = await client.call('get', 'notes', 1).then(
      () => undefined,
      (error: unknown) => error,
    )
    return refusal !== undefined
  })
  t.match(refusal, { name: 'Unavailable', code: 503 })
  t.equal(client.socket.connected, true)
  gate.open()
  t.match(await first, { id: 1 })
  await closing
  await until(() => !client.socket.connected)
})

t.test('SIO-22: a client that has left does not delay the end of the server', async (t) => {
  const gate = new Gate()
  const { connect, app } = await startSocketApp(t, {
    rest: { handlerTimeoutMs: 0 },
    configure: (app) => app.use('stuck', { get: async () => gate.pass({}) } as never),
  })
  const client = await connect()
  client.call('get', 'stuck', 1).catch(() => undefined)
  await gate.arrivals(1)
  const closing = app.close()
  client.socket.close()
  await closing
  t.equal(gate.arrived, 1, 'the method is still waiting')
  gate.open()
})

t.test('SIO-25: requests that ask for another protocol than that of sockets', async (t) => {
  const { url } = await startSocketApp(t)
  const port = Number(new URL(url).port)
  const next = 'GET /notes/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  // Versions of Node that ask which requests to upgrade lose what follows one with a body.
  const isKept = !('shouldUpgradeCallback' in createServer())
  const ask = (method: string, path: string, body: string): Promise<string> => {
    const first = [
      ...[`${method} ${path} HTTP/1.1`, 'Host: a', 'Connection: Upgrade, HTTP2-Settings'],
      ...['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
      ...['Content-Type: application/json', `Content-Length: ${body.length}`, '', body],
    ].join('\r\n')
    return isKept || body === '' ? sendRaw(port, first + next) : sendRaw(port, first, next)
  }
  const posted = await ask('POST', '/notes', '{"a":"b"}\r\n')
  t.match(posted, /^HTTP\/1.1 201 Created[\s\S]*\{"a":"b"\}HTTP\/1.1 200 OK[\s\S]*"id":"2"/)
  const found = await ask('GET', '/notes/1', '')
  t.match(found, /^HTTP\/1.1 200 OK[\s\S]*"id":"1"[\s\S]*HTTP\/1.1 200 OK[\s\S]*"id":"2"/)
  const sockets = await ask('GET', '/socket.io/?EIO=4&transport=websocket', '')
  t.match(sockets, /^HTTP\/1.1 400/)
  const withBody = await sendRaw(
    port,
    'POST /notes HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a":"b"}',
    next,
  )
  t.match(withBody, /^HTTP\/1.1 201 Created[\s\S]*\{"a":"b"\}HTTP\/1.1 200 OK[\s\S]*"id":"2"/)
})

t.test('SIO-23: an app-wide publisher and the records of logins', async (t) => {
  await Promise.all(['sessions', 'api-keys'].map((name) => empty(name)))
  const published: string[] = []
  const { connect, app, logIn } = await startSocketApp(t, {
    settings: {
      parseStrategies: ['jwt', 'api-key'],
      sessions: { service: 'sessions' },
      jwtOptions: { issuer: 'tests', audience: 'tests', expiresIn: '1d' },
      'api-key': { service: 'api-keys', prefix: 'acme', scopes: ['notes'] },
    },
    configure: (app) => {
      const authentication = app.service('authentication') as unknown as {
        register(name: string, strategy: object): unknown
      }
      authentication.register('api-key', new ApiKeyStrategy())
      for (const name of ['sessions', 'api-keys']) {
        app.use(name, new MongoDBService({ Model: db.collection(name) }) as never)
      }
      app.publish((_data, { path }) => {
        published.push(path)
        return app.channel('users')
      })
    },
  })
  const [client, watcher] = [await connect(), await connect()]
  await logIn(watcher)
  const heard: unknown[] = []
  watcher.socket.onAny((name: string) => heard.push(name))
  await logIn(client)
  const key = await client.call('create', 'api-keys', { name: 'backup', scopes: ['notes'] })
  t.match(key, { key: /^acme/ })
  await client.call('remove', 'api-keys', (key as { _id: string })._id)
  await client.call('remove', 'authentication', null)
  await app.service('notes').create({ n: 1 } as never)
  await until(() => heard.length > 0)
  t.strictSame(heard, ['notes created'])
  t.strictSame([...new Set(published)].sort(), ['notes', 'users'])
})

t.test('SIO-24: fields that are protected, hidden, or in no schema', async (t) => {
  await empty('records')
  const entity = Type.Object({ _id: Type.Any(), name: Type.String() })
  const schemas = { entity, create: true, patch: true, update: true }
  const { connect, app } = await startSocketApp(t, {
    configure: (app) => {
      const Model = db.collection('records')
      app.use('hidden', new MongoDBService({ Model, hidden: ['secret'] }) as never)
      app.use('described', new MongoDBService({ Model }) as never, { schemas } as never)
    },
  })
  const client = await connect()
  const sent: string[] = []
  client.socket.onAny((...values: unknown[]) => sent.push(JSON.stringify(values)))
  const record = { name: 'a', secret: 's3cret' }
  for (const path of ['hidden', 'described']) {
    const { insertedId } = await db.collection('records').insertOne({ ...record })
    const id = insertedId as never
    const calls: [string, ...unknown[]][] = [
      ['find'],
      ['get', String(insertedId)],
      ['patch', String(insertedId), { name: 'b' }],
    ]
    for (const [method, ...values] of calls) {
      const result = JSON.stringify(await client.call(method, path, ...values))
      t.match(result, /"name"/, `${method} ${path}`)
      t.notMatch(result, /s3cret/, `${method} ${path}`)
    }
    await app.service(path).patch(id, { name: 'c' } as never)
    await app.service(path).remove(id)
  }
  const password = 'correct battery'
  const created = await client.call('create', 'users', { email: 'b@example.org', password })
  t.notOk('password' in (created as object))
  await until(() => sent.some((text) => text.includes('users created')))
  t.equal(sent.length, 7)
  t.notMatch(sent.join(), /s3cret|password|\$scrypt|battery/)
  const denied = { ...CREDENTIALS, password: 'wrong' }
  const refusal = await client.call('create', 'authentication', denied).catch((error) => error)
  t.notMatch(JSON.stringify(refusal), /stack|wrong|\.js:/)
})
