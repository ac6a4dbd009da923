import type { Document } from 'mongodb'
import { Binary, MongoBulkWriteError, ObjectId, Timestamp } from 'mongodb'
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

t.test('the fields of a document keep the order in which they come, or are refused', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('order')
  const insert = (document: unknown) =>
    database.command({ insert: 'order', documents: [document as Document] })
  // JavaScript puts names of whole numbers first: a Map is how a client can send another order.
  const moved = new Map<string, number>([
    ['a', 1],
    ['2024', 5],
  ])
  await t.test('names of whole numbers may come first and upwards', async (t) => {
    await insert({ _id: 1, counts: { 9: 1, 10: 2, total: 3 }, list: [{ 2024: 5 }] })
    const found = await collection.findOne({ counts: { 9: 1, 10: 2, total: 3 } })
    t.equal(JSON.stringify(found?.['counts']), '{"9":1,"10":2,"total":3}')
  })
  const message = /The order of the fields 'a', '2024' is not supported by the embedded server/
  await t.test('and are refused elsewhere', async (t) => {
    await t.rejects(insert(moved), { code: 2, message })
    await t.rejects(insert({ _id: 2, list: [{ x: 1 }, moved] }), { code: 2, message })
    await t.rejects(database.command({ find: 'order', sort: moved }), { code: 2, message })
    t.equal(await collection.countDocuments(), 1)
  })
  await t.test('so is a DBRef to a collection with a dot, which bson splits', async (t) => {
    const reference = { $ref: 'fs.files', $id: 1 }
    await t.rejects(insert({ r: reference }), { code: 2, message: /'\$ref', '\$id' is not/ })
    await insert({ _id: 3, r: { $ref: 'files', $id: 1, $db: 'fs' } })
    t.equal(await collection.countDocuments({ 'r.$ref': 'files' }), 1)
  })
})

t.test('an update that fails keeps what it has changed before', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('partly')
  const documents = [
    { _id: 1, n: 1 },
    { _id: 2, n: 'x' },
    { _id: 3, n: 3 },
  ]
  await t.test('outside of a transaction', async (t) => {
    await collection.insertMany(documents)
    await t.rejects(collection.updateMany({}, { $inc: { n: 1 } }), { code: 14 })
    t.same(await collection.distinct('n'), [2, 'x', 3])
  })
  await t.test('also where a document becomes too large, or has a key that is taken', async (t) => {
    await collection.deleteMany({})
    await collection.insertMany([{ _id: 1 }, { _id: 2, text: 'x'.repeat(16_777_100) }, { _id: 3 }])
    const update = { $set: { more: 'y'.repeat(100) } }
    await t.rejects(collection.updateMany({}, update), { code: 10334 })
    t.same(await collection.distinct('_id', { more: { $exists: true } }), [1])
    await collection.createIndex({ u: 1 }, { unique: true, sparse: true })
    await t.rejects(collection.updateMany({}, { $set: { u: 1 } }), { code: 11000 })
    t.same(await collection.distinct('_id', { u: 1 }), [1])
  })
  await t.test('and not in one', async (t) => {
    await collection.deleteMany({})
    await collection.insertMany(documents)
    const run = database.client.withSession((session) =>
      session.withTransaction(() => collection.updateMany({}, { $inc: { n: 1 } }, { session })),
    )
    await t.rejects(run, { code: 14 })
    t.same(await collection.distinct('n'), [1, 'x', 3])
  })
})

t.test('empty timestamps become the time where a whole document is given', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('stamped')
  const empty = new Timestamp({ t: 0, i: 0 })
  const id = new ObjectId()
  const before = id.getTimestamp().getTime() / 1000
  const isNow = (value: unknown) => value instanceof Timestamp && value.high >= before
  await collection.insertOne({ _id: id, at: empty, inner: { at: empty }, list: [empty] })
  const inserted = await collection.findOne({ _id: id })
  t.ok(isNow(inserted?.['at']))
  t.same(inserted, { _id: id, at: inserted?.['at'], inner: { at: empty }, list: [empty] })
  t.strictSame(Object.keys(inserted ?? {}), ['_id', 'at', 'inner', 'list'])
  await collection.replaceOne({ _id: id }, { other: empty })
  t.ok(isNow((await collection.findOne({ _id: id }))?.['other']))
  await collection.updateOne({ _id: id }, { $set: { set: empty } })
  t.same((await collection.findOne({ _id: id }))?.['set'], empty)
  await collection.insertOne({ _id: empty as never })
  t.equal(await collection.countDocuments({ _id: empty as never }), 1)
})

t.test('documents have 180 levels at most', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Document & { _id: number }>('deep')
  // The document itself is one level.
  const nest = (levels: number): unknown => (levels === 1 ? 1 : { a: nest(levels - 1) })
  await collection.insertOne({ _id: 1, a: nest(180) })
  await t.rejects(collection.insertOne({ _id: 2, a: nest(181) }), { code: 15 })
  await collection.insertOne({ _id: 3 })
  await collection.updateOne({ _id: 3 }, { $set: { a: nest(180) } })
  await t.rejects(collection.updateOne({ _id: 3 }, { $set: { a: nest(181) } }), { code: 15 })
  await t.rejects(collection.replaceOne({ _id: 3 }, { a: [nest(180)] }), { code: 15 })
  await t.rejects(collection.updateOne({ _id: 4 }, { $set: { a: nest(181) } }, { upsert: true }), {
    code: 15,
  })
  t.same(await collection.distinct('_id'), [1, 3])
})
