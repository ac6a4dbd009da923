import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Application, FastifyApplication } from '../../src/transport/index.ts'
import {
  authenticateRequest,
  createApp,
  NotFound,
  remex,
  ServiceError,
} from '../../src/transport/index.ts'
import { CREDENTIALS } from '../auth/login-app.ts'
import type { Server } from '../support/accounts.ts'
import { addAccounts, bearer, logIn } from '../support/accounts.ts'
import type { TestScope } from '../support/http.ts'
import { HOST } from '../support/http.ts'
import { openHost } from '../support/own-server.ts'
import { startApp } from '../support/test-app.ts'

const ADA = { id: 1, email: CREDENTIALS.email }

/** A route that tells who calls, and one that asks another strategy. */
function addRoutes(server: FastifyInstance, app: Application): void {
  server.get('/me', { preHandler: authenticateRequest(app, 'jwt') }, async ({ feathers }) => {
    const { user, authentication, provider } = feathers as Record<string, object>
    const { payload } = authentication as { payload: { sub: string } }
    return { email: (user as typeof ADA).email, sub: payload.sub, provider }
  })
  const guard = authenticateRequest(app, { strategies: ['local'] })
  server.get('/other', { preHandler: guard }, async () => 'never')
}

const ME = { email: ADA.email, sub: '1', provider: 'rest' }

/** A server of somebody else, without an error handler, that has the plugin. */
async function startHost(t: TestScope): Promise<Server> {
  const app = createApp()
  const accounts = addAccounts(app)
  const host = openHost(t)
  await host.register(remex, { app, prefix: '/api' })
  addRoutes(host, app)
  await host.listen({ port: 0, host: '127.0.0.1' })
  await accounts.addUser(ADA)
  return {
    async request(path, { data, headers = {} } = {}) {
      const method = data === undefined ? 'GET' : 'POST'
      const message = data === undefined ? {} : { payload: data as object }
      const answer = await host.inject({ method, url: path, headers, ...message })
      const { statusCode: status, payload: text } = answer
      const received = answer.headers as Record<string, string>
      return { method, path, status, headers: received, text, body: JSON.parse(text) }
    },
  }
}

t.test('protects a plain route, and answers errors as the host does', async (t) => {
  const server = await startHost(t)
  const token = await logIn(server, '/api/authentication')
  const answer = await server.request('/me', { headers: bearer(token) })
  t.strictSame(answer.body, ME)
  t.equal(answer.headers['cache-control'], 'no-store')
  t.equal(answer.headers['vary'], 'authorization')
  for (const headers of [{}, bearer('forged'), { authorization: 'Basic eDp5' }]) {
    const refused = await server.request('/me', { headers })
    t.equal(refused.status, 401)
    t.match(refused.body, { statusCode: 401, error: 'Unauthorized', message: String })
    t.equal(refused.headers['cache-control'], 'no-store')
  }
  const other = await server.request('/other', { headers: bearer(token) })
  t.equal(other.status, 401)
})

t.test('hands the error to the error handler of the host', async (t) => {
  let app: Application | null = null
  const server = await startApp(t, {
    mode: 'plugin',
    accounts: {},
    configure(services) {
      app = services
    },
    server: (host) => {
      host.get('/me', {
        async preHandler(request, reply) {
          if (app !== null) await authenticateRequest(app, 'jwt')(request, reply)
        },
        errorHandler: (error, _request, reply) => {
          t.ok(error instanceof ServiceError)
          return reply.code(418).send(HOST.error)
        },
        handler: async ({ feathers }) => ({ email: (feathers['user'] as typeof ADA).email }),
      })
    },
  })
  const token = await logIn(server)
  const me = `${new URL(server.url).origin}/me`
  const accepted = await fetch(me, { headers: bearer(token) })
  t.strictSame(await accepted.json(), { email: ADA.email })
  const refused = await fetch(me)
  t.strictSame([refused.status, await refused.json()], [418, HOST.error])
})

t.test('on a server of our own errors have the shape of all others', async (t) => {
  const configure = (app: FastifyApplication): void => addRoutes(app.fastify, app)
  const server = await startApp(t, { accounts: {}, configure })
  const token = await logIn(server)
  t.strictSame((await server.request('/me', { headers: bearer(token) })).body, ME)
  const { status, body } = await server.request('/me')
  t.equal(status, 401)
  t.match(body, { name: 'NotAuthenticated', message: 'Not authenticated', code: 401 })
})

t.test('what a hook of Fastify has found out is what counts', async (t) => {
  const configure = (app: FastifyApplication): void => {
    app.fastify.addHook('onRequest', async (request) => {
      const accessToken = request.headers['x-session']
      if (typeof accessToken !== 'string') return
      request.feathers['authentication'] = { strategy: 'jwt', accessToken }
    })
    addRoutes(app.fastify, app)
  }
  const server = await startApp(t, { accounts: {}, configure })
  const token = await logIn(server)
  t.strictSame((await server.request('/me', { headers: { 'x-session': token } })).body, ME)
  const forged = { 'x-session': 'forged', ...bearer(token) }
  t.equal((await server.request('/me', { headers: forged })).status, 401)
})

t.test('needs to know which strategies may prove who calls', (t) => {
  const app = createApp()
  t.throws(() => authenticateRequest(app, { strategies: [] }), /at least one/)
  t.throws(() => authenticateRequest(app, undefined as never), /at least one/)
  t.end()
})

t.test('errors carry a status for Fastify that nobody sees', (t) => {
  const error = new NotFound('gone')
  t.equal(error.statusCode, 404)
  t.notOk(Object.keys(error).includes('statusCode'))
  t.notOk('statusCode' in error.toJSON())
  t.equal(Object.assign(new NotFound('odd'), { code: 42 }).statusCode, 500)
  t.end()
})
