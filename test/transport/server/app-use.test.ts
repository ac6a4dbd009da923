import middie from '@fastify/middie'
import t from 'tap'
import type { Middleware, Params } from '../../../src/transport/index.ts'
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
} from '../../../src/transport/index.ts'
import { stopTime } from '../../support/clock.ts'
import { Gate } from '../../support/gate.ts'
import { openApp, startOwnServer } from '../../support/own-server.ts'
import { laterTurns } from '../../support/until.ts'

/** Answers with the params that middleware may have set. */
const echo = {
  get: async (id: string, params: Params & Record<string, unknown>) => ({
    id,
    steps: params['steps'] ?? [],
    provider: params.provider,
  }),
}

/** Adds a step to the params of the call. */
function step(name: string): Middleware {
  return (request) => {
    request.feathers = {
      ...request.feathers,
      steps: [...((request.feathers['steps'] as string[]) ?? []), name],
    }
  }
}

t.test('runs functions in their order, arrays flattened, and takes options last', async (t) => {
  const server = await startOwnServer(t, (app) => {
    const after: Middleware = (_request, reply) => {
      reply.data = { ...(reply.data as object), after: reply.hook?.path }
    }
    app.use([step('a'), [step('b')]], step('c'))
    app.use('/echo', step('d'))
    app.use('/other', step('never'))
    app.use('echo', step('e'), [[step('f')]], echo, [after], { methods: ['get'] })
  })
  const { body } = await server.request('/echo/1')
  t.match(body, { steps: ['a', 'b', 'c', 'd', 'e', 'f'], after: 'echo' })
})

t.test('runs for REST only', async (t) => {
  const server = await startOwnServer(t, (app) =>
    app.use(step('all')).use('echo', step('before'), echo),
  )
  t.strictSame(await server.app.service('echo').get('1'), {
    id: '1',
    steps: [],
    provider: undefined,
  })
})

t.test('leaves no listener behind, however many functions there are', async (t) => {
  const warnings: Error[] = []
  const note = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const server = await startOwnServer(t, (app) => {
    const pass: Middleware = (_request, _reply, done) => done()
    app.use(
      'echo',
      Array.from({ length: 30 }, () => pass),
      echo,
    )
  })
  t.equal((await server.request('/echo/1')).status, 200)
  await laterTurns()
  t.strictSame(warnings, [])
})

t.test('probes are left out', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.use((request, reply) => (request.url === '/host' ? undefined : reply.code(401).send({})))
    app.use('echo', echo)
  })
  t.equal((await server.request('/health/live')).status, 200)
  t.equal((await server.request('/echo/1', { ownErrorBody: true })).status, 401)
})

t.test('functions in front of a mounted application run for all of its services', async (t) => {
  const server = await startOwnServer(t, (app) => {
    const subApp = createApp().use('echo', echo)
    app.use('api', step('api'), subApp)
    t.throws(() => app.use('late', createApp(), step('after')), /Nothing runs after/)
  })
  t.match((await server.request('/api/echo/1')).body, { steps: ['api'] })
})

t.test('a service that is added again does not keep its former functions', async (t) => {
  class Echo {
    get = echo.get
  }
  const service = new Echo()
  const server = await startOwnServer(t, (app) => app.use('echo', step('old'), service))
  await server.app.unuse('echo')
  server.app.use('echo', service)
  t.match((await server.request('/echo/1')).body, { steps: [] })
})

t.test('refuses what is neither function nor service', (t) => {
  const app = fastifyApp(createApp())
  const connectError = (_error: unknown, _request: unknown, _response: unknown, _next: unknown) => {
    return undefined
  }
  t.throws(() => app.use('a', echo, 'text' as never), /takes functions, a service and its options/)
  t.throws(() => app.use(connectError as never), /'connectError' takes 4 arguments/)
  t.throws(() => app.use('a', undefined as never), /Invalid service object/)
  t.throws(() => app.use('a*b', echo), /must be a literal or one ':placeholder'/)
  t.notOk(app.entries.has('a*b'))
  t.end()
})

t.test('Connect-style middleware runs through @fastify/middie', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.fastify.register(middie).after(() => {
      app.fastify.use('/echo', (_request, response, next) => {
        response.setHeader('x-connect', 'yes')
        next()
      })
    })
    app.use('echo', echo).use('other', echo)
  })
  t.equal((await server.request('/echo/1')).headers['x-connect'], 'yes')
  t.equal((await server.request('/other/1')).headers['x-connect'], undefined)
})

t.test('a function that returns the reply is done', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.use((_request, reply) => reply.header('x-all', '1'))
    app.use('echo', (_request, reply) => reply.header('x-one', '2'), echo)
  })
  const { status, headers } = await server.request('/echo/1')
  t.strictSame([status, headers['x-all'], headers['x-one']], [200, '1', '2'])
})

t.test('functions before a service are within the time limit', async (t) => {
  const time = stopTime(t)
  const gate = new Gate()
  let calls = 0
  const server = await startOwnServer(
    t,
    (app) => {
      const waits: Middleware = (_request, _reply, done) => {
        void gate.pass().then(() => done())
      }
      app.use('echo', waits, { get: async () => (calls += 1) })
    },
    { handlerTimeoutMs: 50 },
  )
  const answer = server.request('/echo/1')
  await gate.arrivals(1)
  time.pass(100)
  const { status, body } = await answer
  t.match([status, body], [503, { message: 'No answer within 50 ms' }])
  gate.open()
  await laterTurns()
  t.equal(calls, 0, 'the service is not called after the answer')
})

t.test('refuses a time limit that is none, and takes Infinity for no limit', async (t) => {
  for (const handlerTimeoutMs of [Number.NaN, -5, '100' as never]) {
    t.throws(() => rest({ handlerTimeoutMs }), /'handlerTimeoutMs' must be a number from 0 on/)
  }
  const server = await startOwnServer(t, (app) => app.use('echo', echo), {
    handlerTimeoutMs: Number.POSITIVE_INFINITY,
  })
  t.equal((await server.request('/echo/1')).status, 200)
})

class EchoService {
  async find(): Promise<string> {
    return 'echo'
  }
}

t.test('refuses at once what would be called with each request and do nothing', async (t) => {
  const configurators: [string, unknown][] = [
    ...Object.entries({ rest, errorHandler, notFound, json, urlencoded, cors, compress }),
    ...Object.entries({ configuration }),
  ].flatMap(([name, factory]): [string, unknown][] => [
    [`${name}() belongs to app.configure(${name}())`, factory()],
    [`${name} belongs to app.configure(${name}())`, factory],
  ])
  const cases: [string, unknown][] = [
    ...configurators,
    ['parseAuthentication() belongs to', parseAuthentication({ service: 'login' })],
    ['serveStatic() belongs to app.configure(', serveStatic({ root: '/' })],
    ["EchoService is a class, pass an instance: app.use('echo', new EchoService())", EchoService],
    ['remex is a plugin of Fastify: app.fastify.register(remex, options)', remex],
  ]
  for (const [problem, value] of cases) {
    const app = fastifyApp(createApp())
    const use = app.use as (...values: unknown[]) => unknown
    const isRefused = (...values: unknown[]): void => {
      const message = new RegExp(problem.replace(/[()]/g, '\\$&'))
      t.throws(() => use.apply(app, values), { name: 'TypeError', message }, problem)
    }
    isRefused('echo', value)
    isRefused('echo', [[value]], new EchoService())
    isRefused('echo', new EchoService(), value)
    t.throws(() => use.call(app, value), TypeError)
    t.equal(app.entries.size, 0)
    await app.close()
  }
})

t.test('a factory that is configured itself says that it has to be called', async (t) => {
  const factories = { rest, errorHandler, notFound, json, urlencoded, cors, compress }
  const others = { parseAuthentication, serveStatic, configuration }
  for (const [name, factory] of Object.entries({ ...factories, ...others })) {
    const app = fastifyApp(createApp())
    const message = `app.configure(${name}) lacks the call of ${name}: app.configure(${name}())`
    t.throws(() => app.configure(factory as never), { name: 'TypeError', message })
    t.same(app.serverSetup.restOptions, {})
    await app.close()
  }
})

t.test('functions of several applications on one server run all of them', async (t) => {
  const refuse: Middleware = (_request, reply) => reply.code(401).send({ refused: true })
  const one = openApp(t)
  const other = fastifyApp(createApp(), one.fastify)
  one.configure(rest({ health: false }))
  one.use('/', step('a'))
  one.use('admin', echo)
  other.use('/admin', refuse)
  t.equal((await one.fastify.inject('/admin/1')).statusCode, 401)
})

t.test('a function of an application on a child scope runs beside those of its host', async (t) => {
  const refuse: Middleware = (_request, reply) => reply.code(401).send({ refused: true })
  const host = openApp(t)
  host.use('/', step('a'))
  host.fastify.register(async (scope) => {
    const inner = fastifyApp(createApp(), scope)
    inner.configure(rest({ health: false }))
    inner.use('/admin', refuse)
    inner.use('admin', echo)
  })
  t.equal((await host.fastify.inject('/admin/1')).statusCode, 401)
})

t.test('what a server can have once is refused to a second application on it', async (t) => {
  const one = openApp(t)
  const other = fastifyApp(createApp(), one.fastify)
  for (const [name, factory] of Object.entries({ rest, cors, compress })) {
    one.configure(factory())
    const message = `${name}() is configured already, and a server can have it once`
    t.throws(() => other.configure(factory()), { name: 'TypeError', message })
  }
})
