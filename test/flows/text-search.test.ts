import type { Document } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'

import type { MongoDBOptions } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { openDatabase } from '../support/database.ts'
import type { RequestOptions } from '../support/http.ts'
import { startServer } from '../support/http.ts'

const { empty, commandsOf } = await openDatabase(t)
const notes = await empty('notes')
const plain = await empty('plain')
const indexes = [{ key: { title: 'text' }, default_language: 'none' }] as const
const create = (options: Partial<MongoDBOptions> = {}) =>
  new MongoDBService({
    ...{ Model: notes, multi: true, paginate: { default: 2, max: 3 }, indexes },
    ...{ filters: { $search: true }, hidden: ['secret'], ...options },
  })

const server = await startServer(t, 'standalone', {
  services(app) {
    app.use('notes', create())
    app.use('off', create({ filters: {} }))
    app.use('unindexed', create({ Model: plain, hidden: [], indexes: [] }))
    app.use('mine', create())
    app.service('mine').hooks({
      before: {
        all: ({ params }) => {
          Object.assign(params, { pipeline: [{ $match: { owner: 'ann' } }, { $framework: {} }] })
        },
      },
    })
  },
})

t.beforeEach(async () => {
  await notes.deleteMany({})
  const records = [
    { _id: 'a', title: 'green tea', owner: 'ann', secret: 'word' },
    { _id: 'b', title: 'black tea', owner: 'bob', secret: 'word' },
    { _id: 'c', title: 'coffee & cream', owner: 'ann', secret: 'word' },
    { _id: 'd', title: 'tea and coffee', owner: 'ann', secret: 'word' },
  ]
  await notes.insertMany(records as unknown as Document[])
})

async function find(path: string): Promise<unknown[]> {
  const { status, body, text } = await server.request(path)
  if (status !== 200) throw new Error(text)
  // A search has no order of its own.
  return (body as { data: { _id: string }[] }).data.map(({ _id }) => _id).sort()
}

async function refuses(t: Test, path: string, message: RegExp, options: RequestOptions = {}) {
  const commands = await commandsOf(async () => {
    const { status, body } = await server.request(path, options)
    t.match({ status, body }, { status: 400, body: { name: 'BadRequest', message } }, path)
  })
  t.strictSame(commands, [], `${path} sends no command`)
}

t.test('?$search finds by words, phrases and what is not wanted (INJ-23)', async (t) => {
  t.strictSame(await find('/notes?$search=coffee'), ['c', 'd'])
  t.strictSame(await find('/notes?$search=GREEN+black'), ['a', 'b'])
  t.strictSame(await find('/notes?%24search=tea%20-black%20-%22and%20coffee%22'), ['a'])
  t.strictSame(await find('/notes?$search=%22coffee%20%26%20cream%22'), ['c'])
  t.strictSame(await find('/notes?$search=word'), [])
  t.strictSame(await find('/notes?$search=%24where'), [])
  t.match(await server.request('/notes?$search=tea&$sort[_id]=-1&owner=ann'), {
    body: { total: 2, data: [{ _id: 'd', secret: undefined }, { _id: 'a' }] },
  })
  t.match(await server.request('/notes?$search=tea&$limit=0'), { body: { total: 3, data: [] } })
})

t.test('?$search selects what is read, changed and removed (INJ-23)', async (t) => {
  t.equal((await server.request('/notes/a?$search=tea')).status, 200)
  for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
    const options = { method, data: { owner: 'eve' } }
    t.equal((await server.request('/notes/c?$search=tea', options)).status, 404, method)
  }
  const patched = await server.request('/notes?$search=black', { method: 'PATCH', data: { n: 1 } })
  t.match(patched.body, [{ _id: 'b', n: 1 }])
  const removed = await server.request('/notes?$search=coffee', { method: 'DELETE' })
  t.strictSame((removed.body as Document[]).map(({ _id }) => _id).sort(), ['c', 'd'])
  t.equal(await notes.countDocuments(), 2)
})

t.test('?$search is one string of 1 to 256 characters (INJ-23)', async (t) => {
  const message = /^\$search must be a string of 1 to 256 characters$/
  for (const query of [
    ...['$search=', '$search', '$search[]=a', '$search=a&$search=b', '$search[]='],
    ...['$search[$regex]=x', '$search[a]=x', '%24search%5B%24search%5D=x', '$search[0]=a'],
    `$search=${'x'.repeat(257)}`,
  ]) {
    await refuses(t, `/notes?${query}`, message)
    await refuses(t, `/notes?${query}`, message, { method: 'DELETE' })
    await refuses(t, `/notes/a?${query}`, message, { method: 'PATCH', data: { n: 1 } })
  }
  t.strictSame(await find(`/notes?$search=${'x'.repeat(256)}`), [])
})

t.test('?$search is refused where not enabled, and inside other conditions (INJ-23)', async (t) => {
  await refuses(t, '/off?$search=tea', /^Invalid filter value \$search$/)
  for (const query of [
    ...['$or[0][$search]=tea', '$and[0][$search]=tea', 'title[$search]=tea', '$text[$search]=tea'],
    ...['$or[0][$text][$search]=tea', '$text=tea'],
  ]) {
    await refuses(
      t,
      `/notes?${query}`,
      /^Invalid (?:query parameter|filter value) \$(?:search|text)$/,
    )
  }
  await refuses(t, '/notes?$search=a&$sort[score][$meta]=textScore', /^\$sort takes/)
})

t.test('a search goes into the first stage of the pipeline of a hook', async (t) => {
  t.strictSame(await find('/mine?$search=tea'), ['a', 'd'])
  t.equal((await server.request('/mine/b?$search=tea')).status, 404)
})

t.test('a search without a text index is a 500 without detail, its cause is logged', async (t) => {
  const { status, body } = await server.request('/unindexed?$search=tea')
  t.match({ status, body }, { status: 500, body: { message: 'Internal error' } })
  t.match(server.logged.at(-1)?.details, { err: { message: /text index required/ } })
})
