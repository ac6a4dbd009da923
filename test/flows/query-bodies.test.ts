import { METHODS } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Document } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createClient } from '../../src/client/index.ts'
import { querySyntax, Type } from '../../src/core/schema/index.ts'
import type { Params } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import type { Answer, ListeningServer, RequestOptions } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

const { empty } = await openDatabase(t)

const Task = Type.Object({ _id: Type.Integer(), text: Type.String(), n: Type.Integer() })

const RECORDS = Array.from({ length: 5 }, (_, n) => ({ _id: n, text: `task ${n}`, n }))

async function startTasks(
  t: Parameters<typeof startServer>[0],
  mode: (typeof MODES)[number] = 'standalone',
  queryBodies = true,
): Promise<ListeningServer> {
  const Model = await empty('tasks')
  await Model.insertMany(RECORDS as never)
  const paginate = { default: 10, max: 50 }
  return startServer(t, mode, {
    queryBodies,
    services(app) {
      app.use('tasks', new MongoDBService<Document>({ Model, paginate, hidden: ['secret'] }), {
        etag: true,
        schemas: { entity: Task, create: true, patch: true, query: querySyntax(Task) },
      })
      app.use('any', new MongoDBService<Document>({ Model, paginate }))
      app.use('seen', {
        find: async ({ query }: Params) => ({ query }),
        create: async () => ({ id: 1 }),
      })
      app.use('unread', { create: async (data: object) => ({ data }) })
    },
  })
}

const BY_POST = { 'x-service-method': 'find' }

/** The two ways to send a query as a body, where this version of Node knows both. */
const WAYS: Readonly<Record<string, Pick<RequestOptions, 'method' | 'headers'>>> = {
  POST: { method: 'POST', headers: BY_POST },
  ...(METHODS.includes('QUERY') ? { QUERY: { method: 'QUERY' } } : {}),
}

for (const mode of MODES) {
  for (const [way, request] of Object.entries(WAYS)) {
    t.test(`${mode}, ${way}: find reads its query from the body`, async (t) => {
      const server = await startTasks(t, mode)
      const find = (data: unknown): Promise<Answer> =>
        server.request('/tasks', { ...request, data })
      t.match(await find({ n: { $gt: 2 }, $sort: { n: -1 } }), {
        status: 200,
        body: { total: 2, data: [{ n: 4 }, { n: 3 }] },
      })
      t.match(await find({ n: { $in: [1, 3] }, $limit: 1, $select: ['n'] }), {
        body: { total: 2, limit: 1, data: [{ _id: 1, n: 1, text: undefined }] },
      })
      t.match(await find({}), { body: { total: 5 } })
      const seen = { a: 1, b: null, c: [true, '1'], d: { e: 1.5 } }
      const echoed = await server.request('/seen', { ...request, data: seen })
      t.strictSame(echoed.body, { query: seen }, 'types arrive')
    })

    t.test(`${mode}, ${way}: a body that is compressed, or not UTF-8, is refused`, async (t) => {
      const { app, request: send } = await startTasks(t, mode)
      app.use('late', { find: async () => [] })
      const type = 'application/json'
      for (const path of ['/tasks', '/late']) {
        const find = (body: Buffer, headers: RequestOptions['headers']): Promise<Answer> =>
          send(path, { ...request, headers: { ...request.headers, ...headers }, body })
        const packed = { 'content-type': type, 'content-encoding': 'gzip' }
        t.match(await find(gzipSync('{"n":1}'), packed), { status: 415 })
        const latin = { 'content-type': `${type}; charset=latin1` }
        t.match(await find(Buffer.from('{"n":1}'), latin), { status: 415 })
      }
    })

    t.test(`${mode}, ${way}: what find refuses is refused`, async (t) => {
      const { request: send } = await startTasks(t, mode)
      const find = (data: unknown, path = '/tasks'): Promise<Answer> =>
        send(path, { ...request, data })
      const refused: readonly unknown[] = [
        [],
        [{ n: 1 }],
        { n: { $where: '1' } },
        { $where: '1' },
        { secret: { $gt: '' } },
        { unknown: 1 },
        { n: 'one' },
        { $limit: -1 },
        { $limit: 1.5 },
        { $sort: { n: 2 } },
        { $select: 'n.$' },
      ]
      for (const query of refused) {
        t.match(await find(query), { status: 400, body: { className: 'bad-request' } })
      }
      const hostile: readonly unknown[] = [
        { _id: { _bsontype: 'ObjectId', id: 'x' } },
        { a: { toHexString: 'x' } },
        { a: { $regex: '.*' } },
        { a: { $in: 'x' } },
        { $or: [] },
        { a: '\ud800' },
        { $and: Array.from({ length: 200 }, () => ({ a: 1 })) },
      ]
      for (const query of hostile) t.match(await find(query, '/any'), { status: 400 })
      for (const body of ['{', '"text"', '1', 'null', '{"__proto__":{"a":1}}']) {
        const headers = { ...request.headers, 'content-type': 'application/json' }
        t.match(await send('/tasks', { ...request, headers, body }), { status: 400 })
      }
      const text = { ...request.headers, 'content-type': 'text/plain' }
      t.match(await send('/tasks', { ...request, headers: text, body: 'n=1' }), { status: 415 })
      t.match(await find({ n: 1 }, '/tasks?n=2'), { status: 400, body: { message: /not in both/ } })
      t.match(await find({}, '/unread'), { status: 405 })
    })
  }

  t.test(`${mode}: Allow names the verbs, and others call what they call`, async (t) => {
    const { request } = await startTasks(t, mode)
    const options = await request('/tasks', { method: 'OPTIONS' })
    t.equal(String(options.headers.allow).includes('QUERY'), 'QUERY' in WAYS)
    t.match(options.headers.allow, /GET, .*POST/)
    const seen = await request('/seen', { method: 'OPTIONS' })
    t.match(seen.headers.allow, /POST/)
    t.match(await request('/unread', { method: 'OPTIONS' }), {
      headers: { allow: 'POST, OPTIONS' },
    })
    t.match(await request('/seen', { data: { a: 1 } }), { status: 201, body: { id: 1 } })
    for (const name of ['get', 'create', 'update', 'patch', 'remove', 'FIND', 'find ']) {
      const headers = { 'x-service-method': name }
      if (name === 'find ') continue
      t.match(await request('/seen', { headers, data: {} }), { status: 405 })
    }
    t.match(await request('/tasks/1', { headers: BY_POST, data: {} }), { status: 405 })
  })

  t.test(`${mode}: without the option nothing of it is there`, async (t) => {
    const { request } = await startTasks(t, mode, false)
    t.match(await request('/tasks', { headers: BY_POST, data: {} }), { status: 405 })
    t.notMatch((await request('/tasks', { method: 'OPTIONS' })).headers.allow, /QUERY/)
    const { status } = await request('/tasks', { method: 'QUERY', data: {}, ownErrorBody: true })
    t.ok(status === 404 || status === 405, String(status))
  })
}

t.test('a POST without a body is an empty query', async (t) => {
  const { request } = await startTasks(t)
  t.match(await request('/tasks', { method: 'POST', headers: BY_POST }), { body: { total: 5 } })
})

t.test('an answer to a QUERY may be known, one to a POST is not', async (t) => {
  const { request } = await startTasks(t)
  for (const [way, how] of Object.entries(WAYS)) {
    const { etag } = (await request('/tasks', { ...how, data: { n: 1 } })).headers
    const headers = { ...how.headers, 'if-none-match': String(etag) }
    const again = await request('/tasks', { ...how, headers, data: { n: 1 } })
    t.equal(again.status, way === 'POST' ? 200 : 304)
  }
})

t.test('the client sends a query that is too long for a URL as a body', async (t) => {
  const server = await startTasks(t)
  const seen: unknown[] = []
  server.app.service('tasks').hooks({
    before: { find: [({ params }) => void seen.push(params.requestMethod)] },
  })
  const client = createClient({ baseURL: server.url, maxURLLength: 200 })
  const tasks = client.service('tasks')
  const many = Array.from({ length: 100 }, (_, n) => n)
  t.match(await tasks.find({ query: { n: { $in: many }, $sort: { n: -1 } } }), {
    total: 5,
    data: [{ n: 4 }, { n: 3 }, { n: 2 }, { n: 1 }, { n: 0 }],
  })
  t.match(await tasks.find({ query: { n: 1 } }), { total: 1 })
  t.strictSame(seen, ['POST', 'GET'])
  const dates = client.service('seen')
  const at = new Date(0)
  const query = { at, $select: many.map(String), text: 'x' }
  t.strictSame(await dates.find({ query }), {
    query: { ...query, at: at.toISOString() },
  })
  for (const value of [undefined, Number.NaN]) {
    await t.rejects(tasks.find({ query: { n: { $in: many }, text: value } }), { code: 400 })
  }
  for (const maxURLLength of [0, -1, 1.5, 'x']) {
    t.throws(() => createClient({ maxURLLength: maxURLLength as never }), /maxURLLength/)
  }
  const { url } = await startTasks(t, 'standalone', false)
  const other = createClient({ baseURL: url, maxURLLength: 200 }).service('tasks')
  await t.rejects(other.find({ query: { n: { $in: many } } }), { code: 405 })
})
