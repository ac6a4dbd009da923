import type { Document } from 'mongodb'

/** A `$lookup` from the collection `others`, and what it puts into each document. */
export interface LookupCase {
  readonly documents: readonly Document[]
  readonly others: readonly Document[]
  readonly lookup: Document
  /** The `_id`s in the field `out`, by document. */
  readonly found: readonly (readonly unknown[])[]
}

const BY_FIELD = { localField: 'a', foreignField: 'b' }
const BY_PATH = { localField: 'a.x', foreignField: 'b' }

const PEOPLE = [
  { _id: 1, name: 'Ada', city: 'Rome', age: 36 },
  { _id: 2, name: 'Bob', city: 'Oslo', age: 20 },
  { _id: 3, name: 'Cy', city: 'Rome', age: 50 },
]

/** Joins by equality, with the outcomes that MongoDB's own tests of `$lookup` say. */
export const JOIN_CASES: Readonly<Record<string, LookupCase>> = {
  'joins each item of an array': {
    documents: [{ a: 1 }, { a: [1, 2] }, { a: [[1], 3] }, { a: 3 }],
    others: [
      { _id: 1, b: 1 },
      { _id: 2, b: [2, 4] },
    ],
    lookup: BY_FIELD,
    found: [[1], [1, 2], [], []],
  },
  'joins null with missing': {
    documents: [{}, { a: null }, { a: [null, 1] }, { a: 1 }],
    others: [{ _id: 1, b: null }, { _id: 2 }, { _id: 3, b: [] }, { _id: 4, b: [null] }],
    lookup: BY_FIELD,
    found: [[1, 2, 4], [1, 2, 4], [1, 2, 4], []],
  },
  'takes an empty array for a field without a value': {
    documents: [{ a: [] }],
    others: [{ _id: 1, b: null }, { _id: 2 }, { _id: 3, b: [] }, { _id: 4, b: 1 }],
    lookup: BY_FIELD,
    found: [[1, 2]],
  },
  'joins an array inside an array as a whole': {
    documents: [{ a: [[1, 2], 9] }, { a: [1, 2] }, { a: [[]] }, { a: [[[1, 2]]] }],
    others: [
      { _id: 1, b: [1, 2] },
      { _id: 2, b: [[1, 2], 3] },
      { _id: 3, b: [] },
    ],
    lookup: BY_FIELD,
    found: [[1, 2], [1], [3], []],
  },
  'joins the values of a path through arrays of documents': {
    documents: [
      { a: { x: 1 } },
      { a: [{ x: 1 }, { x: [2, 5] }] },
      { a: [{ y: 1 }, { x: 2 }] },
      { a: [[{ x: 1 }]] },
    ],
    others: [
      { _id: 1, b: 1 },
      { _id: 2, b: 2 },
    ],
    lookup: BY_PATH,
    found: [[1], [1, 2], [2], []],
  },
  'joins a path without any value with null': {
    documents: [{ a: [{ y: 1 }, {}] }, { a: 5 }, { a: [{ x: [] }] }, { a: [{ x: 1 }, { y: 1 }] }],
    others: [{ _id: 1, b: null }],
    lookup: BY_PATH,
    found: [[1], [1], [1], []],
  },
  'joins the item that an index in the path names': {
    documents: [{ a: [{ x: 2 }, { x: 1 }] }, { a: [{ x: 1 }] }, { a: { 0: { x: 1 } } }],
    others: [{ _id: 1, b: 1 }],
    lookup: { localField: 'a.0.x', foreignField: 'b' },
    found: [[], [1], [1]],
  },
  'joins by a path of the other collection': {
    documents: [{ a: 1 }, { a: null }],
    others: [
      { _id: 1, b: { x: [1, 2] } },
      { _id: 2, b: [{ x: 1 }, {}] },
      { _id: 3, b: [{ x: 3 }] },
      { _id: 4, b: 1 },
    ],
    lookup: { localField: 'a', foreignField: 'b.x' },
    found: [
      [1, 2],
      [2, 4],
    ],
  },
  'joins a regular expression with an equal one, and not with strings': {
    documents: [{ a: /x/ }, { a: 'x' }],
    others: [
      { _id: 1, b: 'x' },
      { _id: 2, b: /x/ },
    ],
    lookup: BY_FIELD,
    found: [[2], [1]],
  },
}

/** Pipelines over what has been joined. */
export const PIPELINE_CASES: Readonly<Record<string, LookupCase>> = {
  'runs a pipeline over the joined documents': {
    documents: [{ city: 'Rome' }, { city: 'Oslo' }],
    others: PEOPLE,
    lookup: { localField: 'city', foreignField: 'city', pipeline: [{ $sort: { age: -1 } }] },
    found: [[3, 1], [2]],
  },
  'runs a pipeline without a join over the whole collection': {
    documents: [{}, {}],
    others: PEOPLE,
    lookup: { pipeline: [{ $match: { age: { $gt: 30 } } }] },
    found: [
      [1, 3],
      [1, 3],
    ],
  },
  'gives a pipeline variables of the document, null or missing ones too': {
    documents: [{ least: 30 }, { least: null }, {}],
    others: PEOPLE,
    lookup: { let: { least: '$least' }, pipeline: [{ $match: matchAge('$$least') }] },
    found: [
      [1, 3],
      [1, 2, 3],
      [1, 2, 3],
    ],
  },
  'takes fields, variables and a pipeline together': {
    documents: [
      { city: 'Rome', least: 40 },
      { city: 'Oslo', least: 40 },
      { city: ['Rome', 'Oslo'], least: 1 },
    ],
    others: PEOPLE,
    lookup: {
      localField: 'city',
      foreignField: 'city',
      let: { least: { $add: ['$least', 1] } },
      pipeline: [{ $match: matchAge('$$least') }],
    },
    found: [[3], [], [1, 2, 3]],
  },
  'shows the variables of an outer $lookup to an inner one': {
    documents: [{ least: 30 }, { least: 50 }],
    others: PEOPLE,
    lookup: {
      let: { least: '$least', name: 'outer' },
      pipeline: [
        {
          $lookup: {
            from: 'others',
            let: { city: '$city', name: '$name' },
            pipeline: [
              { $match: { $expr: { $eq: ['$city', '$$city'] } } },
              { $match: { $expr: { $ne: ['$name', '$$name'] } } },
              { $match: matchAge('$$least') },
            ],
            as: 'neighbours',
          },
        },
        { $match: { $expr: { $eq: ['$$name', 'outer'] }, neighbours: { $ne: [] } } },
      ],
    },
    found: [[1, 3], [1]],
  },
  'matches by regular expressions inside': {
    documents: [{}],
    others: PEOPLE,
    lookup: { pipeline: [{ $match: { city: /^(ro|os)/i } }, { $match: { name: /^[BC]/i } }] },
    found: [[2, 3]],
  },
}

/** Where the result is put: `as`, a document, and what becomes of it. */
export const AS_CASES: readonly (readonly [as: string, document: Document, result: Document])[] = [
  ['out', { out: 1, a: 1 }, { out: [], a: 1 }],
  ['out.all', { out: { n: 1 } }, { out: { n: 1, all: [] } }],
  ['out.all', {}, { out: { all: [] } }],
  ['out.all', { out: [{ n: 1 }] }, { out: { all: [] } }],
  ['out.0', { out: 'x' }, { out: { 0: [] } }],
]

function matchAge(least: string): Document {
  return { $expr: { $gte: ['$age', least] } }
}
