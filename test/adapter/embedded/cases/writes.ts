import type { Document } from 'mongodb'
import { Long } from 'mongodb'
import type { Ask, Case, CaseCollection } from './case.ts'
import { answerOf, calling, casesOf, commanding, fails, MANUAL, over, SERVER } from './case.ts'

const COMMAND = `${MANUAL}/reference/command`
const UPSERT_TEST = `${SERVER}/28eb8d299bd690c0194a28f045bc6c2c7e46c626/jstests/core/write/update/upsert_fields.js`

const typeOf = (value: unknown): unknown => (value as { _bsontype?: unknown })?._bsontype

/** Asks for the document that an upsert makes, without an `_id` that the server has made. */
const upserted: Ask<readonly [filter: Document, update: Document]> = async (
  collection,
  [q, u],
  database,
) => {
  const name = collection.collectionName
  const reply = await database.command({ update: name, updates: [{ q, u, upsert: true }] })
  const [error] = reply['writeErrors'] ?? []
  if (error !== undefined) return fails(error.code)
  const document = await collection.findOne()
  const { _id, ...fields } = document ?? { _id: undefined }
  // One that the server has made is another each time.
  return typeOf(_id) === 'ObjectId' ? fields : document
}

const all = (collection: CaseCollection) => collection.find().sort({ _id: 1 }).toArray()

/** Asks for the reply of findAndModify, and for what is there afterwards. */
const modified: Ask<Document> = async (collection, fields, database) => {
  const { value } = (await commanding(
    collection,
    { findAndModify: 1, ...fields },
    database,
  )) as Document
  return [value, await all(collection)]
}

const TWO = [{ a: 1 }, { a: 2 }]

/** Commands that write. */
export const WRITE_CASES: readonly Case[] = [
  ...casesOf(
    UPSERT_TEST,
    upserted,
    over<readonly [filter: Document, update: Document]>([], {
      'the _id of the filter': [[{ _id: 1 }, { $set: { a: 1 } }], { _id: 1, a: 1 }],
      '$eq of the _id': [[{ _id: { $eq: 1 } }, { $set: { a: 1 } }], { _id: 1, a: 1 }],
      'the _id in $and': [[{ $and: [{ _id: 1 }] }, { a: 1 }], { _id: 1, a: 1 }],
      'the _id in $or': [[{ $or: [{ _id: 1 }] }, { a: 1 }], { _id: 1, a: 1 }],
      'the _id of the update': [[{}, { $set: { _id: 1 } }], { _id: 1 }],
      'the _id of a replacement': [[{}, { _id: 1 }], { _id: 1 }],
      'the _id of $setOnInsert': [[{}, { $setOnInsert: { _id: 1 } }], { _id: 1 }],
      'no _id of $gt': [[{ _id: { $gt: 1 } }, { $set: { a: 1 } }], { a: 1 }],
      'two _ids': [[{ $and: [{ _id: 1 }, { _id: 2 }] }, { $set: { a: 1 } }], fails(54)],
      'another _id': [[{ _id: 1 }, { $set: { _id: 2 } }], fails(66)],
      'an array as the _id': [[{ _id: [1, 2] }, { $set: { a: 1 } }], fails(53)],
      'a pattern as the _id': [[{}, { _id: /x/ }], fails(53)],
      'fields of the _id': [
        [{ '_id.x': 1, '_id.y': 2 }, { $set: { a: 1 } }],
        { _id: { x: 1, y: 2 }, a: 1 },
      ],
      'a field of the filter': [[{ x: 1 }, { $set: { a: 1 } }], { x: 1, a: 1 }],
      $eq: [[{ x: { $eq: 1 } }, { $set: { a: 1 } }], { x: 1, a: 1 }],
      '$all of one': [[{ x: { $all: [1] } }, { $set: { a: 1 } }], { x: 1, a: 1 }],
      '$in of one': [[{ x: { $in: [1] } }, { $set: { a: 1 } }], { x: 1, a: 1 }],
      '$in of two': [[{ x: { $in: [1, 2] } }, { $set: { a: 1 } }], { a: 1 }],
      $and: [[{ $and: [{ x: 1 }, { y: 2 }] }, { $set: { a: 1 } }], { x: 1, y: 2, a: 1 }],
      '$or of one': [[{ $or: [{ x: 1 }] }, { $set: { a: 1 } }], { x: 1, a: 1 }],
      '$or of two': [[{ $or: [{ x: { $eq: 1 } }, { x: 2 }] }, { $set: { a: 1 } }], { a: 1 }],
      'an array': [[{ x: [1, 2] }, { $set: { a: 1 } }], { x: [1, 2], a: 1 }],
      'a range': [[{ x: { $gt: 1 } }, { $set: { a: 1 } }], { a: 1 }],
      $ne: [[{ x: { $ne: 1 } }, { $set: { a: 1 } }], { a: 1 }],
      $exists: [[{ x: { $exists: true } }, { $set: { a: 1 } }], { a: 1 }],
      $not: [[{ x: { $not: { $eq: 1 } } }, { $set: { a: 1 } }], { a: 1 }],
      $elemMatch: [[{ x: { $elemMatch: { $eq: 1 } } }, { $set: { a: 1 } }], { a: 1 }],
      $nor: [[{ $nor: [{ x: 1 }] }, { $set: { a: 1 } }], { a: 1 }],
      'a pattern': [[{ x: /abc/ }, { $set: { a: 1 } }], { a: 1 }],
      '$all of two': [[{ x: { $all: [1, 2] } }, { $set: { a: 1 } }], fails(54)],
      'two values': [[{ $and: [{ x: 1 }, { x: 2 }] }, { $set: { a: 1 } }], fails(54)],
      'a path': [[{ 'x.y': 1 }, { $set: { a: 1 } }], { x: { y: 1 }, a: 1 }],
      'fields in the order of their paths': [
        [{ z: 1, y: 2 }, { $set: { a: 1 } }],
        { y: 2, z: 1, a: 1 },
      ],
      'a path and its parent': [[{ x: 1, 'x.y': 1 }, { $set: { a: 1 } }], fails(54)],
      'a document and its path': [[{ x: { y: 1 }, 'x.z': 1 }, { $set: { a: 1 } }], fails(54)],
      'a replacement': [[{ x: 1 }, { a: 1 }], { a: 1 }],
      'a replacement of two values': [[{ $and: [{ x: 1 }, { x: 2 }] }, { a: 1 }], { a: 1 }],
      $setOnInsert: [[{ x: 1 }, { $setOnInsert: { y: 2 }, $set: { a: 1 } }], { x: 1, a: 1, y: 2 }],
      $inc: [[{ x: 1 }, { $inc: { x: 1, n: 5 } }], { x: 2, n: 5 }],
      $push: [[{ x: 1 }, { $push: { a: 1 } }], { x: 1, a: [1] }],
      $unset: [[{ x: 1 }, { $unset: { x: '' } }], {}],
      'a pipeline': [[{ x: 1 }, [{ $set: { y: { $add: ['$x', 1] } } }]], { x: 1, y: 2 }],
      'array filters': [[{ _id: 0, a: [0] }, { $set: { 'a.$[]': 1 } }], { _id: 0, a: [1] }],
    }),
  ),
  ...casesOf(`${COMMAND}/update/`, commanding, {
    ...over(TWO, {
      one: [
        { update: 1, updates: [{ q: {}, u: { $set: { b: 1 } } }] },
        { n: 1, nModified: 1 },
      ],
      all: [
        { update: 1, updates: [{ q: {}, u: { $set: { b: 1 } }, multi: true }] },
        { n: 2, nModified: 2 },
      ],
      'without a change': [
        { update: 1, updates: [{ q: {}, u: { $set: { a: 1 } }, multi: true }] },
        { n: 2, nModified: 1 },
      ],
      nothing: [
        { update: 1, updates: [{ q: { a: 9 }, u: { $set: { a: 1 } } }] },
        { n: 0, nModified: 0 },
      ],
      'an upsert': [
        { update: 1, updates: [{ q: { _id: 9 }, u: { a: 1 }, upsert: true }] },
        { n: 1, nModified: 0, upserted: [{ index: 0, _id: 9 }] },
      ],
      'all by a replacement': [
        { update: 1, updates: [{ q: {}, u: { a: 1 }, multi: true }] },
        fails(9),
      ],
      'an unknown field': [{ update: 1, updates: [{ q: {}, u: {}, x: 1 }] }, fails(40415)],
      'without u': [{ update: 1, updates: [{ q: {} }] }, fails(40414)],
      'no updates': [{ update: 1, updates: [] }, fails(16)],
    }),
  }),
  ...casesOf(`${COMMAND}/delete/`, commanding, {
    ...over(TWO, {
      one: [{ delete: 1, deletes: [{ q: {}, limit: 1 }] }, { n: 1 }],
      all: [{ delete: 1, deletes: [{ q: {}, limit: 0 }] }, { n: 2 }],
      nothing: [{ delete: 1, deletes: [{ q: { a: 9 }, limit: 0 }] }, { n: 0 }],
      several: [
        {
          delete: 1,
          deletes: [
            { q: { a: 1 }, limit: 0 },
            { q: { a: 2 }, limit: 1 },
          ],
        },
        { n: 2 },
      ],
      'without a limit': [{ delete: 1, deletes: [{ q: {} }] }, fails(40414)],
      'a limit of two': [{ delete: 1, deletes: [{ q: {}, limit: 2 }] }, fails(9)],
    }),
  }),
  ...casesOf(`${COMMAND}/insert/`, calling, {
    'a document with an _id': [[], async (c) => (await c.insertOne({ _id: 'x' })).insertedId, 'x'],
    'the _id stands first': [
      [],
      async (c) => {
        await c.insertOne({ a: 1, _id: 5 })
        return all(c)
      },
      [{ _id: 5, a: 1 }],
    ],
    'an _id again': [
      [{ a: 1 }],
      (c) => c.insertOne({ _id: 0 }),
      fails(11000, { keyPattern: { _id: 1 }, keyValue: { _id: 0 } }),
    ],
    'an array as an _id': [[], (c) => c.insertOne({ _id: [1] }), fails(53)],
    'a document as an _id': [
      [],
      async (c) => {
        await c.insertOne({ _id: { a: 1 } })
        return all(c)
      },
      [{ _id: { a: 1 } }],
    ],
    'null as an _id': [
      [],
      async (c, db) => {
        await db.command({ insert: c.collectionName, documents: [{ _id: null }] })
        return all(c)
      },
      [{ _id: null }],
    ],
    'a number and a long are one _id': [
      [],
      async (c) => {
        await c.insertOne({ _id: 1 })
        return c.insertOne({ _id: Long.ONE })
      },
      fails(11000, { keyPattern: { _id: 1 }, keyValue: { _id: 1 } }),
    ],
    'a number and a string are two': [
      [],
      async (c) => {
        await c.insertMany([{ _id: 1 }, { _id: '1' }])
        return c.countDocuments()
      },
      2,
    ],
    'in order up to an error': [
      [],
      async (c) => {
        await answerOf(c.insertMany([{ _id: 1 }, { _id: 1 }, { _id: 2 }]))
        return all(c)
      },
      [{ _id: 1 }],
    ],
    'without order past an error': [
      [],
      async (c) => {
        await answerOf(c.insertMany([{ _id: 1 }, { _id: 1 }, { _id: 2 }], { ordered: false }))
        return all(c)
      },
      [{ _id: 1 }, { _id: 2 }],
    ],
    'a name with a dollar': [
      [],
      async (c) => {
        await c.insertOne({ _id: 1, $a: 1 })
        return all(c)
      },
      [{ _id: 1, $a: 1 }],
    ],
    'a name with a dot': [
      [],
      async (c) => {
        await c.insertOne({ _id: 1, 'a.b': 1 })
        return all(c)
      },
      [{ _id: 1, 'a.b': 1 }],
    ],
  }),
  ...casesOf(
    `${COMMAND}/findAndModify/`,
    modified,
    over(TWO, {
      'gives the old document': [
        { query: { a: 1 }, update: { $set: { a: 5 } } },
        [
          { _id: 0, a: 1 },
          [
            { _id: 0, a: 5 },
            { _id: 1, a: 2 },
          ],
        ],
      ],
      'gives the new one': [
        { query: { a: 1 }, update: { $inc: { a: 5 } }, new: true },
        [
          { _id: 0, a: 6 },
          [
            { _id: 0, a: 6 },
            { _id: 1, a: 2 },
          ],
        ],
      ],
      'the first of an order': [
        { sort: { a: -1 }, update: { $set: { x: 1 } } },
        [
          { _id: 1, a: 2 },
          [
            { _id: 0, a: 1 },
            { _id: 1, a: 2, x: 1 },
          ],
        ],
      ],
      'with a projection': [
        { query: { a: 1 }, update: { $set: { a: 5 } }, fields: { _id: 0, a: 1 } },
        [
          { a: 1 },
          [
            { _id: 0, a: 5 },
            { _id: 1, a: 2 },
          ],
        ],
      ],
      nothing: [
        { query: { a: 9 }, update: { $set: { a: 5 } } },
        [
          null,
          [
            { _id: 0, a: 1 },
            { _id: 1, a: 2 },
          ],
        ],
      ],
      removes: [{ query: { a: 1 }, remove: true }, [{ _id: 0, a: 1 }, [{ _id: 1, a: 2 }]]],
      replaces: [
        { query: { a: 1 }, update: { b: 1 }, new: true },
        [
          { _id: 0, b: 1 },
          [
            { _id: 0, b: 1 },
            { _id: 1, a: 2 },
          ],
        ],
      ],
      upserts: [
        { query: { _id: 7 }, update: { $set: { a: 7 } }, upsert: true },
        [
          null,
          [
            { _id: 0, a: 1 },
            { _id: 1, a: 2 },
            { _id: 7, a: 7 },
          ],
        ],
      ],
      'upserts and gives it': [
        { query: { _id: 7 }, update: { $set: { a: 7 } }, upsert: true, new: true },
        [
          { _id: 7, a: 7 },
          [
            { _id: 0, a: 1 },
            { _id: 1, a: 2 },
            { _id: 7, a: 7 },
          ],
        ],
      ],
      'by a pipeline': [
        { query: { a: 2 }, update: [{ $set: { b: '$a' } }], new: true },
        [
          { _id: 1, a: 2, b: 2 },
          [
            { _id: 0, a: 1 },
            { _id: 1, a: 2, b: 2 },
          ],
        ],
      ],
      neither: [{ query: { a: 1 } }, fails(9)],
      both: [{ query: { a: 1 }, update: { a: 1 }, remove: true }, fails(9)],
      'removes and gives the new one': [{ query: { a: 1 }, remove: true, new: true }, fails(9)],
    }),
  ),
]
