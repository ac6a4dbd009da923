import type { Document } from 'mongodb'
import { Binary, MongoBulkWriteError, ObjectId } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

t.test('inserted documents', async (t) => {
  const database = await openDatabase(t)
  await t.test('get an _id in the first place', async (t) => {
    const collection = database.collection('inserted')
    await database.command({
      insert: 'inserted',
      documents: [{ a: 1, b: { c: [new Date(0), null] } }],
    })
    const found = await collection.findOne()
    t.same(Object.keys(found ?? {}), ['_id', 'a', 'b'])
    t.ok(found?._id instanceof ObjectId)
    t.same(found?.['b'], { c: [new Date(0), null] })
  })
  await t.test('are the same after a round trip, types and all', async (t) => {
    const collection = database.collection('types')
    const document = {
      s: 'ü',
      b: new Binary(Buffer.from('x')),
      r: /a+/im,
      u: undefined,
      f: -0.5,
      l: [true, {}],
    }
    const { insertedId } = await collection.insertOne(document)
    const { u, ...defined } = document
    t.same(await collection.findOne(), { _id: insertedId, ...defined, u: null })
  })
  await t.test('must not have an array or a regular expression as _id', async (t) => {
    const collection = database.collection<{ _id: unknown }>('ids')
    await t.rejects(collection.insertOne({ _id: [1] as never }), { code: 53 })
    await t.rejects(collection.insertOne({ _id: /x/ as never }), { code: 53 })
  })
  await t.test('must not be larger than 16 MiB, nor grow beyond it', async (t) => {
    const collection = database.collection<Numbered>('large')
    await collection.insertOne({ _id: 1, text: 'x'.repeat(9_000_000) })
    const update = [{ $set: { more: { $concat: ['$text', '$text'] } } }]
    await t.rejects(collection.updateOne({ _id: 1 }, update), { code: 10334 })
  })
})

t.test('bulk writes stop at the first error when ordered and go on when not', async (t) => {
  const database = await openDatabase(t)
  const documents = [{ _id: 1 }, { _id: 1 }, { _id: 2 }]
  const ordered = await database
    .collection<Numbered>('o')
    .insertMany(documents)
    .catch((error) => error)
  t.ok(ordered instanceof MongoBulkWriteError)
  t.match(ordered, { code: 11000, insertedCount: 1, writeErrors: [{ index: 1 }] })
  const options = { ordered: false }
  const unordered = await database
    .collection<Numbered>('u')
    .insertMany(documents, options)
    .catch((error) => error)
  t.match(unordered, { insertedCount: 2, writeErrors: [{ index: 1 }] })
  const mixed = await database
    .collection<Numbered>('u')
    .bulkWrite([
      { updateOne: { filter: { _id: 1 }, update: { $set: { a: 1 } } } },
      { updateMany: { filter: { _id: 9 }, update: { $set: { a: 1 } }, upsert: true } },
      { deleteOne: { filter: { _id: 2 } } },
    ])
  t.match(mixed, { modifiedCount: 1, upsertedCount: 1, deletedCount: 1 })
})
