import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import type { Ask, Case, RowsOver } from './case.ts'
import { casesOf, commanding, fails, MANUAL, over, renamed } from './case.ts'

/** Asks for the `_id`s in the order of a find. */
const ordered: Ask<Document> = async (collection, options) => {
  const documents = await collection.find({}, options).toArray()
  return documents.map(({ _id }) => _id)
}

/** Asks for a find with these fields of the command. */
const finding: Ask<Document> = (collection, fields, database) =>
  commanding(collection, { find: 1, ...fields }, database)

/** Asks for the different values of a field. */
const distinct: Ask<readonly [key: string, filter?: Document]> = async (
  collection,
  [key, filter = {}],
) => {
  const values: unknown[] = await collection.distinct(key, filter)
  // They come in any order.
  return values.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

/** Asks for a count. */
const counted: Ask<Document> = (collection, { query = {}, ...options }) =>
  collection.countDocuments(query, options)

const MIXED = [
  { a: 'b' },
  { a: 2 },
  { a: null },
  {},
  { a: [1, 9] },
  { a: { x: 1 } },
  { a: true },
  { a: new Date(0) },
  { a: new ObjectId() },
  { a: [] },
  { a: 'B' },
  { a: Number.NaN },
]

const PEOPLE = [
  { name: 'b', age: 2, at: { n: 1 } },
  { name: 'a', age: 3, at: { n: 3 } },
  { name: 'b', age: 1 },
  { name: 'a', age: 1, at: { n: 2 } },
]

const WORDS = [{ w: 'b' }, { w: 'A' }, { w: 'a' }, { w: 'B' }, { w: 'é' }, { w: 'e' }, { w: 'f' }]
const STRINGS = `${MANUAL}/reference/bson-type-comparison-order/#strings`

/** In the order of their UTF-8 bytes; in that of UTF-16, the last two come before the third. */
const CODE_POINTS = ['z', '\ud7ff', '\ue000', '\uff5e', '\u{10000}', '\u{1f600}']
const POINTS = [3, 5, 0, 2, 4, 1].map((at) => ({
  p: CODE_POINTS[at],
  list: [CODE_POINTS[at], 'a', CODE_POINTS[5 - at]],
  [`${CODE_POINTS[at]}`]: at,
}))

/** Asks for the places of the strings that a filter finds, in their order. */
const points: Ask<Document> = async (collection, filter) => {
  const found = await collection.find(filter).sort({ p: 1 }).toArray()
  return found.map(({ p }) => CODE_POINTS.indexOf(p))
}

/** The same with an index. */
const indexedPoints: Ask<Document> = async (collection, filter, database) => {
  await collection.createIndex({ p: 1 })
  return await points(collection, filter, database)
}

/** Asks for a field of the first document after an update. */
const updated: Ask<readonly [path: string, update: Document]> = async (
  collection,
  [path, update],
) => {
  await collection.updateOne({}, update)
  return (await collection.findOne())?.[path]
}

const ALL_POINTS: RowsOver<Document> = {
  all: [{}, [0, 1, 2, 3, 4, 5]],
  $gt: [{ p: { $gt: '\uff5e' } }, [4, 5]],
  $gte: [{ p: { $gte: '\u{10000}' } }, [4, 5]],
  $lt: [{ p: { $lt: '\u{10000}' } }, [0, 1, 2, 3]],
  $lte: [{ p: { $lte: '\uff5e' } }, [0, 1, 2, 3]],
  'of a list': [{ list: { $gt: '\uff5e' } }, [0, 1, 4, 5]],
  $expr: [{ $expr: { $gt: ['$p', '\uff5e'] } }, [4, 5]],
  'a pair': [{ p: { $gt: '\uff5ea', $lt: '\u{10000}a' } }, [4]],
}

const NUMBERS = [{ w: 'a10' }, { w: 'a9' }, { w: 'A10' }]

/** Orders, pages, collations, and what counts values. */
export const SORT_CASES: readonly Case[] = [
  ...casesOf(`${MANUAL}/reference/bson-type-comparison-order/`, ordered, {
    ...over(MIXED, {
      'types upwards': [{ sort: { a: 1 } }, [9, 2, 3, 11, 4, 1, 10, 0, 5, 8, 6, 7]],
      'types downwards': [{ sort: { a: -1 } }, [7, 6, 8, 5, 0, 10, 4, 1, 11, 2, 3, 9]],
      'by the _id': [{ sort: { _id: -1 } }, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
    }),
    ...over(
      [{ a: [{ n: 5 }, { n: 1 }] }, { a: { n: 3 } }, { a: [{ n: 4 }] }, { a: [[{ n: 0 }]] }, {}],
      {
        'a path into an array': [{ sort: { 'a.n': 1, _id: 1 } }, [3, 4, 0, 1, 2]],
        'and downwards': [{ sort: { 'a.n': -1, _id: 1 } }, [0, 2, 1, 3, 4]],
        'an index': [{ sort: { 'a.0.n': 1, _id: 1 } }, [1, 4, 3, 2, 0]],
      },
    ),
    ...over(
      [{ a: { x: 2 } }, { a: { x: 1, y: 1 } }, { a: { x: 1 } }, { a: { w: 9 } }, { a: { x: 'a' } }],
      {
        'documents field by field': [{ sort: { a: 1 } }, [3, 2, 1, 0, 4]],
      },
    ),
  }),
  ...casesOf(STRINGS, points, over(POINTS, ALL_POINTS)),
  ...casesOf(
    STRINGS,
    indexedPoints,
    over(
      POINTS,
      renamed(ALL_POINTS, (title) => `${title}, with an index`),
    ),
  ),
  ...casesOf(
    STRINGS,
    async (collection, pipeline) => await collection.aggregate([...pipeline]).toArray(),
    over(POINTS, {
      '$min and $max': [
        [{ $group: { _id: null, least: { $min: '$p' }, most: { $max: '$p' } } }],
        [{ _id: null, least: 'z', most: '\u{1f600}' }],
      ],
      $cmp: [
        [{ $limit: 1 }, { $project: { _id: 0, order: { $cmp: ['\u{1f600}', '\uff5e'] } } }],
        [{ order: 1 }],
      ],
      'documents by the names of their fields': [
        [
          { $match: { p: { $in: ['\uff5e', '\u{1f600}'] } } },
          { $group: { _id: { k: '$$ROOT.\uff5e', l: '$$ROOT.\u{1f600}' } } },
          { $sort: { _id: -1 } },
        ],
        [{ _id: { l: 5 } }, { _id: { k: 3 } }],
      ],
    }),
  ),
  ...casesOf(
    STRINGS,
    updated,
    over([{ m: '\uff5e', names: ['\u{1f600}', '\uff5e'] }], {
      '$max of an update': [['m', { $max: { m: '\u{1f600}' } }], '\u{1f600}'],
      '$min of an update': [['m', { $min: { m: '\u{1f600}' } }], '\uff5e'],
      '$push with $sort': [
        ['names', { $push: { names: { $each: ['a'], $sort: 1 } } }],
        ['a', '\uff5e', '\u{1f600}'],
      ],
    }),
  ),
  ...casesOf(
    `${MANUAL}/reference/method/cursor.sort/`,
    ordered,
    over(PEOPLE, {
      'two fields': [{ sort: { name: 1, age: 1 } }, [3, 1, 2, 0]],
      'two directions': [{ sort: { name: -1, age: 1 } }, [2, 0, 3, 1]],
      'a path': [{ sort: { 'at.n': -1 } }, [1, 3, 0, 2]],
      'a field that is not there': [{ sort: { gone: 1, _id: -1 } }, [3, 2, 1, 0]],
      $limit: [{ sort: { age: 1, _id: 1 }, limit: 2 }, [2, 3]],
      $skip: [{ sort: { age: 1, _id: 1 }, skip: 3 }, [1]],
      'a page': [{ sort: { _id: 1 }, skip: 1, limit: 2 }, [1, 2]],
      'behind the end': [{ skip: 9 }, []],
      'a limit of zero is none': [{ sort: { _id: 1 }, limit: 0 }, [0, 1, 2, 3]],
      'a negative limit': [{ sort: { _id: 1 }, limit: -2 }, [0, 1]],
      'a page and a projection': [{ sort: { age: -1 }, limit: 1, projection: { age: 1 } }, [1]],
    }),
  ),
  ...casesOf(
    `${MANUAL}/reference/command/find/`,
    finding,
    over(PEOPLE, {
      'a direction of zero': [{ sort: { a: 0 } }, fails(15975)],
      'a direction of two': [{ sort: { a: 2 } }, fails(15975)],
      'a direction that is true': [{ sort: { a: true } }, fails(15974)],
      'a direction in words': [{ sort: { a: 'asc' } }, fails(15974)],
      'no order': [{ sort: 'a' }, fails(14)],
      'an empty name': [{ sort: { 'a..b': 1 } }, fails(15998)],
      'a name with a dollar': [{ sort: { $a: 1 } }, fails(16410)],
      'a limit below zero': [{ limit: -1 }, fails(51024)],
      'a skip below zero': [{ skip: -1 }, fails(51024)],
      'a batch below zero': [{ batchSize: -1 }, fails(51024)],
      'a limit in words': [{ limit: 'x' }, fails(14)],
      'an unknown field': [{ order: { a: 1 } }, fails(40415)],
      'a filter that is none': [{ filter: 5 }, fails(14)],
    }),
  ),
  ...casesOf(`${MANUAL}/reference/collation/`, ordered, {
    ...over(WORDS, {
      'without one': [{ sort: { w: 1 } }, [1, 3, 2, 0, 5, 6, 4]],
      'of a language': [{ sort: { w: 1 }, collation: { locale: 'en' } }, [2, 1, 0, 3, 5, 4, 6]],
      'of strength 1': [
        { sort: { w: 1, _id: 1 }, collation: { locale: 'en', strength: 1 } },
        [1, 2, 0, 3, 4, 5, 6],
      ],
      'of strength 2': [
        { sort: { w: 1, _id: 1 }, collation: { locale: 'en', strength: 2 } },
        [1, 2, 0, 3, 5, 4, 6],
      ],
      simple: [{ sort: { w: 1 }, collation: { locale: 'simple' } }, [1, 3, 2, 0, 5, 6, 4]],
      'without a language': [{ collation: { strength: 2 } }, fails(40414)],
      'of an unknown language': [{ collation: { locale: 'nowhere' } }, fails(2)],
      'of strength 6': [{ collation: { locale: 'en', strength: 6 } }, fails(2)],
    }),
    ...over(NUMBERS, {
      'of digits': [{ sort: { w: 1 }, collation: { locale: 'en' } }, [0, 2, 1]],
      'of numbers': [
        { sort: { w: 1 }, collation: { locale: 'en', numericOrdering: true } },
        [1, 0, 2],
      ],
    }),
  }),
  ...casesOf(
    `${MANUAL}/reference/collation/`,
    async (collection, [filter, strength]: readonly [Document, number]) => {
      const found = collection.find(filter, { collation: { locale: 'en', strength } })
      return (await found.toArray()).map(({ _id }) => _id)
    },
    over<readonly [Document, number]>(WORDS, {
      'finds any case': [
        [{ w: 'A' }, 2],
        [1, 2],
      ],
      'finds one case': [[{ w: 'A' }, 3], [1]],
      'finds without accents': [
        [{ w: 'E' }, 1],
        [4, 5],
      ],
      'in $in': [
        [{ w: { $in: ['a', 'B'] } }, 2],
        [0, 1, 2, 3],
      ],
      'in $ne': [
        [{ w: { $ne: 'a' } }, 2],
        [0, 3, 4, 5, 6],
      ],
      'in a range': [
        [{ w: { $gt: 'a', $lt: 'e' } }, 2],
        [0, 3],
      ],
      'not in patterns': [[{ w: /a/ }, 2], [2]],
    }),
  ),
  ...casesOf(`${MANUAL}/reference/command/distinct/`, distinct, {
    ...over<readonly [key: string, filter?: Document]>(PEOPLE, {
      values: [['name'], ['a', 'b']],
      'of a filter': [
        ['age', { name: 'b' }],
        [1, 2],
      ],
      'of a path': [['at.n'], [1, 2, 3]],
      'of a field that is not there': [['gone'], []],
      'of documents': [['at', { age: 3 }], [{ n: 3 }]],
    }),
    'items of arrays': [[{ a: [1, 2] }, { a: 2 }, { a: [3, [4]] }], ['a'], [1, 2, 3, [4]]],
    'null, and not missing': [[{ a: null }, {}, { a: 1 }], ['a'], [1, null]],
    'through arrays': [[{ a: [{ b: 1 }, { b: 2 }] }, { a: { b: 2 } }], ['a.b'], [1, 2]],
    'by an index': [[{ a: [7, 8] }, { a: [9] }], ['a.0'], [7, 9]],
  }),
  ...casesOf(
    `${MANUAL}/reference/method/db.collection.countDocuments/`,
    counted,
    over(PEOPLE, {
      all: [{}, 4],
      'of a filter': [{ query: { name: 'a' } }, 2],
      'of nothing': [{ query: { name: 'z' } }, 0],
      'with a limit': [{ limit: 3 }, 3],
      'with a skip': [{ skip: 3 }, 1],
      'with both': [{ skip: 1, limit: 2 }, 2],
      'with a collation': [{ query: { name: 'A' }, collation: { locale: 'en', strength: 2 } }, 2],
    }),
  ),
]
