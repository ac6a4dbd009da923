import type { Document } from 'mongodb'
import { Binary, MongoBulkWriteError, ObjectId } from 'mongodb'
import t from 'tap'
import { openClient, openDatabase } from '../open-database.ts'

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

t.test('cursors', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('cursors')
  await collection.insertMany(Array.from({ length: 250 }, (_, _id) => ({ _id })))
  await t.test('give 101 documents first and the rest on demand', async (t) => {
    const { cursor } = await database.command({ find: 'cursors', filter: {} })
    t.equal(cursor.firstBatch.length, 101)
    const more = await database.command({
      getMore: cursor.id,
      collection: 'cursors',
      batchSize: 100,
    })
    t.equal(more['cursor'].nextBatch.length, 100)
    t.equal((await collection.find().toArray()).length, 250)
  })
  await t.test('obey batchSize, skip and limit', async (t) => {
    const found = await collection
      .find()
      .sort({ _id: -1 })
      .batchSize(7)
      .skip(10)
      .limit(20)
      .toArray()
    t.same(
      found.map(({ _id }) => _id),
      Array.from({ length: 20 }, (_, index) => 239 - index),
    )
  })
  await t.test('are gone after killCursors', async (t) => {
    const { cursor } = await database.command({ find: 'cursors', batchSize: 1 })
    t.match(await database.command({ killCursors: 'cursors', cursors: [cursor.id] }), {
      cursorsKilled: { length: 1 },
    })
    await t.rejects(database.command({ getMore: cursor.id, collection: 'cursors' }), { code: 43 })
  })
  await t.test('keep a batch below 16 MiB', async (t) => {
    const large = database.collection('batches')
    for (let count = 0; count < 3; count += 1)
      await large.insertOne({ text: 'x'.repeat(7_000_000) })
    const { cursor } = await database.command({ find: 'batches' })
    t.equal(cursor.firstBatch.length, 2)
    t.equal((await large.find().toArray()).length, 3)
  })
})

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

t.test('a unique index', async (t) => {
  const database = await openDatabase(t)
  await t.test('names its pattern and the value in the error', async (t) => {
    const collection = database.collection<Numbered>('unique')
    await collection.createIndex({ 'user.name': 1, at: -1 }, { unique: true })
    await collection.insertOne({ _id: 1, user: { name: 'ada' }, at: 1 })
    const message =
      'E11000 duplicate key error collection: test.unique index: user.name_1_at_-1 dup key: { user.name: "ada", at: 1 }'
    await t.rejects(collection.insertOne({ _id: 2, user: { name: 'ada' }, at: 1 }), {
      code: 11000,
      message,
      keyPattern: { 'user.name': 1, at: -1 },
      keyValue: { 'user.name': 'ada', at: 1 },
    })
    await collection.insertOne({ _id: 2, user: { name: 'ada' }, at: 2 })
    await t.rejects(collection.updateOne({ _id: 2 }, { $set: { at: 1 } }), { code: 11000 })
    await collection.deleteOne({ _id: 1 })
    t.match(await collection.updateOne({ _id: 2 }, { $set: { at: 1 } }), { modifiedCount: 1 })
  })
  await t.test('counts each item of an array once per document, and missing as null', async (t) => {
    const collection = database.collection<Numbered>('items')
    await collection.createIndex({ tags: 1 }, { unique: true })
    await collection.insertOne({ _id: 1, tags: ['a', 'a', 'b'] })
    await t.rejects(collection.insertOne({ _id: 2, tags: 'b' }), { code: 11000 })
    await collection.insertOne({ _id: 3 })
    await t.rejects(collection.insertOne({ _id: 4, tags: null }), { code: 11000 })
  })
  await t.test('leaves out documents when sparse or partial', async (t) => {
    const collection = database.collection<Numbered>('sparse')
    await collection.createIndex({ a: 1 }, { unique: true, sparse: true })
    await collection.createIndex(
      { b: 1 },
      { unique: true, partialFilterExpression: { live: true } },
    )
    await collection.insertMany([{ _id: 1 }, { _id: 2, b: 1 }, { _id: 3, b: 1, live: true }])
    await t.rejects(collection.insertOne({ _id: 4, b: 1, live: true }), { code: 11000 })
  })
  await t.test('follows its collation', async (t) => {
    const collection = database.collection<Numbered>('collated')
    await collection.createIndex(
      { mail: 1 },
      { unique: true, collation: { locale: 'en', strength: 2 } },
    )
    await collection.insertOne({ _id: 1, mail: 'Ada@x' })
    await t.rejects(collection.insertOne({ _id: 2, mail: 'ada@X' }), { code: 11000 })
  })
  await t.test('is not made where two documents have the same key', async (t) => {
    const collection = database.collection<Numbered>('late')
    await collection.insertMany([
      { _id: 1, a: 1 },
      { _id: 2, a: 1 },
    ])
    await t.rejects(collection.createIndex({ a: 1 }, { unique: true }), { code: 11000 })
    t.equal((await collection.indexes()).length, 1)
  })
})

t.test('indexes', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('indexed')
  await t.test('are listed, dropped by name or key, and may be made twice', async (t) => {
    await collection.createIndexes([{ key: { a: 1 } }, { key: { b: -1 }, name: 'mine' }])
    await collection.createIndex({ a: 1 })
    t.same(
      (await collection.indexes()).map(({ name }) => name),
      ['_id_', 'a_1', 'mine'],
    )
    await collection.dropIndex('mine')
    await t.rejects(collection.dropIndex('mine'), { code: 27 })
    await collection.dropIndexes()
    t.same(
      (await collection.indexes()).map(({ name }) => name),
      ['_id_'],
    )
  })
  await t.test('must exist to be hinted at', async (t) => {
    await collection.insertOne({ _id: 1, a: 1 })
    await collection.createIndex({ a: 1 })
    t.equal((await collection.find({}, { hint: { a: 1 } }).toArray()).length, 1)
    t.equal((await collection.find({}, { hint: 'a_1' }).toArray()).length, 1)
    await t.rejects(collection.find({}, { hint: 'nope' }).toArray(), { code: 2 })
  })
  await t.test('of other kinds are refused', async (t) => {
    await t.rejects(collection.createIndex({ a: 'text' }), { code: 67 })
    await t.rejects(collection.createIndex({ a: '2dsphere' }), { code: 67 })
    await t.rejects(collection.createIndex({ d: 1 }, { expireAfterSeconds: 5 }), { code: 67 })
    await t.rejects(collection.createIndex({ a: 1 }, { unique: true }), { code: 86 })
  })
})

t.test('collections and databases are made, listed, renamed and dropped', async (t) => {
  const client = await openClient(t)
  const database = client.db('shop')
  const names = async (): Promise<string[]> =>
    (await database.listCollections().toArray()).map(({ name }) => name)
  await database.createCollection('a')
  await t.rejects(database.createCollection('a', { collation: { locale: 'en' } }), { code: 48 })
  await database.collection('b').insertOne({ x: 1 })
  t.same(await names(), ['a', 'b'])
  t.same(
    (await client.db().admin().listDatabases()).databases.map(({ name }) => name),
    ['shop'],
  )
  await database.collection('b').rename('c')
  t.equal(await database.collection('c').countDocuments({ x: 1 }), 1)
  await t.rejects(database.collection('c').rename('a'), { code: 48 })
  t.equal(await database.collection('c').drop(), true)
  t.equal(await database.collection('c').drop(), true)
  await database.dropDatabase()
  t.same(await names(), [])
  await t.rejects(database.createCollection('capped', { capped: true, size: 10 }), { code: 72 })
  await t.rejects(database.createCollection('checked', { validator: { a: 1 } }), { code: 72 })
  await t.rejects(database.collection('a$b').insertOne({}), { code: 73 })
})

t.test(
  'a collation of the collection holds for its filters, its _id and its indexes',
  async (t) => {
    const database = await openDatabase(t)
    const collection = await database.createCollection<{ _id: string; name?: string }>('german', {
      collation: { locale: 'de', strength: 1 },
    })
    await collection.createIndex({ name: 1 }, { unique: true })
    await collection.insertOne({ _id: 'A', name: 'Ä' })
    t.same(await collection.findOne({ _id: 'a' }), { _id: 'A', name: 'Ä' })
    await t.rejects(collection.insertOne({ _id: 'a' }), { code: 11000 })
    await t.rejects(collection.insertOne({ _id: 'b', name: 'a' }), { code: 11000 })
    const simple = { collation: { locale: 'simple' } }
    t.equal(await collection.findOne({ _id: 'a' }, simple), null)
  },
)
