import type { Document } from 'mongodb'
import t from 'tap'
import { pluck } from '../../../support/pluck.ts'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

type Refusal = readonly [title: string, options: Document, code: number]

const partial = (filter: unknown): Document => ({ partialFilterExpression: filter })

const REFUSALS: readonly Refusal[] = [
  ['an unknown option', { uniqe: true }, 197],
  ['expireAfterSeconds below 0', { expireAfterSeconds: -1 }, 67],
  ['expireAfterSeconds that is a part of one', { expireAfterSeconds: 0.5 }, 67],
  ['expireAfterSeconds of a century', { expireAfterSeconds: 2 ** 31 }, 67],
  ['expireAfterSeconds of two fields', { key: { a: 1, b: 1 }, expireAfterSeconds: 1 }, 67],
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
  ...['hashed', '2d', '2dsphere'].map(
    (type): Refusal => [`a ${type} one`, { key: { a: type } }, 67],
  ),
  ['a wildcard', { key: { '$**': 1 } }, 67],
  ['a wildcard behind a path', { key: { 'a.$**': 1 } }, 67],
  ['a version of long ago', { v: 0 }, 67],
  ['no name', { name: '' }, 9],
  ['the name of all', { name: '*' }, 2],
  // Its source: MongoDB's jstests/core/index_create_with_nul_in_name.js
  ['a zero byte in the name', { name: 'a\0b' }, 67],
  // Its source: MongoDB's jstests/core/compound_index_max_fields.js
  [
    '33 fields',
    { key: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`f${at}`, 1])) },
    13103,
  ],
  // Their source: validateIdIndexSpec in MongoDB's src/mongo/db/catalog/index_key_validate.cpp
  ['_id downwards', { key: { _id: -1 } }, 2],
  ['options on _id downwards', { key: { _id: -1 }, sparse: true }, 197],
  ['_id with a collation of its own', { key: { _id: 1 }, collation: { locale: 'en' } }, 2],
  ['an item of an array', { key: { 'a.0': 1 } }, 67],
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

t.test('a collection has 64 indexes at most', async (t) => {
  const collection = (await openDatabase(t)).collection('many')
  const toSpec = (_: unknown, n: number): { key: { [name: string]: 1 } } => ({
    key: { [`f${n}`]: 1 },
  })
  await collection.createIndexes(Array.from({ length: 62 }, toSpec))
  const twoMore = [{ key: { x: 1 as const } }, { key: { y: 1 as const } }]
  await t.rejects(collection.createIndexes(twoMore), { code: 67 })
  t.equal((await collection.indexes()).length, 63)
  await collection.createIndex({ x: 1 })
  await collection.createIndex({ x: 1 })
  await t.rejects(collection.createIndex({ y: 1 }), { code: 67 })
})

t.test('of several indexes all are made or none', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('several')
  await collection.insertMany([{ a: 1 }, { a: 1 }])
  const indexes = [{ key: { b: 1 } }, { key: { a: 1 }, unique: true }]
  await t.rejects(collection.createIndexes(indexes), { code: 11000 })
  t.equal((await collection.indexes()).length, 1)
})

t.test('indexes', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('indexed')
  await t.test('are listed, dropped by name or key, and may be made twice', async (t) => {
    await collection.createIndexes([{ key: { a: 1 } }, { key: { b: -1 }, name: 'mine' }])
    await collection.createIndex({ a: 1 })
    t.same(pluck(await collection.indexes(), 'name'), ['_id_', 'a_1', 'mine'])
    await collection.dropIndex('mine')
    await t.rejects(collection.dropIndex('mine'), { code: 27 })
    await collection.dropIndexes()
    t.same(pluck(await collection.indexes(), 'name'), ['_id_'])
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
    await t.rejects(collection.createIndex({ a: 1 }, { unique: true }), { code: 86 })
  })
})
