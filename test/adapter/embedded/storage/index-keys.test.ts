import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

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
  await t.test('shows an empty array and a missing field as null in the error', async (t) => {
    const collection = database.collection<Numbered>('empty')
    await collection.createIndex({ a: 1, b: 1 }, { unique: true })
    await collection.insertOne({ _id: 1, a: [] })
    await t.rejects(collection.insertOne({ _id: 2, a: [] }), {
      code: 11000,
      message: /dup key: \{ a: null, b: null \}$/,
      keyValue: { a: null, b: null },
    })
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

t.test('a partial filter may hold what MongoDB allows', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('partial')
  const filter = {
    $and: [
      { a: { $gte: 1, $lt: 9, $type: 'number', $exists: true } },
      { $or: [{ b: 1 }, { b: { $eq: 2 } }, { b: { $in: [3] } }] },
    ],
  }
  await collection.createIndex({ k: 1 }, { unique: true, partialFilterExpression: filter })
  await collection.insertMany([
    { _id: 1, k: 1, a: 5, b: 1 },
    { _id: 2, k: 1, a: 5, b: 9 },
    { _id: 3, k: 1, a: 9, b: 2 },
  ])
  await t.rejects(collection.insertOne({ _id: 4, k: 1, a: 1, b: 3 }), { code: 11000 })
})

t.test('an index that is not unique refuses what it cannot hold', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('unfit')
  await collection.createIndex({ a: 1, b: 1 })
  await collection.insertOne({ _id: 1, a: [1], b: 1 })
  await t.rejects(collection.insertOne({ _id: 2, a: [1], b: [1] }), { code: 171 })
  await t.rejects(collection.updateOne({ _id: 1 }, { $set: { b: [2] } }), { code: 171 })
  await t.rejects(
    database.client.withSession((session) =>
      session.withTransaction(() => collection.insertOne({ _id: 4, a: [1], b: [1] }, { session })),
    ),
    { code: 171 },
  )
  await collection.createIndex({ 'n.l.a': 1, 'n.l.b': 1 }, { unique: true })
  const l = [
    { a: 1, b: [1, 2] },
    { a: 2, b: 1 },
  ]
  await collection.insertOne({ _id: 5, x: [1], y: [2], n: { l } })
  await t.rejects(collection.insertOne({ _id: 6, n: { l: [{ a: 1, b: 2 }] } }), { code: 11000 })
  await t.rejects(collection.createIndex({ x: 1, y: 1 }), { code: 171 })
  t.equal(await collection.countDocuments(), 2)
})

t.test('an empty array is in a sparse index', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('sparse')
  await collection.createIndex({ a: 1 }, { unique: true, sparse: true })
  await collection.insertMany([{ _id: 1, a: [] }, { _id: 2 }, { _id: 3 }])
  await t.rejects(collection.insertOne({ _id: 4, a: [] }), { code: 11000 })
})
