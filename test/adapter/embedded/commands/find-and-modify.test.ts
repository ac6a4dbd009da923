import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

t.test('findAndModify', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Document & { _id: number }>('modify')
  await collection.insertMany([
    { _id: 1, n: 1 },
    { _id: 2, n: 2 },
  ])
  await t.test('returns the document from before, or from after when told to', async (t) => {
    const old = await collection.findOneAndUpdate({ _id: 1 }, { $inc: { n: 10 } })
    t.same(old, { _id: 1, n: 1 })
    const after = await collection.findOneAndUpdate(
      { _id: 1 },
      { $inc: { n: 10 } },
      { returnDocument: 'after' },
    )
    t.same(after, { _id: 1, n: 21 })
  })
  await t.test('takes the first of a sort order and a projection', async (t) => {
    const removed = await collection.findOneAndDelete(
      {},
      { sort: { n: -1 }, projection: { _id: 1 } },
    )
    t.same(removed, { _id: 1 })
    t.equal(await collection.countDocuments(), 1)
  })
  await t.test('inserts with upsert', async (t) => {
    const options = { upsert: true, returnDocument: 'after' } as const
    t.same(await collection.findOneAndReplace({ _id: 9 }, { z: 1 }, options), { _id: 9, z: 1 })
  })
  await t.test('returns null where nothing matches', async (t) => {
    t.equal(await collection.findOneAndUpdate({ _id: 99 }, { $set: { a: 1 } }), null)
  })
})
