import t from 'tap'
import { idempotent, MongoDBService } from '../../../src/adapter/index.ts'
import { rateLimit } from '../../../src/auth/index.ts'
import { createApp, openapiDocument } from '../../../src/transport/index.ts'
import { idleCollection } from '../../support/idle-collection.ts'

interface Operation {
  readonly parameters: readonly { readonly name?: string; readonly in?: string }[]
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

/** Resolves to what the document says of conditional requests, by verb and path. */
async function readConditions(options: object, served: object = {}) {
  const app = createApp()
  app.use('notes', new MongoDBService({ Model: idleCollection, ...options }), served)
  const document = await openapiDocument(app, { info: { title: 'Notes', version: '1' } })
  const paths = document.paths as Record<string, Record<string, Operation>>
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, { parameters, responses }]) => {
      const given = parameters.flatMap((one) => (one.in === 'header' ? [one.name] : []))
      const statuses = Object.keys(responses).filter((code) => /304|412|428/.test(code))
      const headers = Object.keys((responses['200'] ?? responses['201'])?.headers ?? {})
      return [`${verb} ${path}`, [...given, ...statuses, ...headers].join(' ')] as const
    }),
  )
  return Object.fromEntries(rows)
}

t.test('a service without versions says where new records are', async (t) => {
  t.strictSame(await readConditions({}), {
    'get /notes': '',
    'get /notes/{id}': '',
    'post /notes': 'Location',
    'put /notes/{id}': '',
    'patch /notes/{id}': '',
    'delete /notes/{id}': '',
  })
})

t.test('a service with versions has tags and conditions', async (t) => {
  t.strictSame(await readConditions({ version: 'v', multi: true }), {
    'get /notes': '',
    'get /notes/{id}': 'If-None-Match 304 ETag',
    'post /notes': 'ETag Location',
    'put /notes/{id}': 'If-Match 412 ETag',
    'patch /notes/{id}': 'If-Match 412 ETag',
    'delete /notes/{id}': 'If-Match 412',
    'patch /notes': '',
    'delete /notes': '',
  })
})

t.test('versions may be required, and lists have tags', async (t) => {
  const options = { version: 'v', requireVersion: true }
  t.match(await readConditions(options, { etag: true }), {
    'get /notes': 'If-None-Match 304 ETag',
    'get /notes/{id}': 'If-None-Match 304 ETag',
    'post /notes': 'ETag Location',
    'put /notes/{id}': 'If-Match 412 428 ETag',
    'delete /notes/{id}': 'If-Match 412 428',
  })
})

t.test('queries as bodies have an operation of their own', async (t) => {
  const notes = new MongoDBService({ Model: idleCollection, version: 'v' })
  const app = createApp().use('notes', notes, { etag: true })
  const info = { title: 'Notes', version: '1' }
  const { paths } = await openapiDocument(app, { info, queryBodies: true })
  const found = (paths['/notes'] as Record<string, Operation>)['get']
  const operation = (paths['/notes#find'] as Record<string, Operation>)['post']
  t.match(operation, {
    operationId: 'findByBodyNotes',
    parameters: [{ name: 'X-Service-Method', required: true, schema: { enum: ['find'] } }],
    requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
  })
  t.equal(operation?.parameters.length, 1)
  const { 304: notModified, ...responses } = found?.responses ?? {}
  t.ok(notModified)
  t.strictSame(operation?.responses, responses, 'a POST is never answered by 304')
  t.notOk((await openapiDocument(app, { info })).paths['/notes#find'])
})

t.test('hooks say which header they read, and what they refuse calls with', async (t) => {
  const app = createApp()
  app.use('notes', new MongoDBService({ Model: idleCollection }), {
    methods: ['find', 'get', 'create', 'patch'],
  })
  app.service('notes').hooks({
    around: {
      all: [idempotent({ service: 'repeats' })],
      create: [idempotent({ service: 'repeats', required: true })],
      patch: [idempotent({ service: 'repeats', required: true })],
    },
    before: { find: [rateLimit({ max: 10 })] },
  })
  const document = await openapiDocument(app, { info: { title: 'Notes', version: '1' } })
  const paths = document.paths as Record<string, Record<string, Operation>>
  const errorsOf = (operation: Operation | undefined): readonly string[] =>
    Object.keys(operation?.responses ?? {}).filter((code) => /409|422|429/.test(code))
  const key = { name: 'Idempotency-Key', in: 'header', required: true }
  const { '/notes': all, '/notes/{id}': one } = paths
  for (const operation of [all?.['post'], one?.['patch']]) {
    const keys = operation?.parameters.filter(({ name }) => name === key.name)
    t.match(keys, [key])
    t.equal(keys?.length, 1)
    t.strictSame(errorsOf(operation), ['409', '422'])
  }
  t.strictSame(errorsOf(all?.['get']), ['429'])
  t.strictSame(errorsOf(one?.['get']), [])
  for (const operation of [all?.['get'], one?.['get']]) {
    t.notOk(operation?.parameters.some(({ name }) => name === key.name))
  }
})
