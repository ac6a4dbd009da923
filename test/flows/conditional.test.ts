import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import type { Document } from 'mongodb'
import t from 'tap'
import { z } from 'zod'
import type { MongoDBOptions } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { ServiceSchemas } from '../../src/core/services/service-schemas.ts'
import type { Application, Params, ServiceOptions } from '../../src/transport/index.ts'
import { conditional, createApp } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import type { Answer, ListeningServer, RequestOptions, ServerOptions } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

const { empty } = await openDatabase(t)

interface Setup extends Partial<Omit<MongoDBOptions, 'Model'>> {
  readonly served?: ServiceOptions
  readonly server?: ServerOptions
  readonly mode?: (typeof MODES)[number]
  readonly configure?: (app: Application) => unknown
}

interface Tasks extends ListeningServer {
  /** The path of the one task that is there, of version 1. */
  readonly path: string
}

async function startTasks(t: Parameters<typeof startServer>[0], setup: Setup = {}): Promise<Tasks> {
  const { served, server, mode = 'standalone', configure, ...options } = setup
  const Model = await empty('tasks')
  const tasks = new MongoDBService<Document>({ Model, version: 'v', ...options })
  const { _id } = await tasks.create({ text: 'a' })
  const started = await startServer(t, mode, {
    ...server,
    services(app) {
      app.use('tasks', tasks, served)
      configure?.(app)
    },
  })
  return { ...started, path: `/tasks/${_id}` }
}

const JSON_TYPE = 'application/json; charset=utf-8'

for (const mode of MODES) {
  t.test(`${mode}: answers of one record have its version as their tag`, async (t) => {
    const { request, path, prefix } = await startTasks(t, { mode })
    t.match(await request(path), { status: 200, headers: { etag: '"v-1"' }, body: { v: 1 } })
    t.match(await request(path, { method: 'HEAD' }), { status: 200, headers: { etag: '"v-1"' } })
    const patched = await request(path, { method: 'PATCH', data: { text: 'b' } })
    t.match(patched, { status: 200, headers: { etag: '"v-2"' }, body: { text: 'b', v: 2 } })
    const put = await request(path, { method: 'PUT', data: { text: 'c' } })
    t.match(put, { status: 200, headers: { etag: '"v-3"' } })
    const selected = await request(`${path}?$select[]=_id`)
    t.match(selected, { headers: { etag: '"v-3"' }, body: { text: undefined, v: 3 } })
    const created = await request('/tasks?$select[]=text', { data: { text: 'd' } })
    const { _id } = created.body as Document
    const location = `${prefix}/tasks/${_id}`
    t.match(created, { status: 201, headers: { etag: '"v-1"', location } })
    t.equal((await request('/tasks')).headers.etag, undefined)
    const removed = await request(path, { method: 'DELETE' })
    t.equal(removed.status, 200)
    t.equal(removed.headers.etag, undefined)
  })

  t.test(`${mode}: who has the version already gets 304 and no body`, async (t) => {
    const { request, path } = await startTasks(t, { mode })
    const read = (tags: string, method = 'GET'): Promise<Answer> =>
      request(path, { method, headers: { 'if-none-match': tags } })
    for (const tags of ['"v-1"', 'W/"v-1"', '"v-9", "v-1"', '*', '"v-1-gzip"']) {
      const { status, text, headers } = await read(tags)
      t.match({ status, text, etag: headers.etag }, { status: 304, text: '', etag: '"v-1"' })
      t.equal(headers['content-type'], undefined)
      t.equal(headers['content-length'], undefined)
    }
    t.match(await read('"v-1"', 'HEAD'), { status: 304, headers: { etag: '"v-1"' } })
    for (const tags of ['"v-2"', 'v-1', '']) t.match(await read(tags), { status: 200 })
    await request(path, { method: 'PATCH', data: { text: 'b' } })
    t.match(await read('"v-1"'), { status: 200, headers: { etag: '"v-2"' } })
    t.match(await request('/tasks/none', { headers: { 'if-none-match': '*' } }), { status: 404 })
  })

  t.test(`${mode}: If-Match is a condition of the write`, async (t) => {
    const { request, path } = await startTasks(t, { mode })
    const write = (method: string, tags: string): Promise<Answer> => {
      const data = method === 'DELETE' ? {} : { data: { text: 'b' } }
      return request(path, { method, headers: { 'if-match': tags }, ...data })
    }
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      for (const tags of ['"v-2"', '"abc"', 'W/"v-2", "v-3"', '"v-"']) {
        const refused = await write(method, tags)
        t.match(refused, {
          status: 412,
          headers: { etag: '"v-1"', 'content-type': JSON_TYPE },
          body: {
            name: 'PreconditionFailed',
            className: 'precondition-failed',
            data: { current: 1 },
          },
        })
      }
      for (const tags of ['v-1', '1', '"v-1', '']) {
        t.match(await write(method, tags), { status: 400, body: { message: /If-Match/ } })
      }
    }
    t.match(await request(path), { body: { text: 'a', v: 1 } })
    t.match(await write('PATCH', '"v-1"'), { status: 200, headers: { etag: '"v-2"' } })
    t.match(await write('PUT', '"x", W/"v-2"'), { status: 200, headers: { etag: '"v-3"' } })
    t.match(await write('PATCH', '*'), { status: 200, headers: { etag: '"v-4"' } })
    t.match(await write('DELETE', '"v-4"'), { status: 200 })
    t.match(await write('DELETE', '"v-4"'), { status: 404 })
    t.match(await write('PATCH', '*'), { status: 404 })
  })
}

t.test('of 50 parallel patches of one version exactly one wins', async (t) => {
  const { request, path } = await startTasks(t)
  const headers = { 'if-match': '"v-1"' }
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      request(path, { method: 'PATCH', headers, data: { text: String(n) } }),
    ),
  )
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  t.equal(answers.filter(({ status }) => status === 412).length, 49)
  t.strictSame((await request(path)).body, won[0]?.body)
})

t.test('a version is required where the service says so', async (t) => {
  const { request, path } = await startTasks(t, { requireVersion: true })
  const refused = { status: 428, body: { name: 'PreconditionRequired', code: 428 } }
  t.match(await request(path, { method: 'PATCH', data: { text: 'b' } }), refused)
  t.match(await request(path, { method: 'DELETE' }), refused)
  t.match(await request(path, { method: 'PUT', data: { text: 'b', v: 1 } }), { status: 200 })
  const headers = { 'if-match': '"v-2"' }
  t.match(await request(path, { method: 'DELETE', headers }), { status: 200 })
  t.match(await request('/tasks', { data: { text: 'c' } }), { status: 201 })
})

class Text {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

t.test('a schema that drops the version of the data leaves the write its condition', async (t) => {
  const text = { type: 'string' } as const
  const closed = { type: 'object', properties: { text } } as const
  const named = { ...closed, properties: { text, v: { type: 'integer' } } } as const
  const stripping = z.object({ text: z.string() })
  const classy = stripping.transform(({ text }) => new Text(text))
  const rows: readonly ServiceSchemas[] = [
    { entity: named, create: closed, unknown: 'drop' },
    { entity: named, create: closed, unknown: 'drop', update: named, patch: named },
    { entity: named, create: stripping, patch: stripping, query: true },
    { entity: named, create: classy, patch: classy, query: true },
  ]
  for (const schemas of rows) {
    const { request, path } = await startTasks(t, { requireVersion: true, served: { schemas } })
    const { body } = await request(path)
    const stale = { ...(body as Document), v: 7, text: 'lost' }
    for (const method of ['PATCH', 'PUT']) {
      t.match(await request(path, { method, data: stale }), { status: 412 })
    }
    const changed = { ...(body as Document), text: 'b' }
    t.match(await request(path, { method: 'PATCH', data: changed }), {
      status: 200,
      body: { text: 'b', v: 2 },
    })
    t.match(await request(path, { method: 'PUT', data: { text: 'c', v: 2 } }), {
      status: 200,
      body: { text: 'c', v: 3 },
    })
    t.match(await request(path, { method: 'PATCH', data: { text: 'd', v: 'x' } }), { status: 400 })
    t.match(await request(path, { method: 'PATCH', data: { text: 'd' } }), { status: 428 })
    t.match(await request('/tasks', { data: { text: 'new', v: 5 } }), {
      status: 201,
      body: { v: 1 },
    })
  }
})

t.test('conditions that a write would not heed are refused', async (t) => {
  const { request, path } = await startTasks(t, { multi: true })
  const known = { 'if-none-match': '*' }
  for (const method of ['PATCH', 'PUT', 'DELETE']) {
    const data = method === 'DELETE' ? {} : { data: { text: 'b' } }
    const answer = await request(path, { method, headers: known, ...data })
    t.match(answer, { status: 400, body: { message: /If-None-Match/ } })
  }
  const headers = { 'if-match': '"v-1"' }
  t.match(await request('/tasks', { headers, data: { text: 'b' } }), { status: 412 })
  const many = { method: 'PATCH', headers, data: { text: 'b' } }
  t.match(await request('/tasks?text=a', many), { status: 400, body: { message: /one by one/ } })
  t.match(await request(path), { body: { text: 'a', v: 1 } })
})

t.test('a service without versions has no tags, and can not meet If-Match', async (t) => {
  const Model = await empty('plain')
  const plain = new MongoDBService<Document>({ Model })
  const { _id } = await plain.create({ text: 'a' })
  const { request } = await startServer(t, 'standalone', {
    services: (app) => app.use('plain', plain),
  })
  const path = `/plain/${_id}`
  t.equal((await request(path)).headers.etag, undefined)
  const write = (tags: string): Promise<Answer> =>
    request(path, { method: 'PATCH', headers: { 'if-match': tags }, data: { text: 'b' } })
  t.match(await write('"v-1"'), { status: 412, body: { message: /no versions/ } })
  t.match(await write('*'), { status: 200 })
})

t.test('a hash of the body is the tag of lists, where the service says so', async (t) => {
  const { request, path } = await startTasks(t, { served: { etag: true } })
  const first = await request('/tasks')
  const { etag } = first.headers
  t.match(etag, /^W\/"[\w-]{43}"$/)
  t.equal(first.headers['cache-control'], 'no-cache')
  const headers = { 'if-none-match': String(etag) }
  t.match(await request('/tasks', { headers }), { status: 304, text: '', headers: { etag } })
  t.match(await request('/tasks', { headers, method: 'HEAD' }), { status: 304 })
  const one = await request(path)
  t.match(one.headers.etag, /^"v-1-[0-9a-f]{16}"$/)
  const known = { 'if-none-match': String(one.headers.etag) }
  t.match(await request(path, { headers: known }), { status: 304 })
  const match = { 'if-match': String(one.headers.etag) }
  t.match(await request(path, { method: 'PATCH', headers: match, data: {} }), { status: 200 })
  t.not((await request('/tasks?text=b')).headers.etag, etag)
  await request(path, { method: 'PATCH', data: { text: 'b' } })
  t.match(await request('/tasks', { headers }), { status: 200 })
  const created = await request('/tasks', { headers, data: { text: 'c' } })
  t.match(created, { status: 201, headers: { etag: '"v-1"' } })
})

t.test('a hash is of what is sent: by schemas, formatters and later functions', async (t) => {
  const entity = { type: 'object', properties: { text: { type: 'string' } } } as const
  const { request } = await startTasks(t, {
    served: { etag: true, schemas: { entity, create: true, patch: true, query: true } },
    configure(app) {
      app.service('tasks').hooks({
        after: {
          find: ({ result }) => {
            for (const task of result as Document[]) task['secret'] = Math.random()
          },
        },
      })
    },
  })
  const { headers, body } = await request('/tasks')
  t.strictSame(body, [{ text: 'a' }])
  const known = { 'if-none-match': String(headers.etag) }
  t.match(await request('/tasks', { headers: known }), { status: 304 })
})

t.test('an answer for one caller may be kept by that caller alone', async (t) => {
  const { request } = await startTasks(t, { served: { etag: true } })
  const headers = { authorization: 'Bearer x' }
  const answer = await request('/tasks', { headers })
  t.match(answer.headers, { 'cache-control': 'private, no-cache', vary: /authorization/ })
  const again = { ...headers, 'if-none-match': String(answer.headers.etag) }
  const unchanged = await request('/tasks', { headers: again })
  t.match(unchanged, { status: 304, headers: { 'cache-control': 'private, no-cache' } })
})

t.test('a hook sets the tag, and what caches may do', async (t) => {
  const { request, path } = await startTasks(t, {
    served: { etag: true },
    configure(app) {
      app.service('tasks').hooks({
        after: {
          find({ http }) {
            http.etag = 'W/"own"'
            http.headers = { 'Cache-Control': 'max-age=60' }
          },
          get({ http, id }) {
            http.etag = id === 'x' ? '' : 'no quotes'
          },
        },
      })
    },
  })
  const { headers } = await request('/tasks')
  t.match(headers, { etag: 'W/"own"', 'cache-control': 'max-age=60' })
  t.match(await request('/tasks', { headers: { 'if-none-match': '"own"' } }), { status: 304 })
  t.match(await request(path), { status: 500, body: { message: 'Internal error' } })
})

t.test('an answer that fails has no tag and no location', async (t) => {
  const { request, path } = await startTasks(t, {
    configure(app) {
      app.service('tasks').hooks({
        after: {
          all: (context) => {
            context.dispatch = { toJSON: () => undefined }
          },
        },
      })
    },
  })
  const read = await request(path)
  t.match(read, { status: 500, headers: { etag: undefined } })
  const created = await request('/tasks', { data: { text: 'b' } })
  t.match(created, { status: 500, headers: { etag: undefined, location: undefined } })
})

t.test('a new record tells where it is', async (t) => {
  const { request } = await startTasks(t, {
    allowClientId: true,
    multi: true,
    configure(app) {
      const lists = app.service('tasks')
      app.use('users/:userId/tasks', {
        get: async (id: string) => ({ id }),
        create: async ({ id }: { id: unknown }) => ({ id }),
      })
      app.use('logs', { create: async () => ({ id: 1 }) })
      app.use(
        'me',
        { find: async () => ({}), create: async () => ({ id: 1 }) },
        { singleton: true },
      )
      lists.hooks({
        after: {
          create(context) {
            if ((context.data as Document)['goes']) context.http.location = '/elsewhere'
          },
        },
      })
    },
  })
  const locationOf = async (path: string, data: unknown): Promise<unknown> => {
    const { status, headers } = await request(path, { data })
    return [status, headers.location]
  }
  t.strictSame(await locationOf('/tasks?x=1', { _id: 'a/b ?#ü' }), [
    201,
    '/tasks/a%2Fb%20%3F%23%C3%BC',
  ])
  t.strictSame(await locationOf('/users/7/tasks', { id: 5 }), [201, '/users/7/tasks/5'])
  t.strictSame(await locationOf('/users/7/tasks', { id: '\ud800' }), [400, undefined])
  t.strictSame(await locationOf('/users/7/tasks', { id: null }), [201, undefined])
  t.strictSame(await locationOf('/tasks', [{ text: 'b' }]), [201, undefined])
  t.strictSame(await locationOf('/tasks', { goes: true }), [303, '/elsewhere'])
  t.strictSame(await locationOf('/logs', {}), [201, undefined], 'nothing is there to get')
  t.strictSame(await locationOf('/me', {}), [201, undefined])
  t.strictSame(await locationOf('/tasks/7', {}), [201, undefined], 'an id has no meaning there')
})

t.test('what one caller sees is no answer for another one', async (t) => {
  const { request, path } = await startTasks(t, {
    served: { etag: true },
    configure(app) {
      app.service('tasks').hooks({
        after: {
          get(context) {
            const { text } = context.result as Document
            const isAdmin = context.params.headers?.['x-admin'] !== undefined
            context.dispatch = isAdmin ? { text, secret: 1 } : { text }
          },
        },
      })
    },
  })
  const { headers } = await request(path, { headers: { 'x-admin': '1' } })
  const known = { 'if-none-match': String(headers.etag) }
  t.match(await request(path, { headers: known }), { status: 200, body: { text: 'a' } })
  t.match(await request(path, { headers: { ...known, 'x-admin': '1' } }), { status: 304 })
})

t.test('a result without its version has no tag', async (t) => {
  const { request, path } = await startTasks(t, {
    configure(app) {
      app.service('tasks').hooks({
        after: { get: [({ result }) => void delete (result as Document)['v']] },
      })
    },
  })
  t.match(await request(path), { status: 200, headers: { etag: undefined } })
  t.match(await request(path, { headers: { 'if-none-match': '"v-0"' } }), { status: 200 })
})

t.test('If-Match: * adds no record', async (t) => {
  const { request } = await startTasks(t, {
    allowClientId: true,
    configure(app) {
      app.service('tasks').hooks({
        before: {
          update: [({ params }) => void Object.assign(params, { docdb: { upsert: true } })],
        },
      })
    },
  })
  const put = (headers: RequestOptions['headers'] = {}): Promise<Answer> =>
    request('/tasks/new', { method: 'PUT', headers, data: { text: 'b' } })
  t.match(await put({ 'if-match': '*' }), { status: 404 })
  t.match(await put(), { status: 200, body: { _id: 'new', v: 1 } })
})

t.test("a service of one's own that heeds no condition refuses it", async (t) => {
  const written: unknown[] = []
  const bare = {
    update: async (id: string, data: object) => ({ id, ...data }),
    patch: async (id: string, data: object) => void written.push([id, data]),
    remove: async (id: string) => void written.push(id),
  }
  const { request } = await startServer(t, 'standalone', {
    services(app) {
      app.use('bare', { ...bare })
      const heeding = { ...bare, recordVersions: { field: 'revision', isRequired: false } }
      app.use('heeding', heeding as typeof bare)
    },
  })
  const write = (path: string, tag: string): Promise<Answer> =>
    request(path, { method: 'PATCH', headers: { 'if-match': tag }, data: {} })
  t.match(await write('/bare/1', '"v-1"'), { status: 412, body: { message: /no versions/ } })
  t.equal(written.length, 0)
  t.match(await write('/bare/1', '*'), { status: 204 })
  t.match(await write('/heeding/1', '"v-1"'), { status: 204 })
  const put = await request('/heeding/1', { method: 'PUT', data: { revision: 7 } })
  t.match(put.headers, { etag: '"v-7"' })
})

t.test('a service that is one record has conditions by the hook', async (t) => {
  let settings = { theme: 'light', revision: 1 }
  const service = {
    find: async ({ query }: Params) =>
      query?.['$select'] === undefined ? settings : { theme: settings.theme },
    patch: async (_id: unknown, data: object) => {
      settings = { ...settings, ...data, revision: settings.revision + 1 }
      return settings
    },
  }
  const { request } = await startServer(t, 'standalone', {
    services(app) {
      const hook = conditional<{ revision: number }>(({ revision }) => revision, { required: true })
      app
        .use('me', service, { singleton: true })
        .service('me')
        .hooks({ around: { all: [hook] } })
    },
  })
  t.match(await request('/me'), { headers: { etag: '"v-1"' } })
  t.match(await request('/me?$select[]=theme'), { status: 200, headers: { etag: undefined } })
  const patch = (headers: RequestOptions['headers'] = {}): Promise<Answer> =>
    request('/me?$select[]=theme', { method: 'PATCH', headers, data: { theme: 'dark' } })
  t.match(await patch(), { status: 428 })
  t.match(await patch({ 'if-match': '"v-7"' }), { status: 412, body: { data: { current: 1 } } })
  t.match(await patch({ 'if-match': '"v-1"' }), { status: 200, headers: { etag: '"v-2"' } })
})

t.test('the hook and a service on a collection without versions go together', async (t) => {
  const Model = await empty('revised')
  const revised = new MongoDBService<Document>({ Model })
  const { _id } = await revised.create({ revision: 1 })
  const { request } = await startServer(t, 'standalone', {
    services(app) {
      const hook = conditional<Document>(({ revision }) => revision)
      app
        .use('revised', revised)
        .service('revised')
        .hooks({ around: { all: [hook] } })
    },
  })
  const write = (tag: string): Promise<Answer> =>
    request(`/revised/${_id}`, {
      method: 'PATCH',
      headers: { 'if-match': tag },
      data: { revision: 2 },
    })
  t.match(await write('"v-1"'), { status: 200, headers: { etag: '"v-2"' } })
  t.match(await write('"v-1"'), { status: 412 })
})

t.test("a service of one's own has tags and conditions by a hook", async (t) => {
  const notes = new Map<string, { id: string; text: string; revision: number }>()
  notes.set('1', { id: '1', text: 'a', revision: 4 })
  const service = {
    async get(id: string) {
      return { ...notes.get(id) }
    },
    async patch(id: string, data: object) {
      const note = notes.get(id)
      if (note !== undefined) Object.assign(note, data, { revision: note.revision + 1 })
      return { ...note }
    },
    async remove(id: string) {
      const note = notes.get(id)
      notes.delete(id)
      return note
    },
  }
  const { request } = await startServer(t, 'standalone', {
    services(app) {
      const hook = conditional<{ revision: number }>(({ revision }) => revision, { required: true })
      app
        .use('notes', service)
        .service('notes')
        .hooks({ around: { all: [hook] } })
    },
  })
  t.match(await request('/notes/1'), { headers: { etag: '"v-4"' } })
  t.match(await request('/notes/1', { headers: { 'if-none-match': '"v-4"' } }), { status: 304 })
  const patch = (headers: RequestOptions['headers'] = {}): Promise<Answer> =>
    request('/notes/1', { method: 'PATCH', headers, data: { text: 'b' } })
  t.match(await patch(), { status: 428 })
  const stale = { status: 412, headers: { etag: '"v-4"' }, body: { data: { current: 4 } } }
  t.match(await patch({ 'if-match': '"v-3"' }), stale)
  t.match(await patch({ 'if-match': '"v-4"' }), { status: 200, headers: { etag: '"v-5"' } })
  t.match(await request('/notes/1', { method: 'DELETE', headers: { 'if-match': '"v-4"' } }), {
    status: 412,
  })
  t.match(await request('/notes/1', { method: 'DELETE', headers: { 'if-match': '*' } }), {
    status: 200,
  })
})

t.test('the hook names a version that is none', async (t) => {
  const app = createApp()
  app.use('notes', { get: async () => ({ revision: '4' }) })
  const hook = conditional<{ revision: number }>(({ revision }) => revision)
  app.service('notes').hooks({ around: { all: [hook] } })
  await t.rejects(app.service('notes').get(1), { name: 'TypeError', message: /conditional\(\)/ })
})

interface Task {
  _id: string
  text: string
  v: number
}

t.test('the client names the version of the record that it has', async (t) => {
  const { url } = await startTasks(t, { requireVersion: true })
  type Services = { tasks: MongoDBService<Task> }
  const client = createClient<Services>({ baseURL: url, version: 'v' })
  const tasks = client.service('tasks')
  const seen: unknown[] = []
  tasks.hooks({ before: { patch: [({ id, params }) => void seen.push([id, params.version])] } })
  const [task] = (await tasks.find()) as unknown as [Task]
  const patched = await tasks.patch(task, { text: 'b' })
  t.match(patched, { _id: task._id, text: 'b', v: 2 })
  t.strictSame(seen, [[task._id, 1]], 'hooks see the id')
  await t.rejects(tasks.patch(task, { text: 'c' }), {
    name: 'PreconditionFailed',
    code: 412,
    data: { current: 2 },
  })
  await t.rejects(tasks.patch(task._id, { text: 'c' }), { code: 428 })
  t.match(await tasks.patch(task._id, { text: 'c' }, { version: 2 }), { v: 3 })
  t.match(await tasks.patch(patched, { text: 'd' }, { version: [3, 4] }), { v: 4 })
  const next = { ...patched, v: 4 }
  t.match(await tasks.update(next, { text: 'e' } as Task), { v: 5 })
  t.match(await tasks.get(patched), { v: 5 })
  await t.rejects(tasks.remove(patched), { code: 412 })
  t.match(await tasks.remove(patched, { version: '*' }), { v: 5 })
})

t.test('the client refuses a record without a version, and a version that is none', async (t) => {
  const { url, path } = await startTasks(t)
  const _id = path.slice('/tasks/'.length)
  const client = createClient({ baseURL: url, version: 'v' })
  const tasks = client.service('tasks')
  for (const record of [{ _id }, { _id, v: '1' }, { _id, v: null }]) {
    await t.rejects(tasks.patch(record as never, { text: 'b' }), { code: 400, message: /'v'/ })
  }
  await t.rejects(tasks.patch({ v: 1 } as never, { text: 'b' }), { code: 400, message: /id/ })
  for (const version of ['1', 1.5, [], ['*'], null]) {
    const params = { version } as never
    await t.rejects(tasks.patch(_id, { text: 'b' }, params), { code: 400, message: /version/ })
  }
  const untold = createClient({ baseURL: url }).service('tasks')
  await t.rejects(untold.patch({ _id, v: 1 } as never, {}), { code: 400 })
  t.match(await tasks.get(_id), { text: 'a', v: 1 })
  for (const version of ['', 7, true]) {
    t.throws(() => createClient({ baseURL: url, version: version as never }), /version/)
  }
})

t.test('the official client of Feathers sends the header', async (t) => {
  const { url, path } = await startTasks(t)
  const client = feathers().configure(restClient.default(url).fetch(fetch))
  const id = path.slice('/tasks/'.length)
  const write = (tag: string): Promise<unknown> =>
    client.service('tasks').patch(id, { text: tag }, { headers: { 'If-Match': tag } })
  t.match(await write('"v-1"'), { v: 2 })
  await t.rejects(write('"v-1"'), { name: 'PreconditionFailed', code: 412, data: { current: 2 } })
})
