import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ObjectId } from 'mongodb'
import type { Query } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import t from 'tap'

import { addPeople } from '../../../examples/mongodb-collation.ts'
import { addNotes, findBest } from '../../../examples/mongodb-text-search.ts'
import type { Services } from '../../../examples/query-values.ts'
import { addProducts } from '../../../examples/query-values.ts'
import { openDatabase } from '../../support/database.ts'

const HEX = '507f1f77bcf86cd799439011'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8')
}

const SECTIONS = [
  ['pipelines', 'Text search', ['mongodb-text-search'], 1],
  ['pipelines', 'Collation', ['mongodb-collation'], 2],
] as const

for (const [page, title, names, count] of SECTIONS) {
  t.test(`every code block under "${title}" stands in an example that runs`, async (t) => {
    const [, section = ''] = read(`docs/reference/${page}.md`).split(`\n## ${title}\n`)
    const [text = ''] = section.split('\n## ')
    const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    t.equal(blocks.length, count)
    const examples = names.map((name) => read(`examples/${name}.ts`).replace(/^ +/gm, ''))
    for (const block of blocks) {
      const code = block.replace(/^ +/gm, '')
      t.ok(examples.join('\n').includes(code), block.split('\n')[0] ?? '')
    }
  })
}

t.test('the example of text search finds by words and sorts by the score', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('notes')
  const app: Parameters<typeof addNotes>[0] = createApp()
  addNotes(app, db)
  await app.setup()
  t.teardown(() => app.teardown())
  const notes = app.service('notes')
  await notes.create([
    { _id: 1, title: 'Coffee', body: 'Stronger than tea.' },
    { _id: 2, title: 'Green tea', body: 'Not too hot.' },
    { _id: 3, title: 'Café con leche', body: 'With hot milk.', draft: 'tea' },
  ])
  const idsOf = async ($search: string): Promise<number[]> => {
    const found = await notes.find({ query: { $search, $sort: { _id: 1 } }, paginate: false })
    return found.map(({ _id }) => _id)
  }
  t.strictSame(await idsOf('tea'), [1, 2])
  t.strictSame(await idsOf('cafe coffee'), [1, 3])
  t.strictSame(await idsOf('"hot milk"'), [3])
  t.strictSame(await idsOf('tea -coffee'), [2])
  const best = await findBest(app, 'tea')
  t.match(best, [
    { _id: 2, score: 3.75 },
    { _id: 1, score: 2 / 3 },
  ])
})

t.test('the example of collations compares names without their case', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('people')
  const app: Parameters<typeof addPeople>[0] = createApp()
  addPeople(app, db)
  await app.setup()
  t.teardown(() => app.teardown())
  const people = app.service('people')
  await people.create(['bob', 'Ann', 'Zoe', 'eve'].map((name, _id) => ({ _id, name })))
  t.match(await people.find({ query: { name: 'ANN' } }), [{ name: 'Ann' }])
  t.strictSame(
    (await people.find({ query: { $sort: { name: 1 } }, paginate: false })).map(({ name }) => name),
    ['Ann', 'bob', 'eve', 'Zoe'],
  )
  const collation = { locale: 'simple' }
  t.strictSame(await people.find({ query: { name: 'ANN' }, collation }), [])
  await t.rejects(people.create({ _id: 9, name: 'BOB' }), { name: 'Conflict' })
  t.match(await people.patch(null, { name: 'Ben' }, { query: { name: 'BOB' } }), [{ _id: 0 }])
  t.match(await people.remove(null, { query: { name: { $in: ['EVE'] } } }), [{ _id: 3 }])
})

t.test('the example converts what URLs hold to what the records hold', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('products')
  const app = fastifyApp(createApp<Services>()).configure(rest())
  t.teardown(() => app.close())
  addProducts(app, db)
  const lamp = { name: 'Lamp', price: 5, sold: false, makerId: new ObjectId(HEX) }
  const products = app.service('products')
  await products.create({ ...lamp, addedAt: new Date('2026-01-31T12:00:00Z') })
  const find = async (query: string) => {
    const { statusCode, body } = await app.fastify.inject(`/products?${query}`)
    return statusCode === 200 ? JSON.parse(body).length : JSON.parse(body).message
  }
  const ROWS: readonly [query: string, expected: number | string][] = [
    ['', 1],
    ['name=Lamp', 1],
    ['price=5', 1],
    ['price[$gt]=4.5&sold=false&addedAt[$gte]=2026-01-01', 1],
    [`makerId=${HEX}`, 1],
    [`makerId[$in][]=${HEX}&makerId[$in][]=${new ObjectId()}`, 1],
    [`makerId[$ne]=${HEX}`, 0],
    ['sold=true', 0],
    ['$or[0][price]=4&$or[1][sold]=false', 1],
    ['$and[0][$or][0][price][$lt]=5', 0],
    ['$sort[price]=-1&$limit=1&$select[]=price', 1],
    ['price=cheap', "'cheap' is no number"],
    ['price=', "'' is no number"],
    ['$nor[0][price]=5', 'Invalid filter value $nor'],
    ['price[$exists]=true', 'Invalid query parameter $exists'],
    ['addedAt[$gte]=2026-01-31T12:00:00%2B00:00', 1],
    ['addedAt[$gte]=5', "'5' is no date"],
    ['addedAt=banana 7', "'banana 7' is no date"],
    ['addedAt=2026-02-30', "'2026-02-30' is no date"],
    ['sold=no', "'no' is neither true nor false"],
    ['addedAt[$lt]=someday', "'someday' is no date"],
    ['makerId=zz', 'An id must be an ObjectId or a string of 24 hexadecimal digits'],
  ]
  for (const [query, expected] of ROWS) t.equal(await find(query), expected, query)
  const inside: Query = { makerId: new ObjectId(HEX), addedAt: { $lt: new Date() }, price: 5 }
  t.match(await products.find({ query: inside }), [lamp], 'values that are no strings')
})
