import authenticationClient, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import t from 'tap'
import { authenticate, hashPassword, OAuthStrategy, oauth } from '../../src/auth/index.ts'
import { rest as restOfClient } from '../../src/client/index.ts'
import type { FastifyApplication, OpenApiDocument, Params } from '../../src/transport/index.ts'
import { createApp, fastifyApp, notFound, openapi, rest } from '../../src/transport/index.ts'
import { CREDENTIALS } from '../auth/login-app.ts'
import { addAccounts } from '../support/accounts.ts'
import type { ListeningServer, TestScope } from '../support/http.ts'
import { openHost, startOwnServer } from '../support/own-server.ts'
import { TODO_METHODS, TodoService } from '../support/todo-service.ts'

const LONG = 'x'.repeat(101)

/** Opens services below a prefix, on a server of their own. */
function start(
  t: TestScope,
  configure: (app: FastifyApplication) => unknown = () => undefined,
  prefix = '/api',
): Promise<ListeningServer> {
  return startOwnServer(t, { prefix }, (app) => {
    app.use('todos', new TodoService(), { methods: TODO_METHODS })
    configure(app)
  })
}

function addLogins(app: FastifyApplication): void {
  const settings = { oauth: { github: { key: 'id', secret: 'secret' } } }
  addAccounts(app, { settings, strategies: { github: new OAuthStrategy() } })
  app.configure(oauth())
  app.service('users').hooks({ before: { create: [hashPassword('password')] } })
  app.service('todos').hooks({ before: { remove: [authenticate('jwt')] } })
}

/** What the official plug-ins make of an application. */
interface Client {
  service(path: string): TodoService
  configure(plugin: unknown): Client
  authenticate(data: object): Promise<unknown>
}

t.test('clients whose base URL has the prefix reach services and log in', async (t) => {
  const { url, app } = await start(t, addLogins)
  await app.service('users').create(CREDENTIALS)
  const base = `${url}/api`
  const connections: [unknown, unknown][] = [
    [feathers(), restClient.default(base).fetch(fetch)],
    [createApp(), restOfClient(base).fetch(fetch)],
  ]
  for (const [bare, connection] of connections) {
    const client = (bare as Client)
      .configure(connection)
      .configure(authenticationClient.default({ storage: new MemoryStorage() }))
    const todos = client.service('todos')
    t.match(await todos.get(LONG), { id: LONG })
    t.match(await todos.create({ description: 'wash' }), { description: 'wash', id: 42 })
    await t.rejects(todos.remove(1), { name: 'NotAuthenticated', code: 401 })
    await client.authenticate(CREDENTIALS)
    t.match(await todos.remove(1), { id: '1' })
    await t.rejects(client.service('nothing').find(), { name: 'NotFound', code: 404 })
  }
})

t.test('nothing is served without the prefix but probes and routes of the server', async (t) => {
  const server = await start(t, (app) => {
    app.configure(notFound({ verbose: true }))
    app.fastify.get('/own', async () => 'own')
    app.fastify.get('/fails', async () => {
      throw new Error('at the server')
    })
  })
  server.app.use('late', new TodoService())
  for (const path of ['/todos', '/late', '//api/todos', '/api//todos', '/apitodos', '/', '/api']) {
    const { status, body } = await server.request(path)
    t.match([status, body], [404, { name: 'NotFound', code: 404 }], path)
  }
  const created = await server.request('/api/todos', { data: { description: 'wash' } })
  t.match(created, { status: 201, body: { id: 42 } })
  for (const path of ['/api/todos/', '/%61pi/todos/1', '/api/late', '/own', '/health/ready']) {
    t.equal((await server.request(path)).status, 200, path)
  }
  t.equal((await server.request('/api/health/ready')).status, 404)
  t.match(await server.request('/fails'), { status: 500, body: { name: 'GeneralError' } })
  const page = await server.request('/api/x', { headers: { accept: 'text/html' } })
  t.match(page, { status: 404, headers: { 'content-type': /^text\/html/ } })
  const options = await server.request('/api/todos', { method: 'OPTIONS' })
  t.match(options, { status: 204, headers: { allow: /GET/ } })
})

for (const path of ['/todos', '/api/todos']) {
  t.test(`a function before ${path} guards the service for each spelling`, async (t) => {
    const server = await start(t, (app) => {
      app.use(path, (_request, reply) => reply.code(403).send({ closed: true }))
      app.use('open', new TodoService())
    })
    const before = server.app
    const targets = ['', '/', '/1', `/${LONG}`, '/1/'].flatMap((end) => [
      `/api/todos${end}`,
      `/%61pi/t%6fdos${end}`,
    ])
    for (const isLate of [false, true]) {
      if (isLate) before.use('late', new TodoService())
      for (const target of targets) {
        for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'OPTIONS']) {
          const headers = { 'x-service-method': 'customMethod' }
          const request = { method, headers, ownErrorBody: true }
          t.equal((await server.request(target, request)).status, 403, `${method} ${target}`)
        }
      }
      t.equal((await server.request(`/api/open/${LONG}`)).status, 200)
    }
  })
}

t.test('the document, its page and look-ups know the prefix', async (t) => {
  const server = await start(t, (app) => {
    app.configure(openapi({ info: { title: 'Todos', version: '1' } }))
    app.use('/docs/yaml', (_request, reply) => reply.code(403).send({}))
  })
  const { paths } = (await server.request('/api/docs/json')).body as OpenApiDocument
  t.ok(paths['/api/todos'])
  t.notOk(paths['/todos'])
  t.equal((await server.request('/docs/json')).status, 404)
  t.equal((await server.request('/api/docs/yaml', { ownErrorBody: true })).status, 403)
  const { lookup } = server.app as FastifyApplication
  t.match(lookup('todos/1'), { params: { __id: '1' } })
})

t.test('providers send browsers back to a callback below the prefix', async (t) => {
  const server = await start(t, addLogins)
  const { headers } = await server.request('/api/oauth/github')
  const redirect = new URL(String(headers.location)).searchParams.get('redirect_uri')
  t.equal(redirect, `${server.url}/api/oauth/github/callback`)
  t.match(String(headers['set-cookie']), /; Path=\/api\/oauth\/github\/callback;/)
})

t.test('placeholders of the prefix are values of the route', async (t) => {
  const server = await start(
    t,
    (app) => {
      app.use('who', { find: async ({ route }: Params) => route })
      app.use('/who', (_request, reply) => void reply.header('x-guard', 'ran'))
    },
    '/t/:tenant',
  )
  t.match(await server.request('/t/a%20b/who'), {
    body: { tenant: 'a b' },
    headers: { 'x-guard': 'ran' },
  })
})

t.test('on a server that was there, paths outside of the prefix are its own', async (t) => {
  const host = openHost(t)
  host.setNotFoundHandler((_request, reply) => reply.code(404).send('of the host'))
  const app = fastifyApp(createApp(), host).configure(rest({ prefix: '/api' }))
  app.use('todos', new TodoService())
  await host.ready()
  t.equal((await host.inject('/todos')).body, 'of the host')
  t.match((await host.inject('/api/nothing')).json(), { name: 'NotFound' })
  t.match((await host.inject('/api/todos/1')).json(), { id: '1' })
})

t.test('refuses a prefix that functions before services could not see', (t) => {
  for (const prefix of ['api', '/api/', '//api', '/v:version', '/a*', '/:id(\\d+)', 7]) {
    t.throws(() => rest({ prefix } as object), {
      name: 'TypeError',
      message: /rest\(\): the option 'prefix' must be a path of literals/,
    })
  }
  t.throws(() => fastifyApp(createApp(), { prefix: '/api' } as object), {
    message: "fastifyApp(): 'prefix' is an option of rest()",
  })
  for (const prefix of ['', '/', '/api/v1', undefined]) t.ok(rest({ prefix } as object))
  t.end()
})
