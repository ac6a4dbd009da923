import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import {
  AccountService,
  ApiKeyStrategy,
  AuthenticationService,
  authenticate,
  JwtStrategy,
  LocalStrategy,
} from '../../../src/auth/index.ts'
import type { Application, OpenApiDocument } from '../../../src/transport/index.ts'
import {
  authenticateRequest,
  createApp,
  openapi,
  openapiDocument,
} from '../../../src/transport/index.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { SECRET } from '../../support/users.ts'

const INFO = { title: 'Notes', version: '1.2.3' }
const BEARER = { security: [{ bearer: [] }], responses: { 401: Object } }

const leave = async () => undefined

/** A collection that nothing is written to. */
const TOKENS = { createIndex: leave, updateOne: leave, findOneAndDelete: leave } as never

/** Returns a service with all methods, as that of MongoDB has them. */
function createRecords(): object {
  const answer = async () => ({})
  const methods = { find: answer, get: answer, create: answer, update: answer }
  return { ...methods, patch: answer, remove: answer, options: { multi: true }, id: '_id' }
}

/** Adds users who log in by a password, with these settings and strategies beside. */
function addLogin(app: Application, settings: object = {}): AuthenticationService {
  app.use('users', createRecords())
  app.set('authentication', {
    ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
    local: { usernameField: 'email', passwordField: 'password' },
    ...settings,
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  return authentication
}

/** Resolves to the document of an application, once it is valid. */
async function read(app: Application): Promise<OpenApiDocument> {
  const document = await openapiDocument(app, { info: INFO })
  const { valid, errors } = await new Validator().validate(document)
  t.ok(valid, JSON.stringify(errors))
  return document
}

function listVerbs({ paths }: OpenApiDocument, path: string): string[] {
  return [path, `${path}/{id}`].flatMap((place) =>
    Object.keys(paths[place] ?? {}).map((verb) => `${verb} ${place}`),
  )
}

t.test('sessions and API keys are documented as their guards let callers use them', async (t) => {
  const app = createApp()
  app.use('sessions', createRecords()).use('keys', createRecords())
  addLogin(app, {
    parseStrategies: ['jwt', 'api-key'],
    sessions: { service: 'sessions' },
    'api-key': { service: '/keys/', prefix: 'acme', scopes: ['read'] },
  }).register('api-key', new ApiKeyStrategy())
  const document = await read(app)
  const { paths, components } = document
  t.strictSame(listVerbs(document, '/sessions'), [
    'get /sessions',
    'get /sessions/{id}',
    'delete /sessions/{id}',
  ])
  t.strictSame(listVerbs(document, '/keys'), [
    'get /keys',
    'post /keys',
    'get /keys/{id}',
    'delete /keys/{id}',
  ])
  for (const place of ['/sessions', '/sessions/{id}', '/keys', '/keys/{id}']) {
    for (const operation of Object.values(paths[place] ?? {})) t.match(operation, BEARER, place)
  }
  t.match(components['schemas'], {
    Sessions: { properties: { current: { type: 'boolean' } } },
    Keys: { properties: { start: { type: 'string' }, key: undefined } },
    KeysCreateData: { properties: { scopes: { items: { enum: ['read'] } } } },
    CreateKeysResult: { required: /key/, properties: { key: { type: 'string' } } },
  })
  t.notMatch(JSON.stringify(document), /secretHash|tokenHash/)
  t.strictSame(
    Object.keys(components['parameters'] ?? {}).filter((name) => /^(Keys|Sessions)\./.test(name)),
    ['Sessions.limit', 'Sessions.skip', 'Sessions.sort', 'Keys.limit', 'Keys.skip', 'Keys.sort'],
  )
})

t.test('schemas of the application describe keys before the own ones do', async (t) => {
  const app = createApp()
  const create = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  app.use('keys', createRecords(), { schemas: { create } })
  addLogin(app, {
    parseStrategies: ['jwt', 'api-key'],
    'api-key': { service: 'keys', prefix: 'acme' },
  }).register('api-key', new ApiKeyStrategy())
  const { paths, components } = await read(app)
  t.match(paths['/keys'], { post: BEARER })
  t.strictSame(Object.keys(components['schemas']?.['KeysCreateData'] as object).sort(), [
    'additionalProperties',
    'properties',
    'required',
    'type',
  ])
  t.match(components['schemas'], { KeysCreateData: { properties: { scopes: undefined } } })
})

t.test('methods of accounts say what they take, and which of them need a login', async (t) => {
  const app = createApp()
  const methods = [
    'requestReset',
    'resetPassword',
    'changePassword',
    'changeEmail',
    'ping',
  ] as const
  class Accounts extends AccountService {
    async ping() {
      return {}
    }
  }
  const accounts = new Accounts(app, { notify: () => undefined, tokens: TOKENS })
  app.use('accounts', accounts, { methods })
  addLogin(app)
  const { paths, components } = await read(app)
  for (const name of ['changePassword', 'changeEmail']) {
    t.match(paths[`/accounts#${name}`], { post: BEARER }, name)
  }
  for (const name of ['requestReset', 'resetPassword', 'ping']) {
    t.notHas(paths[`/accounts#${name}`]?.['post'], { security: [] }, name)
  }
  t.match(components['schemas'], {
    AccountsRequestResetData: { required: ['email'], additionalProperties: false },
    AccountsChangePasswordData: { required: ['password', 'newPassword'] },
  })
})

t.test('a document without an authentication service says of accounts what it can', async (t) => {
  const app = createApp()
  const options = { notify: () => undefined, tokens: TOKENS, authentication: 'staff-login' }
  app.use('accounts', new AccountService(app, options), { methods: ['changePassword'] })
  const { paths } = await read(app)
  t.match(paths['/accounts#changePassword'], { post: { responses: { 401: Object } } })
})

t.test('an authenticate hook counts wherever it is registered', async (t) => {
  const places: [name: string, add: (app: Application) => void][] = [
    ['app.hooks', (app) => app.hooks([authenticate('jwt')])],
    ['around all of the app', (app) => app.hooks({ around: { all: [authenticate('jwt')] } })],
    ['before of the app', (app) => app.hooks({ before: { find: [authenticate('jwt')] } })],
    ['a list', (app) => app.service('notes').hooks([authenticate('jwt')])],
    ['a method', (app) => app.service('notes').hooks({ find: [authenticate('jwt')] })],
    ['around', (app) => app.service('notes').hooks({ around: { find: [authenticate('jwt')] } })],
    ['before', (app) => app.service('notes').hooks({ before: { all: [authenticate('jwt')] } })],
  ]
  for (const [name, add] of places) {
    const app = createApp().use('notes', { find: async () => [] })
    add(app)
    t.match((await read(app)).paths['/notes'], { get: BEARER }, name)
  }
})

t.test('of several hooks, the strategies count that pass all of them', async (t) => {
  const app = createApp().use('notes', { find: async () => [] })
  addLogin(app)
  app.hooks({ before: { find: [authenticate('jwt', 'anonymous')] } })
  const open = await read(app)
  t.match(open.paths['/notes'], { get: { security: [{ bearer: [] }, {}] } })
  app.service('notes').hooks({ before: { find: [authenticate('local', 'jwt')] } })
  const { paths } = await read(app)
  const find = paths['/notes']?.['get'] as { security: object }
  t.strictSame(find.security, [{ bearer: [] }])
})

t.test('each authentication service has schemes of its own', async (t) => {
  const app = createApp().use('notes', createRecords()).use('reports', createRecords())
  addLogin(app)
  app.set('staff', {
    ...{ secret: SECRET, entity: null, authStrategies: ['jwt'], jwt: { header: 'X-Staff' } },
  })
  const staff = new AuthenticationService(app, 'staff').register('jwt', new JwtStrategy())
  app.use('staff-login', staff)
  app.service('notes').hooks([authenticate('jwt')])
  app.service('reports').hooks([authenticate({ service: 'staff-login', strategies: ['jwt'] })])
  const { paths, components } = await read(app)
  t.match(paths['/notes'], { get: BEARER })
  const staffOnly = { security: [{ jwt: [] }] }
  t.match(paths['/reports'], { get: staffOnly })
  t.match(paths['/staff-login'], { delete: staffOnly })
  t.match(components['securitySchemes'], {
    bearer: { type: 'http' },
    jwt: { type: 'apiKey', in: 'header', name: 'X-Staff' },
  })
})

t.test('tokens in cookies are in no body, and prove who calls', async (t) => {
  const cookies: [cookie: boolean | 'all', result: string[], security: string[]][] = [
    [false, ['accessToken', 'refreshToken', 'authentication', 'user'], ['bearer']],
    [true, ['accessToken', 'authentication', 'user'], ['bearer']],
    ['all', ['authentication', 'user'], ['bearer', 'cookie']],
  ]
  for (const [cookie, result, security] of cookies) {
    const app = createApp().use('sessions', createRecords()).use('notes', createRecords())
    addLogin(app, { sessions: { service: 'sessions', cookie } })
    app.service('notes').hooks([authenticate('jwt')])
    const { paths, components } = await read(app)
    const { schemas, securitySchemes } = components
    const wanted = security.map((name) => ({ [name]: [] }))
    const places = [paths['/notes']?.['get'], paths['/sessions']?.['get']]
    for (const place of places) t.strictSame((place as { security: object }).security, wanted)
    const logout = cookie ? [...wanted, { refreshCookie: [] }] : wanted
    const remove = paths['/authentication']?.['delete'] as { security: object }
    t.strictSame(remove.security, logout)
    const login = schemas?.['AuthenticationResult'] as { properties: object; required: string[] }
    t.strictSame(Object.keys(login.properties), result)
    t.equal(login.required.includes('accessToken'), cookie !== 'all')
    const data = schemas?.['AuthenticationCreateData'] as { properties: object }
    t.equal('refreshToken' in data.properties, !cookie)
    t.match(securitySchemes, {
      ...(cookie === 'all' && {
        cookie: { type: 'apiKey', in: 'cookie', name: '__Host-authentication-access' },
      }),
      ...(cookie && { refreshCookie: { name: '__Host-authentication-refresh' } }),
    })
  }
})

t.test('routes and services behind authenticateRequest say so', async (t) => {
  const server = await startOwnServer(t, (app) => {
    addLogin(app)
    const guard = authenticateRequest(app, 'jwt')
    app.configure(openapi({ info: INFO }))
    const reply = async () => 'ok'
    const schema = { security: [{}], summary: 'Mine' }
    app.fastify.get('/handler', { preHandler: [async () => undefined, guard] }, reply)
    app.fastify.get('/request', { onRequest: guard }, reply)
    app.fastify.get('/own', { preHandler: guard, schema }, reply)
    app.fastify.get('/open', reply)
    app.use('notes', guard, createRecords())
  })
  const document = (await server.request('/docs/json')).body as OpenApiDocument
  t.match(await new Validator().validate(document), { valid: true })
  const { paths, components } = document
  for (const place of ['/handler', '/request', '/notes']) {
    t.match(paths[place], { get: { security: [{ bearer: [] }] } }, place)
  }
  t.match(paths['/own'], { get: { security: [{}], summary: 'Mine' } })
  t.notHas(paths['/open']?.['get'], { security: [] })
  t.match(components['securitySchemes'], { bearer: { type: 'http' } })
})

t.test('an authentication service of another make is described without extensions', async (t) => {
  const app = createApp() as unknown as Application
  addLogin(app)
  const own = app.service('authentication') as unknown as AuthenticationService
  const { configuration } = own
  app.use('other', {
    ...{ configKey: 'other', configuration, strategyNames: ['jwt'], parseStrategies: ['jwt'] },
    ...{ getStrategy: () => undefined, getStrategies: () => [] },
    authenticate: async () => ({}),
    create: async () => ({}),
  })
  const { paths } = await openapiDocument(app, { info: INFO })
  t.match(paths, { '/other': { post: Object } })
})
