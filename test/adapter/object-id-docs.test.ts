import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { ObjectId } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import { MongoDBService } from 'remex/mongodb'
import t from 'tap'

import { addPosts } from '../../examples/mongodb-ids.ts'
import type { TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/database.ts'

const HEX = '507f1f77bcf86cd799439011'
const OTHER_HEX = '507f1f77bcf86cd799439012'
const TIME = '2026-01-31T12:00:00.000Z'
const POST = { title: 'Hello', authorId: HEX, publishedAt: TIME }

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')
}

t.test('every code block about ids and dates stands in an example that runs', async (t) => {
  const [, section = ''] = read('docs/reference/queries.md').split('\n## Ids and dates\n')
  const [text = ''] = section.split('\n## ')
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  t.ok(blocks.length > 0)
  const example = read('examples/mongodb-ids.ts')
  for (const block of blocks) t.ok(example.includes(block), block.split('\n')[0] ?? '')
})

interface Request {
  readonly method?: string
  readonly data?: unknown
}

/** A record, a list or an error. */
type Body = Record<string, unknown> & { readonly _id: string; readonly length: number }

interface TestScope {
  teardown(close: () => unknown): void
}

/** Opens the services of the example, and one that has no schema and no resolvers. */
async function start(t: TestScope, { db, empty }: TestDatabase) {
  for (const name of ['posts', 'comments', 'plain']) await empty(name)
  const app = fastifyApp(createApp())
  app.configure(rest())
  addPosts(app, db)
  app.use('plain', new MongoDBService({ Model: db.collection('plain') }))
  const server = await app.listen({ port: 0 })
  t.teardown(() => app.close())
  const { port } = server.address() as AddressInfo
  const request = async (path: string, { method = 'GET', data }: Request = {}): Promise<Body> => {
    const headers = { 'content-type': 'application/json' }
    const options =
      data === undefined ? { method } : { method, body: JSON.stringify(data), headers }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, options)
    return (await response.json()) as Body
  }
  return {
    app,
    request,
    create: (path: string, data: unknown) => request(path, { method: 'POST', data }),
    count: async (path: string) => (await request(path)).length,
  }
}

t.test('the example of ids and dates', async (t) => {
  const database = await openDatabase(t)
  const { db } = database

  await t.test('a date is a Date in the database and in the process, text outside', async (t) => {
    const server = await start(t, database)
    const post = await server.create('/posts', POST)
    t.strictSame(post, { ...POST, _id: post._id })
    const _id = new ObjectId(post._id)
    const stored = { ...POST, _id, authorId: new ObjectId(HEX), publishedAt: new Date(TIME) }
    t.strictSame(await db.collection('posts').findOne(), stored)
    t.strictSame(await server.app.service('posts').get(post._id), stored)
    t.strictSame(await server.request(`/posts/${post._id}`), post)
  })

  await t.test('a date that came by REST is the same Date when it goes back', async (t) => {
    const server = await start(t, database)
    const { _id, ...post } = await server.create('/posts', POST)
    for (const method of ['PUT', 'PATCH']) {
      t.strictSame(await server.request(`/posts/${_id}`, { method, data: post }), {
        ...post,
        _id,
      })
      t.match(await db.collection('posts').findOne(), { publishedAt: new Date(TIME) })
    }
    const earlier = { method: 'PATCH', data: { publishedAt: '2025-12-31T23:00:00-01:00' } }
    const changed = await server.request(`/posts/${_id}`, earlier)
    t.match(changed, { title: 'Hello', publishedAt: '2026-01-01T00:00:00.000Z' })
    const title = { method: 'PATCH', data: { title: 'Bye' } }
    t.match(await server.request(`/posts/${_id}`, title), {
      ...changed,
      ...title.data,
    })
  })

  await t.test('dates and ids are compared as such, at every depth of a query', async (t) => {
    const server = await start(t, database)
    await server.create('/posts', POST)
    await server.create('/posts', {
      ...POST,
      authorId: OTHER_HEX,
      publishedAt: '2026-02-01T00:00:00Z',
    })
    const queries: readonly [query: string, expected: number][] = [
      [`publishedAt=${TIME}`, 1],
      ['publishedAt=2026-01-31T13:00:00%2B01:00', 1],
      ['publishedAt[$gt]=2026-01-31T12:00:00Z', 1],
      ['publishedAt[$gte]=2026-01-31T12:00:00Z', 2],
      [`publishedAt[$in][]=${TIME}`, 1],
      ['$or[0][publishedAt][$lt]=2026-02-01T00:00:00Z', 1],
      [`$and[0][$or][0][publishedAt][$lt]=2026-02-01T00:00:00Z`, 1],
      [`authorId=${HEX}`, 1],
      [`authorId[$in][]=${HEX}&authorId[$in][]=${OTHER_HEX}`, 2],
      [`$or[0][authorId]=${OTHER_HEX}&publishedAt[$lt]=2026-02-01T00:00:00Z`, 0],
      ['$sort[publishedAt]=-1&$limit=1', 1],
    ]
    for (const [query, expected] of queries) {
      t.equal(await server.count(`/posts?${query}`), expected, query)
    }
  })

  await t.test('what is no date or no id is a 400 that names the field', async (t) => {
    const server = await start(t, database)
    const find = (query: string) => server.request(`/posts?${query}`)
    for (const publishedAt of ['today', '2026-01-31', '2026-02-30T00:00:00Z', 5, null, {}]) {
      const body = await server.create('/posts', { ...POST, publishedAt })
      t.match(body, { code: 400, data: [{ instancePath: '/publishedAt' }] }, String(publishedAt))
    }
    const body = await server.create('/posts', { ...POST, publishedAt: '2016-12-31T23:59:60Z' })
    t.match(body, { code: 400, data: { publishedAt: { message: 'This is no date' } } })
    t.match(await find('publishedAt[$gt]=today'), { code: 400, message: 'validation failed' })
    t.match(await find('authorId=zz'), { code: 400, data: [{ instancePath: '/authorId' }] })
    const inside = server.app.service('posts').create({ ...POST, publishedAt: new Date(TIME) })
    await t.rejects(inside, { code: 400 }, 'the schema holds in the process too')
    t.equal(await db.collection('posts').countDocuments(), 0)
  })

  await t.test('resolvers alone make ObjectIds as well', async (t) => {
    const server = await start(t, database)
    const comment = await server.create('/comments', { text: 'Hi', postId: HEX })
    t.match(await db.collection('comments').findOne(), { postId: new ObjectId(HEX) })
    t.strictSame(await server.request(`/comments?postId=${HEX}`), [comment])
    t.strictSame(await server.request(`/comments?postId[$ne]=${HEX}`), [])
    t.strictSame(await server.request(`/comments?$or[0][postId]=${HEX}`), [comment])
    t.match(await server.request(`/comments?$or[a][postId]=${HEX}`), { code: 400 })
    t.match(await server.request('/comments?postId=zz'), {
      code: 400,
      data: { postId: { code: 400 } },
    })
  })

  await t.test('without a schema or a resolver, text stays text', async (t) => {
    const server = await start(t, database)
    await server.create('/plain', POST)
    await db.collection('plain').insertOne({ publishedAt: new Date(TIME) })
    t.match(await db.collection('plain').findOne(), POST)
    t.equal(await server.count(`/plain?publishedAt=${TIME}`), 1, 'the string, not the Date')
    t.equal(await server.count('/plain?publishedAt[$gt]=2000-01-01T00:00:00Z'), 1)
    t.equal(await server.count(`/plain?authorId=${HEX}`), 1)
    const query = { publishedAt: { $gt: new Date(0) } }
    t.equal(((await server.app.service('plain').find({ query })) as unknown[]).length, 1)
  })
})
