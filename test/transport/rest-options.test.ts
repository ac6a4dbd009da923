import t from 'tap'
import type { FastifyAppOptions, RestOptions } from '../../src/transport/index.ts'
import {
  compress,
  configuration,
  cors,
  createApp,
  errorHandler,
  fastifyApp,
  json,
  notFound,
  parseAuthentication,
  remex,
  rest,
  serveStatic,
  urlencoded,
} from '../../src/transport/index.ts'
import { injectServer } from '../support/http.ts'
import { openApp, openHost } from '../support/own-server.ts'

/** What takes options, and a mistake in them. */
const FACTORIES: Readonly<Record<string, (options: never) => unknown>> = {
  'rest()': rest,
  'json()': json,
  'urlencoded()': urlencoded,
  'errorHandler()': errorHandler,
  'notFound()': notFound,
  'parseAuthentication()': parseAuthentication,
  'cors()': cors,
  'compress()': compress,
  'serveStatic()': serveStatic,
  'configuration()': configuration,
}

t.test('an option that is not known is named, with those that are', async (t) => {
  for (const [name, make] of Object.entries(FACTORIES)) {
    t.throws(() => make({ nonsense: 1 } as never), {
      name: 'TypeError',
      message: new RegExp(
        `^${name.replace(/[()]/g, '\\$&')}: unknown option 'nonsense', allowed are `,
      ),
    })
    t.throws(() => make('text' as never), { name: 'TypeError' }, name)
  }
})

/** Options inside options. */
const NESTED: readonly [options: object, name: string][] = [
  [{ query: { dept: 5 } }, 'query'],
  [{ json: { maxdepth: 5 } }, 'json'],
  [{ urlencoded: { maxLength: 5 } }, 'urlencoded'],
  [{ errorHandler: { htm: false } }, 'errorHandler'],
  [{ notFound: { verbos: true } }, 'notFound'],
  [{ authentication: { strategy: 'jwt' } }, 'authentication'],
  [{ authentication: [{}, { services: 'a' }] }, 'authentication'],
  [{ query: null }, 'query'],
]

t.test('so are those inside other options, by rest() and by the plugin', async (t) => {
  for (const [options, name] of NESTED) {
    t.throws(
      () => rest(options as RestOptions),
      new RegExp(`^rest\\(\\): (?:unknown|the) option '${name}`),
    )
    const host = openHost(t)
    const plugin = async (): Promise<unknown> =>
      host.register(remex, { app: createApp(), ...options } as never)
    await t.rejects(plugin, new RegExp(`^remex: (?:unknown|the) option '${name}`))
  }
})

t.test('the plugin takes what Fastify gives every plugin', async (t) => {
  const host = openHost(t)
  const app = createApp().use('notes', { find: async () => [] })
  const options = { app, prefix: '/api', logLevel: 'warn', logSerializers: {} } as const
  await host.register(remex, options)
  t.equal((await host.inject('/api/notes')).statusCode, 200)
})

t.test('fastifyApp() names what is meant for somebody else, or nearly ours', async (t) => {
  for (const [options, message] of [
    [{ health: false }, /'health' is an option of rest\(\)/],
    [{ query: { depth: 5 } }, /'query' is an option of rest\(\)/],
    [{ closeTimeout: 5 }, /unknown option 'closeTimeout'; did you mean 'closeTimeoutMs'/],
    [{ requestTimeoutMs: 5 }, /did you mean 'requestTimeout'/],
    [{ bodylimit: 5 }, /did you mean 'bodyLimit'/],
    [{ writeTimeoutSeconds: 5 }, /did you mean 'writeTimeoutMs'/],
    [{ bodyLimit: '1mb' }, /fastifyApp\(\): the option 'bodyLimit' must be a number of bytes/],
    [{ keepAliveTimeout: -1 }, /fastifyApp\(\): the option 'keepAliveTimeout' must be a number/],
  ] as const) {
    t.throws(() => fastifyApp(createApp(), options as object), message)
  }
  openApp(t, { handlerTimeout: 5_000, pluginTimeout: 9_000 } as object)
})

t.test('listen() names what it does not know, and takes no text without a number', async (t) => {
  const listen = async (options: unknown): Promise<unknown> => {
    const app = openApp(t)
    return app.listen(options as number)
  }
  await t.rejects(listen({ prot: 3030 }), /listen\(\): unknown option 'prot'; did you mean 'port'/)
  await t.rejects(listen(null), /listen\(\): the options must be an object/)
  await t.rejects(listen(''), { code: 'ERR_SOCKET_BAD_PORT' })
})

t.test('undefined is an option that is not given, wherever it stands', async (t) => {
  const app = openApp(t, {
    requestTimeout: undefined,
    headersTimeout: undefined,
    connectionsCheckingInterval: undefined,
    keepAliveTimeout: undefined,
    bodyLimit: undefined,
    closeDelayMs: undefined,
    closeTimeoutMs: undefined,
    writeTimeoutMs: undefined,
    routerOptions: { maxParamLength: undefined },
    http: { headersTimeout: undefined, requestTimeout: undefined },
  } as object)
  app.configure(errorHandler({ html: false })).configure(json({ maxDepth: 2 }))
  app.configure(json({ maxKeys: undefined, bodyLimit: 100 } as object))
  app.configure(
    rest({
      ...{ handlerTimeoutMs: undefined, health: undefined, errorHandler: undefined },
      ...{ query: { depth: undefined, maxLength: undefined }, json: undefined },
    } as object),
  )
  app.use('notes', { find: async () => [], get: async () => ({}), create: async () => ({}) })
  const { server } = await app
    .listen({ port: undefined, host: undefined } as object)
    .then((server) => ({ server }))
  t.match(server.address(), { address: '127.0.0.1' })
  t.strictSame(
    [server.requestTimeout, server.headersTimeout, server.keepAliveTimeout],
    [30_000, 10_000, 72_000],
  )
  const ask = async (url: string, payload?: string): Promise<number> => {
    const headers = { accept: 'text/html', 'content-type': 'application/json' }
    const response = await app.fastify.inject(
      payload === undefined ? { url } : { url, method: 'POST', headers, payload },
    )
    return response.statusCode
  }
  t.equal(await ask(`/notes?a=${'x'.repeat(13_000)}`), 400)
  t.equal(await ask(`/notes?a${'[b]'.repeat(11)}=1`), 400)
  t.equal(await ask(`/notes/${'x'.repeat(5_000)}`), 200)
  t.equal(await ask('/notes', '{"a":{"b":{}}}'), 400, 'two calls of json() add up')
  t.equal(await ask('/notes', `{"a":"${'x'.repeat(200)}"}`), 413)
  t.equal(await ask('/health/live'), 200)
  const page = await app.fastify.inject({ url: '/none', headers: { accept: 'text/html' } })
  t.match(page.headers['content-type'], /json/)
})

t.test('the limit of ids is that of the user where there is one', async (t) => {
  for (const options of [{ maxParamLength: 20 }, { routerOptions: { maxParamLength: 20 } }]) {
    const app = openApp(t, options)
    app.fastify.get('/:id', async () => 'reached')
    t.equal((await app.fastify.inject(`/${'x'.repeat(21)}`)).statusCode, 414)
  }
})

t.test('cors() does not take an origin that is missing for every origin', async (t) => {
  t.throws(() => cors({ origin: undefined } as object), /'origin' is undefined/)
  t.throws(() => cors({ origins: ['https://a.test'] } as object), /unknown option 'origins'/)
  const app = openApp(t).configure(rest())
  app.configure(cors({ origin: 'https://a.test', allowedHeaders: undefined } as object))
  app.use('notes', { find: async () => [] })
  const headers = {
    origin: 'https://a.test',
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'x-other',
  }
  const answer = await app.fastify.inject({ url: '/notes', method: 'OPTIONS', headers })
  t.notMatch(answer.headers['access-control-allow-headers'], /x-other/)
})

t.test('what comes after the start, where nobody would read it, is refused', async (t) => {
  const app = openApp(t).configure(rest())
  await app.listen(0)
  for (const configurator of [json({ maxDepth: 2 }), notFound(), errorHandler(), urlencoded()])
    t.throws(() => app.configure(configurator), /has started: configure it before listen\(\)/)
  t.throws(() => app.configure(rest()), /configured already/)
})

t.test('the plugin has probes below its prefix if they are asked for', async (t) => {
  const server = await injectServer(t, { health: true }, 'plugin')
  for (const path of ['/health/live', '/health/ready'])
    t.match(await server.request(path), { status: 200, body: { status: 'ok' } })
  const without = await injectServer(t, {}, 'plugin')
  t.equal((await without.request('/health/live')).status, 404)
})

t.test('times to close are checked, and may be infinite where that ends', async (t) => {
  for (const options of [
    { closeTimeoutMs: -1 },
    { closeTimeoutMs: Number.NaN },
    { closeDelayMs: Number.POSITIVE_INFINITY },
    { closeDelayMs: '5' },
  ]) {
    t.throws(() => fastifyApp(createApp(), options as FastifyAppOptions), { name: 'TypeError' })
  }
  const app = fastifyApp(createApp(), { closeTimeoutMs: Number.POSITIVE_INFINITY })
  let finish = (): void => undefined
  const arrived = new Promise<void>((resolve) => {
    const get = async (): Promise<object> => {
      resolve()
      return new Promise((done) => {
        finish = () => done({})
      })
    }
    app.configure(rest()).use('slow', { get })
  })
  const { port } = (await app.listen(0)).address() as { port: number }
  const answer = fetch(`http://127.0.0.1:${port}/slow/1`)
  await arrived
  // Node warns of a timer that can't be that long, and makes it one of a millisecond.
  const warnings: Error[] = []
  const note = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const ended = app.close()
  finish()
  t.equal((await answer).status, 200)
  await ended
  t.strictSame(warnings, [])
})
