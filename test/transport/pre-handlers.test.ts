import type { FastifyInstance, preHandlerHookHandler, RouteOptions } from 'fastify'
import t from 'tap'
import type { AuthenticationService } from '../../src/auth/index.ts'
import type { FastifyApplication, Middleware } from '../../src/transport/index.ts'
import { addAccounts } from '../support/accounts.ts'
import type { OwnServerOptions } from '../support/own-server.ts'
import { startOwnServer, useAround } from '../support/own-server.ts'
import { until } from '../support/until.ts'

const CALLER = { strategy: 'jwt', accessToken: 'a.b.c' }
const headers = { authorization: 'Bearer a.b.c' }
const notes = {
  get: async (id: string) => ({ id }),
  create: async (data: object) => data,
  ping: async () => ({ pong: true }),
}

/** Adds the services of logins. Returns the names of what has run, in order. */
function addLogins(app: object): string[] {
  addAccounts(app as never)
  const ran: string[] = []
  const { service } = app as { service(path: string): AuthenticationService }
  service.call(app, 'authentication').register('noting', {
    authenticate: async () => ({}),
    parse: async () => {
      ran.push('parse')
      return null
    },
  } as never)
  return ran
}

function useNotes(app: object, ...around: readonly unknown[]): void {
  useAround(app, 'notes', ...around, notes, { methods: ['get', 'create', 'ping'] })
}

/** Adds a hook to the routes of services, behind those that are there. */
function addLast(server: FastifyInstance, hook: preHandlerHookHandler): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    if (route.config && 'service' in route.config) {
      route.preHandler = [...[route.preHandler ?? []].flat(), hook]
    }
  })
}

const NOTING: OwnServerOptions = { authentication: { strategies: ['noting', 'jwt'] } }

t.test('the routes of a service show what runs before it', async (t) => {
  const findTenant: Middleware = () => undefined
  const { app } = await startOwnServer(t, (app) => {
    addAccounts(app as never)
    useNotes(app, findTenant)
  })
  const { fastify } = app as unknown as FastifyApplication
  const routes = fastify.printRoutes({ includeHooks: true, commonPrefix: false })
  t.match(routes, /\(preHandler\) \["parseCredentials\(\)","findTenant\(\)"\]/)
})

t.test('without logins and functions there is no hook', async (t) => {
  const { app } = await startOwnServer(t, (app) => useNotes(app))
  const { fastify } = app as unknown as FastifyApplication
  t.notMatch(fastify.printRoutes({ includeHooks: true }), /preHandler/)
})

t.test('a hook behind them sees who calls, of custom methods too', async (t) => {
  const seen: unknown[] = []
  const server = await startOwnServer(t, (app) => {
    addLast(app.fastify, async ({ feathers }) => void seen.push(feathers['authentication']))
    addAccounts(app as never)
    useNotes(app)
  })
  t.equal((await server.request('/notes/1', { headers })).status, 200)
  const ping = { headers: { ...headers, 'x-service-method': 'ping' }, data: {} }
  t.strictSame((await server.request('/notes', ping)).body, { pong: true })
  t.strictSame(seen, [CALLER, CALLER])
})

t.test('a hook behind them may answer: the call ends with the response', async (t) => {
  const server = await startOwnServer(t, { slowMs: 0 }, (app) => {
    addLast(app.fastify, (_request, reply) => {
      const fields = { name: 'TooManyRequests', message: 'later', code: 429 }
      reply.code(429).send({ ...fields, className: 'too-many-requests' })
    })
    addAccounts(app as never)
    useNotes(app)
  })
  t.equal((await server.request('/notes/1')).status, 429)
  await until(() => server.logged.length > 0)
  t.match(server.logged, [{ message: 'Slow call' }])
})

t.test('what calls no method runs none of them', async (t) => {
  let ran: readonly string[] = []
  const server = await startOwnServer(t, NOTING, (app) => {
    ran = addLogins(app)
    useNotes(app)
  })
  const answers: readonly [path: string, method: string, headers: object, status: number][] = [
    ['/nothing/1', 'GET', {}, 404],
    ['/notes/1', 'DELETE', {}, 405],
    ['/notes', 'POST', { 'x-service-method': 'constructor' }, 405],
    ['/notes/%FF', 'GET', {}, 400],
    ['/notes', 'OPTIONS', {}, 204],
  ]
  for (const [path, method, given, status] of answers) {
    const data = method === 'POST' ? {} : undefined
    const answer = await server.request(path, {
      ...{ method, headers: { ...headers, ...given } },
      ...(data && { data }),
    })
    t.equal(answer.status, status, `${method} ${path}`)
  }
  t.strictSame(ran, [])
  await server.request('/notes/1', { headers })
  t.strictSame(ran, ['parse'])
})

t.test('they run once for each request, with or without the hooks', async (t) => {
  let ran: string[] = []
  const note: Middleware = async () => void ran.push('function')
  const server = await startOwnServer(t, NOTING, (app) => {
    // Takes the hooks away.
    app.fastify.addHook('onRoute', (route) => {
      if (route.url.startsWith('/bare')) route.preHandler = []
    })
    ran = addLogins(app)
    useNotes(app, note)
    useAround(app, 'bare', note, notes)
  })
  const expected = ['parse', 'function']
  for (const path of ['/notes/1', '/bare/1']) {
    t.equal((await server.request(path, { headers })).status, 200)
    t.strictSame(ran.splice(0), expected, path)
  }
  useAround(server.app, 'late', note, notes)
  for (const path of ['/late/1', '/notes/1']) {
    t.equal((await server.request(path, { headers })).status, 200)
    t.strictSame(ran.splice(0), expected, path)
  }
})
