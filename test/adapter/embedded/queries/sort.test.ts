import type { Document } from 'mongodb'
import { MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb'
import t from 'tap'
import { compileSort } from '../../../../src/adapter/embedded/queries/sort.ts'
import { pluck } from '../../../support/pluck.ts'
import { openDatabase } from '../open-database.ts'

t.test('a sort is refused', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('sorts')
  await collection.insertOne({ a: 1 })
  const run = (sort: Document) => database.command({ find: 'sorts', sort })
  await t.test('by anything but 1 and -1', (t) => t.rejects(run({ a: 0 }), { code: 15975 }))
  await t.test('by $natural', (t) =>
    t.rejects(run({ $natural: 1 }), { code: 2, message: /'\$natural' is not supported/ }),
  )
  await t.test('by an operator', (t) => t.rejects(run({ $nope: 1 }), { code: 16410 }))
  await t.test('by 33 fields', async (t) => {
    const by = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]))
    await t.resolves(run(by(32)))
    await t.rejects(run(by(33)), { code: 13103 })
  })
  await t.test('by two fields that are arrays', async (t) => {
    await collection.insertOne({ p: [1, 2], q: [3] })
    await t.rejects(run({ p: 1, q: 1 }), { code: 2, message: /parallel arrays/ })
    await t.rejects(run({ p: 1, 'q.n': -1 }), { code: 2, message: /parallel arrays/ })
  })
  await t.test('by two fields of one array', async (t) => {
    await collection.insertOne({ s: [{ x: 1, y: 1 }] })
    const message = /several fields of the array 's' is not supported by the embedded server/
    await t.rejects(run({ 's.x': 1, 's.y': 1 }), { code: 2, message })
  })
  await t.test('by an index that is also a name in the array', async (t) => {
    await collection.insertOne({ n: [{ 0: 1 }] })
    await t.rejects(run({ 'n.0': 1 }), { code: 16746 })
  })
  await t.test('by $meta', (t) => t.rejects(run({ a: { $meta: 'textScore' } }), { code: 40218 }))
})

t.test('the order of BSON types is kept when sorting', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<{ _id: number; a?: unknown }>('order')
  const values = [
    new MaxKey(),
    /x/,
    new Timestamp({ t: 1, i: 1 }),
    new Date(0),
    true,
    new ObjectId(),
    Buffer.from('x'),
    [{ z: 1 }],
    { x: 1 },
    'text',
    3,
    null,
    new MinKey(),
  ]
  await collection.insertMany(values.map((a, _id) => ({ _id, a })))
  const sorted = await collection.find().sort({ a: 1 }).toArray()
  // An array sorts by its item, so it stands beside the document.
  t.same(pluck(sorted, '_id'), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
})

t.test('an array sorts by its lowest item upwards and by its highest downwards', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<{ _id: number; a?: unknown }>('arrays')
  await collection.insertMany([
    { _id: 0, a: [1, 9] },
    { _id: 1, a: [4] },
    { _id: 2 },
    { _id: 3, a: [] },
  ])
  const up = await collection.find().sort({ a: 1 }).toArray()
  const down = await collection.find().sort({ a: -1 }).toArray()
  t.same(pluck(up, '_id'), [3, 2, 0, 1])
  t.same(pluck(down, '_id'), [0, 1, 2, 3])
})

/** What a document sorts by is its lowest key in an index of the same field. */
const SORTS: readonly (readonly [
  title: string,
  documents: readonly Document[],
  sort: Document,
  order: readonly number[],
])[] = [
  ['a position in an array', [{ v: [3, 0] }, { v: [1, 9] }, { v: [2] }], { 'v.0': 1 }, [1, 2, 0]],
  [
    'a position that is not there as null',
    [{ v: [1, 2] }, { v: [1] }, {}],
    { 'v.1': 1 },
    [1, 2, 0],
  ],
  [
    'a field at a position',
    [{ v: [{ n: 2 }, { n: 0 }] }, { v: [{ n: 1 }] }],
    { 'v.0.n': 1 },
    [1, 0],
  ],
  [
    'items without the field as null',
    [{ v: [1, { n: 5 }] }, { v: [{ n: 2 }] }],
    { 'v.n': 1 },
    [0, 1],
  ],
  [
    'an array in an array as a whole',
    [{ v: [[1], 8] }, { v: [9] }, { v: [7] }],
    { v: 1 },
    [2, 0, 1],
  ],
  [
    'an array in an array without its fields',
    [{ v: [[{ n: 1 }]] }, { v: [] }, { v: [{ n: 0 }] }],
    { 'v.n': -1 },
    [2, 0, 1],
  ],
]

t.test('a sort by arrays takes', async (t) => {
  const database = await openDatabase(t)
  for (const [number, [title, documents, sort, order]] of SORTS.entries()) {
    await t.test(title, async (t) => {
      const collection = database.collection<{ _id: number }>(`sort${number}`)
      await collection.insertMany(documents.map((document, _id) => ({ _id, ...document })))
      const found = await collection.find({}, { sort: sort as never }).toArray()
      t.same(pluck(found, '_id'), order)
      const piped = await collection.aggregate([{ $sort: sort }]).toArray()
      t.same(piped, found)
    })
  }
})

t.test('the first documents of a sort are those of the whole one', (t) => {
  const documents = Array.from({ length: 3_000 }, (_, _id) => ({ _id, a: (_id * 7_919) % 101 }))
  for (const sort of [{ a: 1 }, { a: -1 }, {}]) {
    const sorter = compileSort(sort, undefined)
    for (const limit of [1, 10, 1_000, 5_000]) {
      t.strictSame(sorter(documents, limit), sorter(documents).slice(0, limit))
    }
  }
  t.end()
})
