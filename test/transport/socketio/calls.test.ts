import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { feathers } from '@feathersjs/feathers'
import socketClient from '@feathersjs/socketio-client'
import { fastify } from 'fastify'
import { io } from 'socket.io-client'
import t from 'tap'
import type { Params } from '../../../src/core/index.ts'
import { Conflict } from '../../../src/core/index.ts'
import { Type } from '../../../src/core/schema/index.ts'
import { createApp, fastifyApp, remex, rest } from '../../../src/transport/index.ts'
import type { Connection, ServiceSocket } from '../../../src/transport/socketio/index.ts'
import { socketio } from '../../../src/transport/socketio/index.ts'
import { Gate } from '../../support/gate.ts'
import { laterTurns, until } from '../../support/until.ts'
import { startSocketServer } from './socket-server.ts'

const messages = {
  find: async ({ query, provider, headers, connection, address }: Params) => ({
    ...{ query, provider, address, agent: headers?.['x-agent'] },
    isSame: (connection as { headers?: object }).headers === headers,
  }),
  get: async (id: unknown, { query, route }: Params) => ({ id, query, route }),
  create: async (data: object) => ({ id: 1, ...data }),
  update: async (id: unknown, data: object) => ({ id, ...data }),
  patch: async (id: unknown, data: object) => ({ id, ...data }),
  remove: async (id: unknown) => ({ id }),
  shout: async (data: object, { provider }: Params) => ({ data, provider }),
}
const ALL = ['find', 'get', 'create', 'update', 'patch', 'remove', 'shout']

for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
  t.test(`the official client calls all methods by ${transports.join(', then ')}`, async (t) => {
    const { url } = await startSocketServer(t, (app) =>
      app.use('messages', messages, { methods: ALL }),
    )
    const socket = io(url, { transports, forceNew: true })
    t.teardown(() => socket.close())
    const connection = socketClient.default(socket as never)
    const client = feathers()
    client.configure(connection)
    client.use('messages', connection.service('messages'), { methods: ALL })
    const service = client.service('messages') as never as typeof messages
    t.match(await service.find({ query: { a: 1, b: { $in: ['x', null] } } }), {
      query: { a: 1, b: { $in: ['x', null] } },
      provider: 'socketio',
      address: '127.0.0.1',
      isSame: true,
    })
    t.strictSame(await service.get(7, { query: { q: true } }), {
      id: 7,
      query: { q: true },
      route: {},
    })
    t.strictSame(await service.create({ text: 'ä' }), { id: 1, text: 'ä' })
    t.strictSame(await service.update('a', { n: 1 }), { id: 'a', n: 1 })
    t.strictSame(await service.patch(null, { n: 1 }), { id: null, n: 1 })
    t.strictSame(await service.remove(2), { id: 2 })
    t.strictSame(await service.shout({ n: 1 }, {}), { data: { n: 1 }, provider: 'socketio' })
  })
}

t.test(
  'fields that middleware sets on the connection become params, and cannot replace others',
  async (t) => {
    const { connect } = await startSocketServer(
      t,
      (app) => {
        const find = async ({ provider, query, tenant }: Params & { tenant?: string }) => ({
          ...{ provider, query, tenant },
        })
        app.use('who', { find })
      },
      {
        callback: (io) =>
          io.use((socket: ServiceSocket, next) => {
            Object.assign(socket.feathers ?? {}, {
              tenant: 't1',
              provider: undefined,
            })
            next()
          }),
      },
    )
    const { call } = await connect()
    t.strictSame(await call('find', 'who', { a: 1 }), {
      provider: 'socketio',
      query: { a: 1 },
      tenant: 't1',
    })
  },
)

t.test('middleware that throws rejects the connection, and is logged', async (t) => {
  const { app, connect } = await startSocketServer(
    t,
    (app) => app.use('messages', messages, { methods: ALL }),
    {
      callback: (io) =>
        io.use(({ handshake }, next) => {
          if (handshake.auth['team'].toUpperCase() === 'BLUE') next()
        }),
    },
  )
  const logged: unknown[] = []
  app.logger.error = (...values: unknown[]) => void logged.push(values)
  await t.rejects(connect(), { message: 'Internal error' })
  t.match(logged, [[{ err: { name: 'TypeError' } }]])
  const { call } = await connect({ auth: { team: 'blue' } })
  t.match(await call('get', 'messages', 7), { id: 7 })
})

t.test('middleware may replace the connection by an object with its fields', async (t) => {
  const { app, connect } = await startSocketServer(
    t,
    (app) => app.use('who', { find: async (params: Params) => ({ ...params }) }),
    {
      callback: (io) =>
        io.use((socket: ServiceSocket, next) => {
          socket.feathers = { ...(socket.feathers as Connection), tenant: 't1' }
          next()
        }),
    },
  )
  app.on('connection', (connection: object) => app.channel('all').join(connection))
  const { call } = await connect()
  t.match(await call('find', 'who'), { tenant: 't1', provider: 'socketio' })
  t.match(app.channel('all').connections, [{ tenant: 't1' }])
})

t.test('slow calls are logged as over REST, with the names in their query', async (t) => {
  const { app, connect } = await startSocketServer(
    t,
    (app) => app.use('messages', messages, { methods: ALL }),
    { rest: { slowMs: 0 } },
  )
  const logged: unknown[] = []
  app.logger.warn = (...values: unknown[]) => void logged.push(values)
  const { call } = await connect()
  await call('find', 'messages', { team: 'secret' })
  await until(() => logged.length > 0)
  const details = { service: 'messages', method: 'find', requestId: String, databaseCalls: 0 }
  t.match(logged, [[{ ...details, durationMs: Number, query: ['team'] }, 'Slow call']])
  t.notMatch(JSON.stringify(logged), /secret/)
})

t.test('a logger that throws leaves room for further calls', async (t) => {
  const { app, connect } = await startSocketServer(
    t,
    (app) => app.use('messages', messages, { methods: ALL }),
    { rest: { slowMs: 0 }, options: { maxCalls: 1 } },
  )
  let logged = 0
  app.logger.warn = () => {
    logged += 1
    throw new Error('The disk is full')
  }
  const { call } = await connect()
  for (let count = 1; count <= 3; count += 1) {
    t.match(await call('get', 'messages', 7), { id: 7 })
    await until(() => logged === count)
    await laterTurns()
  }
})

t.test('placeholders take values without decoding them', async (t) => {
  const rooms = { get: async (id: unknown, { route }: Params) => ({ id, route }) }
  const { connect } = await startSocketServer(t, (app) => app.use('rooms/:room/posts', rooms))
  const { call } = await connect()
  for (const room of ['a', 'ä b', 'a:b', '100%', 'x?y#z']) {
    t.strictSame(await call('get', `rooms/${room}/posts`, 1, {}), { id: 1, route: { room } })
  }
  await t.rejects(call('get', 'rooms//posts', 1), { code: 404 })
})

t.test('errors have the form that they have over REST', async (t) => {
  const { connect } = await startSocketServer(t, (app) =>
    app.use('messages', {
      get: async () => {
        throw new Conflict('Taken', { by: 'ada' })
      },
      find: async () => {
        throw new TypeError('a secret path')
      },
    }),
  )
  const { call } = await connect()
  const fault = async (...values: [string, ...unknown[]]) =>
    call(...values).catch((error: unknown) => error)
  t.strictSame(await fault('get', 'messages', 1), {
    ...{
      name: 'Conflict',
      message: 'Taken',
      code: 409,
      className: 'conflict',
      data: { by: 'ada' },
    },
  })
  t.match(await fault('find', 'messages'), {
    name: 'GeneralError',
    message: 'Internal error',
    code: 500,
  })
  t.match(await fault('create', 'messages', {}), { name: 'MethodNotAllowed', code: 405 })
  t.match(await fault('nothing', 'messages'), { name: 'MethodNotAllowed', code: 405 })
  t.match(await fault('find', 'other'), { message: "Service 'other' not found", code: 404 })
  t.match(await fault('find', 7), { message: 'Invalid service path', code: 404 })
  t.match(await fault('get', 'messages', null), { message: /An id must be provided/, code: 400 })
  t.match(await fault('get', 'messages', 1, {}, 2), { message: /Too many arguments/, code: 400 })
  t.match(await fault('find', 'messages', 'a=1'), { message: /query must be an object/, code: 400 })
})

t.test('schemas check calls, and results have the fields that they name', async (t) => {
  const entity = Type.Object({ id: Type.Number(), text: Type.String() })
  const create = Type.Object({ text: Type.String() })
  const service = { create: async (data: object) => ({ id: 1, secret: 's', ...data }) }
  const { app, connect } = await startSocketServer(t, (app) =>
    app.use('notes', service, { schemas: { entity, create } }),
  )
  app.on('connection', (connection: object) => app.channel('all').join(connection))
  app.publish(() => app.channel('all'))
  const { call, collect } = await connect()
  const events = collect('notes created')
  await t.rejects(call('create', 'notes', { text: 1 }), { code: 400 })
  t.strictSame(await call('create', 'notes', { text: 'a' }), { id: 1, text: 'a' })
  t.strictSame(events, [{ id: 1, text: 'a' }])
})

t.test('requests for an upgrade of other paths are answered like other requests', async (t) => {
  const { url } = await startSocketServer(t, (app) =>
    app.use('messages', messages, { methods: ALL }),
  )
  const headers = { connection: 'Upgrade', upgrade: 'websocket' }
  const status = await new Promise((resolve, reject) => {
    const sent = request(`${url}/messages/1`, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject).end()
  })
  t.equal(status, 200)
  t.equal((await fetch(`${url}/socket.io/socket.io.js`)).status, 200)
})

t.test('services that are added after the start can be called', async (t) => {
  const { app, connect } = await startSocketServer(t, () => undefined)
  const { call } = await connect()
  await t.rejects(call('get', 'late', 1), { code: 404 })
  app.use('late', { get: async (id: unknown) => ({ id }) })
  t.strictSame(await call('get', 'late', 1), { id: 1 })
})

t.test(
  'the signal of a call is aborted when its client goes, and calls leave no listeners',
  async (t) => {
    let isAborted = false
    const waiting = new Gate()
    const { app, connect } = await startSocketServer(t, (app) =>
      app.use('slow', {
        get: async (id: unknown, { signal }: Params) => {
          signal?.addEventListener('abort', () => {
            isAborted = true
          })
          if (id === 'long') await waiting.pass()
          return { id, isWatched: signal !== undefined }
        },
      }),
    )
    t.teardown(() => waiting.open())
    const { call, socket } = await connect()
    const [served] = await app.io.fetchSockets()
    const inner = app.io.sockets.sockets.get(served?.id ?? '')
    const before = inner?.listenerCount('disconnect')
    for (let count = 0; count < 20; count += 1)
      t.match(await call('get', 'slow', count), { isWatched: true })
    t.equal(inner?.listenerCount('disconnect'), before)
    call('get', 'slow', 'long').catch(() => undefined)
    await waiting.arrivals(1)
    socket.close()
    await until(() => isAborted)
    t.ok(isAborted)
  },
)

t.test(
  'a Fastify server that serves an application below two prefixes has sockets once',
  async (t) => {
    const app = createApp()
    app.configure(socketio())
    app.use('notes', { get: async (id: unknown) => ({ id }) } as never)
    const server = fastify()
    for (const prefix of ['/a', '/b']) server.register(remex, { app, prefix })
    const url = await server.listen({ port: 0, host: '127.0.0.1' })
    const socket = io(url, { transports: ['websocket'], forceNew: true })
    t.teardown(async () => {
      socket.close()
      await server.close()
    })
    const answer = await new Promise((resolve) => {
      socket.emit('get', 'notes', 1, (...values: unknown[]) => resolve(values))
    })
    t.strictSame(answer, [null, { id: 1 }])
    for (const prefix of ['a', 'b']) t.equal((await fetch(`${url}/${prefix}/notes/1`)).status, 200)
  },
)

t.test('a second port listens at the address of the server, and closes with it', async (t) => {
  const { port: free, close } = await takePort()
  await close()
  const app = fastifyApp(createApp()).configure(rest()).configure(socketio(free))
  app.use('messages', messages, { methods: ALL })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${free}`
  const socket = io(url, { transports: ['websocket'], forceNew: true })
  t.teardown(() => socket.close())
  const answer = await new Promise((resolve) => {
    socket.emit('get', 'messages', 7, {}, (...values: unknown[]) => resolve(values))
  })
  t.match(answer, [null, { id: 7 }])
  t.equal((await fetch(`${url}/messages/7`)).status, 200)
  // All of 127.0.0.0/8 is this computer.
  await t.rejects(fetch(`http://127.0.0.2:${free}/messages/7`))
  await app.close()
  await t.rejects(fetch(`${url}/messages/7`))
})

t.test('listen() rejects if the second port is taken, and leaves nothing open', async (t) => {
  const { port: taken, close } = await takePort()
  t.teardown(close)
  const app = fastifyApp(createApp()).configure(rest()).configure(socketio(taken))
  await t.rejects(app.listen({ port: 0, host: '127.0.0.1' }), {
    code: 'EADDRINUSE',
    message: new RegExp(`127.0.0.1:${taken}$`),
  })
  t.equal(app.server.listening, false)
  const server = fastify()
  await server.register(remex, { app: createApp().configure(socketio(taken)) })
  t.teardown(() => server.close())
  await t.rejects(server.listen({ port: 0, host: '127.0.0.1' }), { code: 'EADDRINUSE' })
  t.equal(server.server.listening, false)
})

t.test('the second port closes if the first one is taken', async (t) => {
  const [first, second] = [await takePort(), await takePort()]
  t.teardown(first.close)
  await second.close()
  const app = fastifyApp(createApp()).configure(rest()).configure(socketio(second.port))
  await t.rejects(app.listen({ port: first.port, host: '127.0.0.1' }), { code: 'EADDRINUSE' })
  await t.rejects(fetch(`http://127.0.0.1:${second.port}/`))
})

t.test('the start fails without rest(), and says what to do', async (t) => {
  const app = fastifyApp(createApp()).configure(socketio())
  await t.rejects(app.listen({ port: 0, host: '127.0.0.1' }), {
    name: 'TypeError',
    message: /^socketio\(\) needs .*: add app\.configure\(rest\(\)\)/,
  })
  // A worker only writes.
  const worker = fastifyApp(createApp()).configure(socketio())
  await worker.setup()
  await worker.teardown()
})

/** Listens at any free port. */
async function takePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, close: () => new Promise((resolve) => server.close(resolve)) }
}
