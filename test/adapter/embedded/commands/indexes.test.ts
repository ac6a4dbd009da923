import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

type Refusal = readonly [title: string, options: Document, code: number]

const partial = (filter: unknown): Document => ({ partialFilterExpression: filter })

const REFUSALS: readonly Refusal[] = [
  ['an unknown option', { uniqe: true }, 197],
  ['expireAfterSeconds', { expireAfterSeconds: 0 }, 67],
  ...['weights', 'wildcardProjection', 'storageEngine', 'prepareUnique', 'clustered'].map(
    (name): Refusal => [name, { [name]: { a: 1 } }, 67],
  ),
  ['unique that is a string', { unique: 'yes' }, 14],
  ['a partial filter that is no object', partial('a'), 14],
  ...['$ne', '$nin', '$not', '$regex', '$size', '$mod', '$all', '$elemMatch', '$nope'].map(
    (name): Refusal => [`${name} in a partial filter`, partial({ a: { [name]: 1 } }), 67],
  ),
  ['a regular expression in a partial filter', partial({ a: /^(a+)+$/ }), 67],
  ['a regular expression in $in of a partial filter', partial({ a: { $in: [/^(a+)+$/] } }), 67],
  ['$exists: false in a partial filter', partial({ a: { $exists: false } }), 67],
  ...['$nor', '$expr', '$where', '$text', '$comment'].map(
    (name): Refusal => [`${name} in a partial filter`, partial({ [name]: [{ a: 1 }] }), 67],
  ),
  ['a regular expression deep in a partial filter', partial({ $or: [{ $and: [{ a: /x/ }] }] }), 67],
  ['a partial filter and sparse', { sparse: true, ...partial({ a: 1 }) }, 67],
  ['a key of zero', { key: { a: 0 } }, 67],
  ['a key of true', { key: { a: true } }, 67],
  ['an empty key', { key: {} }, 67],
  ['a path with an empty name', { key: { 'a..b': 1 } }, 67],
  ['a path with a dollar', { key: { $a: 1 } }, 67],
  ['a text index', { key: { a: 'text' } }, 67],
  ['options on _id', { key: { _id: 1 }, unique: true }, 197],
  ['a unique hashed index', { key: { a: 'hashed' }, unique: true }, 67],
  ['no name', { name: '' }, 9],
]

t.test('an index is refused with MongoDB’s code for', async (t) => {
  const database = await openDatabase(t)
  for (const [title, options, code] of REFUSALS) {
    await t.test(title, async (t) => {
      const index = { key: { a: 1 }, name: 'a', ...options }
      await t.rejects(database.command({ createIndexes: 'refused', indexes: [index] }), { code })
      t.equal((await database.listCollections().toArray()).length, 0, 'and makes no collection')
    })
  }
})

t.test('of several indexes all are made or none', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('several')
  await collection.insertMany([{ a: 1 }, { a: 1 }])
  const indexes = [{ key: { b: 1 } }, { key: { a: 1 }, unique: true }]
  await t.rejects(collection.createIndexes(indexes), { code: 11000 })
  t.equal((await collection.indexes()).length, 1)
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

t.test('a hint', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('hints')
  await collection.createIndex({ a: 1 }, { sparse: true })
  await collection.createIndex({ b: 1 }, { partialFilterExpression: { live: true } })
  await collection.createIndex({ c: 1 }, { hidden: true })
  await collection.createIndex({ 'w.$**': 1 })
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
    await t.rejects(collection.find({}, { hint: 'w.$**_1' }).toArray(), { code: 2 })
  })
  await t.test('is not looked for where there is no collection', async (t) => {
    t.same(await database.collection('none').find({}, { hint: 'nope' }).toArray(), [])
  })
  await t.test('is looked for in an empty collection', async (t) => {
    const empty = await database.createCollection('empty')
    await t.rejects(empty.find({}, { hint: 'nope' }).toArray(), { code: 2 })
  })
})

t.test('an index that is not unique refuses what it cannot hold', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('unfit')
  await collection.createIndex({ a: 1, b: 1 })
  await collection.createIndex({ h: 'hashed' })
  await collection.insertOne({ _id: 1, a: [1], b: 1, h: 1 })
  await t.rejects(collection.insertOne({ _id: 2, a: [1], b: [1] }), { code: 171 })
  await t.rejects(collection.updateOne({ _id: 1 }, { $set: { b: [2] } }), { code: 171 })
  await t.rejects(collection.insertOne({ _id: 3, h: [1] }), { code: 16766 })
  await t.rejects(
    database.client.withSession((session) =>
      session.withTransaction(() => collection.insertOne({ _id: 4, h: [1] }, { session })),
    ),
    { code: 16766 },
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
