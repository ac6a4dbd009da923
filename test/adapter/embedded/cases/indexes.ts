import type { Document } from 'mongodb'
import type { Ask, Case, CaseCollection } from './case.ts'
import { answerOf, calling, casesOf, fails, MANUAL, over } from './case.ts'

const INDEXES = `${MANUAL}/core`

interface Indexed {
  readonly key: Document
  readonly options?: Document
  /** Inserted after the index has been made. */
  readonly inserts?: readonly Document[]
  readonly update?: Document
}

/** Asks for an index, then inserts documents and updates the first; `ok` where nothing fails. */
const indexed: Ask<Indexed> = async (
  collection,
  { key, options = {}, inserts = [], update },
  database,
) => {
  const index = { key, name: 'index', ...options }
  await database.command({ createIndexes: collection.collectionName, indexes: [index] })
  for (const [at, document] of inserts.entries()) {
    await collection.insertOne({ _id: 100 + at, ...document })
  }
  if (update !== undefined) await collection.updateOne({}, update)
  return 'ok'
}

const UNIQUE = { unique: true }
const NAME = { key: { name: 1 }, options: UNIQUE }

/** Returns the error of a key that is taken. */
const taken = (keyPattern: Document, keyValue: Document): Document =>
  fails(11000, { keyPattern, keyValue })

/** Resolves to the code of an error alone: MongoDB's details of it are its own. */
const codeOf = async (answer: Promise<unknown>): Promise<unknown> =>
  ((await answerOf(answer)) as Document)['$fails']

const listed = async (collection: CaseCollection): Promise<string[]> =>
  (await collection.indexes()).map(({ name = '' }) => name)

/** Indexes: what they refuse, and what is refused of them. */
export const INDEX_CASES: readonly Case[] = [
  ...casesOf(`${INDEXES}/index-unique/`, indexed, {
    'a new value': [[{ name: 'Ann' }], { ...NAME, inserts: [{ name: 'Bob' }] }, 'ok'],
    'a value again': [
      [{ name: 'Ann' }],
      { ...NAME, inserts: [{ name: 'Ann' }] },
      taken({ name: 1 }, { name: 'Ann' }),
    ],
    'two missing ones': [[{}], { ...NAME, inserts: [{}] }, taken({ name: 1 }, { name: null })],
    'null and missing': [
      [{ name: null }],
      { ...NAME, inserts: [{}] },
      taken({ name: 1 }, { name: null }),
    ],
    'by an update': [
      [{ name: 'Ann' }, { name: 'Bob' }],
      { ...NAME, update: { $set: { name: 'Bob' } } },
      taken({ name: 1 }, { name: 'Bob' }),
    ],
    'by an update to the same': [
      [{ name: 'Ann' }, { name: 'Bob' }],
      { ...NAME, update: { $set: { name: 'Ann' } } },
      'ok',
    ],
    'on data that has it twice': [
      [{ name: 'Ann' }, { name: 'Ann' }],
      NAME,
      taken({ name: 1 }, { name: 'Ann' }),
    ],
    'of another type': [[{ name: 1 }], { ...NAME, inserts: [{ name: '1' }] }, 'ok'],
    'items of arrays': [
      [{ name: ['a', 'b'] }],
      { ...NAME, inserts: [{ name: ['b', 'c'] }] },
      taken({ name: 1 }, { name: 'b' }),
    ],
    'an item and a value': [
      [{ name: ['a', 'b'] }],
      { ...NAME, inserts: [{ name: 'b' }] },
      taken({ name: 1 }, { name: 'b' }),
    ],
    'an item twice in one array': [[], { ...NAME, inserts: [{ name: ['a', 'a'] }] }, 'ok'],
    'an empty array is not null': [[{ name: [] }], { ...NAME, inserts: [{ name: null }] }, 'ok'],
    'an empty array with its fields': [
      [{ a: [] }],
      { key: { a: 1, 'a.b': 1 }, options: UNIQUE, inserts: [{}] },
      'ok',
    ],
    'an item that is no document': [
      [{ a: [1, { b: 2 }] }],
      { key: { 'a.b': 1 }, options: UNIQUE, inserts: [{ a: [2, { b: 3 }] }] },
      taken({ 'a.b': 1 }, { 'a.b': null }),
    ],
    'documents in another order': [
      [{ name: { a: 1, b: 2 } }],
      { ...NAME, inserts: [{ name: { b: 2, a: 1 } }] },
      'ok',
    ],
    'a path': [
      [{ a: { b: 1 } }],
      { key: { 'a.b': 1 }, options: UNIQUE, inserts: [{ a: { b: 1 } }] },
      taken({ 'a.b': 1 }, { 'a.b': 1 }),
    ],
    'two fields': [
      [{ a: 1, b: 1 }],
      { key: { a: 1, b: -1 }, options: UNIQUE, inserts: [{ a: 1, b: 2 }] },
      'ok',
    ],
    'two fields again': [
      [{ a: 1, b: 1 }],
      { key: { a: 1, b: -1 }, options: UNIQUE, inserts: [{ a: 1, b: 1 }] },
      taken({ a: 1, b: -1 }, { a: 1, b: 1 }),
    ],
    'two fields, one missing': [
      [{ a: 1 }],
      { key: { a: 1, b: 1 }, options: UNIQUE, inserts: [{ a: 1 }] },
      taken({ a: 1, b: 1 }, { a: 1, b: null }),
    ],
  }),
  ...casesOf(`${INDEXES}/index-sparse/`, indexed, {
    'two missing ones': [
      [{}],
      { ...NAME, options: { unique: true, sparse: true }, inserts: [{}] },
      'ok',
    ],
    'two nulls': [
      [{ name: null }],
      { ...NAME, options: { unique: true, sparse: true }, inserts: [{ name: null }] },
      taken({ name: 1 }, { name: null }),
    ],
    'one of two fields': [
      [{ a: 1 }],
      { key: { a: 1, b: 1 }, options: { unique: true, sparse: true }, inserts: [{ a: 1 }] },
      taken({ a: 1, b: 1 }, { a: 1, b: null }),
    ],
    'an item without the field': [
      [{ a: [{ b: 1 }, {}] }],
      {
        key: { 'a.b': 1 },
        options: { unique: true, sparse: true },
        inserts: [{ a: [{ b: 2 }, {}] }],
      },
      'ok',
    ],
    'none of two fields': [
      [{}],
      { key: { a: 1, b: 1 }, options: { unique: true, sparse: true }, inserts: [{}] },
      'ok',
    ],
  }),
  ...casesOf(`${INDEXES}/index-partial/`, indexed, {
    outside: [
      [{ name: 'Ann' }],
      {
        ...NAME,
        options: { unique: true, partialFilterExpression: { age: { $gte: 21 } } },
        inserts: [{ name: 'Ann', age: 30 }],
      },
      'ok',
    ],
    inside: [
      [{ name: 'Ann', age: 21 }],
      {
        ...NAME,
        options: { unique: true, partialFilterExpression: { age: { $gte: 21 } } },
        inserts: [{ name: 'Ann', age: 30 }],
      },
      taken({ name: 1 }, { name: 'Ann' }),
    ],
    'into it by an update': [
      [{ name: 'Ann' }, { name: 'Ann', age: 30 }],
      {
        ...NAME,
        options: { unique: true, partialFilterExpression: { age: { $gte: 21 } } },
        update: { $set: { age: 22 } },
      },
      taken({ name: 1 }, { name: 'Ann' }),
    ],
    $exists: [
      [{}],
      {
        ...NAME,
        options: { unique: true, partialFilterExpression: { name: { $exists: true } } },
        inserts: [{}],
      },
      'ok',
    ],
    $type: [
      [{ name: null }],
      {
        ...NAME,
        options: { unique: true, partialFilterExpression: { name: { $type: 'string' } } },
        inserts: [{ name: null }],
      },
      'ok',
    ],
    $ne: [
      [],
      { key: { a: 1 }, options: { partialFilterExpression: { a: { $ne: 1 } } } },
      fails(67),
    ],
    '$exists: false': [
      [],
      { key: { a: 1 }, options: { partialFilterExpression: { a: { $exists: false } } } },
      fails(67),
    ],
    'and sparse': [
      [],
      { key: { a: 1 }, options: { sparse: true, partialFilterExpression: { a: 1 } } },
      fails(67),
    ],
    'no filter': [[], { key: { a: 1 }, options: { partialFilterExpression: 5 } }, fails(14)],
  }),
  ...casesOf(`${MANUAL}/reference/collation/`, indexed, {
    'one case': [[{ name: 'Ann' }], { ...NAME, inserts: [{ name: 'ANN' }] }, 'ok'],
  }),
  ...casesOf(`${INDEXES}/indexes/index-types/index-multikey/`, indexed, {
    'two arrays': [[], { key: { a: 1, b: 1 }, inserts: [{ a: [1], b: [2] }] }, fails(171)],
    'two arrays that are there': [[{ a: [1], b: [2] }], { key: { a: 1, b: 1 } }, fails(171)],
    'one array': [
      [],
      {
        key: { a: 1, b: 1 },
        inserts: [
          { a: [1], b: 2 },
          { a: 1, b: [2] },
        ],
      },
      'ok',
    ],
    'two fields of one array': [
      [],
      { key: { 'a.x': 1, 'a.y': 1 }, inserts: [{ a: [{ x: 1, y: 2 }] }] },
      'ok',
    ],
  }),
  ...casesOf(
    `${MANUAL}/reference/command/createIndexes/`,
    indexed,
    over([{ a: 1 }], {
      'an unknown option': [{ key: { a: 1 }, options: { uniqe: true } }, fails(197)],
      'no key': [{ key: {} }, fails(67)],
      'a direction of zero': [{ key: { a: 0 } }, fails(67)],
      'an unknown kind': [{ key: { a: 'nope' } }, fails(67)],
      'an empty name in a path': [{ key: { 'a..b': 1 } }, fails(67)],
      'a name with a dollar': [{ key: { $a: 1 } }, fails(67)],
      'expiry below zero': [{ key: { a: 1 }, options: { expireAfterSeconds: -1 } }, fails(67)],
      'expiry of two fields': [
        { key: { a: 1, b: 1 }, options: { expireAfterSeconds: 5 } },
        fails(67),
      ],
      'unique _id': [{ key: { _id: 1 }, options: { unique: true } }, fails(197)],
      'unique that is a string': [{ key: { a: 1 }, options: { unique: 'yes' } }, fails(14)],
      'a hashed one': [{ key: { a: 'hashed' } }, 'ok', 67],
      'a wildcard': [{ key: { '$**': 1 } }, 'ok', 67],
      'a text index': [{ key: { a: 'text' } }, 'ok', 67],
    }),
  ),
  ...casesOf(`${MANUAL}/reference/method/db.collection.createIndex/`, calling, {
    'any case of a unique value': [
      [{ a: 'x' }],
      async (c) => {
        await c.createIndex({ a: 1 }, { unique: true, collation: { locale: 'en', strength: 2 } })
        return codeOf(c.insertOne({ _id: 5, a: 'X' }))
      },
      11000,
    ],
    'two empty arrays': [
      [{ a: [] }],
      async (c) => {
        await c.createIndex({ a: 1 }, UNIQUE)
        return codeOf(c.insertOne({ _id: 5, a: [] }))
      },
      11000,
    ],
    'the name': [[], (c) => c.createIndex({ a: 1, 'b.c': -1 }), 'a_1_b.c_-1'],
    twice: [
      [],
      async (c) => {
        await c.createIndex({ a: 1 })
        await c.createIndex({ a: 1 })
        return listed(c)
      },
      ['_id_', 'a_1'],
    ],
    'with other options': [
      [],
      async (c) => {
        await c.createIndex({ a: 1 })
        return c.createIndex({ a: 1 }, { unique: true })
      },
      fails(86),
    ],
    'under another name': [
      [],
      async (c) => {
        await c.createIndex({ a: 1 })
        return c.createIndex({ a: 1 }, { name: 'x' })
      },
      fails(85),
    ],
    'another key of the same name': [
      [],
      async (c) => {
        await c.createIndex({ a: 1 }, { name: 'x' })
        return c.createIndex({ b: 1 }, { name: 'x' })
      },
      fails(86),
    ],
    'the other direction': [
      [],
      async (c) => {
        await c.createIndex({ a: 1 })
        await c.createIndex({ a: -1 })
        return listed(c)
      },
      ['_id_', 'a_1', 'a_-1'],
    ],
    'dropped by name': [
      [],
      async (c) => {
        await c.createIndex({ a: 1 })
        await c.dropIndex('a_1')
        return listed(c)
      },
      ['_id_'],
    ],
    'dropped and free': [
      [{ a: 1 }],
      async (c) => {
        await c.createIndex({ a: 1 }, UNIQUE)
        await c.dropIndexes()
        await c.insertOne({ _id: 5, a: 1 })
        return listed(c)
      },
      ['_id_'],
    ],
    'dropped without being there': [[{ a: 1 }], (c) => c.dropIndex('x'), fails(27)],
    'the _id dropped': [[{ a: 1 }], (c) => c.dropIndex('_id_'), fails(72)],
    'of no collection': [[], (c) => c.dropIndex('x'), fails(26)],
    'listed of no collection': [[], (c) => c.indexes(), fails(26)],
    'a hint of none': [[{ a: 1 }], (c) => c.find({}, { hint: 'x' }).toArray(), fails(2)],
    'a hint': [
      [{ a: 1 }],
      async (c) => {
        await c.createIndex({ a: 1 })
        return c.find({ a: 1 }, { hint: 'a_1' }).toArray()
      },
      [{ _id: 0, a: 1 }],
    ],
  }),
]
