import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import { transform } from 'esbuild'
import { createApp, fastifyApp, rest } from 'remex'
import type { Test } from 'tap'
import t from 'tap'
import type { Services } from '../../examples/schemas.ts'
import { addTasks } from '../../examples/schemas.ts'
import { FileService } from '../../src/adapter/files/index.ts'
import { ObjectIdSchema } from '../../src/adapter/index.ts'
import { Type } from '../../src/core/schema/index.ts'
import type { OpenApiDocument } from '../../src/transport/index.ts'
import { openapi } from '../../src/transport/index.ts'
import { compile } from '../support/compile.ts'
import { openDatabase } from '../support/database.ts'
import { addCountries } from '../support/described-countries.ts'
import { startServer } from '../support/http.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const GENERATOR = join(ROOT, 'scripts/openapi-types/generate.mjs')

const INFO = { title: 'Countries', version: '1.0.0' }

/** The program of a user: it is compiled with the types of the document, and run as it stands. */
const PROGRAM = `
import createClient from 'openapi-fetch'
import { stringify } from 'qs'
import type { components, paths } from './api.js'

export async function run(baseUrl: string) {
  const client = createClient<paths>({ baseUrl })
  const one = await client.POST('PREFIX/countries', { body: { name: 'Chad', area: 1284000 } })
  const many = await client.POST('PREFIX/countries', {
    body: [{ name: 'Peru', area: 1285216 }, { name: 'Malta', area: 316 }],
  })
  const page = await client.GET('PREFIX/countries', {
    params: {
      query: { area: { $gt: 1000000 }, $limit: 5, $sort: { area: -1 }, $select: ['name', 'area'] },
    },
  })
  const names = (page.data?.data ?? []).flatMap(({ name }: { name?: string }) => name ?? [])
  const total: number | undefined = page.data?.total
  const exact = await client.GET('PREFIX/countries', { params: { query: { area: 316 } } })
  const id = String(exact.data?.data[0]?._id)
  const path = { id }
  const got = await client.GET('PREFIX/countries/{id}', { params: { path } })
  const area: number | undefined = got.data?.area
  const patched = await client.PATCH('PREFIX/countries/{id}', { params: { path }, body: { area: 1 } })
  const scaled = await client.POST('PREFIX/countriesMETHODscale', {
    HEADERS
    body: { factor: 2 },
  })
  const result: number | undefined = scaled.data?.scaled
  const refused = await client.GET('PREFIX/countries/{id}', {
    params: { path: { id: '0123456789abcdef01234567' } },
  })
  const error: components['schemas']['Error'] | undefined = refused.error
  const nested = createClient<paths>({ baseUrl, querySerializer: (query) => stringify(query) })
  const listed = await nested.GET('PREFIX/countries', {
    params: {
      query: { area: { $in: [1, 1284000] }, $or: [{ name: 'Chad' }, { area: { $gt: 5 } }] },
    },
  })
  const removed = await client.DELETE('PREFIX/countries', { params: { query: { area: { $lt: 5 } } } })
  return {
    statuses: [one, many, page, got, patched, scaled, refused, removed].map(
      ({ response }) => response.status,
    ),
    names, total, area, changed: patched.data?.area, result, error: error?.className,
    listed: listed.data?.data.map(({ name }) => name),
    removed: removed.data?.map(({ name }) => name),
  }
}
`

/** A program that sends files and reads them. */
const FILES_PROGRAM = `
import createClient from 'openapi-fetch'
import type { paths } from './api.js'

export async function run(baseUrl: string) {
  const client = createClient<paths>({ baseUrl })
  const sent = await client.POST('/files', {
    params: { query: { name: 'a.txt', ticket: 7 } },
    headers: { 'content-type': 'text/plain' },
    body: 'Hello',
    bodySerializer: (body) => body,
  })
  const ticket: number | undefined = sent.data?.ticket
  const filled = await client.POST('/files', {
    body: { ticket: 8, file: 'Bye' },
    bodySerializer: (body) => {
      const form = new FormData()
      if (typeof body === 'string') return body
      form.set('ticket', String(body.ticket))
      form.set('file', new Blob([body.file]), 'b.txt')
      return form
    },
  })
  const path = { id: String(sent.data?._id) }
  const whole = await client.GET('/files/{id}/content', { params: { path }, parseAs: 'text' })
  const part = await client.GET('/files/{id}/content', {
    params: { path, header: { Range: 'bytes=1-2' } },
    parseAs: 'text',
  })
  const content: string | undefined = whole.data
  return { ticket, name: filled.data?.name, content, part: part.data }
}
`

/** What the compiler has to refuse. */
const MISTAKES = `
import createClient from 'openapi-fetch'
import type { paths } from './api.js'
const client = createClient<paths>({ baseUrl: '' })
await client.GET('/countries', { params: { query: { area: { $gt: 'many' } } } })
await client.GET('/countries', { params: { query: { nope: 1 } } })
await client.POST('/countries', { body: { name: 'Chad' } })
await client.GET('/nothing')
await client.POST('/countries#scale', { body: { factor: 2 } })
`

/** Resolves to the types of a document, as the generator writes them. */
async function generateTypes(document: string): Promise<string> {
  // The test runner has every child process load its hooks, which cost time.
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, GENERATOR])
  child.stdin.end(document)
  const [types, faults] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (types === '') throw new Error(`The generator has failed: ${faults}`)
  return types
}

/** Resolves to what a program exports, without its types. */
async function load(
  t: Test,
  program: string,
): Promise<{ run: (baseUrl: string) => Promise<unknown> }> {
  const folder = await mkdtemp(join(ROOT, 'build/program-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const { code } = await transform(program, { loader: 'ts', format: 'esm' })
  const file = join(folder, 'program.mjs')
  await writeFile(file, code)
  return (await import(pathToFileURL(file).href)) as Awaited<ReturnType<typeof load>>
}

interface Way {
  readonly title: string
  readonly mode: 'standalone' | 'plugin'
  readonly methodPaths: boolean
}

const WAYS: readonly Way[] = [
  { title: 'custom methods by their header', mode: 'standalone', methodPaths: false },
  { title: 'custom methods by paths, below a prefix', mode: 'plugin', methodPaths: true },
]

const database = await openDatabase(t)

for (const { title, mode, methodPaths } of WAYS) {
  t.test(`a generated client makes typed calls: ${title}`, async (t) => {
    const collection = await database.empty('countries')
    const server = await startServer(t, mode, {
      methodPaths,
      services: (app) => {
        addCountries(app, collection)
        app.configure(openapi({ info: INFO }))
      },
    })
    const { text: document, body } = await server.request('/docs/json')
    t.match(await new Validator().validate(body as OpenApiDocument), { valid: true })
    const program = PROGRAM.replaceAll('PREFIX', server.prefix)
      .replace('METHOD', methodPaths ? '/' : '#')
      .replace('HEADERS', methodPaths ? '' : "params: { header: { 'X-Service-Method': 'scale' } },")
    const files = { 'api.d.ts': await generateTypes(document), 'program.ts': program }
    t.strictSame(await compile(t, files), [])
    const { run } = await load(t, program)
    const origin = server.url.slice(0, server.url.length - server.prefix.length)
    t.strictSame(await run(origin), {
      statuses: [201, 201, 200, 200, 200, 200, 404, 200],
      names: ['Peru', 'Chad'],
      total: 2,
      area: 316,
      changed: 1,
      result: 6,
      error: 'not-found',
      listed: ['Chad'],
      removed: ['Malta'],
    })
  })
}

t.test('a generated client sends files and reads them', async (t) => {
  const Model = await database.empty('files')
  const ticket = Type.Integer()
  const name = Type.Optional(Type.String())
  const entity = Type.Object({ _id: ObjectIdSchema(), name: Type.String(), ticket })
  const create = Type.Object({ name, ticket })
  const server = await startServer(t, 'standalone', {
    services: (app) => {
      const files = new FileService({ Model, forms: true })
      app.use('files', files, { schemas: { entity, create } })
      app.configure(openapi({ info: INFO }))
    },
  })
  const { text: document } = await server.request('/docs/json')
  const files = { 'api.d.ts': await generateTypes(document), 'program.ts': FILES_PROGRAM }
  t.strictSame(await compile(t, files), [])
  const { run } = await load(t, FILES_PROGRAM)
  t.strictSame(await run(server.url), { ticket: 7, name: 'b.txt', content: 'Hello', part: 'el' })
})

t.test('the types of a generated client refuse what the services would', async (t) => {
  const collection = await database.empty('countries')
  const server = await startServer(t, 'standalone', {
    services: (app) => {
      addCountries(app, collection)
      app.configure(openapi({ info: INFO }))
    },
  })
  const { text: document } = await server.request('/docs/json')
  const errors = await compile(t, { 'api.d.ts': await generateTypes(document), 'a.ts': MISTAKES })
  const lines = errors.map((error) => /^a\.ts\((\d+)\)/.exec(error)?.[1])
  t.strictSame([...new Set(lines)], ['5', '6', '7', '8', '9'])
})

t.test('the client of docs/reference/openapi.md compiles and runs against the tasks', async (t) => {
  await database.empty('tasks')
  const app = fastifyApp(createApp<Services>()).configure(rest())
  t.teardown(() => app.close())
  addTasks(app, database.db)
  await app.listen(0)
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const { body: document } = await app.fastify.inject('/docs/json')
  const page = await readFile(join(ROOT, 'docs/reference/openapi.md'), 'utf8')
  const [, code = ''] = /```ts\n(import createClient[\s\S]*?)```/.exec(page) ?? []
  const program = code.replace('http://127.0.0.1:3030', url)
  const files = { 'api.d.ts': await generateTypes(document), 'program.ts': program }
  t.strictSame(await compile(t, files), [])
  const { run } = await load(
    t,
    `${program.replaceAll('console.log', 'lines.push')}
    export const run = () => lines`.replace(
      'const client',
      'const lines: unknown[] = []\nconst client',
    ),
  )
  t.strictSame(await run(url), [1, 'Pack', undefined, 1])
})
