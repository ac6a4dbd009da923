import type { Document } from 'mongodb'
import { Decimal128, Long, ObjectId } from 'mongodb'

const ID = new ObjectId('65e0f0000000000000000001')

/** What `$graphLookup` is given, but for what a case changes. */
export const GRAPH_LOOKUP: Document = {
  from: 'nodes',
  startWith: '$go',
  connectFromField: 'to',
  connectToField: '_id',
  as: 'out',
}

/** A search, and the `_id`s that it finds for each document that it is asked for. */
export interface GraphCase {
  readonly nodes: readonly Document[]
  readonly documents: readonly Document[]
  readonly stage?: Document
  readonly options?: Document
  readonly found: readonly (readonly unknown[])[]
}

const CHAIN = [
  { _id: 1, to: 2, kind: 'a' },
  { _id: 2, to: 3, kind: 'b' },
  { _id: 3, to: 4, kind: 'a' },
  { _id: 4, kind: 'a' },
]
const CYCLE = [
  { _id: 1, to: 2 },
  { _id: 2, to: 3 },
  { _id: 3, to: 1 },
]
const CITIES = [
  { _id: 1, name: 'Rome', next: ['oslo'] },
  { _id: 2, name: 'Oslo', next: 'ROME' },
]

/** Searches whose outcomes MongoDB's manual and its own tests say. */
export const GRAPH_CASES: Readonly<Record<string, GraphCase>> = {
  'goes on from what it has found': {
    nodes: CHAIN,
    documents: [{ go: 1 }, { go: 3 }, { go: 9 }],
    found: [[1, 2, 3, 4], [3, 4], []],
  },
  'finds each document of a cycle once': {
    nodes: CYCLE,
    documents: [{ go: 1 }, { go: 3 }],
    found: [
      [1, 2, 3],
      [3, 1, 2],
    ],
  },
  'finds a document that leads to itself once': {
    nodes: [{ _id: 1, to: [1, 1] }],
    documents: [{ go: 1 }],
    found: [[1]],
  },
  'finds a document once that several lead to, at the smallest depth': {
    nodes: [{ _id: 1, to: [2, 3, 4] }, { _id: 2, to: 3 }, { _id: 3, to: 4 }, { _id: 4 }],
    documents: [{ go: 1 }],
    stage: { maxDepth: 1 },
    found: [[1, 2, 3, 4]],
  },
  'begins with each item of an array': {
    nodes: CHAIN,
    documents: [{ go: [4, 3] }, { go: [] }, { go: [9, null, 4] }],
    found: [[3, 4], [], [4]],
  },
  'begins with an array inside an array as one value': {
    nodes: [
      { _id: 1, in: [1, 2] },
      { _id: 2, in: 1 },
      { _id: 3, in: [[1, 2]] },
    ],
    documents: [{ go: [[1, 2]] }, { go: [1] }],
    stage: { connectToField: 'in' },
    found: [
      [1, 3],
      [1, 2],
    ],
  },
  'begins with what an expression says': {
    nodes: CHAIN,
    documents: [{ go: 2 }],
    stage: { startWith: { $add: ['$go', 1] } },
    found: [[3, 4]],
  },
  'begins with a constant and a list of expressions': {
    nodes: CHAIN,
    documents: [{ go: 3 }],
    stage: { startWith: ['$go', 1], maxDepth: 0 },
    found: [[1, 3]],
  },
  'begins with the values in an array of documents': {
    nodes: CHAIN,
    documents: [{ go: [{ id: 4 }, { id: 2 }, {}] }],
    stage: { startWith: '$go.id', maxDepth: 0 },
    found: [[2, 4]],
  },
  'begins with whole documents': {
    nodes: [
      { _id: 1, in: { a: 1, b: 2 } },
      { _id: 2, in: { b: 2, a: 1 } },
    ],
    documents: [{ go: { a: 1, b: 2 } }],
    stage: { connectToField: 'in' },
    found: [[1]],
  },
  'keeps null and missing apart': {
    nodes: [
      { _id: 1, in: null },
      { _id: 2 },
      { _id: 3, in: 1, to: null },
      { _id: 4, in: [null] },
      { _id: 5, in: [] },
    ],
    documents: [{}, { go: null }, { go: 1 }],
    stage: { connectToField: 'in' },
    found: [[], [1, 4], [3, 1, 4]],
  },
  'does not go on from a missing field, nor from an empty array': {
    nodes: [{ _id: 1 }, { _id: 2, to: [] }, { _id: null }],
    documents: [{ go: [1, 2] }],
    found: [[1, 2]],
  },
  'goes on from each item of an array': {
    nodes: [{ _id: 1, to: [3, 2] }, { _id: 2, to: [4] }, { _id: 3 }, { _id: 4 }],
    documents: [{ go: 1 }],
    found: [[1, 2, 3, 4]],
  },
  'goes on from a path into documents and arrays of them': {
    nodes: [
      { _id: 1, to: [{ id: 2 }, { id: [3, 9] }, 4, [{ id: 4 }]] },
      { _id: 2, to: { id: 5 } },
      { _id: 3 },
      { _id: 4 },
      { _id: 5 },
    ],
    documents: [{ go: 1 }],
    stage: { connectFromField: 'to.id' },
    found: [[1, 2, 3, 5]],
  },
  'goes on from the item that an index in the path names': {
    nodes: [{ _id: 1, to: [{ id: 2 }, { id: 3 }] }, { _id: 2 }, { _id: 3 }],
    documents: [{ go: 1 }],
    stage: { connectFromField: 'to.1.id' },
    found: [[1, 3]],
  },
  'arrives at each item of an array': {
    nodes: [
      { _id: 1, in: ['a', 'b'], to: 'c' },
      { _id: 2, in: ['c', 'b'] },
      { _id: 3, in: 'd' },
    ],
    documents: [{ go: 'a' }, { go: 'b' }],
    stage: { connectToField: 'in' },
    found: [
      [1, 2],
      [1, 2],
    ],
  },
  'arrives at a path into documents and arrays of them': {
    nodes: [
      { _id: 1, in: [{ key: 0 }, { key: 1 }], to: [{ key: 2 }] },
      { _id: 2, in: { key: [2, 8] } },
      { _id: 3, in: { key: 3 } },
    ],
    documents: [{ go: 1 }, { go: 8 }],
    stage: { connectToField: 'in.key', connectFromField: 'to.key' },
    found: [[1, 2], [2]],
  },
  'climbs from children to parents, and down again': {
    nodes: CHAIN,
    documents: [{ go: 4 }],
    stage: { connectToField: 'to', connectFromField: '_id' },
    found: [[3, 2, 1]],
  },
  'takes numbers of all types and ObjectIds for what they are': {
    nodes: [
      { _id: 1, to: [Long.fromNumber(2), new Decimal128('3.0'), '4'] },
      { _id: 2 },
      { _id: 3, to: ID },
      { _id: 4 },
      { _id: ID },
    ],
    documents: [{ go: 1 }],
    found: [[1, 2, 3, ID]],
  },
  'stops at maxDepth': {
    nodes: CHAIN,
    documents: [{ go: 1 }, { go: 3 }],
    stage: { maxDepth: 1 },
    found: [
      [1, 2],
      [3, 4],
    ],
  },
  'takes a maxDepth of 0 for no step': {
    nodes: CHAIN,
    documents: [{ go: 1 }],
    stage: { maxDepth: 0 },
    found: [[1]],
  },
  'takes a maxDepth of any number type': {
    nodes: CHAIN,
    documents: [{ go: 1 }],
    stage: { maxDepth: Long.fromNumber(2) },
    found: [[1, 2, 3]],
  },
  'begins with a variable of the command': {
    nodes: CHAIN,
    documents: [{}],
    stage: { startWith: '$$begin' },
    options: { let: { begin: 3 } },
    found: [[3, 4]],
  },
  'finds nothing in a collection that does not exist': {
    nodes: CHAIN,
    documents: [{ go: 1 }],
    stage: { from: 'nowhere' },
    found: [[]],
  },
  'compares by the collation': {
    nodes: CITIES,
    documents: [{ go: 'rome' }],
    stage: { connectToField: 'name', connectFromField: 'next' },
    options: { collation: { locale: 'en', strength: 2 } },
    found: [[1, 2]],
  },
  'compares letter by letter without a collation': {
    nodes: CITIES,
    documents: [{ go: 'rome' }, { go: 'Rome' }],
    stage: { connectToField: 'name', connectFromField: 'next' },
    found: [[], [1]],
  },
  'keeps documents apart whose _ids the collation takes for equal': {
    nodes: [
      { _id: 'x', name: 'b' },
      { _id: 'X', name: 'B' },
    ],
    documents: [{ go: 'b' }],
    stage: { connectToField: 'name' },
    options: { collation: { locale: 'en', strength: 2 } },
    found: [['x', 'X']],
  },
}

/** Arguments that change those of `GRAPH_LOOKUP`, `undefined` for none, and the error's code. */
export const GRAPH_REFUSALS: readonly (readonly [
  title: string,
  change: Document,
  code: number,
  message: RegExp,
])[] = [
  ['an unknown argument', { until: 1 }, 40104, /until/],
  ['no from', { from: undefined }, 40105, /from/],
  ['a from that is no string', { from: 5 }, 14, /from/],
  ['a from of another database', { from: { db: 'x', coll: 'y' } }, 14, /from/],
  ['an empty from', { from: '' }, 40105, /from/],
  ['no startWith', { startWith: undefined }, 40105, /startWith/],
  ['no connectFromField', { connectFromField: undefined }, 40105, /connectFromField/],
  ['no connectToField', { connectToField: undefined }, 40105, /connectToField/],
  ['no as', { as: undefined }, 40105, /'as'/],
  ['an empty as', { as: '' }, 40105, /'as'/],
  ['an as that is no string', { as: 0 }, 14, /as/],
  ['an as of null', { as: null }, 40105, /as/],
  ['an as with a dollar', { as: '$out' }, 16410, /\$out/],
  ['an as with an empty name', { as: 'a..b' }, 15998, /a\.\.b/],
  ['an as that ends with a dot', { as: 'a.' }, 40353, /'a\.'/],
  ['a connectFromField that is no string', { connectFromField: 0 }, 14, /connectFromField/],
  ['a connectFromField with a dollar', { connectFromField: '$to' }, 16410, /\$to/],
  ['a connectToField that is no string', { connectToField: ['_id'] }, 14, /connectToField/],
  ['a connectToField with a dollar', { connectToField: 'a.$b' }, 16410, /\$b/],
  ['a maxDepth that is no number', { maxDepth: '1' }, 40100, /maxDepth/],
  ['a maxDepth of null', { maxDepth: null }, 40100, /maxDepth/],
  ['a maxDepth below 0', { maxDepth: -1 }, 40101, /maxDepth/],
  ['a maxDepth of a fraction', { maxDepth: 2.5 }, 2, /maxDepth/],
  ['a maxDepth that is not a number', { maxDepth: Number.NaN }, 2, /maxDepth/],
  ['a maxDepth beyond 64 bits', { maxDepth: 1e300 }, 2, /maxDepth/],
  ['an undefined variable', { startWith: '$$nope' }, 17276, /nope/],
  ['a depthField', { depthField: 'depth' }, 72, /depthField' is not supported by the embedded/],
  ['a match', { restrictSearchWithMatch: { a: 1 } }, 72, /restrictSearchWithMatch' is not supp/],
]
