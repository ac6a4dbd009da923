import type { ServerResponse } from 'node:http'
import middie from '@fastify/middie'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import t from 'tap'
import type { Application, FastifyApplication, Params } from '../../src/transport/index.ts'
import { createApp, remex, rest } from '../../src/transport/index.ts'
import { injectServer, MODES, startServer } from '../support/http.ts'
import { openApp, openHost, startOwnServer } from '../support/own-server.ts'

const calls: string[] = []

/** Notes what was called. */
function createService(): object {
  return {
    find: async () => calls.push('find'),
    get: async () => calls.push('get'),
    create: async () => calls.push('create'),
    update: async () => calls.push('update'),
    patch: async () => calls.push('patch'),
    remove: async () => calls.push('remove'),
    greet: async () => calls.push('greet'),
  }
}

const ALL = ['find', 'get', 'create', 'update', 'patch', 'remove', 'greet']

/** Spellings of `/admin` and `/admin/1` that are other paths to a guard of the host. */
const ODD = ['//admin', '//admin/1', '/admin//', '/admin//1', '/admin/1//', '///admin', '//']

const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']

for (const mode of MODES) {
  t.test(`a path with slashes too many is 404 for every verb, ${mode}`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => app.use('admin', createService(), { methods: ALL }),
    })
    for (const isLate of [false, true]) {
      if (isLate) server.app.use('late', createService(), { methods: ALL })
      for (const path of [...ODD, '//late/1', '/late//']) {
        for (const method of VERBS) {
          const options = { method, headers: { 'x-service-method': 'greet' } }
          const { status, body } = await server.request(path, options)
          t.equal(status, 404, `${method} ${path}`)
          if (method === 'GET') t.match(body, { message: /one slash before each segment/ })
        }
      }
      t.strictSame(calls.splice(0), [])
    }
  })
}

t.test('where the server ignores slashes too many, so do the services', async (t) => {
  const app = openApp(t, { routerOptions: { ignoreDuplicateSlashes: true } })
  app.configure(rest()).use('admin', createService())
  app.use('/closed', (_request, reply) => reply.code(403).send({})).use('closed', createService())
  const server = app.fastify
  for (const isLate of [false, true]) {
    if (isLate) app.use('late', createService())
    for (const url of ['//admin', '/admin//', '/admin///1//'])
      t.equal((await server.inject({ url: `http://a${url}` })).statusCode, 200, url)
    t.equal((await server.inject({ url: 'http://a//closed//1' })).statusCode, 403)
    const removed = await server.inject({ method: 'DELETE', url: 'http://a/admin//' })
    t.equal(removed.statusCode, 400, 'an id is missing')
  }
})

t.test('where the server ignores a slash at the end, an id is missing there too', async (t) => {
  const app = openApp(t, { routerOptions: { ignoreTrailingSlash: true } })
  app.configure(rest()).use('admin', createService())
  calls.splice(0)
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    t.equal((await app.fastify.inject({ method, url: '/admin/' })).statusCode, 400, method)
    t.equal((await app.fastify.inject({ method, url: '/admin' })).statusCode, 200, method)
  }
  t.strictSame(calls, ['update', 'patch', 'remove'])
  t.equal((await app.fastify.inject('/admin/1/')).statusCode, 200)
})

/** Every form of URL that calls a service. */
const FORMS = [
  '/admin',
  '/admin/',
  '/admin/1',
  '/admin/1/',
  '/%61dmin/1',
  '/admin?a=1',
  '/admin/#x',
]

/** Services of which some are called by their names alone. */
const OFFERS = [ALL, ['greet'], ['find'], ['get'], ['create'], ['remove', 'greet']]

for (const methods of OFFERS) {
  t.test(`a hook of the host sees the service of every call, ${methods}`, async (t) => {
    const seen: unknown[] = []
    const server = await injectServer(t, 'plugin', {
      services: (app) => app.use('admin', createService(), { methods }),
      server: (host) =>
        host.addHook('onRequest', async ({ routeOptions }) => {
          seen.push((routeOptions.config as { service?: string }).service)
        }),
    })
    let count = 0
    for (const path of FORMS) {
      for (const method of VERBS) {
        for (const headers of [{}, { 'x-service-method': 'greet' }]) {
          seen.length = 0
          await server.request(path, { method, headers })
          const called = calls.splice(0)
          count += called.length
          if (called.length > 0) t.strictSame(seen, ['admin'], `${method} ${path} ${called}`)
        }
      }
    }
    t.ok(count > 0)
  })
}

t.test('an application mounted below a placeholder has its value, and no empty one', async (t) => {
  const find = async ({ route }: Params) => ({ ...route })
  const server = await startOwnServer(t, (app) =>
    app.use('/:tenant/sub', createApp().use('notes', { find, get: async () => ({}) })),
  )
  t.strictSame((await server.request('/acme/sub/notes')).body, { tenant: 'acme' })
  for (const path of ['//sub/notes', '//sub/notes/1', '/acme/sub//notes'])
    t.equal((await server.request(path)).status, 404, path)
})

/** Guards in front of `admin`, as they are written. */
const GUARDS: Readonly<Record<string, (app: FastifyApplication) => unknown>> = {
  'a function': (app) => app.use('/admin', (_request, reply) => reply.code(403).send({})),
  middie: (app) =>
    app.fastify.register(middie).after(() => {
      app.fastify.use('/admin', (_request: unknown, response: ServerResponse) =>
        response.writeHead(403, { 'content-length': 0 }).end(),
      )
    }),
}

for (const [title, guard] of Object.entries(GUARDS)) {
  t.test(`no spelling gets past ${title}`, async (t) => {
    const server = await startOwnServer(t, (app) => {
      guard(app)
      app.use('admin', createService(), { methods: ALL })
    })
    const forms = [
      ...FORMS,
      '/%61%64min',
      '/admin/..',
      '/admin/%2e%2e',
      '/admin/a%2Fb',
      '/admin/%20',
    ]
    for (const isLate of [false, true]) {
      if (isLate) server.app.use('late', createService())
      for (const path of [...forms, ...ODD, '*admin', '*admin/1']) {
        for (const verb of ['GET', 'POST', 'DELETE']) {
          const text = await server.raw(
            `${verb} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
          )
          t.match(text, /^HTTP\/1.1 40[034]/, `${verb} ${path}`)
        }
      }
    }
    t.strictSame(calls.splice(0), [])
  })
}

t.test('letters that only become those of a path in lower case are guarded too', async (t) => {
  const app = openApp(t, { routerOptions: { caseSensitive: false } })
  app.configure(rest()).use('/keys', (_request, reply) => reply.code(403).send({}))
  app.use('keys', createService())
  // The sign for Kelvin.
  for (const url of ['/%E2%84%AAeys', '/KEYS/1', '/%4Beys/'])
    t.equal((await app.fastify.inject(url)).statusCode, 403, url)
})

t.test('refuses paths that no request can have, and guards of patterns', async (t) => {
  const app = openApp(t)
  const guard = (): void => undefined
  for (const path of ['/admin/*', '/a//b', '/users/:id?', '/a(b)', '/v:version'] as const) {
    t.throws(() => app.use(path, guard), /must be a literal or one ':placeholder'/, path)
    t.throws(() => app.use(path, createService()), /must be a literal/, path)
  }
  const host = openHost(t)
  await t.rejects(
    (async () => host.register(remex, { app: createApp(), prefix: '/api//v1' }))(),
    /The prefix '\/api\/\/v1' must have one slash before each segment/,
  )
})

t.test('what the host has at the other forms of a path stays', async (t) => {
  const host: FastifyInstance = fastify()
  host.get('/admin/', async () => 'host').post('/admin/:name', async () => 'host')
  const app: Application = createApp().use('admin', createService())
  host.register(remex, { app })
  t.teardown(() => host.close())
  t.equal((await host.inject('/admin/')).body, 'host')
  t.equal((await host.inject({ method: 'POST', url: '/admin/1' })).body, 'host')
  t.equal((await host.inject('/admin/1')).statusCode, 200)
  t.equal((await host.inject('/admin/1/')).statusCode, 200)
  calls.splice(0)
})
