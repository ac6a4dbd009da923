import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import undici from 'undici'
import { setAuthorizer } from '../../src/client/authorizer.ts'
import type { ConnectionOptions, RemoteService, UndiciLibrary } from '../../src/client/index.ts'
import { rest } from '../../src/client/index.ts'
import type { AnyService } from '../../src/core/index.ts'
import { createApp, NotFound, Timeout } from '../../src/core/index.ts'
import { holdTimers } from '../support/clock.ts'
import { Gate } from '../support/gate.ts'
import { until } from '../support/until.ts'
import { errorOf } from './error-of.ts'
import { startOddServer } from './odd-server.ts'

type Dispatch = (options: object, handler: Record<string, unknown>) => boolean

const TIMEOUT_MS = 54_321
const JSON_TYPE = { 'content-type': 'application/json' }
const { Agent, MockAgent, interceptors, request } = undici

const agent = new Agent()
t.teardown(() => agent.close())

/** The methods of a handler by which undici 6 calls, and later versions where there are no others. */
const OLD_NAMES = ['onConnect', 'onHeaders', 'onData', 'onComplete', 'onError'] as const

/** Returns a dispatcher that calls handlers as undici 6 does. */
function toOldDispatcher(dispatcher: { dispatch: unknown }): { dispatch: Dispatch } {
  const dispatch = dispatcher.dispatch as Dispatch
  return {
    dispatch(options, handler) {
      const old = OLD_NAMES.map((name) => [name, (handler[name] as () => unknown).bind(handler)])
      return dispatch.call(dispatcher, options, Object.fromEntries(old))
    },
  }
}

/** The ways that calls go to undici. */
const LIBRARIES: Readonly<Record<string, UndiciLibrary>> = {
  dispatcher: { request, getGlobalDispatcher: () => agent },
  'dispatcher of undici 6': { request, getGlobalDispatcher: () => toOldDispatcher(agent) },
  request: { request },
}

const getService = (library: UndiciLibrary, url: string, options?: ConnectionOptions): AnyService =>
  createApp().configure(rest(url).undici(library, options)).service('things')

for (const [way, library] of Object.entries(LIBRARIES)) {
  t.test(way, async (t) => {
    t.test('a call whose time is up closes its connection, wherever it is', async (t) => {
      const gate = new Gate()
      const responses: ServerResponse[] = []
      const { url } = await startOddServer(t, (incoming, response) => {
        responses.push(response)
        if (incoming.url === '/things/1') return gate.pass()
        response.writeHead(incoming.url === '/things/2' ? 200 : 500, JSON_TYPE)
        return response.write('[', () => gate.pass())
      })
      const timers = holdTimers(t, TIMEOUT_MS)
      const service = getService(library, url, { timeoutMs: TIMEOUT_MS })
      const errors = Promise.all([1, 2, 3].map((id) => errorOf(service.get(id))))
      await gate.arrivals(3)
      timers.fire()
      for (const error of await errors) t.ok(error instanceof Timeout)
      await until(() => responses.every(({ destroyed }) => destroyed))
    })

    t.test('a call whose time is up before there is a connection is never sent', async (t) => {
      const gate = new Gate()
      const { url, requests } = await startOddServer(t, async (_incoming, response) => {
        await gate.pass()
        response.end('[]')
      })
      const timers = holdTimers(t, TIMEOUT_MS)
      const one = new Agent({ connections: 1, pipelining: 1 })
      t.teardown(() => one.close())
      const isOld = way === 'dispatcher of undici 6'
      const dispatcher = isOld ? toOldDispatcher(one) : one
      const service = getService(library, url, { connection: { dispatcher } })
      const first = service.get(1)
      await gate.arrivals(1)
      const second = errorOf(service.create({}, { connection: { timeoutMs: TIMEOUT_MS } }))
      // The time limit is set when the call has been prepared.
      await until(() => timers.size === 1)
      timers.fire()
      t.ok((await second) instanceof Timeout)
      gate.open()
      t.strictSame([await first, await service.get(3)], [[], []])
      t.strictSame(
        requests.map(({ method }) => method),
        ['GET', 'GET'],
      )
    })

    t.test('calls one after the other use connections again, after errors as well', async (t) => {
      const sockets = new Set<unknown>()
      const { url } = await startOddServer(t, (incoming, response) => {
        sockets.add(incoming.socket)
        response.writeHead(incoming.method === 'GET' ? 200 : 404, JSON_TYPE).end('{}')
      })
      const service = getService(library, url)
      for (let count = 0; count < 5; count += 1) {
        await service.find()
        await t.rejects(service.remove(1), NotFound)
      }
      // undici opens a second one, since the first is free only a moment after its answer.
      t.ok(sockets.size <= 2)
    })

    t.test('its own time limits give way to a longer one of the call', async (t) => {
      const { url } = await startOddServer(t, (_incoming, response) => response.end('[]'))
      const seen: object[] = []
      const dispatcher = {
        dispatch(options: object, handler: Record<string, unknown>) {
          const { headersTimeout, bodyTimeout } = options as Record<string, unknown>
          seen.push([headersTimeout, bodyTimeout])
          return (agent.dispatch as unknown as Dispatch).call(agent, options, handler)
        },
      }
      const service = getService(library, url)
      const find = (more: object) => service.find({ connection: { dispatcher, ...more } })
      await find({})
      await find({ timeoutMs: 300_000 })
      await find({ timeoutMs: 300_001 })
      await find({ timeoutMs: Number.POSITIVE_INFINITY })
      await find({ timeoutMs: Number.POSITIVE_INFINITY, bodyTimeout: 9_000 })
      const none = [undefined, undefined]
      t.strictSame(seen, [none, none, [0, 0], [0, 0], [0, 9_000]])
    })

    t.test('a body that is compressed is an error that names how', async (t) => {
      const { url, requests } = await startOddServer(t, (incoming, response) => {
        const status = Number(incoming.headers['x-status'])
        const body = gzipSync(JSON.stringify({ message: 'm' }))
        response.writeHead(status, { ...JSON_TYPE, 'content-encoding': 'gzip' })
        response.end(status === 204 ? undefined : body)
      })
      const service = getService(library, url)
      const find = (status: number, connection = {}) =>
        service.find({ headers: { 'x-status': String(status) }, connection })
      const error = { name: 'GeneralError', message: /^The server answered 200 .* 'gzip'/ }
      for (const responseType of ['json', 'text', 'arrayBuffer', 'blob', 'stream'] as const) {
        await t.rejects(find(200, { responseType }), error, responseType)
      }
      t.equal(await find(204), null)
      const refused = await errorOf(find(404))
      t.ok(refused instanceof NotFound)
      t.equal(refused.message, 'The server answered 404 with application/json')
      t.notOk('accept-encoding' in (requests[0]?.headers ?? {}), 'nobody has asked for it')
    })

    t.test(
      'no interceptor takes a token in a header of its own elsewhere, nor a write',
      async (t) => {
        const { url: elsewhere, requests } = await startOddServer(t, (_incoming, response) =>
          response.end('[]'),
        )
        const { url } = await startOddServer(t, (_incoming, response) =>
          response.writeHead(307, { location: `${elsewhere}/things` }).end(),
        )
        const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 3 }))
        const service = getService(library, url, { connection: { dispatcher } })
        t.strictSame(await service.find(), [], 'a read may be taken elsewhere')
        t.equal(requests.splice(0).length, 1)
        await t.rejects(service.create({}), /redirects this call, and only calls that read/)
        const remote = rest(url).undici(library).service('things') as unknown as RemoteService
        setAuthorizer(remote, (call) => call.send({ 'x-token': 'secret' }))
        const params = { connection: { dispatcher } }
        await t.rejects(remote.find(params), /redirects this call, and the header with the token/)
        await t.rejects(remote.patch(1, {}, params), /redirects this call, and the header with/)
        t.equal(requests.length, 0)
      },
    )

    t.test('a body that is not encoded is read, in whatever case that is said', async (t) => {
      const { url } = await startOddServer(t, (_incoming, response) =>
        response.writeHead(200, { 'content-encoding': 'Identity' }).end('{"a":1}'),
      )
      t.strictSame(await getService(library, url).find(), { a: 1 })
    })

    t.test('a compressed body that nobody reads keeps no connection', async (t) => {
      const { url } = await startOddServer(t, (incoming, response) => {
        if (incoming.url === '/things/2') return response.end('[]')
        return response.writeHead(200, { 'content-encoding': 'br' }).end(Buffer.alloc(300_000))
      })
      const one = new Agent({ connections: 1, pipelining: 1 })
      t.teardown(() => one.close())
      const dispatcher = way === 'dispatcher of undici 6' ? toOldDispatcher(one) : one
      const service = getService(library, url, { connection: { dispatcher } })
      await t.rejects(service.get(1), /'br'/)
      t.strictSame(await service.get(2), [])
    })

    t.test('headers are read as Latin-1, and those of one name joined', async (t) => {
      const { url } = await startOddServer(t, (_incoming, response) => {
        response.setHeader('x-a', ['1', '2'])
        response.setHeader('x-latin', 'gön')
        response.writeHead(404, JSON_TYPE).end('{}')
      })
      const { response } = await errorOf(getService(library, url).find())
      t.match(response.headers, { 'x-a': /^1, 2$/, 'x-latin': /^gön$/ })
    })

    t.test('a file has the type that the server names', async (t) => {
      const { url } = await startOddServer(t, (_incoming, response) =>
        response.writeHead(200, { 'content-type': 'image/png' }).end('png'),
      )
      const connection = { responseType: 'blob' } as const
      const file = (await getService(library, url).find({ connection })) as Blob
      t.strictSame([file.type, await file.text()], ['image/png', 'png'])
    })

    t.test('a body that an interceptor decodes is read', async (t) => {
      const { url } = await startOddServer(t, (_incoming, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}')),
      )
      const dispatcher = agent.compose(interceptors.decompress())
      const service = getService(library, url, { connection: { dispatcher } })
      t.strictSame(await service.find(), { a: 1 })
    })

    t.test('an error is read until it is too long for one', async (t) => {
      const responses: ServerResponse[] = []
      const { url } = await startOddServer(t, (_incoming, response) => {
        responses.push(response)
        response.writeHead(404, JSON_TYPE)
        const write = (): boolean => response.write('x'.repeat(100_000), () => write())
        write()
      })
      t.ok((await errorOf(getService(library, url).find())) instanceof NotFound)
      await until(() => responses[0]?.destroyed === true)
    })

    t.test('a status that announces the answer is not the answer', async (t) => {
      const { url } = await startOddServer(t, (_incoming, response) =>
        response.writeEarlyHints({ link: '</a>; rel=preload' }, () => response.end('{"a":1}')),
      )
      t.strictSame(await getService(library, url).find(), { a: 1 })
    })

    t.test('a body in many parts is all of it', async (t) => {
      const { url } = await startOddServer(t, async (_incoming, response) => {
        const bytes = Buffer.from(`["${'ö'.repeat(50_000)}"]`)
        for (let start = 0; start < bytes.length; start += 999) {
          await new Promise((resolve) =>
            response.write(bytes.subarray(start, start + 999), resolve),
          )
        }
        response.end()
      })
      const service = getService(library, url)
      t.strictSame(await service.find(), ['ö'.repeat(50_000)])
      const bytes = await service.find({ connection: { responseType: 'arrayBuffer' } })
      t.equal((bytes as ArrayBuffer).byteLength, 100_004)
    })

    t.test('a dispatcher that answers by itself is used', async (t) => {
      const mock = new MockAgent()
      mock.disableNetConnect()
      mock.get('http://mock').intercept({ path: '/things/7?a=1' }).reply(
        200,
        { id: 7 },
        {
          headers: JSON_TYPE,
        },
      )
      const service = getService(library, 'http://mock', { connection: { dispatcher: mock } })
      t.strictSame(await service.get(7, { query: { a: 1 } }), { id: 7 })
    })
  })
}

t.test('a dispatcher is not told of itself, which one of undici 8 refuses', async (t) => {
  const { url } = await startOddServer(t, (_incoming, response) => response.end('[]'))
  const dispatcher = {
    dispatch(options: object, handler: object) {
      if ('dispatcher' in options) throw new TypeError('opts.dispatcher is not supported')
      return (agent.dispatch as unknown as Dispatch).call(agent, options, { ...handler })
    },
  }
  const library: UndiciLibrary = { request, getGlobalDispatcher: () => agent }
  const service = getService(library, url, { connection: { dispatcher } })
  t.strictSame(await service.find(), [])
})

t.test('a function like request gets a signal of the platform', async (t) => {
  const { url } = await startOddServer(t, (_incoming, response) => response.end('[]'))
  const signals: unknown[] = []
  const library: UndiciLibrary = {
    ...{ getGlobalDispatcher: () => agent },
    request(target, options) {
      signals.push((options as { readonly signal: unknown }).signal)
      return request(target, options)
    },
  }
  await getService({ request: library.request }, url).find()
  const service = getService(library, url)
  for (const connection of [{ highWaterMark: 1_000 }, { responseType: 'stream' } as const]) {
    const body = await service.find({ connection })
    if (connection.responseType === 'stream') await text(body as AsyncIterable<Uint8Array>)
  }
  t.equal(signals.length, 3)
  for (const signal of signals) t.ok(signal instanceof AbortSignal)
})

t.test('options that only its function request has are given to that', async (t) => {
  const { url } = await startOddServer(t, (_incoming, response) => response.end('[]'))
  const given: object[] = []
  const library: UndiciLibrary = {
    ...{ getGlobalDispatcher: () => agent },
    request(target, options) {
      given.push(options)
      return request(target, options)
    },
  }
  const service = getService(library, url)
  await service.find()
  t.strictSame(given, [])
  await service.find({ connection: { highWaterMark: 1_000 } })
  t.match(given, [{ highWaterMark: 1_000, method: 'GET' }])
})
