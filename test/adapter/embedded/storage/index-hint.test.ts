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
  await collection.insertMany([
    { _id: 1, a: 1, live: true },
    { _id: 2, a: [] },
    { _id: 3, b: 1 },
    { _id: 4, live: true },
  ])
  const ids = (found: readonly Numbered[]) => found.map(({ _id }) => _id)

  await t.test('of a sparse or partial index finds what is in the index only', async (t) => {
    t.same(ids(await collection.find({}, { hint: 'a_1' }).toArray()), [1, 2])
    t.same(ids(await collection.find({}, { hint: { b: 1 } }).toArray()), [1, 4])
    t.same(ids(await collection.find({ _id: 3 }, { hint: { b: 1 } }).toArray()), [])
    t.equal(await collection.countDocuments({}, { hint: { b: 1 } }), 2)
    const { n } = await database.command({ count: 'hints', hint: 'b_1' })
    t.equal(n, 2)
    const stages = [{ $sort: { _id: -1 } }]
    t.same(
      ids((await collection.aggregate(stages, { hint: { a: 1 } }).toArray()) as Numbered[]),
      [2, 1],
    )
  })
  await t.test('holds for updates and deletes as well', async (t) => {
    const updated = await collection.updateMany({}, { $set: { u: 1 } }, { hint: { a: 1 } })
    t.equal(updated.matchedCount, 2)
    t.equal(
      await collection.findOneAndUpdate({ _id: 3 }, { $set: { u: 2 } }, { hint: { a: 1 } }),
      null,
    )
    t.equal((await collection.deleteMany({ _id: 3 }, { hint: { b: 1 } })).deletedCount, 0)
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
