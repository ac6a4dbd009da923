import type { Document } from 'mongodb'
import {
  BSONSymbol,
  DBRef,
  Decimal128,
  Double,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'mongodb'
import t from 'tap'
import { FIELD_OPERATORS, LOGICAL_OPERATORS } from '../../../../src/adapter/matching/filter.ts'
import { pluck } from '../../../support/pluck.ts'
import { openDatabase } from '../open-database.ts'

const LOW_ID = new ObjectId('000000000000000000000001')
const HIGH_ID = new ObjectId('f00000000000000000000001')

interface Case {
  readonly documents: readonly Document[]
  readonly filter: Document
  /** The indexes of the documents that match. */
  readonly matches: readonly number[]
}

const CASES: Readonly<Record<string, Case>> = {
  'null finds null and missing fields, not other values': {
    documents: [{ a: null }, {}, { a: 0 }, { a: [null] }, { a: [] }],
    filter: { a: null },
    matches: [0, 1, 3],
  },
  'null at a dotted path finds an array item without the field': {
    documents: [{ a: [{ b: 1 }, {}] }, { a: [{ b: 1 }] }, { a: [] }, { a: 5 }],
    filter: { 'a.b': null },
    matches: [0, 3],
  },
  '$ne of null needs the field': {
    documents: [{ a: null }, {}, { a: 0 }],
    filter: { a: { $ne: null } },
    matches: [2],
  },
  'numbers are equal across their BSON types': {
    documents: [
      { a: 5 },
      { a: Long.fromNumber(5) },
      { a: new Double(5) },
      { a: new Decimal128('5.0') },
      { a: '5' },
    ],
    filter: { a: 5 },
    matches: [0, 1, 2, 3],
  },
  'decimals are compared as numbers and exactly': {
    documents: [
      { a: new Decimal128('9.5') },
      { a: new Decimal128('10') },
      { a: 0.1 },
      { a: new Decimal128('0.1') },
    ],
    filter: { a: new Decimal128('0.10') },
    matches: [3],
  },
  'longs beyond 2^53 keep all their digits': {
    documents: [
      { a: Long.fromString('9007199254740993') },
      { a: Long.fromString('9007199254740992') },
    ],
    filter: { a: { $gt: Long.fromString('9007199254740992') } },
    matches: [0],
  },
  'ranges stay within one type': {
    documents: [{ a: 5 }, { a: '5' }, { a: new Date(5) }, { a: null }, { a: LOW_ID }],
    filter: { a: { $gte: 0 } },
    matches: [0],
  },
  'ObjectIds have an order': {
    documents: [{ a: LOW_ID }, { a: HIGH_ID }, { a: 'f' }],
    filter: { a: { $gt: LOW_ID } },
    matches: [1],
  },
  'dates have an order': {
    documents: [{ a: new Date(1) }, { a: new Date(2) }, { a: 2 }],
    filter: { a: { $lte: new Date(1) } },
    matches: [0],
  },
  'timestamps have an order': {
    documents: [{ a: new Timestamp({ t: 1, i: 1 }) }, { a: new Timestamp({ t: 2, i: 1 }) }],
    filter: { a: { $gt: new Timestamp({ t: 1, i: 5 }) } },
    matches: [1],
  },
  'MinKey and MaxKey are compared with every type': {
    documents: [{ a: 1 }, { a: 'x' }, {}, { a: new MinKey() }],
    filter: { a: { $gt: new MinKey(), $lt: new MaxKey() } },
    matches: [0, 1, 2],
  },
  'NaN is neither above nor below a number': {
    documents: [{ a: Number.NaN }, { a: 5 }],
    filter: { a: { $lte: 5 } },
    matches: [1],
  },
  'NaN is equal to NaN of any type and beyond that in no range of numbers': {
    documents: [{ a: Number.NaN }, { a: new Decimal128('NaN') }, { a: 5 }, { a: -Infinity }],
    filter: { a: { $gte: Number.NaN, $lte: new Decimal128('NaN') } },
    matches: [0, 1],
  },
  'a decimal NaN is neither above nor below a number': {
    documents: [{ a: new Decimal128('NaN') }, { a: 5 }],
    filter: { $or: [{ a: { $lt: 9 } }, { a: { $gt: new Decimal128('NaN') } }] },
    matches: [1],
  },
  'NaN is above MinKey and below MaxKey, and MinKey not above itself': {
    documents: [{ a: Number.NaN }, { a: new MinKey() }, { a: new MaxKey() }, {}],
    filter: { a: { $gt: new MinKey(), $lt: new MaxKey() } },
    matches: [0, 3],
  },
  'a DBRef is a value, and its fields have paths': {
    documents: [{ r: new DBRef('users', 5 as never) }, { r: new DBRef('users', 6 as never) }],
    filter: { r: { $ref: 'users', $id: 5 }, 'r.$id': 5, 'r.$ref': { $in: ['users'] } },
    matches: [0],
  },
  'the $db of a DBRef has a path, also in a list': {
    documents: [
      { r: [new DBRef('users', 5 as never, 'one'), new DBRef('users', 6 as never)] },
      { r: [] },
    ],
    filter: { 'r.$db': 'one', 'r.$id': 6 },
    matches: [0],
  },
  '$lte of null finds null and missing': {
    documents: [{ a: null }, {}, { a: 1 }],
    filter: { a: { $lte: null } },
    matches: [0, 1],
  },
  'an embedded document must have the same fields in the same order': {
    documents: [{ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }, { a: { x: 1 } }],
    filter: { a: { x: 1, y: 2 } },
    matches: [0],
  },
  'a value finds the arrays that hold it, an array the arrays equal to it': {
    documents: [{ a: [1, 2] }, { a: [2, 1] }, { a: [[1, 2]] }, { a: 1 }],
    filter: { a: [1, 2] },
    matches: [0, 2],
  },
  'a dotted path goes through arrays of documents and takes indexes': {
    documents: [{ a: [{ b: 1 }, { b: 2 }] }, { a: { b: 2 } }, { a: [{ b: 3 }] }],
    filter: { 'a.b': 2, 'a.0.b': { $ne: 3 } },
    matches: [0, 1],
  },
  '$in takes values, null, arrays and regular expressions': {
    documents: [{ a: 'apple' }, { a: [1, 2] }, {}, { a: 7 }, { a: 'pear' }],
    filter: { a: { $in: [/^app/, [1, 2], null] } },
    matches: [0, 1, 2],
  },
  '$nin holds where none of the items is listed': {
    documents: [{ a: [1, 2] }, { a: [3] }, {}],
    filter: { a: { $nin: [2] } },
    matches: [1, 2],
  },
  '$all takes scalars as arrays of one': {
    documents: [{ a: [1, 2, 3] }, { a: 1 }, { a: [1] }],
    filter: { a: { $all: [1] } },
    matches: [0, 1, 2],
  },
  '$all takes $elemMatch': {
    documents: [{ a: [{ x: 1 }, { x: 5 }] }, { a: [{ x: 5 }] }],
    filter: { a: { $all: [{ $elemMatch: { x: 1 } }, { $elemMatch: { x: 5 } }] } },
    matches: [0],
  },
  '$elemMatch needs one item for all of its conditions': {
    documents: [{ a: [{ x: 1, y: 2 }] }, { a: [{ x: 1 }, { y: 2 }] }, { a: { x: 1, y: 2 } }],
    filter: { a: { $elemMatch: { x: 1, y: 2 } } },
    matches: [0],
  },
  '$elemMatch with names looks at documents only, of an array at its indexes': {
    documents: [{ a: [1, null] }, { a: [{}] }, { a: [[]] }, { a: [[{ b: 1 }]] }, { a: [{ b: 1 }] }],
    filter: { a: { $elemMatch: { b: null } } },
    matches: [1, 2, 3],
  },
  '$elemMatch takes operators on plain items': {
    documents: [{ a: [1, 9] }, { a: [5] }, { a: 5 }],
    filter: { a: { $elemMatch: { $gt: 3, $lt: 7 } } },
    matches: [1],
  },
  '$elemMatch with operators looks at the items and not into them': {
    documents: [{ a: [[5]] }, { a: [5] }, { a: [[1, 5], 4] }],
    filter: { a: { $elemMatch: { $gt: 3 } } },
    matches: [1, 2],
  },
  '$elemMatch inside $elemMatch looks into an array in the array': {
    documents: [{ a: [[5]] }, { a: [5] }],
    filter: { a: { $elemMatch: { $elemMatch: { $gt: 3 } } } },
    matches: [0],
  },
  '$elemMatch with $in, $not and $type takes an array in the array for one item': {
    documents: [{ a: [[1]] }, { a: [1] }, { a: ['x'] }, { a: [] }],
    filter: { a: { $elemMatch: { $not: { $in: [1] }, $type: ['array', 'number'] } } },
    matches: [0],
  },
  '$elemMatch with $or is a filter of the item': {
    documents: [{ a: [{ x: 1 }] }, { a: [{ y: 2 }] }, { a: [1] }],
    filter: { a: { $elemMatch: { $or: [{ x: 1 }, { y: 2 }] } } },
    matches: [0, 1],
  },
  '$not holds for missing fields': {
    documents: [{ a: 1 }, { a: 9 }, {}],
    filter: { a: { $not: { $gt: 5 } } },
    matches: [0, 2],
  },
  '$exists tells null from missing': {
    documents: [{ a: null }, {}],
    filter: { a: { $exists: true } },
    matches: [0],
  },
  '$size counts items': {
    documents: [{ a: [] }, { a: [1] }, { a: [[1]] }, { a: 1 }],
    filter: { a: { $size: 1 } },
    matches: [1, 2],
  },
  '$mod truncates and takes numbers only': {
    documents: [{ a: 7 }, { a: 7.9 }, { a: '7' }, { a: 8 }],
    filter: { a: { $mod: [4, 3] } },
    matches: [0, 1],
  },
  '$mod takes longs and decimals, and negative numbers': {
    documents: [
      { a: Long.fromString('9007199254740993') },
      { a: new Decimal128('5.9') },
      { a: -5 },
      { a: null },
      { a: [4, 5] },
    ],
    filter: { a: { $mod: [2, 1] } },
    matches: [0, 1, 4],
  },
  '$eq takes null for missing, and an array for itself and for an item': {
    documents: [{ a: [1] }, { a: [[1]] }, { a: 1 }, {}],
    filter: { $or: [{ a: { $eq: [1] } }, { a: { $eq: null } }] },
    matches: [0, 1, 3],
  },
  '$gt, $lt and $gte look at each item of an array, and $comment at nothing': {
    documents: [{ a: [1, 9] }, { a: 5 }, { a: null }, {}, { a: [] }],
    filter: { a: { $gt: 4, $lt: 6, $gte: 1 }, $comment: 'x' },
    matches: [0, 1],
  },
  '$type looks at values and at items': {
    documents: [{ a: 'x' }, { a: ['x'] }, { a: 1 }, {}],
    filter: { a: { $type: 'string' } },
    matches: [0, 1],
  },
  '$type knows aliases, numbers and lists': {
    documents: [{ a: 1 }, { a: 1.5 }, { a: LOW_ID }, { a: new Decimal128('1') }, { a: null }],
    filter: { a: { $type: ['number', 7] } },
    matches: [0, 1, 2, 3],
  },
  '$regex takes options and a leading inline flag': {
    documents: [{ a: 'Apple' }, { a: ['x', 'APPLE'] }, { a: 'pear' }],
    filter: { $and: [{ a: { $regex: '^app', $options: 'i' } }, { a: { $regex: '(?i)^a' } }] },
    matches: [0, 1],
  },
  '$or, $nor and $and combine filters': {
    documents: [{ a: 1 }, { a: 2 }, { a: 3, b: 1 }],
    filter: { $or: [{ a: 1 }, { $and: [{ a: 3 }, { b: 1 }] }], $nor: [{ a: 2 }] },
    matches: [0, 2],
  },
  '$expr compares two fields of a document': {
    documents: [
      { a: 1, b: 2 },
      { a: 3, b: 2 },
    ],
    filter: { $expr: { $gt: ['$a', '$b'] } },
    matches: [1],
  },
  'a field named like a method of objects is only found where it is a field': {
    documents: [{ a: 1 }, { constructor: 1 }],
    filter: { constructor: { $exists: true } },
    matches: [1],
  },
}

t.test('a filter', async (t) => {
  const database = await openDatabase(t)
  for (const [number, [title, { documents, filter, matches }]] of Object.entries(CASES).entries()) {
    await t.test(title, async (t) => {
      const collection = database.collection<{ _id: number }>(`case${number}`)
      await collection.insertMany(documents.map((document, index) => ({ _id: index, ...document })))
      const found = await collection.find(filter).toArray()
      t.same(pluck(found, '_id'), matches)
    })
  }
})

type Refusal = readonly [title: string, filter: Document, code: number]

const REFUSALS: readonly Refusal[] = [
  ['an unknown operator', { a: { $near2: 1 } }, 2],
  ['an unknown operator at the top', { $xor: [] }, 2],
  ...['$jsonSchema', '$sampleRate', '$alwaysTrue', '$constructor'].map(
    (name): Refusal => [name, { [name]: {} }, 2],
  ),
  ...['$near', '$geoIntersects', '$bitsAllSet', '$bitsAnyClear', '$maxDistance', '$where'].map(
    (name): Refusal => [`${name} of a field`, { a: { [name]: 1 } }, 2],
  ),
  ['an operator beside a name', { a: { $gt: 1, b: 2 } }, 2],
  ['$regex with an unknown option', { a: { $regex: 'x', $options: 'g' } }, 51108],
  ['$regex with the option x', { a: { $regex: 'x', $options: 'x' } }, 51108],
  ['$options without $regex', { a: { $options: 'i' } }, 2],
  ['$options beside those of the pattern', { a: { $regex: /x/i, $options: '' } }, 51075],
  ['$regex of a number', { a: { $regex: 5 } }, 2],
  ['an anchor that only PCRE knows', { a: { $regex: '\\Ax' } }, 51091],
  ['a class that only PCRE knows', { a: { $regex: '[[:alpha:]]' } }, 51091],
  ['$ne of a regular expression', { a: { $ne: /x/ } }, 2],
  ...['$gt', '$gte', '$lt', '$lte'].map(
    (name): Refusal => [`${name} of a regular expression`, { a: { [name]: /x/ } }, 2],
  ),
  ['half a DBRef', { a: { $id: 5 } }, 2],
  ['half a DBRef in $elemMatch', { a: { $elemMatch: { $id: 5 } } }, 2],
  ['$in of an operator', { a: { $in: [{ $gt: 1 }] } }, 2],
  ['$all of an operator', { a: { $all: [{ $gt: 1 }] } }, 2],
  ['$elemMatch of a number', { a: { $elemMatch: 5 } }, 2],
  ['an empty $not', { a: { $not: {} } }, 2],
  ['$type of nothing', { a: { $type: [] } }, 9],
  ['$mod of one number', { a: { $mod: [1] } }, 2],
  ['$size of a fraction', { a: { $size: 1.5 } }, 2],
  ['$and of no filters', { $and: [1] }, 2],
  ['an unknown expression', { $expr: { $nope: 1 } }, 168],
  ['an empty $or', { $or: [] }, 2],
  ['a negative $size', { a: { $size: -1 } }, 2],
  ['$in without an array', { a: { $in: 5 } }, 2],
  ['$not of a plain value', { a: { $not: 5 } }, 2],
  ['$mod by zero', { a: { $mod: [0, 0] } }, 2],
  ['an unknown $type', { a: { $type: 'text' } }, 2],
  ['an invalid regular expression', { a: { $regex: '(' } }, 51091],
  ['$where', { $where: 'true' }, 2],
  ['$text without an index', { $text: { $search: 'x' } }, 27],
  ['$geoWithin', { a: { $geoWithin: {} } }, 2],
  ['$function', { $expr: { $function: { body: 'x', args: [], lang: 'js' } } }, 168],
]

/** Values that are equal to others of another type, or that only look like them. */
const ALIKE: readonly unknown[] = [
  ...[1, -0, 0, Number.NaN, Long.fromNumber(1), new Double(1), Decimal128.fromString('1.0')],
  ...[
    '1',
    new BSONSymbol('1'),
    '',
    null,
    true,
    [1],
    ['1'],
    [],
    { a: 1 },
    { a: Long.fromNumber(1) },
  ],
  ...[new Date(1), new Timestamp({ t: 0, i: 1 }), LOW_ID, new MinKey()],
]

t.test('$in finds what $eq finds of each of its values, and $nin the others', async (t) => {
  const collection = (await openDatabase(t)).collection('alike')
  await collection.insertMany([
    ...ALIKE.map((a, n) => ({ _id: n as never, a })),
    { _id: 99 as never },
  ])
  const find = async (filter: Document): Promise<unknown[]> =>
    (await collection.find(filter).sort({ _id: 1 }).toArray()).map(({ _id }) => _id)
  const all = await find({})
  for (const [n, value] of ALIKE.entries()) {
    for (const other of [value, ALIKE[(n + 1) % ALIKE.length], 'none']) {
      const expected = new Set([
        ...(await find({ a: { $eq: value } })),
        ...(await find({ a: { $eq: other } })),
      ])
      t.strictSame(
        await find({ a: { $in: [value, other] } }),
        all.filter((id) => expected.has(id)),
      )
      t.strictSame(
        await find({ a: { $nin: [value, other] } }),
        all.filter((id) => !expected.has(id)),
      )
    }
  }
})

t.test('a filter is refused with MongoDB’s code for', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('refusals')
  await collection.insertOne({ a: 1 })
  for (const [title, filter, code] of REFUSALS) {
    await t.test(title, (t) => t.rejects(collection.find(filter).toArray(), { code }))
  }
})

t.test('no operator of filters is allowed that has no case here', (t) => {
  // `$text` has a file of its own.
  const written = `${JSON.stringify(CASES)} "$text":`
  const names = [...LOGICAL_OPERATORS.keys(), ...FIELD_OPERATORS.keys()]
  t.strictSame(
    names.filter((name) => !written.includes(`"${name}":`)),
    [],
  )
  t.end()
})
