import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createApp } from 'remex/core'
import t from 'tap'

import { addPeople } from '../../../examples/mongodb-collation.ts'
import { addNotes, findBest } from '../../../examples/mongodb-text-search.ts'
import { openDatabase } from '../../support/database.ts'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8')
}

const SECTIONS = [
  ['Text search', 'examples/mongodb-text-search.ts', 2],
  ['Collation', 'examples/mongodb-collation.ts', 3],
] as const

for (const [title, file, count] of SECTIONS) {
  t.test(`every code block under "${title}" stands in an example that runs`, async (t) => {
    const [, section = ''] = read('docs/mongodb.md').split(`\n## ${title}\n`)
    const [text = ''] = section.split('\n## ')
    const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    t.equal(blocks.length, count)
    const example = read(file).replace(/^ +/gm, '')
    for (const block of blocks) {
      t.ok(example.includes(block.replace(/^ +/gm, '')), block.split('\n')[0] ?? '')
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
