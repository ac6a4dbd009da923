import type { Document } from 'mongodb'
import t from 'tap'
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
