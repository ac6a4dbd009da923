import t from 'tap'
import type { Application } from '../../../src/transport/index.ts'
import { createApp, openapi, openapiDocument } from '../../../src/transport/index.ts'
import { startOwnServer } from '../../support/own-server.ts'

const INFO = { title: 'Notes', version: '1.2.3' }

const RECORD = { type: 'object', additionalProperties: true }

const LIST = { type: 'array', items: RECORD }

interface Operation {
  readonly operationId: string
  readonly responses: Record<string, { content?: { 'application/json': { schema: object } } }>
  readonly requestBody?: { content: { 'application/json': { schema: object } } }
  readonly parameters: readonly { name: string; in: string }[]
}

type Paths = Record<string, Record<string, Operation>>

async function readPaths(app: Application, options: object = {}): Promise<Paths> {
  return (await openapiDocument(app, { info: INFO, ...options })).paths as Paths
}

function createService(options?: object): object {
  const any = async (): Promise<object> => ({})
  const methods = { find: any, get: any, create: any, update: any, patch: any, remove: any }
  return options === undefined ? methods : { ...methods, options }
}

function toAnswer(operation: Operation | undefined, status: number): object | undefined {
  return operation?.responses[status]?.content?.['application/json'].schema
}

const PAGE = { properties: { total: Object, limit: Object, skip: Object, data: LIST } }

const PAGINGS: readonly [title: string, options: object | undefined, schema: object][] = [
  ['pages, where there is a default size', { paginate: { default: 5 } }, PAGE],
  ['lists, where there are no pages', { paginate: false }, LIST],
  ['lists, where there is an upper bound alone', { paginate: { max: 5 } }, LIST],
  ['either, where nobody knows', undefined, { oneOf: [PAGE, LIST] }],
]

for (const [title, options, schema] of PAGINGS) {
  t.test(`find answers with ${title}`, async (t) => {
    const app = createApp().use('notes', createService(options))
    t.match(toAnswer((await readPaths(app))['/notes']?.['get'], 200), schema)
  })
}

t.test('pages have cursors where the query may ask for them', async (t) => {
  const query = { type: 'object', properties: { $after: { type: 'string' } } }
  const schemas = { entity: { type: 'object', properties: { id: {} } }, query } as const
  const readFind = async (paginate: object | false, given: object) => {
    const service = { find: async () => ({}), options: { paginate } }
    const app = createApp().use('notes', service, { schemas: given } as never)
    const document = await openapiDocument(app, { info: INFO })
    const { parameters, schemas: named } = document.components as Record<string, object>
    return { parameters, page: (named as Record<string, object>)['NotesPage'] }
  }
  const { page, parameters } = await readFind({ default: 5 }, schemas)
  t.match(page, {
    required: ['limit', 'data'],
    properties: { nextCursor: Object, hasNext: Object },
  })
  t.match(parameters, { 'Notes.after': Object })
  const closed = { ...schemas, query: { type: 'object', properties: { $limit: {} } } }
  const plain = (await readFind({ default: 5 }, closed)).page
  t.match(plain, { required: ['total', 'limit', 'skip', 'data'] })
  t.notMatch(plain, { properties: { nextCursor: Object } })
  t.strictSame((await readFind(false, schemas)).parameters, {}, 'a service without pages')
})

t.test('many records are written where the service allows it', async (t) => {
  const app = createApp()
  app.use('one', createService({ multi: false })).use('all', createService({ multi: true }))
  app.use('some', createService({ multi: ['create'] })).use('unknown', createService())
  const paths = await readPaths(app)
  const verbs = (path: string): string => Object.keys(paths[path] ?? {}).join()
  t.strictSame(['/one', '/all', '/some', '/unknown'].map(verbs), [
    'get,post',
    'get,post,patch,delete',
    'get,post',
    'get,post',
  ])
  t.strictSame(toAnswer(paths['/one']?.['post'], 201), RECORD)
  t.strictSame(toAnswer(paths['/some']?.['post'], 201), { anyOf: [RECORD, LIST] })
  const { schema } = paths['/some']?.['post']?.requestBody?.content['application/json'] ?? {}
  t.strictSame(schema, { anyOf: [RECORD, LIST] })
  t.strictSame(toAnswer(paths['/all']?.['patch'], 200), LIST)
})

t.test('placeholders of services, sub-applications and prefixes are parameters', async (t) => {
  const messages = createApp().use('messages/:id/parts', createService())
  const app = createApp().use('users/:userId', messages).use('/', createService())
  const paths = await readPaths(app, { prefix: '/:tenant' })
  t.strictSame(Object.keys(paths), [
    '/{tenant}/users/{userId}/messages/{id}/parts',
    '/{tenant}/users/{userId}/messages/{id}/parts/{_id}',
    '/{tenant}',
    '/{tenant}/{id}',
  ])
  const one = paths['/{tenant}/users/{userId}/messages/{id}/parts/{_id}']?.['get']
  const names = one?.parameters.filter((it) => it.in === 'path').map(({ name }) => name)
  t.strictSame(names, ['tenant', 'userId', 'id', '_id'])
})

t.test('of two paths that fit the same requests the first one counts', async (t) => {
  const app = createApp().use('notes', createService()).use('notes/:noteId', createService())
  t.strictSame(Object.keys(await readPaths(app)), ['/notes', '/notes/{id}', '/notes/{noteId}/{id}'])
})

t.test('each operation has an id of its own', async (t) => {
  const app = createApp()
  for (const path of ['a/b', 'a-b', 'a/:b', 'aB']) app.use(path, createService({ multi: true }))
  const operations = Object.values(await readPaths(app)).flatMap((item) => Object.values(item))
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(new Set(ids).size, ids.length)
  for (const id of ids) t.match(id, /^[a-z][A-Za-z0-9]*$/)
  t.ok(ids.includes('findAB') && ids.includes('removeManyAByB'))
})

t.test('only methods for callers outside are in it', async (t) => {
  const app = createApp().use('notes', createService(), { methods: ['get'] })
  t.strictSame(Object.keys(await readPaths(app)), ['/notes/{id}'])
})

t.test('a service that callers outside can not call is not named at all', async (t) => {
  const app = createApp().use('notes', createService())
  app.use('secret-jobs', createService(), { methods: [] })
  app.use('inner/:secretId', { setup: async () => undefined })
  const document = await openapiDocument(app, { info: INFO })
  t.strictSame(document.tags, [{ name: 'notes' }])
  t.notMatch(JSON.stringify(document), /secret/i)
})

t.test('the errors that can occur are named', async (t) => {
  const paths = await readPaths(createApp().use('notes', createService()))
  const codes = (operation: Operation | undefined) => Object.keys(operation?.responses ?? {})
  t.strictSame(codes(paths['/notes']?.['get']), ['200', '204', '400', 'default'])
  t.strictSame(codes(paths['/notes/{id}']?.['patch']), [
    '200',
    '204',
    '400',
    '404',
    '409',
    'default',
  ])
})

t.test('functions of app.use() guard the page and the document', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.use('/docs', (_request, reply) => reply.code(418).send('not for you'))
    app.use('notes', createService() as never)
    app.configure(openapi({ info: INFO }))
  })
  for (const path of [
    '/docs',
    '/docs/',
    '/docs/json',
    '/docs/yaml',
    '/docs/static/swagger-ui.css',
  ]) {
    const { status, text } = await server.request(path, { ownErrorBody: true })
    t.strictSame([status, text], [418, 'not for you'], path)
  }
})
