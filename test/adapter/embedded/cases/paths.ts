import type { Document } from 'mongodb'
import { Long, ObjectId } from 'mongodb'
import type { Case } from './case.ts'
import { casesOf, fails, found, MANUAL, over, SERVER } from './case.ts'

const QUERY = `${MANUAL}/reference/operator/query`
const NULL_TEST = `${SERVER}/05a0f8e98b633a6e6c26c10576a1044f9da161b5/jstests/core/null_query_semantics.js`
const INDEX_TEST = `${SERVER}/3e7ec1c0e58bac540db3b221b707433b307538d3/jstests/core/match_numeric_components.js`
const ID = new ObjectId('65e0f0000000000000000001')

/** Documents with and without `a.b`. */
const NULLS = [
  { a: {} },
  { a: null },
  { a: 4 },
  { a: { b: 'hi' } },
  { a: { b: null } },
  {},
  { a: [[]] },
  { a: [] },
  { a: [{ b: null }, { b: null }, {}] },
  { a: [{ b: 1 }, { b: 3 }, { b: 'string' }] },
  { a: [{ b: null }, { b: 3 }, { b: null }] },
  { a: [{ b: 3 }, {}] },
  { a: [null, null] },
  { a: [1, 'string', 4] },
  { a: [1, 'string', null, 4] },
]

const ORDERS = [
  { item: 'a', size: { h: 14, uom: 'cm' }, tags: ['red', 'blank'], dim: [14, 21] },
  { item: 'b', size: { h: 8.5, uom: 'in' }, tags: ['blank', 'red'], dim: [14, 21] },
  { item: 'c', size: { uom: 'in', h: 8.5 }, tags: ['red', 'blank', 'plain'], dim: [14, 21] },
  { item: 'd', size: { h: 8.5, uom: 'in' }, tags: ['blank'], dim: [22.85, 30] },
  { item: 'e', tags: 'blank', dim: [10, 15.25] },
]

const STOCK = [
  {
    lines: [
      { at: 'A', n: 5 },
      { at: 'C', n: 15 },
    ],
  },
  { lines: [{ at: 'C', n: 5 }] },
  {
    lines: [
      { at: 'A', n: 60 },
      { at: 'B', n: 15 },
    ],
  },
  { lines: { at: 'A', n: 5 } },
  { lines: [] },
  { lines: [[{ at: 'A', n: 5 }]] },
  {},
]

const NESTED = [
  { a: { b: { c: 1 } } },
  { a: [{ b: { c: 1 } }, { b: { c: 2 } }] },
  { a: [{ b: [{ c: 1 }] }] },
  { a: { b: [{ c: 1 }, { c: 2 }] } },
  { a: { 'b.c': 1 } },
  { a: { b: { 0: 1 } } },
  { a: { b: [7, 8] } },
  { a: [{ 0: 1 }] },
]

/** All values that are 42, or an array or a document of one of these, up to three levels deep. */
const LEVELS: readonly Document[] = [
  ...[{ a: 42 }, { a: [42] }, { a: { 0: 42 } }, { a: [[42]] }, { a: [{ 0: 42 }] }],
  ...[{ a: { 0: [42] } }, { a: { 0: { 0: 42 } } }, { a: [[[42]]] }, { a: [[{ 0: 42 }]] }],
  ...[{ a: [{ 0: [42] }] }, { a: [{ 0: { 0: 42 } }] }, { a: { 0: [[42]] } }],
  ...[{ a: { 0: [{ 0: 42 }] } }, { a: { 0: { 0: [42] } } }, { a: { 0: { 0: { 0: 42 } } } }],
]

const NAMES = [
  { name: 'Ann', age: 30, tags: ['x', 'y'], at: ID },
  { name: 'Bob', age: 40, tags: ['y'] },
  { name: 'ann', age: 50, tags: [] },
]

/** Filters along paths, on arrays, and of several clauses. */
export const PATH_CASES: readonly Case[] = [
  ...casesOf(
    NULL_TEST,
    found,
    over(NULLS, {
      'a is null': [{ a: { $eq: null } }, [1, 5, 12, 14]],
      'a is not null': [{ a: { $ne: null } }, [0, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13]],
      'a is not null or above': [
        { a: { $not: { $gte: null } } },
        [0, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13],
      ],
      'a is null or 75': [{ a: { $in: [null, 75] } }, [1, 5, 12, 14]],
      '$or of null': [{ $or: [{ a: null }, { a: 75 }] }, [1, 5, 12, 14]],
      'a is neither null nor 75': [
        { a: { $nin: [null, 75] } },
        [0, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13],
      ],
      'a is neither null nor like': [
        { a: { $nin: [null, /^str.*/] } },
        [0, 2, 3, 4, 6, 7, 8, 9, 10, 11],
      ],
      'an item is null': [{ a: { $elemMatch: { $eq: null } } }, [12, 14]],
      'an item is not null': [{ a: { $elemMatch: { $ne: null } } }, [6, 8, 9, 10, 11, 13, 14]],
      'a.b is null': [{ 'a.b': { $eq: null } }, [0, 1, 2, 4, 5, 8, 10, 11]],
      'a.b is not null': [{ 'a.b': { $ne: null } }, [3, 6, 7, 9, 12, 13, 14]],
      'a.b is null or 75': [{ 'a.b': { $in: [null, 75] } }, [0, 1, 2, 4, 5, 8, 10, 11]],
      'a.b is neither': [{ 'a.b': { $nin: [null, 75] } }, [3, 6, 7, 9, 12, 13, 14]],
      'a.b is neither null nor like': [
        { 'a.b': { $nin: [null, /^str.*/] } },
        [3, 6, 7, 12, 13, 14],
      ],
      'an item of a.b': [{ 'a.b': { $elemMatch: { $ne: null } } }, []],
      'an item has b null': [{ a: { $elemMatch: { b: { $eq: null } } } }, [6, 8, 10, 11]],
      'an item has b': [{ a: { $elemMatch: { b: { $ne: null } } } }, [9, 10, 11]],
      'a.b is there': [{ 'a.b': { $exists: true } }, [3, 4, 8, 9, 10, 11]],
      'a.b is not there': [{ 'a.b': { $exists: false } }, [0, 1, 2, 5, 6, 7, 12, 13, 14]],
    }),
  ),
  ...casesOf(
    `${MANUAL}/tutorial/query-embedded-documents/`,
    found,
    over(ORDERS, {
      'a whole document': [{ size: { h: 8.5, uom: 'in' } }, [1, 3]],
      'in another order': [{ size: { uom: 'in', h: 8.5 } }, [2]],
      'a part of a document': [{ size: { h: 8.5 } }, []],
      'a field of a document': [{ 'size.uom': 'in' }, [1, 2, 3]],
      'a comparison': [{ 'size.h': { $lt: 15 } }, [0, 1, 2, 3]],
      'several fields': [{ 'size.h': { $lt: 15 }, 'size.uom': 'in', item: 'd' }, [3]],
    }),
  ),
  ...casesOf(
    `${MANUAL}/tutorial/query-arrays/`,
    found,
    over(ORDERS, {
      'a whole array': [{ tags: ['red', 'blank'] }, [0]],
      'an item': [{ tags: 'red' }, [0, 1, 2]],
      'an item or the value itself': [{ tags: 'blank' }, [0, 1, 2, 3, 4]],
      'an item above': [{ dim: { $gt: 25 } }, [3]],
      'two conditions met by different items': [{ dim: { $gt: 15, $lt: 20 } }, [0, 1, 2, 4]],
      'two conditions on one item': [{ dim: { $elemMatch: { $gt: 15, $lt: 20 } } }, [4]],
      'an item by its index': [{ 'dim.1': { $gt: 25 } }, [3]],
      'the length': [{ tags: { $size: 3 } }, [2]],
      'an index of a value that is no array': [{ 'tags.0': 'blank' }, [1, 3]],
    }),
  ),
  ...casesOf(
    `${MANUAL}/tutorial/query-array-of-documents/`,
    found,
    over(STOCK, {
      'a whole item': [{ lines: { at: 'A', n: 5 } }, [0, 3]],
      'an item in another order': [{ lines: { n: 5, at: 'A' } }, []],
      'a field by an index': [{ 'lines.0.n': { $lte: 20 } }, [0, 1, 5]],
      'a field of any item': [{ 'lines.n': { $lte: 20 } }, [0, 1, 2, 3]],
      $elemMatch: [{ lines: { $elemMatch: { n: 5, at: 'A' } } }, [0]],
      '$elemMatch of a range': [{ lines: { $elemMatch: { n: { $gt: 10, $lte: 20 } } } }, [0, 2]],
      'different items': [{ 'lines.n': 5, 'lines.at': 'A' }, [0, 3]],
      'a range over items': [{ 'lines.n': { $gt: 10, $lte: 20 } }, [0, 2]],
      'not in any item': [{ 'lines.at': { $ne: 'A' } }, [1, 4, 5, 6]],
      '$not of $elemMatch': [{ lines: { $not: { $elemMatch: { at: 'C' } } } }, [2, 3, 4, 5, 6]],
    }),
  ),
  ...casesOf(
    `${QUERY}/all/`,
    found,
    over(ORDERS, {
      'in any order': [{ tags: { $all: ['red', 'blank'] } }, [0, 1, 2]],
      'one value': [{ tags: { $all: ['blank'] } }, [0, 1, 2, 3, 4]],
      'an array in an array': [{ tags: { $all: [['red', 'blank']] } }, [0]],
      nothing: [{ tags: { $all: [] } }, []],
      'a pattern': [{ tags: { $all: [/^r/, /^b/] } }, [0, 1, 2]],
      'under $not': [{ tags: { $not: { $all: ['red', 'blank'] } } }, [3, 4]],
      'no array': [{ tags: { $all: 'red' } }, fails(2)],
      'an operator': [{ tags: { $all: [{ $gt: 'a' }] } }, fails(2)],
    }),
  ),
  ...casesOf(
    `${QUERY}/all/`,
    found,
    over(STOCK, {
      $elemMatch: [
        { lines: { $all: [{ $elemMatch: { at: 'A' } }, { $elemMatch: { n: 15 } }] } },
        [0, 2],
      ],
      '$elemMatch and a value': [{ lines: { $all: [{ $elemMatch: { at: 'A' } }, 1] } }, fails(2)],
    }),
  ),
  ...casesOf(`${QUERY}/elemMatch/`, found, {
    ...over(
      [{ a: [82, 85, 88] }, { a: [75, 88, 89] }, { a: 82 }, { a: [[82]] }, { a: ['b'] }, { a: [] }],
      {
        operators: [{ a: { $elemMatch: { $gte: 80, $lt: 85 } } }, [0]],
        $in: [{ a: { $elemMatch: { $in: [89, 'b'] } } }, [1, 4]],
        $not: [{ a: { $elemMatch: { $not: { $gte: 80 } } } }, [1, 3, 4]],
        $elemMatch: [{ a: { $elemMatch: { $elemMatch: { $gte: 80 } } } }, [3]],
        $size: [{ a: { $elemMatch: { $size: 1 } } }, [3]],
        $type: [{ a: { $elemMatch: { $type: 'string' } } }, [4]],
        $regex: [{ a: { $elemMatch: { $regex: '^b' } } }, [4]],
        'a value': [{ a: { $elemMatch: 82 } }, fails(2)],
      },
    ),
    ...over(STOCK, {
      $or: [{ lines: { $elemMatch: { $or: [{ n: 60 }, { at: 'C' }] } } }, [0, 1, 2]],
      $and: [{ lines: { $elemMatch: { $and: [{ n: 5 }, { at: 'A' }] } } }, [0]],
      $nor: [{ lines: { $elemMatch: { $nor: [{ n: 5 }] } } }, [0, 2, 5]],
      'an empty filter': [{ lines: { $elemMatch: {} } }, [0, 1, 2, 5]],
    }),
  }),
  ...casesOf(
    `${QUERY}/size/`,
    found,
    over(STOCK, {
      'an empty array': [{ lines: { $size: 0 } }, [4]],
      one: [{ lines: { $size: 1 } }, [1, 5]],
      'a long': [{ lines: { $size: Long.fromNumber(2) } }, [0, 2]],
      'a fraction': [{ lines: { $size: 1.5 } }, fails(2)],
      'below zero': [{ lines: { $size: -1 } }, fails(2)],
      'a word': [{ lines: { $size: 'x' } }, fails(2)],
    }),
  ),
  ...casesOf(
    `${MANUAL}/core/document/#dot-notation`,
    found,
    over(NESTED, {
      'documents and arrays on the way': [{ 'a.b.c': 1 }, [0, 1, 2, 3]],
      'another value': [{ 'a.b.c': 2 }, [1, 3]],
      'an index or a field of that name': [{ 'a.b.0': 1 }, [5]],
      'an index': [{ 'a.b.0': 7 }, [6]],
      'an index and a field': [{ 'a.b.1.c': 2 }, [3]],
      'an index on the way': [{ 'a.1.b.c': 2 }, [1]],
      'a field named by a number in an item': [{ 'a.0': 1 }, [7]],
      'no such path': [{ 'a.b.c.d': { $exists: true } }, []],
      'a document at the end': [{ 'a.b': { c: 1 } }, [0, 1, 2, 3]],
    }),
  ),
  ...casesOf(INDEX_TEST, found, {
    ...over<Document>(LEVELS, {
      equality: [{ 'a.0': 42 }, [1, 2, 4, 5, 9]],
      $ne: [{ 'a.0': { $ne: 42 } }, [0, 3, 6, 7, 8, 10, 11, 12, 13, 14]],
      'two indexes': [{ 'a.0.0': 42 }, [3, 4, 5, 6, 8, 9, 10, 12, 13]],
      'a range': [{ 'a.0': { $gt: 41 } }, [1, 2, 4, 5, 9]],
      $in: [{ 'a.0': { $in: [41, 42, 43] } }, [1, 2, 4, 5, 9]],
      $nin: [{ 'a.0': { $nin: [41, 42, 43] } }, [0, 3, 6, 7, 8, 10, 11, 12, 13, 14]],
      $all: [{ 'a.0': { $all: [42] } }, [1, 2, 4, 5, 9]],
      '$all and $elemMatch': [{ 'a.0': { $all: [{ $elemMatch: { 0: 42 } }] } }, [7, 8, 11, 12]],
      $type: [{ 'a.0': { $type: 'number' } }, [1, 2, 4, 5, 9]],
      $mod: [{ 'a.0': { $mod: [42, 0] } }, [1, 2, 4, 5, 9]],
      $or: [{ $or: [{ 'a.0': 42 }, { b: 123 }] }, [1, 2, 4, 5, 9]],
    }),
    ...over<Document>(
      [{ b: 'hello' }, { b: { 0: 'hello' } }, { b: ['hello', 'abc'] }, { b: [['hello']] }],
      {
        $regex: [{ 'b.0': { $regex: 'hello' } }, [1, 2]],
        '$all of a pattern': [{ 'b.0': { $all: [/^hello/] } }, [1, 2]],
      },
    ),
  }),
  ...casesOf(`${QUERY}-logical/`, found, {
    ...over(NAMES, {
      'two fields': [{ name: 'Ann', age: 30 }, [0]],
      $and: [{ $and: [{ age: { $gt: 30 } }, { age: { $lt: 50 } }] }, [1]],
      '$and of one field': [{ $and: [{ tags: 'x' }, { tags: 'y' }] }, [0]],
      $or: [{ $or: [{ name: 'Bob' }, { age: { $gte: 50 } }] }, [1, 2]],
      '$or beside a field': [{ tags: 'y', $or: [{ age: 30 }, { age: 50 }] }, [0]],
      $nor: [{ $nor: [{ name: 'Bob' }, { tags: 'x' }] }, [2]],
      '$nor of a missing field': [{ $nor: [{ at: { $exists: true } }] }, [1, 2]],
      '$or in $and': [{ $and: [{ $or: [{ age: 30 }, { age: 40 }] }, { tags: 'x' }] }, [0]],
      'an ObjectId': [{ at: ID }, [0]],
      'an ObjectId of the same bytes': [{ at: new ObjectId(ID.toHexString()) }, [0]],
      'an ObjectId as a string': [{ at: ID.toHexString() }, []],
      '$in of ObjectIds': [{ at: { $in: [ID] } }, [0]],
      $comment: [{ age: 30, $comment: 'why' }, [0]],
      'by _id': [{ _id: 1 }, [1]],
      '$in of _id': [{ _id: { $in: [2, 0] } }, [0, 2]],
      'no array': [{ $or: { a: 1 } }, fails(2)],
      'an empty $and': [{ $and: [] }, fails(2)],
      'an empty $nor': [{ $nor: [] }, fails(2)],
      'a value in $or': [{ $or: [1] }, fails(2)],
      'an unknown operator': [{ age: { $above: 1 } }, fails(2)],
      'an unknown operator at the top': [{ $xor: [{ age: 1 }] }, fails(2)],
      'a name beside an operator': [{ age: { $gt: 1, x: 1 } }, fails(2)],
      'an operator beside a name': [{ age: { x: 1, $gt: 1 } }, []],
    }),
  }),
  ...casesOf(
    `${QUERY}/expr/`,
    found,
    over([{ a: 1, b: 2 }, { a: 3, b: 2 }, { a: 2 }, { b: 2 }, { a: 'x', b: 2 }, { a: [3], b: 2 }], {
      'two fields': [{ $expr: { $gt: ['$a', '$b'] } }, [1, 2, 4, 5]],
      equality: [{ $expr: { $eq: ['$a', 3] } }, [1]],
      'a missing field is below null': [{ $expr: { $lt: ['$a', null] } }, [3]],
      'a missing field is not null': [{ $expr: { $eq: ['$a', null] } }, []],
      'beside a filter': [{ a: { $type: 'number' }, $expr: { $lt: ['$a', '$b'] } }, [0]],
      'a path alone': [{ $expr: '$a' }, [0, 1, 2, 4, 5]],
      'a constant': [{ $expr: 0 }, []],
      $and: [{ $expr: { $and: [{ $isNumber: '$a' }, { $lt: ['$a', 3] }] } }, [0, 2]],
      'in $or': [{ $or: [{ $expr: { $eq: ['$a', 'x'] } }, { a: 1 }] }, [0, 4]],
      'in $elemMatch': [{ a: { $elemMatch: { $expr: true } } }, fails(2)],
      'an unknown expression': [{ $expr: { $nope: 1 } }, fails(168)],
      'an unknown variable': [{ $expr: '$$nope' }, fails(17276)],
    }),
  ),
]
