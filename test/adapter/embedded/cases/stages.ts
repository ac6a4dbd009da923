import type { Case } from './case.ts'
import { casesOf, fails, over, results } from './case.ts'
import { AGGREGATION, GAPS, SALES } from './documents.ts'

const NO_ID = { $unset: '_id' }

const LISTS = [
  { item: 'A', sizes: ['S', 'M'] },
  { item: 'B', sizes: [] },
  { item: 'C', sizes: 'L' },
  { item: 'D' },
  { item: 'E', sizes: null },
]

/** Stages of pipelines, one after the other. */
export const STAGE_CASES: readonly Case[] = [
  ...casesOf(
    `${AGGREGATION}/match/`,
    results,
    over(GAPS, {
      'a filter': [
        [{ $match: { n: { $gt: 0 } } }, { $project: { _id: 1 } }],
        [{ _id: 0 }, { _id: 4 }],
      ],
      null: [
        [{ $match: { n: null } }, { $project: { _id: 1 } }],
        [{ _id: 1 }, { _id: 2 }],
      ],
      'after another stage': [
        [{ $set: { m: '$n' } }, { $match: { m: 5 } }, { $project: { m: 1 } }],
        [{ _id: 4, m: 5 }],
      ],
      'no filter': [[{ $match: 5 }], fails(15959)],
      'an unknown operator': [[{ $match: { $above: 1 } }], fails(2)],
    }),
  ),
  ...casesOf(`${AGGREGATION}/project/`, results, {
    ...over([{ a: 1, b: { c: 2, d: 3 }, list: [{ x: 1, y: 2 }, { x: 3 }] }], {
      fields: [[{ $project: { _id: 0, a: 1 } }], [{ a: 1 }]],
      'a new field': [[{ $project: { _id: 0, sum: { $add: ['$a', '$b.c'] } } }], [{ sum: 3 }]],
      'a path': [[{ $project: { _id: 0, 'b.c': 1 } }], [{ b: { c: 2 } }]],
      'all but one': [[{ $project: { _id: 0, list: 0, 'b.d': 0 } }], [{ a: 1, b: { c: 2 } }]],
      'a path in an array': [
        [{ $project: { _id: 0, 'list.x': 1 } }],
        [{ list: [{ x: 1 }, { x: 3 }] }],
      ],
      'a computed path in an array': [
        [{ $project: { _id: 0, 'list.z': '$a' } }],
        [{ list: [{ z: 1 }, { z: 1 }] }],
      ],
      $$REMOVE: [[{ $project: { _id: 0, a: '$$REMOVE', b: '$a' } }], [{ b: 1 }]],
      'a document': [[{ $project: { _id: 0, o: { p: '$a', q: '$gone' } } }], [{ o: { p: 1 } }]],
      'the _id computed': [[{ $project: { _id: '$a' } }], [{ _id: 1 }]],
      nothing: [[{ $project: {} }], fails(51272)],
      'a number in place of fields': [[{ $project: 5 }], fails(15969)],
      'both kinds': [[{ $project: { a: 1, b: 0 } }], fails(31254)],
      'a positional path': [[{ $project: { 'list.$': 1 } }], fails(31324)],
      'an unknown expression': [[{ $project: { a: { $nope: 1 } } }], fails(31325)],
    }),
  }),
  ...casesOf(`${AGGREGATION}/addFields/`, results, {
    ...over([{ a: 1, b: { c: 2 }, list: [{ x: 1 }, 5] }], {
      'a field': [
        [NO_ID, { $addFields: { d: '$b.c' } }, { $unset: ['list', 'b'] }],
        [{ a: 1, d: 2 }],
      ],
      'in place of a field': [
        [NO_ID, { $set: { a: { $add: ['$a', 1] } } }, { $unset: ['list', 'b'] }],
        [{ a: 2 }],
      ],
      'into a document': [
        [{ $set: { 'b.d': 3 } }, { $project: { _id: 0, b: 1 } }],
        [{ b: { c: 2, d: 3 } }],
      ],
      'a document into a document': [
        [{ $set: { b: { d: 3 } } }, { $project: { _id: 0, b: 1 } }],
        [{ b: { c: 2, d: 3 } }],
      ],
      'into each item': [
        [{ $set: { 'list.y': 9 } }, { $project: { _id: 0, list: 1 } }],
        [{ list: [{ x: 1, y: 9 }, { y: 9 }] }],
      ],
      'over a number': [
        [{ $set: { 'a.x': 1 } }, { $project: { _id: 0, a: 1 } }],
        [{ a: { x: 1 } }],
      ],
      'a missing value': [[{ $set: { a: '$gone' } }, { $project: { _id: 0, a: 1 } }], [{}]],
      'a number': [[{ $set: { a: 0 } }, { $project: { _id: 0, a: 1 } }], [{ a: 0 }]],
      'the old values': [[{ $set: { a: 5, z: '$a' } }, { $project: { _id: 0, z: 1 } }], [{ z: 1 }]],
      nothing: [[{ $set: {} }], [{ _id: 0, a: 1, b: { c: 2 }, list: [{ x: 1 }, 5] }]],
      'an empty document': [[{ $set: { b: {} } }, { $project: { _id: 0, b: 1 } }], [{ b: {} }]],
      'two operators': [[{ $set: { b: { $add: [1], $abs: 1 } } }], fails(40181)],
      'a dot in a document': [[{ $set: { b: { 'c.d': 1 } } }], fails(40183)],
      'a path and its parent': [[{ $set: { b: 1, 'b.c': 2 } }], fails(40176)],
      'a name with a dollar': [[{ $set: { $a: 1 } }], fails(16410)],
      '$unset of a path': [[NO_ID, { $unset: ['b.c', 'list'] }], [{ a: 1, b: {} }]],
      '$unset of a number': [[{ $unset: 5 }], fails(31002)],
      '$unset of nothing': [[{ $unset: [] }], fails(31119)],
    }),
  }),
  ...casesOf(
    `${AGGREGATION}/replaceWith/`,
    results,
    over([{ a: { x: 1 }, b: 2 }], {
      'a document': [[{ $replaceWith: '$a' }], [{ x: 1 }]],
      'a new one': [[{ $replaceWith: { y: '$b' } }], [{ y: 2 }]],
      $replaceRoot: [
        [{ $replaceRoot: { newRoot: { $mergeObjects: ['$a', { z: 3 }] } } }],
        [{ x: 1, z: 3 }],
      ],
      'a number': [[{ $replaceWith: '$b' }], fails(40228)],
      nothing: [[{ $replaceRoot: { newRoot: '$gone' } }], fails(40228)],
      'without newRoot': [[{ $replaceRoot: {} }], fails(40414)],
    }),
  ),
  ...casesOf(
    `${AGGREGATION}/sort/`,
    results,
    over(SALES, {
      'upwards by a field': [
        [{ $sort: { price: 1, n: 1 } }, { $project: { _id: 1 } }],
        [2, 0, 3, 1].map((_id) => ({ _id })),
      ],
      'by a date': [[{ $sort: { at: -1 } }, { $limit: 1 }, { $project: { _id: 1 } }], [{ _id: 3 }]],
      $skip: [[{ $sort: { _id: 1 } }, { $skip: 3 }, { $project: { _id: 1 } }], [{ _id: 3 }]],
      '$skip of all': [[{ $skip: 9 }], []],
      nothing: [[{ $sort: {} }], fails(15976)],
      'a number': [[{ $sort: 5 }], fails(15973)],
      'a direction of zero': [[{ $sort: { a: 0 } }], fails(15975)],
      '$limit of zero': [[{ $limit: 0 }], fails(15958)],
      '$limit below zero': [[{ $limit: -1 }], fails(5107201)],
      '$limit of a word': [[{ $limit: 'x' }], fails(5107201)],
      '$skip below zero': [[{ $skip: -1 }], fails(5107200)],
    }),
  ),
  ...casesOf(`${AGGREGATION}/unwind/`, results, {
    ...over(LISTS, {
      'items, and values as they are': [
        [{ $unwind: '$sizes' }, { $project: { sizes: 1 } }],
        [
          { _id: 0, sizes: 'S' },
          { _id: 0, sizes: 'M' },
          { _id: 2, sizes: 'L' },
        ],
      ],
      'keeps what has none': [
        [
          { $unwind: { path: '$sizes', preserveNullAndEmptyArrays: true } },
          { $project: { sizes: 1 } },
        ],
        [
          { _id: 0, sizes: 'S' },
          { _id: 0, sizes: 'M' },
          { _id: 1 },
          { _id: 2, sizes: 'L' },
          { _id: 3 },
          { _id: 4, sizes: null },
        ],
      ],
      'with the index': [
        [{ $unwind: { path: '$sizes', includeArrayIndex: 'i' } }, { $project: { i: 1 } }],
        [
          { _id: 0, i: 0 },
          { _id: 0, i: 1 },
          { _id: 2, i: null },
        ],
      ],
      'a field that is not there': [[{ $unwind: '$gone' }], []],
      'no dollar': [[{ $unwind: 'sizes' }], fails(28818)],
      'no path': [[{ $unwind: {} }], fails(28812)],
      'a number': [[{ $unwind: 5 }], fails(15981)],
      'an unknown name': [[{ $unwind: { path: '$a', x: 1 } }], fails(28811)],
      'an index with a dollar': [
        [{ $unwind: { path: '$a', includeArrayIndex: '$i' } }],
        fails(28822),
      ],
    }),
    'a path': [
      [{ a: { b: [1, 2] } }],
      [{ $unwind: '$a.b' }, NO_ID],
      [{ a: { b: 1 } }, { a: { b: 2 } }],
    ],
    twice: [
      [{ a: [1, 2], b: [3, 4] }],
      [{ $unwind: '$a' }, { $unwind: '$b' }, { $count: 'n' }],
      [{ n: 4 }],
    ],
    'arrays in arrays': [[{ a: [[1], []] }], [{ $unwind: '$a' }, NO_ID], [{ a: [1] }, { a: [] }]],
  }),
  ...casesOf(
    `${AGGREGATION}/facet/`,
    results,
    over(SALES, {
      'pages and totals': [
        [
          {
            $facet: {
              page: [{ $sort: { _id: 1 } }, { $limit: 1 }, { $project: { item: 1 } }],
              total: [{ $count: 'n' }],
            },
          },
        ],
        [{ page: [{ _id: 0, item: 'abc' }], total: [{ n: 4 }] }],
      ],
      'of nothing': [
        [{ $match: { item: 'z' } }, { $facet: { a: [{ $count: 'n' }] } }],
        [{ a: [] }],
      ],
      '$facet in $facet': [[{ $facet: { a: [{ $facet: { b: [] } }] } }], fails(40600)],
      'no facets': [[{ $facet: {} }], fails(40169)],
      'a facet that is no pipeline': [[{ $facet: { a: 5 } }], fails(40170)],
      $sample: [[{ $sample: { size: 2 } }, { $count: 'n' }], [{ n: 2 }]],
      '$sample of more': [[{ $sample: { size: 9 } }, { $count: 'n' }], [{ n: 4 }]],
      '$sample below zero': [[{ $sample: { size: -1 } }], fails(28747)],
      '$sample without a size': [[{ $sample: {} }], fails(28749)],
      '$sample of a number': [[{ $sample: 5 }], fails(28745)],
      'two stages in one': [[{ $match: {}, $limit: 1 }], fails(40323)],
      'a stage without a name': [[{}], fails(40323)],
      'an unknown stage': [[{ $nope: 1 }], fails(40324)],
      'no stages': [[{ $limit: 1 }, { $project: { item: 1 } }], [{ _id: 0, item: 'abc' }]],
    }),
  ),
]
