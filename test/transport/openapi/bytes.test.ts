import { Validator } from '@seriousme/openapi-schema-validator'
import type { Test } from 'tap'
import t from 'tap'
import { directUploadSchemas, FileService } from '../../../src/adapter/files/index.ts'
import { ObjectIdSchema } from '../../../src/adapter/index.ts'
import { authenticate, rateLimit } from '../../../src/auth/index.ts'
import type { ServiceOptions } from '../../../src/core/index.ts'
import { Type } from '../../../src/core/schema/index.ts'
import type { OpenApiDocument } from '../../../src/transport/index.ts'
import { createApp, openapi, openapiDocument } from '../../../src/transport/index.ts'
import { openDatabase } from '../../support/database.ts'
import { createCheck } from '../../support/document-check.ts'
import type { Answer, RequestOptions } from '../../support/http.ts'
import { idleCollection } from '../../support/idle-collection.ts'
import { startApp } from '../../support/test-app.ts'

const INFO = { title: 'Files', version: '1.0.0' }

/** It compiles the schema of OpenAPI once. */
const validator = new Validator()

const SECRET = 'the links of these tests are signed by this'

const BYTES = { schema: { type: 'string', format: 'binary' } }

const ANY_TYPE = { 'application/octet-stream': BYTES, '*/*': BYTES }

const File = Type.Object({
  _id: ObjectIdSchema(),
  name: Type.String(),
  type: Type.String(),
  size: Type.Integer(),
  hash: Type.String(),
  ticket: Type.Integer(),
  tags: Type.Optional(Type.Array(Type.String())),
})

const SCHEMAS = {
  entity: File,
  create: Type.Object({
    name: Type.Optional(Type.String({ maxLength: 80 })),
    ticket: File.properties.ticket,
    tags: File.properties.tags,
  }),
}

type Options = Omit<Partial<ConstructorParameters<typeof FileService>[0]>, 'Model'>

type Content = Readonly<
  Record<
    string,
    { readonly schema: { readonly required?: string[]; readonly properties?: object } }
  >
>

interface Operation {
  readonly security?: readonly object[]
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Content; readonly required: boolean }
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

/** Resolves to the document of a service with files, after it was found to be valid. */
async function describe(
  t: Test,
  options: Options = {},
  served: ServiceOptions = {},
  hooks: object = {},
) {
  const app = createApp().use(
    'files',
    new FileService({ Model: idleCollection, ...options }),
    served,
  )
  app.service('files').hooks(hooks)
  const document = await openapiDocument(app, { info: INFO })
  t.match(await validator.validate(structuredClone(document)), { valid: true })
  const paths = document.paths as Record<string, Record<string, Operation>>
  return {
    document,
    paths,
    upload: paths['/files']?.['post'] as Operation,
    content: paths['/files/{id}/content']?.['get'] as Operation,
  }
}

/** Returns the names of parameters, with a mark for those that are required. */
const toNames = ({ parameters }: Operation, place: string): string[] =>
  parameters
    .filter((one) => one.in === place)
    .map((one) => `${one.name}${'required' in one ? '!' : ''}`)

t.test('an upload is bytes, and its name is in the query', async (t) => {
  const { upload, document } = await describe(t)
  t.match(upload.requestBody, { required: true })
  t.strictSame(upload.requestBody?.content, ANY_TYPE)
  t.strictSame(toNames(upload, 'query'), ['name!'])
  t.match(upload.parameters, [{ $ref: '#/components/parameters/Files.select' }])
  t.strictSame(Object.keys(upload.responses), [
    ...['201', '204', '400', '409', '413', '415', 'default'],
  ])
  t.match(document.components, { responses: { PayloadTooLarge: {}, UnsupportedMediaType: {} } })
})

t.test('the fields of the data are in the query, as its schema has them', async (t) => {
  const { upload, document } = await describe(t, {}, { schemas: SCHEMAS })
  t.strictSame(toNames(upload, 'query'), ['name!', 'ticket!', 'tags'])
  t.match(
    upload.parameters.filter((one) => one.in === 'query'),
    [
      { schema: { type: 'string', maxLength: 80 } },
      { schema: { type: 'integer' } },
      { style: 'form', explode: true, schema: { type: 'array' } },
    ],
  )
  t.notMatch(document.components, { schemas: { FilesCreateData: {} } }, 'no operation sends it')
})

t.test('a form has the fields, and the bytes as its last one', async (t) => {
  const { upload } = await describe(t, { forms: true }, { schemas: SCHEMAS })
  t.strictSame(toNames(upload, 'query'), ['name', 'ticket', 'tags'])
  const { 'multipart/form-data': form, ...others } = upload.requestBody?.content ?? {}
  t.strictSame(others, ANY_TYPE)
  const { required, properties = {} } = form?.schema ?? {}
  t.strictSame(required, ['ticket', 'file'])
  t.strictSame(Object.keys(properties), ['name', 'ticket', 'tags', 'file'])
  t.match(properties, { ticket: { type: 'integer' }, file: BYTES.schema })
  const { upload: plain } = await describe(t, { forms: true })
  t.match(plain.requestBody?.content, {
    'multipart/form-data': { schema: { properties: { name: {}, file: {} }, required: ['file'] } },
  })
})

t.test('direct uploads have a method and a token, where they are offered', async (t) => {
  const methods = ['create', 'createUpload']
  const served = {
    methods,
    schemas: { ...SCHEMAS, methods: { createUpload: directUploadSchemas } },
  }
  const { upload, paths } = await describe(t, {}, served)
  t.strictSame(toNames(upload, 'query'), ['name!', 'ticket!', 'tags', '$upload'])
  t.match(paths['/files#createUpload'], { post: { responses: { 200: {} } } })
})

t.test('a change of a record is JSON', async (t) => {
  const { paths } = await describe(t, { forms: true })
  const content = paths['/files/{id}']?.['patch']?.requestBody?.content ?? {}
  t.strictSame(Object.keys(content), ['application/json'])
})

t.test('the content of a file has ranges, conditions and the errors of get', async (t) => {
  const find = rateLimit({ max: 10 })
  const { content, document } = await describe(t, {}, {}, { before: { get: [find] } })
  t.match(content, { operationId: 'getContentOfFiles', tags: ['files'] })
  t.strictSame(toNames(content, 'path'), ['id!'])
  t.strictSame(toNames(content, 'header'), ['Range', 'If-None-Match'])
  t.strictSame(toNames(content, 'query'), [])
  t.strictSame(Object.keys(content.responses), [
    ...['200', '206', '304', '400', '404', '416', '429', 'default'],
  ])
  for (const status of [200, 206]) {
    t.match(content.responses[status], { content: { '*/*': BYTES } })
    const headers = Object.keys(content.responses[status]?.headers ?? {})
    t.strictSame(headers, ['ETag', 'Accept-Ranges', 'Content-Disposition'])
  }
  t.strictSame(document.tags, [{ name: 'files' }])
})

t.test('without get there is no content', async (t) => {
  const { paths } = await describe(t, {}, { methods: ['create'] })
  t.strictSame(Object.keys(paths), ['/files'])
})

t.test('a signed link needs no other proof', async (t) => {
  const hooks = { around: { all: [authenticate('jwt')] } }
  const bearer = { bearer: [] }
  const closed = await describe(t, {}, {}, hooks)
  t.strictSame(closed.content.security, [bearer])
  t.ok(closed.content.responses['401'])
  const { content, paths } = await describe(t, { linkSecret: SECRET }, {}, hooks)
  t.strictSame(toNames(content, 'query'), ['expires', 'signature'])
  t.strictSame(content.security, [bearer, {}])
  t.strictSame(paths['/files/{id}']?.['get']?.security, [bearer])
})

t.test('a service at the path of the content comes first, if it is registered first', async (t) => {
  const app = createApp().use('files/:fileId/content', { find: async () => [] })
  app.use('files', new FileService({ Model: idleCollection }))
  const { paths } = await openapiDocument(app, { info: INFO })
  t.match(paths['/files/{fileId}/content'], { get: { operationId: 'findFilesByFileIdContent' } })
  t.notOk(paths['/files/{id}/content'])
})

const database = await openDatabase(t)

t.test('real responses are as the document says', async (t) => {
  const names = ['files', 'files.files', 'files.chunks', 'files.pending']
  const [Model] = await Promise.all(names.map((name) => database.empty(name)))
  const files = new FileService({
    ...{ Model: Model as never, forms: true, linkSecret: SECRET },
    ...{ maxBytes: 100, types: ['text/plain'] },
  })
  const app = await startApp(t, {
    services: { files: [files, { schemas: SCHEMAS }] },
    plugins: [openapi({ info: INFO })],
  })
  const document = (await app.request('/docs/json')).body as OpenApiDocument
  const check = createCheck(t, document)
  const operations = document.paths as unknown as Record<string, Record<string, Operation>>
  const post = async (status: number, query: string, body: string, type = 'text/plain') => {
    const answer = await app.request(`/files${query}`, { body, headers: { 'content-type': type } })
    t.equal(answer.status, status, query)
    check('/files', 'post', answer)
    return answer.body as { readonly _id: string }
  }
  const { _id } = await post(201, '?name=a.txt&ticket=7', 'Hello')
  await post(400, '?name=a.txt', 'Hello')
  await post(413, '?name=a.txt&ticket=7', 'Hello'.repeat(30))
  await post(415, '?name=a.txt&ticket=7', 'Hello', 'text/csv')
  const form = new FormData()
  form.set('ticket', '8')
  form.set('file', new Blob(['Bye'], { type: 'text/plain' }), 'b.txt')
  const sent = await fetch(`${app.url}/files`, { method: 'POST', body: form })
  const headers = Object.fromEntries(sent.headers)
  check('/files', 'post', { status: sent.status, headers, body: await sent.json() })

  const place = '/files/{id}/content'
  const read = async (status: number, path: string, options: RequestOptions = {}) => {
    const answer: Answer = await app.request(path, options)
    t.equal(answer.status, status, path)
    if (status === 404) return check(place, 'get', answer)
    const response = operations[place]?.['get']?.responses[status]
    t.ok(response, `${status} is documented`)
    for (const name of Object.keys(response?.headers ?? {})) {
      t.ok(answer.headers[name.toLowerCase()], `${status} has ${name}`)
    }
  }
  const path = `/files/${_id}/content`
  await read(200, path)
  await read(200, files.createLink(_id))
  await read(206, path, { headers: { range: 'bytes=0-1' } })
  await read(416, path, { headers: { range: 'bytes=50-' }, ownErrorBody: true })
  const { headers: known } = await app.request(path)
  await read(304, path, { headers: { 'if-none-match': String(known.etag) } })
  await read(404, '/files/000000000000000000000000/content')
})
