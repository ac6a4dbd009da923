import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import { createClient } from '../../src/client/index.ts'
import {
  DateSchema,
  querySyntax,
  resolve,
  resolveExternal,
  Type,
} from '../../src/core/schema/index.ts'
import type { HookContext } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import type { Answer } from '../support/http.ts'
import { startServer } from '../support/http.ts'
import { pluck } from '../support/pluck.ts'

const { empty } = await openDatabase(t)

const ID = ObjectIdSchema()
const Task = Type.Object({
  _id: ID,
  title: Type.String(),
  rank: Type.Optional(Type.Integer()),
  dueAt: Type.Optional(DateSchema()),
})

interface WirePage {
  readonly total?: number
  readonly limit: number
  readonly data: readonly { readonly _id: string; readonly title: string }[]
  readonly nextCursor: string | null
  readonly hasNext: boolean
  readonly message?: string
}

const TITLES = ['a', 'b', 'c', 'd', 'e'] as const

async function start(t: Test) {
  const model = await empty('keyset tasks')
  await model.insertMany(
    TITLES.map((title, index) => ({
      ...{ title, dueAt: new Date(index * 1_000), secret: `secret of ${title}` },
      ...(index % 2 === 0 ? { rank: index } : {}),
    })),
  )
  const paginate = { default: 2, max: 3, secret: 'a secret of at least thirty-two bytes' }
  const create = () => new MongoDBService({ Model: model, paginate, multi: true })
  const calls: unknown[] = []
  const server = await startServer(t, 'standalone', {
    services(app) {
      const methods = ['find', 'get']
      const schemas = { entity: Task, query: querySyntax(Task) }
      app.use('tasks', create() as never, { methods, schemas } as never)
      app.use('derived', create() as never, { methods, schemas: { entity: Task } } as never)
      app.use('plain', create() as never)
      app.use('lists', new MongoDBService({ Model: model }) as never)
      app.use('blind', { find: async () => ({ total: 9, limit: 2, skip: 0, data: [{ id: 1 }] }) })
      app.use('odd', { find: async () => ({ data: [{ id: 1 }], nextCursor: 'x' }) })
      app.service('tasks').hooks({
        before: { find: [(context: HookContext) => void calls.push(context.params.query)] },
        around: {
          find: [resolveExternal(resolve({ title: async (title) => `${title}!` })) as never],
        },
      })
    },
  })
  const get = async (path: string): Promise<Answer & { page: WirePage }> => {
    const answer = await server.request(path)
    return { ...answer, page: answer.body as WirePage }
  }
  return { server, get, calls }
}

const titlesOf = ({ data }: WirePage) => data.map(({ title }) => title).join('')

t.test('pages over REST, through schemas and resolvers', async (t) => {
  const { get } = await start(t)
  const query = '$sort[rank]=-1&$sort[title]=1&$select[]=title'
  const { page: first } = await get(`/tasks?${query}&$after=`)
  t.strictSame(Object.keys(first).sort(), [
    ...['data', 'hasNext', 'limit', 'nextCursor', 'previousCursor'],
  ])
  t.equal(titlesOf(first), 'e!c!')
  t.strictSame(Object.keys(first.data[0] ?? {}).sort(), ['_id', 'title'])
  const { page: second } = await get(`/tasks?${query}&$after=${first.nextCursor}&$limit=100`)
  t.match(second, { limit: 3, hasNext: false, nextCursor: null })
  t.equal(titlesOf(second), 'a!b!d!')
  const { page: back } = await get(`/tasks?${query}&$before=`)
  t.equal(titlesOf(back), 'b!d!')
})

for (const path of ['tasks', 'derived', 'plain']) {
  t.test(`the totals of ${path} over REST`, async (t) => {
    const { get } = await start(t)
    const totals = ['false', 'true', 'estimate'].map((total) => `$total=${total}`)
    const asked = [...totals, '$total[cap]=3', '$total[cap]=5&$after=']
    const pages: WirePage[] = []
    for (const query of asked) pages.push((await get(`/${path}?${query}`)).page)
    t.strictSame(pluck(pages, 'total'), [undefined, 5, 5, 3, 5])
    t.match(pages.slice(-2), [{ isTotalCapped: true }, { isTotalCapped: false }])
    for (const page of pages)
      t.match(page, { hasNext: true, nextCursor: String, data: { length: 2 } })
    t.strictSame(Object.keys((await get(`/${path}`)).page), ['total', 'limit', 'skip', 'data'])
  })
}

t.test('what is no cursor is answered by 400 in the shape of errors', async (t) => {
  const { get } = await start(t)
  const { page } = await get('/tasks?$after=')
  const cursor = page.nextCursor ?? ''
  const queries = [
    ...[`$after=${cursor}x`, `$after=${cursor.slice(1)}`, `$after=${cursor.slice(0, -2)}`],
    ...[`$after=${cursor}&$sort[title]=1`, `$after[]=${cursor}`, `$after[a]=${cursor}`],
    ...['$after=null', '$after=%00', `$after=${'A'.repeat(12_000)}`, `$after=${cursor}&$skip=1`],
    ...[`$after=${cursor}&$before=${cursor}`, '$total=5', '$total[cap]=0', '$total[of]=1'],
    ...['$total[cap]=1e99', `$after=${cursor}&$after=${cursor}`, '$after=&$limit=0'],
  ]
  for (const path of ['tasks', 'plain']) {
    for (const query of queries) {
      const { status, body } = await get(`/${path}?${query}`)
      t.equal(status, 400, `${path} ${query.slice(0, 100)}`)
      t.match(body, { name: 'BadRequest', code: 400, className: 'bad-request', message: String })
    }
  }
  t.equal((await get(`/derived?$after=${cursor}`)).status, 400, 'a cursor of another service')
  t.match((await get('/lists?$after=')).body, {
    message: '$after is not possible in a service without pages',
  })
  t.equal((await get(`/plain/${page.data[0]?._id}?$after=`)).status, 400)
})

t.test('each() goes through all records, page after page', async (t) => {
  const { server, calls } = await start(t)
  const tasks = createClient({ baseURL: server.url }).service('tasks')
  const titles: unknown[] = []
  const query = { $sort: { title: -1 }, $limit: 3 }
  for await (const task of tasks.each({ query })) titles.push((task as { title: string }).title)
  t.strictSame(titles, ['e!', 'd!', 'c!', 'b!', 'a!'])
  t.match(calls, [
    { $limit: 3, $after: '' },
    { $limit: 3, $after: String },
  ])
  t.equal(calls.length, 2)
})

t.test('each() asks for no page behind a break, and can go on from a cursor', async (t) => {
  const { server, calls, get } = await start(t)
  const tasks = createClient({ baseURL: server.url }).service('tasks')
  for await (const _ of tasks.each()) break
  t.equal(calls.length, 1)
  const $after = (await get('/tasks?$after=')).page.nextCursor
  const titles: unknown[] = []
  for await (const task of tasks.each({ query: { $after } })) {
    titles.push((task as { title: string }).title)
  }
  t.strictSame(titles, ['c!', 'd!', 'e!'])
})

t.test('each() runs the hooks of find of the client', async (t) => {
  const { server } = await start(t)
  const tasks = createClient({ baseURL: server.url }).service('tasks')
  tasks.hooks({
    before: {
      find: ({ params }: HookContext) => {
        params.query = { ...params.query, title: 'c' }
      },
    },
  })
  const found: unknown[] = []
  for await (const task of tasks.each()) found.push(task)
  t.match(found, [{ title: 'c!' }])
  t.equal(found.length, 1)
})

const FAILING: readonly [string, object, string, RegExp][] = [
  ['a server without cursors', {}, 'blind', /The service 'blind' has no pages with cursors/],
  ['one whose cursor stays the same', { query: { $after: 'x' } }, 'odd', /no pages with cursors/],
  ['a service without pages', {}, 'lists', /not possible in a service without pages/],
  ['an invalid query', { query: { nothing: 1 } }, 'tasks', /validation failed/],
  ['$skip', { query: { $skip: 1 } }, 'plain', /\$after and \$skip/],
]

for (const [title, params, path, message] of FAILING) {
  t.test(`each() rejects: ${title}`, async (t) => {
    const { server } = await start(t)
    const service = createClient({ baseURL: server.url }).service(path)
    const walk = async (): Promise<void> => {
      for await (const _ of service.each(params)) t.fail('a record')
    }
    await t.rejects(walk(), { message })
  })
}

t.test('an official client reads pages by a cursor', async (t) => {
  const { server } = await start(t)
  const client = feathers()
  client.configure(restClient.default(server.url).fetch(fetch))
  const tasks = client.service('tasks')
  const query = { $sort: { title: 1 } }
  const first = (await tasks.find({ query: { ...query, $after: '' } })) as WirePage
  t.equal(titlesOf(first), 'a!b!')
  const second = (await tasks.find({ query: { ...query, $after: first.nextCursor } })) as WirePage
  t.equal(titlesOf(second), 'c!d!')
})
