import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

t.test('a hint', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('hints')
  await collection.createIndex({ a: 1 }, { sparse: true })
  await collection.createIndex({ b: 1 }, { partialFilterExpression: { live: true } })
  await collection.createIndex({ c: 1 }, { hidden: true })
  await collection.createIndex({ d: 1 })
  await collection.insertMany([
    { _id: 1, a: 1, live: true },
    { _id: 2, a: [] },
    { _id: 3, b: 1 },
    { _id: 4, live: true },
  ])
  const ids = (found: readonly Numbered[]) => found.map(({ _id }) => _id)

  await t.test('changes nothing about what is found', async (t) => {
    t.same(ids(await collection.find({}, { hint: '_id_' }).toArray()), [1, 2, 3, 4])
    t.equal(await collection.countDocuments({}, { hint: { d: 1 } }), 4)
    const updated = await collection.updateMany({}, { $set: { u: 1 } }, { hint: { d: 1 } })
    t.equal(updated.matchedCount, 4)
  })
  await t.test('of a sparse or partial index is refused', async (t) => {
    const message = 'The hint of a sparse or partial index is not supported by the embedded server'
    const refusal = { code: 2, message }
    await t.rejects(collection.find({}, { hint: 'a_1' }).toArray(), refusal)
    await t.rejects(collection.aggregate([], { hint: { b: 1 } }).toArray(), refusal)
    await t.rejects(collection.updateMany({}, { $set: { u: 1 } }, { hint: { a: 1 } }), refusal)
    await t.rejects(collection.deleteMany({ _id: 3 }, { hint: { b: 1 } }), refusal)
  })
  await t.test('must name an index that is there and not hidden', async (t) => {
    const message = 'hint provided does not correspond to an existing index'
    await t.rejects(collection.find({}, { hint: 'nope' }).toArray(), { code: 2, message })
    for (const hint of [{ z: 1 }, { c: 1 }]) {
      const refusal = { code: 2, message }
      await t.rejects(collection.find({}, { hint }).toArray(), refusal)
      await t.rejects(collection.aggregate([], { hint }).toArray(), refusal)
      await t.rejects(collection.updateOne({}, { $set: { a: 1 } }, { hint }), refusal)
      await t.rejects(collection.deleteOne({}, { hint }), refusal)
      await t.rejects(collection.findOneAndDelete({}, { hint }), refusal)
    }
  })
  await t.test('is not looked for where there is no collection', async (t) => {
    t.same(await database.collection('none').find({}, { hint: 'nope' }).toArray(), [])
  })
  await t.test('is looked for in an empty collection', async (t) => {
    const empty = await database.createCollection('empty')
    await t.rejects(empty.find({}, { hint: 'nope' }).toArray(), { code: 2 })
  })
})
