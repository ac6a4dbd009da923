import type { Document } from 'mongodb'
import { MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb'
import t from 'tap'
import { compileSort } from '../../../../src/adapter/embedded/queries/sort.ts'
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
  await t.test('by an operator', (t) => t.rejects(run({ $nope: 1 }), { code: 2 }))
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
  t.same(
    sorted.map(({ _id }) => _id),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
  )
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
  t.same(
    up.map(({ _id }) => _id),
    [3, 2, 0, 1],
  )
  t.same(
    down.map(({ _id }) => _id),
    [0, 1, 2, 3],
  )
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
