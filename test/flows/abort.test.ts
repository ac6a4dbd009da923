import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { Params } from '../../src/transport/index.ts'
import { stopTime } from '../support/clock.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { Gate } from '../support/gate.ts'
import type { Answer } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'
import { pluck } from '../support/pluck.ts'
import { laterTurns, until } from '../support/until.ts'

type CallParams = Params & { readonly signal: AbortSignal }

/** Sends a request that the test will break off. */
function open(port: number, method: string, path: string, data?: object): ClientRequest {
  const body = data === undefined ? undefined : JSON.stringify(data)
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const request = sendRequest({ port, host: '127.0.0.1', method, path, headers })
  // Breaking it off is an error for the client, and what is wanted.
  request.on('error', () => request.destroy())
  return request.end(body)
}

for (const mode of MODES) {
  t.test(`a call that takes too long answers 503 and must stop, ${mode} (ABORT-2)`, async (t) => {
    const time = stopTime(t)
    const gate = new Gate()
    const seen: unknown[] = []
    const server = await startServer(t, mode, {
      handlerTimeoutMs: 300,
      services(app) {
        app.use('slow', {
          get: async (id: string, params: Params) => {
            const { signal } = params as CallParams
            signal.addEventListener('abort', () => seen.push((signal.reason as Error).name))
            return gate.pass({ id })
          },
          find: async (params: Params) => {
            await gate.pass()
            seen.push((params as CallParams).signal.aborted)
          },
        })
      },
    })
    const answers = [server.request('/slow/1'), server.request('/slow')]
    await gate.arrivals(2)
    t.strictSame(seen, [], 'nobody is told before the time')
    time.pass(400)
    const [{ status, body, headers }, { status: other }] = (await Promise.all(answers)) as [
      Answer,
      Answer,
    ]
    t.match([status, body], [503, { name: 'Unavailable', message: 'No answer within 300 ms' }])
    t.equal(headers['retry-after'], '1')
    t.equal(other, 503)
    t.strictSame(seen, ['Unavailable'])
    gate.open()
    await until(() => seen.length >= 2)
    await laterTurns()
    t.strictSame(seen, ['Unavailable', true], 'who asks late hears it too')
    t.equal(server.logged.length, 1, 'the late results are discarded without a word')
  })

  t.test(`a call that takes too long may have written unless it only reads, ${mode}`, async (t) => {
    const gate = new Gate()
    const pass = () => gate.pass({})
    const server = await startServer(t, mode, {
      handlerTimeoutMs: 50,
      services: (app) =>
        app.use(
          'late',
          { find: pass, get: pass, create: pass, patch: pass, remove: pass, tidy: pass },
          { methods: ['find', 'get', 'create', 'patch', 'remove', 'tidy'] },
        ),
    })
    const requests: readonly [string, object, string | undefined][] = [
      ['/late', {}, undefined],
      ['/late/1', {}, undefined],
      ['/late', { data: {} }, 'unknown'],
      ['/late', { data: {}, headers: { 'x-service-method': 'tidy' } }, 'unknown'],
      ['/late/1', { method: 'PATCH', data: {} }, 'unknown'],
      ['/late/1', { method: 'DELETE' }, 'unknown'],
    ]
    for (const [path, options, outcome] of requests) {
      const { status, body } = await server.request(path, options)
      t.equal(status, 503)
      t.strictSame((body as { errors?: object }).errors, outcome && { outcome })
    }
    gate.open()
  })

  t.test(`a call that fails after its time is answered once, ${mode} (ABORT-2)`, async (t) => {
    const gate = new Gate()
    const server = await startServer(t, mode, {
      handlerTimeoutMs: 50,
      services: (app) =>
        app.use('late', { get: () => gate.pass().then(() => Promise.reject(new Error('late'))) }),
    })
    t.equal((await server.request('/late/1')).status, 503)
    gate.open()
    await laterTurns()
    t.equal(server.logged.length, 1)
  })

  t.test(`a client that leaves aborts the signal of its own calls only, ${mode}`, async (t) => {
    const signals = new Map<string, AbortSignal>()
    const gate = new Gate()
    let connections = 0
    const server = await startServer(t, mode, {
      services(app) {
        const keep = async (id: string, params: Params): Promise<object> => {
          signals.set(id, (params as CallParams).signal)
          return gate.pass({ id })
        }
        app.use('kept', {
          get: keep,
          create: async (data: { id: string }, params: Params) => keep(data.id, params),
        })
      },
    })
    server.fastify.server.on('connection', (socket: Socket) => {
      connections += 1
      socket.once('close', () => {
        connections -= 1
      })
    })
    const leaving = [
      open(server.port, 'GET', `${server.prefix}/kept/get`),
      open(server.port, 'POST', `${server.prefix}/kept`, { id: 'post' }),
    ]
    const staying = [
      server.request('/kept/staying'),
      server.request('/kept', { data: { id: 'staying post' } }),
    ]
    await gate.arrivals(4)
    await laterTurns()
    t.strictSame(
      pluck([...signals.values()], 'aborted'),
      [false, false, false, false],
      'the end of a body aborts nothing',
    )
    for (const request of leaving) request.destroy()
    await until(() => signals.get('get')?.aborted && signals.get('post')?.aborted)
    t.match(signals.get('post')?.reason, { message: 'The client has gone' })
    gate.open()
    t.strictSame(pluck(await Promise.all(staying), 'status'), [200, 201])
    await until(() => connections === 0)
    t.equal(signals.get('staying')?.aborted, false)
    t.equal(signals.get('staying post')?.aborted, false)
    t.strictSame(server.logged, [], 'a client that leaves is no error of the server')
  })
}

t.test('a write on the wire is never called off; its outcome decides (ABORT-3)', async (t) => {
  const time = stopTime(t)
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startFaultProxy(t, embedded.url)
  const client = new MongoClient(proxy.url, {
    monitorCommands: true,
    minPoolSize: 2,
  })
  t.teardown(() => client.close())
  let connections = 0
  client.on('connectionReady', () => {
    connections += 1
  })
  await client.connect()
  const started: string[] = []
  const outcomes: string[] = []
  client.on('commandStarted', ({ commandName }) => started.push(commandName))
  client.on('commandSucceeded', ({ commandName }) => outcomes.push(commandName))
  const people = client.db('a').collection<{ _id: number; name: string }>('people')
  await people.insertMany([1, 2, 3].map((_id) => ({ _id, name: 'old' })))
  const done: string[] = []
  const signals: AbortSignal[] = []
  const server = await startOwnServer(t, { handlerTimeoutMs: 150 }, (app) => {
    app.use('people', new MongoDBService({ Model: people, allowClientId: true }))
    const service = app.service('people')
    service.hooks({
      before: {
        all: [(context) => void signals.push((context.params as CallParams).signal)],
      },
      after: { all: [({ method }) => void done.push(`after ${method}`)] },
    })
    for (const event of ['created', 'patched', 'removed']) {
      service.on(event, () => done.push(event))
    }
  })
  // A new connection would wait for an answer before it carries a command.
  await until(() => connections >= 2)
  proxy.hold()
  started.length = 0
  outcomes.length = 0
  const leaving = open(server.port, 'POST', '/people', { _id: 9, name: 'new' })
  await until(() => started.length >= 1)
  leaving.destroy()
  await until(() => signals[0]?.aborted)
  // The time limit calls off the answer to the second, and not the write behind it.
  const late = server.request('/people', { data: { _id: 10, name: 'new' } })
  await until(() => started.length >= 2)
  time.pass(300)
  t.equal((await late).status, 503)
  t.strictSame(done, [])
  proxy.release()
  await until(() => done.length >= 4)
  t.strictSame(done, ['after create', 'created', 'after create', 'created'])
  t.strictSame(outcomes, ['insert', 'insert'])
  t.equal(await people.countDocuments({ name: 'new' }), 2)
})

t.test('handed on, the signal reaches the calls inside a call (ABORT-4)', async (t) => {
  const aborted: string[] = []
  const gate = new Gate()
  const server = await startOwnServer(t, (app) => {
    const listen = (name: string, params: Params): void => {
      const { signal } = params as CallParams
      signal.addEventListener('abort', () => aborted.push(name))
    }
    app.use('inner', {
      get: async (_id: string, params: Params) => {
        listen('inner', params)
        return gate.pass({})
      },
    })
    app.use('outer', {
      get: async (id: string, params: Params) => {
        const { signal } = params as CallParams
        listen('outer', params)
        await app.service('inner').get(id, { signal } as Params)
        return {}
      },
    })
    app.use('direct', {
      get: async (id: string, params: Params) => app.service('inner').get(id, params),
    })
  })
  const requests = ['/outer/1', '/direct/1'].map((path) => open(server.port, 'GET', path))
  await gate.arrivals(2)
  for (const request of requests) request.destroy()
  await until(() => aborted.length >= 3)
  t.strictSame(aborted.sort(), ['inner', 'inner', 'outer'])
  gate.open()
})

t.test('a stream that fails breaks the answer off, and is logged (STR-2)', async (t) => {
  const gate = new Gate()
  async function* sendPieces(): AsyncGenerator<string> {
    yield 'piece 0\n'
    await gate.pass()
    throw new Error('the cursor is gone')
  }
  const server = await startOwnServer(t, (app) => {
    app.use('pieces', { find: async () => Readable.from(sendPieces()) })
  })
  const response = await fetch(`${server.url}/pieces`)
  t.equal(response.status, 200)
  gate.open()
  await t.rejects(response.text(), TypeError)
  await until(() => server.logged.length > 0)
  t.match(server.logged, [{ message: 'An answer broke off', details: { err: Error } }])
})

t.test('a client that leaves in the middle ends the stream (STR-3)', async (t) => {
  let isEnded = false
  /** Goes on until it is ended from outside. */
  async function* sendPieces(): AsyncGenerator<string> {
    try {
      for (;;) {
        yield 'piece\n'
        await new Promise(setImmediate)
      }
    } finally {
      isEnded = true
    }
  }
  const server = await startOwnServer(t, (app) => {
    app.use('pieces', { find: async () => Readable.from(sendPieces()) })
  })
  const request = open(server.port, 'GET', '/pieces')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  await once(response, 'data')
  t.equal(isEnded, false)
  request.destroy()
  await until(() => isEnded)
  t.strictSame(server.logged, [])
})
