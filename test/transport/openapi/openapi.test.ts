import fastifySwagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import fastify from 'fastify'
import t from 'tap'
import { parse } from 'yaml'
import {
  AuthenticationService,
  authenticate,
  JwtStrategy,
  LocalStrategy,
  oauth,
} from '../../../src/auth/index.ts'
import type { Application, OpenApiDocument, OpenApiOptions } from '../../../src/transport/index.ts'
import {
  createApp,
  fastifyApp,
  openapi,
  openapiDocument,
  remex,
  rest,
} from '../../../src/transport/index.ts'
import type { TestServer } from '../../support/http.ts'
import { injectServer, MODES } from '../../support/http.ts'
import { startOwnServer } from '../../support/own-server.ts'

const INFO = { title: 'Notes', version: '1.2.3' }

/** A service with a custom method, without schemas. */
class NoteService {
  readonly options = { paginate: { default: 10 }, multi: ['remove'] }
  async find(): Promise<object> {
    return []
  }
  async get(id: string): Promise<object> {
    return { id }
  }
  async create(data: object): Promise<object> {
    return data
  }
  async remove(id: string | null): Promise<object> {
    return { id }
  }
  async ping(data: object): Promise<object> {
    return data
  }
}

const METHODS = ['find', 'get', 'create', 'remove', 'ping']

function addNotes(app: Application, options: Partial<OpenApiOptions> = {}): void {
  app.use('notes', new NoteService(), { methods: METHODS })
  app.configure(openapi({ info: INFO, ...options }))
}

async function readDocument(server: TestServer, path = '/docs/json'): Promise<OpenApiDocument> {
  const { status, body } = await server.request(path)
  if (status !== 200) throw new Error(`No document: ${status}`)
  return body as OpenApiDocument
}

function listOperations({ paths }: OpenApiDocument): string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((verb) => `${verb} ${path}`),
  )
}

for (const mode of MODES) {
  t.test(`${mode}: serves a document of every service, and its page`, async (t) => {
    const server = await injectServer(t, { services: (app) => addNotes(app) }, mode)
    const document = await readDocument(server)
    const { prefix } = server
    t.match(document, { openapi: '3.1.0', info: INFO, tags: [{ name: 'notes' }] })
    const own = listOperations(document).filter((name) => name.includes('notes'))
    t.strictSame(own.sort(), [
      `delete ${prefix}/notes`,
      `delete ${prefix}/notes/{id}`,
      `get ${prefix}/notes`,
      `get ${prefix}/notes/{id}`,
      `post ${prefix}/notes`,
      `post ${prefix}/notes#ping`,
    ])
    t.match(await new Validator().validate(document), { valid: true })
    const page = await server.request('/docs/')
    t.match(page, { status: 200, headers: { 'content-type': /^text\/html/ }, text: /swagger-ui/ })
    t.notMatch(page.text, /https?:\/\//, 'nothing of the page comes from elsewhere')
  })

  t.test(`${mode}: services that come and go after the start do so in the document`, async (t) => {
    const server = await injectServer(t, { services: (app) => addNotes(app) }, mode)
    const { prefix } = server
    t.notOk((await readDocument(server)).paths[`${prefix}/later`])
    server.app.use('later', { find: async () => [] })
    t.ok((await readDocument(server)).paths[`${prefix}/later`])
    await server.app.unuse('later')
    t.notOk((await readDocument(server)).paths[`${prefix}/later`])
  })

  t.test(
    `${mode}: a late service that can not be described is left out, and told once`,
    async (t) => {
      const server = await injectServer(t, { services: (app) => addNotes(app) }, mode)
      const create = { type: 'object', properties: { text: { type: 'string', minLengt: 1 } } }
      server.app.use('later', { create: async () => ({}) }, { schemas: { create } })
      const { paths } = await readDocument(server)
      t.ok(paths[`${server.prefix}/notes`])
      t.notOk(paths[`${server.prefix}/later`])
      t.match(await server.request('/docs/yaml'), { status: 200, text: /openapi/ })
      const told = server.logged.filter(({ message }) => message?.includes('openapi()'))
      t.match(told, [{ details: { path: 'later', err: { message: /minLengt/ } } }])
      t.equal(told.length, 1)
      await t.rejects(openapiDocument(server.app, { info: INFO }), /minLengt/)
      await openapiDocument(server.app, { info: INFO, exclude: ['later'] })
    },
  )

  t.test(`${mode}: the page has a slash at its end, told by a relative path`, async (t) => {
    const server = await injectServer(t, { services: (app) => addNotes(app) }, mode)
    const { status, headers } = await server.request('/docs?a=1&b=?')
    t.strictSame([status, headers.location], [308, './docs/?a=1&b=?'])
  })

  t.test(`${mode}: HEAD has no body, and caches ask whether the document is new`, async (t) => {
    const server = await injectServer(t, { services: (app) => addNotes(app) }, mode)
    const { headers } = await server.request('/docs/json')
    t.match(headers, { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
    const head = await server.request('/docs/json', { method: 'HEAD' })
    t.match(head, { status: 200, text: '', headers: { etag: headers.etag } })
    const again = { headers: { 'if-none-match': String(headers.etag) } }
    t.match(await server.request('/docs/json', again), { status: 304, text: '' })
    for (const tags of [`W/${headers.etag}`, `"other", ${headers.etag}`, '*']) {
      const request = { headers: { 'if-none-match': tags } }
      t.match(await server.request('/docs/json', request), { status: 304 }, tags)
    }
    server.app.use('later', { find: async () => [] })
    t.match(await server.request('/docs/json', again), { status: 200 })
  })
}

t.test('the document is written once, however often it is asked for', async (t) => {
  let writes = 0
  const transform = (document: OpenApiDocument): OpenApiDocument => {
    const info = {
      version: '1',
      get title() {
        writes += 1
        return 'Notes'
      },
    }
    return { ...document, info }
  }
  const server = await startOwnServer(t, (app) => addNotes(app, { transform }))
  for (const _round of [1, 2]) {
    const paths = ['/docs/json', '/docs/yaml', '/docs/yaml?again', '/docs/%79aml']
    const answers = await Promise.all(paths.map((path) => server.request(path)))
    t.match(answers, [
      { body: { info: { title: 'Notes' } } },
      ...[1, 2, 3].map(() => ({ status: 200, text: /^info:|\ninfo:\n {2}version: "1"/ })),
    ])
    t.equal(writes, 1)
    const [, { headers } = {}] = answers
    t.match(headers, { 'content-type': 'application/x-yaml' })
    const again = { headers: { 'if-none-match': String(headers?.etag) } }
    t.match(await server.request('/docs/yaml', again), { status: 304, text: '' })
    t.match(await server.request('/docs/yaml', { method: 'HEAD' }), { status: 200, text: '' })
  }
  server.app.use('later', { find: async () => [] })
  t.match(await server.request('/docs/yaml'), { text: /\/later:/ })
  t.equal(writes, 2, 'services may come late')
})

t.test('the document says the same as YAML, whatever a transform has put into it', async (t) => {
  const members = { 'x-at': new Date(0), 'x-map': new Map([['a', 1]]), 'x-call': () => 1 }
  const transform = (document: OpenApiDocument): OpenApiDocument => ({ ...document, ...members })
  const server = await startOwnServer(t, (app) => addNotes(app, { transform }))
  const { body } = await server.request('/docs/json')
  const { text } = await server.request('/docs/yaml')
  t.strictSame(parse(text), body)
})

t.test('a lenient router leads to the page and the document as well', async (t) => {
  const routerOptions = { caseSensitive: false, ignoreTrailingSlash: true }
  const app = fastifyApp(createApp(), fastify({ routerOptions })).configure(rest())
  t.teardown(() => app.close())
  addNotes(app)
  await app.fastify.ready()
  const { headers } = await app.fastify.inject('/DOCS')
  t.equal(headers.location, './DOCS/')
  for (const path of ['/docs/json/', '/Docs/JSON']) {
    t.match((await app.fastify.inject(path)).json(), { info: INFO }, path)
  }
})

t.test('the page may load nothing but its own files', async (t) => {
  const server = await injectServer(t, { services: (app) => addNotes(app) })
  const { headers } = await server.request('/docs/')
  t.match(headers['content-security-policy'], "script-src 'self'; script-src-attr 'none'")
  t.notMatch(headers['content-security-policy'], 'https:')
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-initializer.js']) {
    t.equal((await server.request(`/docs/static/${file}`)).status, 200, file)
  }
  t.equal((await server.request('/docs/static/nothing.js')).status, 404)
  const notes = await server.request('/notes')
  t.notOk(notes.headers['content-security-policy'], 'services are as before')
})

t.test('routes of the server are in the document too, not those of probes', async (t) => {
  const schema = { params: { type: 'object', properties: { name: { type: 'string' } } } }
  const server = await startOwnServer(t, (app) => {
    addNotes(app)
    app.fastify.get('/hello/:name', { schema }, async () => 'hello')
    app.fastify.register(async (scope) => scope.get('/nested', async () => 'nested'))
  })
  const { paths } = await readDocument(server)
  t.match(paths['/hello/{name}'], { get: { parameters: [{ name: 'name', in: 'path' }] } })
  t.ok(paths['/nested'])
  const others = Object.keys(paths).filter((path) => /health|\*|docs|__id/.test(path))
  t.strictSame(others, [])
})

t.test('a host that documents its routes by itself keeps its document', async (t) => {
  const host = fastify()
  t.teardown(() => host.close())
  const app = createApp()
  addNotes(app)
  const options = { info: INFO, prefix: '/api' }
  await host.register(fastifySwagger, { openapi: await openapiDocument(app, options) })
  await host.register(remex, { app, prefix: '/api' })
  host.get('/own', async () => 'own')
  await host.ready()
  const own = host.swagger() as unknown as OpenApiDocument
  t.strictSame(
    listOperations(own).filter((name) => !name.includes('/api/notes')),
    ['get /own'],
  )
  t.ok(own.paths['/api/notes#ping'])
  t.match(await new Validator().validate(own), { valid: true })
  const { paths } = (await host.inject('/api/docs/json')).json<OpenApiDocument>()
  t.ok(paths['/own'] && paths['/api/notes'])
})

t.test(
  'a host that documents its routes in Swagger 2.0 has services in the document alone',
  async (t) => {
    const host = fastify()
    t.teardown(() => host.close())
    const app = createApp()
    addNotes(app)
    await host.register(fastifySwagger, { swagger: { info: INFO } })
    host.get('/own', async () => 'own')
    await host.register(remex, { app })
    await host.ready()
    const document = (await host.inject('/docs/json')).json<OpenApiDocument>()
    t.match(await new Validator().validate(document), { valid: true })
    t.ok(document.paths['/notes'])
  },
)

t.test('two applications in one server have a document each', async (t) => {
  const host = fastify()
  t.teardown(() => host.close())
  for (const name of ['first', 'second']) {
    const app = createApp()
    app.use(name, { find: async () => [] }).configure(openapi({ info: { ...INFO, title: name } }))
    await host.register(remex, { app, prefix: `/${name}` })
  }
  for (const name of ['first', 'second']) {
    const document = (await host.inject(`/${name}/docs/json`)).json<OpenApiDocument>()
    t.equal(document.info.title, name)
    t.strictSame(listOperations(document), [`get /${name}/${name}`])
  }
})

t.test('leaves out what it is told to, and lets the application add to it', async (t) => {
  const transform = (document: OpenApiDocument): OpenApiDocument => {
    Object.assign(document.paths['/notes']?.['get'] ?? {}, { summary: 'All notes' })
    return { ...document, 'x-own': true }
  }
  const server = await startOwnServer(t, (app) => {
    addNotes(app, {
      path: '/about/api',
      exclude: ['/secret'],
      servers: [{ url: '/shop' }],
      transform,
    })
    app.use('secret', { find: async () => [] })
  })
  const document = await readDocument(server, '/about/api/json')
  t.match(document, { 'x-own': true, servers: [{ url: '/shop' }] })
  t.match(document.paths['/notes'], { get: { summary: 'All notes' } })
  t.notOk(document.paths['/secret'])
})

t.test('a service of pages takes any Accept header, and is in no document', async (t) => {
  const server = await startOwnServer(t, (app) => {
    addNotes(app)
    app.use(
      'start',
      { create: async () => ({}), get: async (id: string) => ({ id }) },
      { page: true },
    )
  })
  const headers = { accept: 'text/html' }
  for (const [path, status] of [
    ['/start', 201],
    ['/notes', 406],
  ] as const) {
    t.equal((await server.request(path, { data: {}, headers })).status, status, path)
  }
  t.equal((await server.request('/start/1', { headers })).status, 200)
  t.equal((await server.request('/notes/1', { headers })).status, 406)
  t.strictSame(Object.keys((await readDocument(server)).paths), [
    '/notes',
    '/notes/{id}',
    '/notes#ping',
  ])
})

t.test('warns of names to leave out that no service has', async (t) => {
  const server = await startOwnServer(t, (app) => addNotes(app, { exclude: ['nots'] }))
  t.match(server.logged, [{ details: { services: ['nots'] }, message: /option 'exclude'/ }])
})

t.test('a transform that returns no document is told at the start', async (t) => {
  const app = fastifyApp(createApp()).configure(rest())
  t.teardown(() => app.close())
  addNotes(app, { transform: (() => undefined) as never })
  const message = "openapi(): the function 'transform' must return the document, not undefined"
  await t.rejects(app.listen(), { name: 'TypeError', message })
})

t.test('a bearer token is asked for where the authenticate hook stands', async (t) => {
  const app = createApp()
  addNotes(app)
  app.use('open', { find: async () => [], get: async () => ({}), create: async () => ({}) })
  app.service('notes').hooks({ around: { all: [authenticate('jwt')] } })
  app.service('open').hooks({
    before: { create: [authenticate('jwt')], get: [authenticate('jwt', 'anonymous')] },
  })
  const { paths, components } = await openapiDocument(app, { info: INFO })
  t.match(components['securitySchemes'], { bearer: { type: 'http', scheme: 'bearer' } })
  for (const item of [paths['/notes'], paths['/notes/{id}'], paths['/notes#ping']]) {
    for (const operation of Object.values(item ?? {})) {
      t.match(operation, { security: [{ bearer: [] }], responses: { 401: Object } })
    }
  }
  t.match(paths['/open'], { post: { security: [{ bearer: [] }] } })
  t.match(paths['/open/{id}'], { get: { security: [{ bearer: [] }, {}] } })
  t.notHas(paths['/open']?.['get'], { security: [] })
})

t.test('what proves who calls is what the strategies say', async (t) => {
  const app = createApp()
  addNotes(app)
  app.set('authentication', {
    secret: 'a secret of the tests, with 32 bytes and more',
    entity: null,
    authStrategies: ['jwt', 'key', 'silent'],
    jwt: { header: 'X-Token', schemes: ['Token'] },
  })
  const prove = async () => ({})
  const securityScheme = { type: 'apiKey', in: 'header', name: 'X-API-Key' }
  const authentication = new AuthenticationService(app)
    .register('jwt', new JwtStrategy())
    .register('key', { authenticate: prove, securityScheme })
    .register('silent', { authenticate: prove })
  app.use('authentication', authentication)
  app.service('notes').hooks({
    before: {
      find: [authenticate('jwt', 'key')],
      create: [authenticate('key', 'anonymous')],
      get: [authenticate('silent')],
    },
  })
  const { paths, components } = await openapiDocument(app, { info: INFO })
  t.match(components['securitySchemes'], {
    jwt: { type: 'apiKey', in: 'header', name: 'X-Token' },
    key: securityScheme,
  })
  t.notOk(components['securitySchemes']?.['bearer'])
  t.match(paths['/notes'], {
    get: { security: [{ jwt: [] }, { key: [] }] },
    post: { security: [{ key: [] }, {}] },
  })
  t.match(paths['/notes/{id}'], { get: { security: undefined, responses: { 401: Object } } })
})

t.test(
  'an authentication service has a login and a logout, the pages of OAuth nothing',
  async (t) => {
    const app = createApp()
    app.set('authentication', {
      secret: 'a secret of the tests, with 32 bytes and more',
      entity: null,
      authStrategies: ['jwt'],
      oauth: { github: { key: 'id', secret: 'secret' } },
    })
    const authentication = new AuthenticationService(app)
    authentication.register('jwt', new JwtStrategy())
    app.use('authentication', authentication).configure(oauth())
    const document = await openapiDocument(app, { info: INFO })
    t.strictSame(listOperations(document).sort(), [
      'delete /authentication',
      'post /authentication',
    ])
    t.match(document.paths['/authentication'], {
      post: { operationId: 'createAuthentication', summary: 'Log in' },
      delete: { summary: 'Log out', security: [{ bearer: [] }] },
    })
    t.match(document.components['schemas'], {
      AuthenticationCreateData: { properties: { strategy: { enum: ['jwt'] } } },
    })
    t.match(await new Validator().validate(document), { valid: true })
  },
)

t.test('a login by a password has an example, which a page sends as it is', async (t) => {
  const app = createApp().use('users', { get: async () => ({}), id: '_id' } as never)
  app.set('authentication', {
    ...{ secret: 'x'.repeat(32), entity: 'user', service: 'users' },
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'email', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app as never)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication as never)
  const { components } = await openapiDocument(app as never, { info: INFO })
  const login = { strategy: 'local', email: 'ann@example.org', password: 'correct horse battery' }
  t.match(components['schemas'], { AuthenticationCreateData: { examples: [login] } })
})

t.test('names what is wrong with its options and its place', async (t) => {
  const wrong: [options: unknown, message: RegExp][] = [
    [{}, /needs the option 'info'/],
    [{ info: INFO, pth: '/docs' }, /unknown option 'pth'; did you mean 'path'\?/],
    [{ info: { title: 'Notes' } }, /'info' must be an object with a title and a version/],
    [{ info: INFO, path: 'docs' }, /'path' must be a path of plain segments/],
    [{ info: INFO, path: '/:tenant/docs' }, /'path' must be a path of plain segments/],
    [{ info: INFO, servers: ['/'] }, /'servers' must be a list of objects/],
  ]
  for (const [options, message] of wrong) {
    t.throws(() => openapi(options as OpenApiOptions), { name: 'TypeError', message })
  }
  await t.rejects(openapiDocument(createApp(), { info: INFO, path: '/' } as never), {
    message: /openapiDocument\(\): unknown option 'path'/,
  })
  const twice = createApp().configure(openapi({ info: INFO }))
  t.throws(() => twice.configure(openapi({ info: INFO })), /has openapi\(\) already/)
  const started = fastifyApp(createApp()).configure(rest())
  t.teardown(() => started.close())
  await started.listen()
  t.throws(() => started.configure(openapi({ info: INFO })), /application has started/)
  const taken = fastifyApp(createApp()).configure(rest())
  t.teardown(() => taken.close())
  addNotes(taken, { path: '/notes' })
  await t.rejects(taken.listen(), /there is a service at '\/notes': set the option 'path'/)
  const host = fastify()
  t.teardown(() => host.close())
  host.get('/api/docs', async () => 'own')
  const app = createApp()
  addNotes(app)
  await t.rejects(async () => host.register(remex, { app, prefix: '/api' }), {
    message: "openapi(): there is a route at '/api/docs': set the option 'path'",
  })
})
