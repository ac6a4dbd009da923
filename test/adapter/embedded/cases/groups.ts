import type { Case } from './case.ts'
import { casesOf, fails, over, results, SERVER } from './case.ts'
import { AGGREGATION, GAPS, SALES } from './documents.ts'

/** Counts by an `_id`, the largest group first. */
const countBy = (_id: unknown) => [{ $group: { _id, n: { $sum: 1 } } }, { $sort: { n: -1 } }]

/** Groups, and what counts them. */
export const GROUP_CASES: readonly Case[] = [
  ...casesOf(`${AGGREGATION}/group/`, results, {
    ...over(SALES, {
      'by a field': [
        [{ $group: { _id: '$item', n: { $sum: '$n' } } }, { $sort: { _id: 1 } }],
        [
          { _id: 'abc', n: 12 },
          { _id: 'jkl', n: 1 },
          { _id: 'xyz', n: 5 },
        ],
      ],
      all: [
        [
          {
            $group: {
              _id: null,
              total: { $sum: { $multiply: ['$price', '$n'] } },
              avg: { $avg: '$n' },
              count: { $sum: 1 },
            },
          },
        ],
        [{ _id: null, total: 165, avg: 4.5, count: 4 }],
      ],
      'by an expression': [
        [{ $group: { _id: { $month: '$at' }, n: { $count: {} } } }, { $sort: { _id: 1 } }],
        [
          { _id: 1, n: 1 },
          { _id: 2, n: 3 },
        ],
      ],
      'by a document': [
        [
          { $group: { _id: { p: '$price', m: { $month: '$at' } } } },
          { $sort: { _id: 1 } },
          { $limit: 2 },
        ],
        [{ _id: { p: 5, m: 2 } }, { _id: { p: 10, m: 1 } }],
      ],
      'by a field that is not there': [
        [{ $group: { _id: '$gone', n: { $sum: 1 } } }],
        [{ _id: null, n: 4 }],
      ],
      'by a document without one of two values': [
        [{ $match: { item: 'jkl' } }, { $group: { _id: { g: '$gone', i: '$item' } } }],
        [{ _id: { i: 'jkl' } }],
      ],
      'by a document without a value': [
        [{ $group: { _id: { g: '$gone' } } }],
        [{ _id: { g: null } }],
      ],
      'by a constant': [[{ $group: { _id: 'x', n: { $sum: '$n' } } }], [{ _id: 'x', n: 18 }]],
      'by an array': [
        [{ $match: { tags: 'x' } }, { $group: { _id: '$tags' } }],
        [{ _id: ['x', 'y'] }],
      ],
      '$min and $max': [
        [{ $group: { _id: null, min: { $min: '$price' }, max: { $max: '$at' } } }],
        [{ _id: null, min: 5, max: new Date('2024-02-15T08:00:00Z') }],
      ],
      '$first and $last': [
        [
          { $sort: { _id: 1 } },
          { $group: { _id: null, first: { $first: '$item' }, last: { $last: '$tags' } } },
        ],
        [{ _id: null, first: 'abc', last: null }],
      ],
      $push: [
        [{ $sort: { _id: 1 } }, { $group: { _id: null, all: { $push: '$price' } } }],
        [{ _id: null, all: [10, 20, 5, 10] }],
      ],
      '$push of a document': [
        [
          { $match: { item: 'jkl' } },
          { $group: { _id: null, all: { $push: { i: '$item', g: '$gone' } } } },
        ],
        [{ _id: null, all: [{ i: 'jkl' }] }],
      ],
      $addToSet: [
        [{ $match: { item: 'abc' } }, { $group: { _id: null, prices: { $addToSet: '$price' } } }],
        [{ _id: null, prices: [10] }],
      ],
      'without an _id': [[{ $group: { n: { $sum: 1 } } }], fails(15955)],
      'a value as an accumulator': [[{ $group: { _id: 1, n: 5 } }], fails(40234)],
      'an unknown accumulator': [[{ $group: { _id: 1, n: { $nope: 1 } } }], fails(15952)],
      'two accumulators': [[{ $group: { _id: 1, n: { $sum: 1, $avg: 1 } } }], fails(40238)],
      'a dot in a name': [[{ $group: { _id: 1, 'a.b': { $sum: 1 } } }], fails(40235)],
      'a dollar in a name': [[{ $group: { _id: 1, $n: { $sum: 1 } } }], fails(40236)],
      'an array as an operand': [[{ $group: { _id: 1, n: { $sum: [1, 2] } } }], fails(40237)],
      'an array to $push': [[{ $group: { _id: 1, n: { $push: ['$a', '$b'] } } }], fails(40237)],
      'an array to $addToSet': [[{ $group: { _id: 1, n: { $addToSet: [1] } } }], fails(40237)],
      '$count of a field': [[{ $group: { _id: 1, n: { $count: '$n' } } }], fails(14)],
      'no document': [[{ $group: 5 }], fails(15947)],
      'an unknown expression': [[{ $group: { _id: { $nope: 1 } } }], fails(168)],
    }),
    ...over(GAPS, {
      '$sum of gaps': [
        [{ $group: { _id: '$k', v: { $sum: '$n' } } }, { $sort: { _id: 1 } }],
        [
          { _id: 'a', v: 1 },
          { _id: 'b', v: 5 },
        ],
      ],
      '$avg of gaps': [
        [{ $match: { k: 'a' } }, { $group: { _id: '$k', v: { $avg: '$n' } } }],
        [{ _id: 'a', v: 1 }],
      ],
      '$avg of no numbers': [
        [{ $match: { n: 'x' } }, { $group: { _id: 1, v: { $avg: '$n' }, w: { $sum: '$n' } } }],
        [{ _id: 1, v: null, w: 0 }],
      ],
      '$min of gaps': [
        [{ $match: { k: 'a' } }, { $group: { _id: 1, v: { $min: '$n' }, w: { $max: '$n' } } }],
        [{ _id: 1, v: 1, w: 'x' }],
      ],
      '$push of gaps': [
        [{ $match: { k: 'a' } }, { $sort: { _id: 1 } }, { $group: { _id: 1, v: { $push: '$n' } } }],
        [{ _id: 1, v: [1, null, 'x'] }],
      ],
      '$first of a gap': [
        [{ $match: { _id: 2 } }, { $group: { _id: 1, v: { $first: '$n' } } }],
        [{ _id: 1, v: null }],
      ],
      $mergeObjects: [
        [
          { $match: { k: 'a' } },
          { $sort: { _id: 1 } },
          { $group: { _id: 1, v: { $mergeObjects: { k: '$k', n: '$n' } } } },
        ],
        [{ _id: 1, v: { k: 'a', n: 'x' } }],
      ],
      '$mergeObjects of a string': [
        [{ $group: { _id: 1, v: { $mergeObjects: '$k' } } }],
        fails(40400),
      ],
      'null and missing are one group': [
        [{ $group: { _id: '$n', c: { $sum: 1 } } }, { $match: { _id: null } }],
        [{ _id: null, c: 2 }],
      ],
    }),
  }),
  ...casesOf(
    `${SERVER}/e6efe1974acfc4c901872bdff38787dfa3f8e427/jstests/aggregation/bugs/groupMissing.js`,
    results,
    over([{ a: null, b: 1 }, { b: 1 }, { a: null, b: 1 }], {
      'null and missing by a field': [countBy('$a'), [{ _id: null, n: 3 }]],
      'by the only field of a document': [countBy({ a: '$a' }), [{ _id: { a: null }, n: 3 }]],
      'by one of several fields': [
        countBy({ a: '$a', b: '$b' }),
        [
          { _id: { a: null, b: 1 }, n: 2 },
          { _id: { b: 1 }, n: 1 },
        ],
      ],
      'by a document within it': [
        countBy({ o: { a: '$a' } }),
        [
          { _id: { o: { a: null } }, n: 2 },
          { _id: { o: {} }, n: 1 },
        ],
      ],
      'by a list within it': [
        countBy({ l: ['$a'], b: '$b' }),
        [{ _id: { l: [null], b: 1 }, n: 3 }],
      ],
      'by a document that is computed': [
        countBy({ $mergeObjects: [{ a: '$a' }, { b: '$b' }] }),
        [
          { _id: { a: null, b: 1 }, n: 2 },
          { _id: { b: 1 }, n: 1 },
        ],
      ],
    }),
  ),
  ...casesOf(
    `${AGGREGATION}/sortByCount/`,
    results,
    over(SALES, {
      'by a field': [[{ $sortByCount: '$item' }, { $limit: 1 }], [{ _id: 'abc', count: 2 }]],
      'of a name': [[{ $sortByCount: 'item' }], fails(40148)],
      'of a number': [[{ $sortByCount: 5 }], fails(40149)],
      'of no expression': [[{ $sortByCount: { a: 1 } }], fails(40147)],
      $count: [[{ $match: { item: 'abc' } }, { $count: 'n' }], [{ n: 2 }]],
      '$count of nothing': [[{ $match: { item: 'z' } }, { $count: 'n' }], []],
      '$count with a dollar': [[{ $count: '$n' }], fails(40158)],
      '$count with a dot': [[{ $count: 'a.b' }], fails(40160)],
      '$count without a name': [[{ $count: '' }], fails(40157)],
      '$count with a number': [[{ $count: 5 }], fails(40156)],
    }),
  ),
]
