import type { Document } from 'mongodb'
import t from 'tap'
import { pluck } from '../../../support/pluck.ts'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

t.test('counting and distinct values', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('counts')
  await collection.insertMany([{ _id: 1, tags: ['a', 'b'] }, { _id: 2, tags: 'a' }, { _id: 3 }])
  t.equal(await collection.countDocuments({ tags: 'a' }), 2)
  t.equal(await collection.countDocuments({}, { skip: 1, limit: 5 }), 2)
  t.equal(await collection.estimatedDocumentCount(), 3)
  t.same(await collection.distinct('tags'), ['a', 'b'])
  t.same(await collection.distinct('tags', { _id: { $gt: 1 } }), ['a'])
})

t.test('finds records by their ids, also where they stand in $and', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('ids')
  await collection.insertMany([1, 2, 3, 4].map((_id) => ({ _id, even: _id % 2 === 0 })))
  const filters: readonly [Document, number[]][] = [
    [{ $and: [{ _id: { $in: [1, 2, 4] } }, { even: true }] }, [2, 4]],
    [{ $and: [{ even: true }, { _id: { $in: [1, 2] } }] }, [2]],
    [{ $and: [{ _id: { $in: [1, 2] } }, { _id: { $in: [2, 3] } }] }, [2]],
    [{ $and: [{ _id: { $in: [1, 2] } }], _id: { $gt: 1 } }, [2]],
    [{ $and: [{ even: true }, { even: false }] }, []],
  ]
  for (const [filter, ids] of filters) {
    const found = await collection.find(filter).toArray()
    t.same(pluck(found, '_id'), ids, JSON.stringify(filter))
  }
})
