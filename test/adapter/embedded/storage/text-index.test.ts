import type { Document } from 'mongodb'
import t from 'tap'
import { pluck } from '../../../support/pluck.ts'
import { openClient, openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

const none = { default_language: 'none' } as const

t.test('a text index is listed as MongoDB lists it, and may be made twice', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('listed')
  const options = { ...none, weights: { title: 5, body: 2 } }
  await collection.createIndex({ title: 'text', about: 'text' }, options)
  await collection.createIndex({ title: 'text', about: 'text' }, options)
  const expected = {
    v: 2,
    key: { _fts: 'text', _ftsx: 1 },
    name: 'title_text_about_text',
    weights: { about: 1, body: 2, title: 5 },
    default_language: 'none',
    language_override: 'language',
    textIndexVersion: 3,
  }
  t.strictSame((await collection.indexes()).at(-1), expected)
  await database.command({ createIndexes: 'listed', indexes: [expected] })
  t.equal((await collection.indexes()).length, 2)
})

t.test('a second text index is a conflict, and one that was dropped is gone', async (t) => {
  const collection = (await openDatabase(t)).collection<Numbered>('one')
  await collection.insertOne({ _id: 1, a: 'x', b: 'y' })
  await collection.createIndex({ a: 'text' }, none)
  const conflict = { code: 85, codeName: 'IndexOptionsConflict' }
  await t.rejects(collection.createIndex({ b: 'text' }, none), conflict)
  await t.rejects(collection.createIndex({ a: 'text' }, { ...none, name: 'other' }), conflict)
  await t.rejects(collection.createIndex({ a: 'text' }, { ...none, weights: { a: 2 } }), conflict)
  await collection.dropIndex('a_text')
  await t.rejects(collection.findOne({ $text: { $search: 'x' } }), { code: 27 })
  await collection.createIndex({ b: 'text' }, none)
  t.match(await collection.findOne({ $text: { $search: 'y' } }), { _id: 1 })
})

type Refusal = readonly [title: string, index: Document, code: number, message?: RegExp]

const REFUSALS: readonly Refusal[] = [
  ['the default language', {}, 67, /'english' of a text index \(set default_language: 'none'\)/],
  ['a language', { default_language: 'german' }, 67, /'german'/],
  ['other fields', { ...none, key: { a: 'text', b: 1 } }, 67, /with other fields/],
  ['a hashed field', { ...none, key: { a: 'text', b: 'hashed' } }, 67, /with other fields/],
  ['a unique one', { ...none, unique: true }, 67, /with unique/],
  ['a sparse one', { ...none, sparse: true }, 67, /with sparse/],
  ['a hidden one', { ...none, hidden: true }, 67, /with hidden/],
  ['a partial one', { ...none, partialFilterExpression: { a: 1 } }, 67],
  ['a collation', { ...none, collation: { locale: 'en' } }, 67],
  ['another version', { ...none, textIndexVersion: 2 }, 67],
  ['a weight of zero', { ...none, weights: { a: 0 } }, 67],
  ['a weight of a fraction', { ...none, weights: { a: 1.5 } }, 67],
  ['a weight that is too high', { ...none, weights: { a: 100_000 } }, 67],
  ['a weight of no path', { ...none, weights: { 'a..b': 2 } }, 67],
  ['a wildcard', { ...none, key: { '$**': 'text' } }, 67, /index on \$\*\* is not supported/],
  ['a wildcard among weights', { ...none, weights: { '$**': 1 } }, 67, /\$\*\* is not supported/],
  ['weights that are a string', { ...none, weights: '$**' }, 14],
  ['an override', { ...none, language_override: 'speaks' }, 67, /language_override 'speaks'/],
  ['a key of its own kind without fields', { ...none, key: { _fts: 'text', _ftsx: 1 } }, 67],
  ['an option of text indexes for another', { ...none, key: { a: 1 } }, 67],
]

t.test('a text index is refused for', async (t) => {
  const database = await openDatabase(t)
  for (const [title, options, code, message = /./] of REFUSALS) {
    await t.test(title, async (t) => {
      const index = { key: { a: 'text' }, name: 'a', ...options }
      const command = { createIndexes: 'refused', indexes: [index] }
      await t.rejects(database.command(command), { code, message })
    })
  }
  await database.createCollection('collated', { collation: { locale: 'en' } })
  await t.rejects(database.collection('collated').createIndex({ a: 'text' }, none), { code: 67 })
})

interface Case {
  readonly key: Document
  readonly documents: readonly Document[]
  readonly finds: readonly number[]
}

const DOTTED: Document = { 'a.b': 'text' }

const CASES: Readonly<Record<string, Case>> = {
  'strings, and those in a list': {
    key: { a: 'text' },
    documents: [{ a: 'x' }, { a: ['y', 'x'] }, { a: { b: 'x' } }, { a: [['x']] }, { b: 'x' }],
    finds: [0, 1],
  },
  'values of no other type': {
    key: { a: 'text' },
    documents: [{ a: null }, { a: 1 }, { a: /x/ }, { a: new Date(0) }, {}],
    finds: [],
  },
  'a path, through lists too': {
    key: DOTTED,
    documents: [
      { a: { b: 'x' } },
      { a: [{ b: 'x' }] },
      { a: [{ b: ['x'] }] },
      { a: 'x' },
      { a: [[{ b: 'x' }]] },
    ],
    finds: [0, 1, 2],
  },
  'a field and one inside it': {
    key: { a: 'text', 'a.b': 'text' },
    documents: [{ a: 'x' }, { a: { b: 'x' } }, { a: { c: 'x' } }, { a: ['x', { b: 'y' }] }],
    finds: [0, 1, 3],
  },
  'no list behind a path that stands before the one that leads into it': {
    key: { 'a-x': 'text', 'a.b': 'text' },
    documents: [{ a: [{ b: 'x' }] }, { a: { b: 'x' } }],
    finds: [1],
  },
}

t.test('a text index has', async (t) => {
  const database = await openDatabase(t)
  for (const [number, [title, { key, documents, finds }]] of Object.entries(CASES).entries()) {
    await t.test(title, async (t) => {
      const collection = database.collection<Numbered>(`case${number}`)
      await collection.insertMany(documents.map((document, _id) => ({ _id, ...document })))
      await collection.createIndex(key as Record<string, 'text'>, none)
      const found = await collection.find({ $text: { $search: 'x' } }).toArray()
      t.strictSame(pluck(found, '_id'), finds)
    })
  }
})

t.test('weights count in scores, those of fields without a key too', async (t) => {
  const collection = (await openDatabase(t)).collection<Numbered>('weighted')
  await collection.createIndex({ a: 'text' }, { ...none, weights: { b: 10 } })
  await collection.insertOne({ _id: 1, a: 'x y', b: 'x z' })
  const projection = { score: { $meta: 'textScore' } }
  const found = await collection.findOne({ $text: { $search: 'x' } }, { projection })
  t.equal(found?.['score'], 0.75 + 7.5)
})

t.test('a document must name no language of its own', async (t) => {
  const collection = (await openDatabase(t)).collection<Numbered>('languages')
  await collection.createIndex({ 'a.b': 'text' }, none)
  await collection.insertOne({ _id: 1, language: 'none', c: { language: 'french' } })
  await t.rejects(collection.insertOne({ _id: 2, language: 'french' }), {
    code: 17262,
    message: /'french' in the field 'language'/,
  })
  await t.rejects(collection.insertOne({ _id: 2, language: null }), { code: 17261 })
  await t.rejects(collection.insertOne({ _id: 2, a: [{ b: 'x', language: 'french' }] }), {
    code: 17262,
  })
  await t.rejects(collection.updateOne({ _id: 1 }, { $set: { language: 'en' } }), { code: 17262 })
  await t.rejects(collection.insertOne({ _id: 2, a: { b: 'x\0y' } }), { message: /zero byte/ })
  await collection.dropIndexes()
  await collection.insertOne({ _id: 2, language: 'french' })
  await t.rejects(collection.createIndex({ a: 'text' }, none), { code: 17262 })
  t.equal(await collection.countDocuments(), 2)
})

t.test('a transaction searches its own writes, no index refuses what it must not', async (t) => {
  const client = await openClient(t)
  const collection = client.db('test').collection<Numbered>('things')
  await collection.createIndex({ a: 'text' }, none)
  const filter = { $text: { $search: 'x' } }
  await client.withSession((session) =>
    session.withTransaction(async () => {
      await collection.insertOne({ _id: 1, a: 'x' }, { session })
      t.equal(await collection.countDocuments(filter, { session }), 1)
      t.equal(await collection.countDocuments(filter), 0)
    }),
  )
  t.equal(await collection.countDocuments(filter), 1)
  await t.rejects(
    client.withSession((session) =>
      session.withTransaction(() => collection.insertOne({ _id: 2, language: 'en' }, { session })),
    ),
    { code: 17262 },
  )
})

t.test('$out keeps the text index of the collection that it fills', async (t) => {
  const database = await openDatabase(t)
  await database.collection('filled').createIndex({ a: 'text' }, none)
  await database.collection('source').insertOne({ a: 'x' })
  await database
    .collection('source')
    .aggregate([{ $out: 'filled' }])
    .toArray()
  t.equal(await database.collection('filled').countDocuments({ $text: { $search: 'x' } }), 1)
})

t.test('the hint of a text index is refused', async (t) => {
  const collection = (await openDatabase(t)).collection('hinted')
  await collection.createIndex({ a: 'text' }, none)
  await t.rejects(collection.find({}, { hint: 'a_text' }).toArray(), { code: 2 })
})
