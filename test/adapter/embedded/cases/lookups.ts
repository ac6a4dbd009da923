import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import type { Ask, Case } from './case.ts'
import { casesOf, fails, MANUAL } from './case.ts'

interface Join {
  /** The documents of the other collection. */
  readonly others: readonly Document[]
  /** `$lookup` without `from`. */
  readonly lookup?: Document
  /** `$graphLookup` without `from`; its results come in any order, and are asked for in that of `_id`. */
  readonly graphLookup?: Document
}

/** Asks for the documents of a join, without their `_id`. */
const joined: Ask<Join> = async (collection, { others, lookup, graphLookup }, database) => {
  const from = `${collection.collectionName}_others`
  const foreign = database.collection<{ _id: unknown }>(from)
  if (others.length > 0) {
    await foreign.insertMany(others.map((other, index) => ({ _id: index, ...other })))
  }
  const stages: Document[] =
    graphLookup === undefined
      ? [{ $lookup: { from, ...lookup } }]
      : [
          { $graphLookup: { from, as: 'out', ...graphLookup } },
          { $unwind: '$out' },
          { $sort: { _id: 1, 'out._id': 1 } },
          { $group: { _id: '$_id', out: { $push: '$out._id' } } },
          { $sort: { _id: 1 } },
        ]
  try {
    return await collection.aggregate([...stages, { $unset: ['_id', 'out._id'] }]).toArray()
  } finally {
    await foreign.drop()
  }
}

const ID = new ObjectId('65e0f0000000000000000001')
const BY_K = { localField: 'k', foreignField: 'k', as: 'out' }
const OTHERS = [{ k: 1 }, { k: 2 }, { k: null }, {}, { k: [1, 3] }, { k: '1' }]
const WITH_IDS = { ...BY_K, pipeline: [{ $project: { i: '$_id', _id: 0 } }] }

const TREE = [
  { _id: 'root' },
  { _id: 'a', up: 'root' },
  { _id: 'b', up: 'root' },
  { _id: 'c', up: 'a' },
  { _id: 'd', up: 'c' },
]
const UP = { startWith: '$go', connectFromField: 'up', connectToField: '_id' }
const DOWN = { startWith: '$go', connectFromField: '_id', connectToField: 'up' }

/** Joins with another collection. */
export const LOOKUP_CASES: readonly Case[] = [
  ...casesOf(`${MANUAL}/reference/operator/aggregation/lookup/`, joined, {
    'a value': [[{ k: 2 }], { others: OTHERS, lookup: WITH_IDS }, [{ k: 2, out: [{ i: 1 }] }]],
    'a value in arrays too': [
      [{ k: 1 }],
      { others: OTHERS, lookup: WITH_IDS },
      [{ k: 1, out: [{ i: 0 }, { i: 4 }] }],
    ],
    'null finds null and missing': [
      [{ k: null }],
      { others: OTHERS, lookup: WITH_IDS },
      [{ k: null, out: [{ i: 2 }, { i: 3 }] }],
    ],
    'a missing field does the same': [
      [{}],
      { others: OTHERS, lookup: WITH_IDS },
      [{ out: [{ i: 2 }, { i: 3 }] }],
    ],
    'each item of an array': [
      [{ k: [2, 3] }],
      { others: OTHERS, lookup: WITH_IDS },
      [{ k: [2, 3], out: [{ i: 1 }, { i: 4 }] }],
    ],
    nothing: [[{ k: 9 }], { others: OTHERS, lookup: WITH_IDS }, [{ k: 9, out: [] }]],
    'an empty collection': [[{ k: 1 }], { others: [], lookup: BY_K }, [{ k: 1, out: [] }]],
    'an ObjectId': [
      [{ user: ID }],
      {
        others: [{ _id: ID, name: 'Ann' }],
        lookup: { localField: 'user', foreignField: '_id', as: 'user' },
      },
      [{ user: [{ _id: ID, name: 'Ann' }] }],
    ],
    'an ObjectId is not its digits': [
      [{ user: ID.toHexString() }],
      { others: [{ _id: ID }], lookup: { localField: 'user', foreignField: '_id', as: 'out' } },
      [{ user: ID.toHexString(), out: [] }],
    ],
    'a path': [
      [{ a: { k: 2 } }],
      { others: OTHERS, lookup: { ...WITH_IDS, localField: 'a.k' } },
      [{ a: { k: 2 }, out: [{ i: 1 }] }],
    ],
    'a path through an array': [
      [{ a: [{ k: 2 }, { k: 3 }] }],
      { others: OTHERS, lookup: { ...WITH_IDS, localField: 'a.k' } },
      [{ a: [{ k: 2 }, { k: 3 }], out: [{ i: 1 }, { i: 4 }] }],
    ],
    'a path of the other': [
      [{ k: 5 }],
      {
        others: [{ o: { k: 5 } }, { o: [{ k: 4 }, { k: 5 }] }],
        lookup: {
          localField: 'k',
          foreignField: 'o.k',
          as: 'out',
          pipeline: [{ $project: { _id: 0, i: '$_id' } }],
        },
      },
      [{ k: 5, out: [{ i: 0 }, { i: 1 }] }],
    ],
    'in place of a field': [
      [{ k: 2, out: 1 }],
      { others: OTHERS, lookup: WITH_IDS },
      [{ k: 2, out: [{ i: 1 }] }],
    ],
    'into a path': [
      [{ k: 2 }],
      { others: OTHERS, lookup: { ...WITH_IDS, as: 'o.p' } },
      [{ k: 2, o: { p: [{ i: 1 }] } }],
    ],
    'a pipeline': [
      [{ n: 1 }],
      { others: OTHERS, lookup: { as: 'out', pipeline: [{ $match: { k: 2 } }, { $count: 'n' }] } },
      [{ n: 1, out: [{ n: 1 }] }],
    ],
    'a pipeline with let': [
      [{ least: 2 }, { least: 9 }],
      {
        others: [{ n: 1 }, { n: 5 }, { n: 7 }],
        lookup: {
          as: 'out',
          let: { least: '$least' },
          pipeline: [
            { $match: { $expr: { $gt: ['$n', '$$least'] } } },
            { $project: { _id: 0, n: 1 } },
          ],
        },
      },
      [
        { least: 2, out: [{ n: 5 }, { n: 7 }] },
        { least: 9, out: [] },
      ],
    ],
    both: [
      [{ k: 1, x: 4 }],
      {
        others: OTHERS,
        lookup: {
          ...BY_K,
          let: { x: '$x' },
          pipeline: [{ $project: { _id: 0, y: { $add: ['$_id', '$$x'] } } }],
        },
      },
      [{ k: 1, x: 4, out: [{ y: 4 }, { y: 8 }] }],
    ],
    'a page of each': [
      [{ k: 1 }],
      {
        others: OTHERS,
        lookup: {
          as: 'out',
          pipeline: [{ $sort: { _id: -1 } }, { $limit: 2 }, { $project: { _id: 0, k: 1 } }],
        },
      },
      [{ k: 1, out: [{ k: '1' }, { k: [1, 3] }] }],
    ],
    'without as': [
      [{ k: 1 }],
      { others: OTHERS, lookup: { localField: 'k', foreignField: 'k' } },
      fails(9),
    ],
    'without foreignField': [
      [{ k: 1 }],
      { others: OTHERS, lookup: { localField: 'k', as: 'out' } },
      fails(9),
    ],
    'an unknown name': [[{ k: 1 }], { others: OTHERS, lookup: { ...BY_K, x: 1 } }, fails(9)],
    'a number as a field': [[{ k: 1 }], { others: OTHERS, lookup: { ...BY_K, as: 1 } }, fails(9)],
    'a pipeline that is none': [
      [{ k: 1 }],
      { others: OTHERS, lookup: { as: 'out', pipeline: 1 } },
      fails(14),
    ],
    'an unknown stage': [
      [{ k: 1 }],
      { others: OTHERS, lookup: { as: 'out', pipeline: [{ $nope: 1 }] } },
      fails(40324),
    ],
    'a stage that writes': [
      [{ k: 1 }],
      { others: OTHERS, lookup: { as: 'out', pipeline: [{ $out: 'x' }] } },
      fails(51047),
    ],
  }),
  ...casesOf(`${MANUAL}/reference/operator/aggregation/graphLookup/`, joined, {
    upwards: [[{ go: 'd' }], { others: TREE, graphLookup: UP }, [{ out: ['a', 'c', 'd', 'root'] }]],
    downwards: [[{ go: 'a' }], { others: TREE, graphLookup: DOWN }, [{ out: ['c', 'd'] }]],
    'to a depth': [
      [{ go: 'd' }],
      { others: TREE, graphLookup: { ...UP, maxDepth: 1 } },
      [{ out: ['c', 'd'] }],
    ],
    'from several': [
      [{ go: ['d', 'b'] }],
      { others: TREE, graphLookup: { ...UP, maxDepth: 0 } },
      [{ out: ['b', 'd'] }],
    ],
    nothing: [[{ go: 'z' }], { others: TREE, graphLookup: UP }, []],
    'a cycle': [
      [{ go: 1 }],
      {
        others: [
          { _id: 1, up: 2 },
          { _id: 2, up: 1 },
        ],
        graphLookup: UP,
      },
      [{ out: [1, 2] }],
    ],
    'a constant': [
      [{ k: 1 }],
      { others: TREE, graphLookup: { ...UP, startWith: 'a' } },
      [{ out: ['a', 'root'] }],
    ],
    'a filter': [
      [{ go: 'd' }],
      { others: TREE, graphLookup: { ...UP, restrictSearchWithMatch: { _id: { $ne: 'a' } } } },
      [{ out: ['c', 'd'] }],
      72,
    ],
    'without startWith': [
      [{ go: 1 }],
      { others: TREE, graphLookup: { connectFromField: 'up', connectToField: '_id' } },
      fails(40105),
    ],
    'a depth below zero': [
      [{ go: 1 }],
      { others: TREE, graphLookup: { ...UP, maxDepth: -1 } },
      fails(40101),
    ],
    'a depth in words': [
      [{ go: 1 }],
      { others: TREE, graphLookup: { ...UP, maxDepth: 'x' } },
      fails(40100),
    ],
    'an unknown name': [[{ go: 1 }], { others: TREE, graphLookup: { ...UP, x: 1 } }, fails(40104)],
  }),
]
