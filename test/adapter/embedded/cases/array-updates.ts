import type { Case } from './case.ts'
import { casesOf, fails, MANUAL } from './case.ts'
import { updated } from './updates.ts'

const UPDATE = `${MANUAL}/reference/operator/update`

/** Updates of arrays and of their items. */
export const ARRAY_UPDATE_CASES: readonly Case[] = [
  ...casesOf(`${UPDATE}/push/`, updated, {
    'a value': [[{ a: [1] }], { $push: { a: 2 } }, [{ a: [1, 2] }]],
    'to a missing field': [[{}], { $push: { a: 1 } }, [{ a: [1] }]],
    'an array is one item': [[{ a: [1] }], { $push: { a: [2, 3] } }, [{ a: [1, [2, 3]] }]],
    'a document': [[{ a: [] }], { $push: { a: { x: 1 } } }, [{ a: [{ x: 1 }] }]],
    null: [[{ a: [] }], { $push: { a: null } }, [{ a: [null] }]],
    'to a path': [[{ a: { b: [1] } }], { $push: { 'a.b': 2 } }, [{ a: { b: [1, 2] } }]],
    'to an array in an array': [[{ a: [[1]] }], { $push: { 'a.0': 2 } }, [{ a: [[1, 2]] }]],
    $each: [[{ a: [1] }], { $push: { a: { $each: [2, 3] } } }, [{ a: [1, 2, 3] }]],
    'an empty $each': [[{ a: [1] }], { $push: { a: { $each: [] } } }, [{ a: [1] }]],
    'an empty $each makes an array': [[{}], { $push: { a: { $each: [] } } }, [{ a: [] }]],
    'to a number': [[{ a: 1 }], { $push: { a: 1 } }, fails(2)],
    'to null': [[{ a: null }], { $push: { a: 1 } }, fails(2)],
    '$each of a value': [[{ a: [] }], { $push: { a: { $each: 1 } } }, fails(2)],
    'an unknown clause': [[{ a: [] }], { $push: { a: { $each: [1], $max: 2 } } }, fails(2)],
  }),
  ...casesOf(`${UPDATE}/position/`, updated, {
    'at the front': [
      [{ a: [1, 2] }],
      { $push: { a: { $each: [9, 8], $position: 0 } } },
      [{ a: [9, 8, 1, 2] }],
    ],
    between: [[{ a: [1, 2] }], { $push: { a: { $each: [9], $position: 1 } } }, [{ a: [1, 9, 2] }]],
    'behind the end': [
      [{ a: [1] }],
      { $push: { a: { $each: [9], $position: 5 } } },
      [{ a: [1, 9] }],
    ],
    'before the last': [
      [{ a: [1, 2] }],
      { $push: { a: { $each: [9], $position: -1 } } },
      [{ a: [1, 9, 2] }],
    ],
    'before the start': [
      [{ a: [1, 2] }],
      { $push: { a: { $each: [9], $position: -5 } } },
      [{ a: [9, 1, 2] }],
    ],
    'a word': [[{ a: [1] }], { $push: { a: { $each: [9], $position: 'x' } } }, fails(2)],
  }),
  ...casesOf(`${UPDATE}/slice/`, updated, {
    'the first': [
      [{ a: [1, 2] }],
      { $push: { a: { $each: [3, 4], $slice: 3 } } },
      [{ a: [1, 2, 3] }],
    ],
    'the last': [
      [{ a: [1, 2] }],
      { $push: { a: { $each: [3, 4], $slice: -3 } } },
      [{ a: [2, 3, 4] }],
    ],
    none: [[{ a: [1, 2] }], { $push: { a: { $each: [3], $slice: 0 } } }, [{ a: [] }]],
    'of nothing new': [
      [{ a: [1, 2, 3] }],
      { $push: { a: { $each: [], $slice: -2 } } },
      [{ a: [2, 3] }],
    ],
    'more than there are': [
      [{ a: [1] }],
      { $push: { a: { $each: [2], $slice: 9 } } },
      [{ a: [1, 2] }],
    ],
    'a fraction': [[{ a: [1] }], { $push: { a: { $each: [2], $slice: 1.5 } } }, fails(2)],
  }),
  ...casesOf(`${UPDATE}/sort/`, updated, {
    values: [[{ a: [3, 1] }], { $push: { a: { $each: [2], $sort: 1 } } }, [{ a: [1, 2, 3] }]],
    downwards: [[{ a: [3, 1] }], { $push: { a: { $each: [2], $sort: -1 } } }, [{ a: [3, 2, 1] }]],
    'mixed types': [
      [{ a: ['x', 1] }],
      { $push: { a: { $each: [null, {}], $sort: 1 } } },
      [{ a: [null, 1, 'x', {}] }],
    ],
    'by a field': [
      [{ a: [{ n: 3 }, { n: 1 }] }],
      { $push: { a: { $each: [{ n: 2 }], $sort: { n: 1 } } } },
      [{ a: [{ n: 1 }, { n: 2 }, { n: 3 }] }],
    ],
    'and cut': [
      [{ a: [{ n: 3 }, { n: 1 }] }],
      { $push: { a: { $each: [{ n: 2 }], $sort: { n: -1 }, $slice: 2 } } },
      [{ a: [{ n: 3 }, { n: 2 }] }],
    ],
    'by a path': [
      [{ a: [{ o: { n: 2 } }] }],
      { $push: { a: { $each: [{ o: { n: 1 } }], $sort: { 'o.n': 1 } } } },
      [{ a: [{ o: { n: 1 } }, { o: { n: 2 } }] }],
    ],
    'by a word': [[{ a: [1] }], { $push: { a: { $each: [2], $sort: 'n' } } }, fails(2)],
    'by zero': [[{ a: [1] }], { $push: { a: { $each: [2], $sort: 0 } } }, fails(2)],
  }),
  ...casesOf(`${UPDATE}/addToSet/`, updated, {
    'a new value': [[{ a: [1] }], { $addToSet: { a: 2 } }, [{ a: [1, 2] }]],
    'a known value': [[{ a: [1] }], { $addToSet: { a: 1 } }, [{ a: [1] }]],
    'to a missing field': [[{}], { $addToSet: { a: 1 } }, [{ a: [1] }]],
    'an array is one item': [[{ a: [1] }], { $addToSet: { a: [1] } }, [{ a: [1, [1]] }]],
    $each: [[{ a: [1] }], { $addToSet: { a: { $each: [1, 2, 2] } } }, [{ a: [1, 2] }]],
    'a document': [[{ a: [{ x: 1 }] }], { $addToSet: { a: { x: 1 } } }, [{ a: [{ x: 1 }] }]],
    'in another order': [
      [{ a: [{ x: 1, y: 2 }] }],
      { $addToSet: { a: { y: 2, x: 1 } } },
      [
        {
          a: [
            { x: 1, y: 2 },
            { y: 2, x: 1 },
          ],
        },
      ],
    ],
    'known twice': [[{ a: [1, 1] }], { $addToSet: { a: 1 } }, [{ a: [1, 1] }]],
    'to a string': [[{ a: 'x' }], { $addToSet: { a: 1 } }, fails(2)],
    '$each of a value': [[{ a: [] }], { $addToSet: { a: { $each: 1 } } }, fails(14)],
    $slice: [[{ a: [] }], { $addToSet: { a: { $each: [1], $slice: 1 } } }, fails(2)],
  }),
  ...casesOf(`${UPDATE}/pop/`, updated, {
    'the last': [[{ a: [1, 2, 3] }], { $pop: { a: 1 } }, [{ a: [1, 2] }]],
    'the first': [[{ a: [1, 2, 3] }], { $pop: { a: -1 } }, [{ a: [2, 3] }]],
    'of none': [[{ a: [] }], { $pop: { a: 1 } }, [{ a: [] }]],
    'of a missing field': [[{}], { $pop: { a: 1 } }, [{}]],
    two: [[{ a: [1, 2] }], { $pop: { a: 2 } }, fails(9)],
    'of a number': [[{ a: 1 }], { $pop: { a: 1 } }, fails(14)],
  }),
  ...casesOf(`${UPDATE}/pull/`, updated, {
    'a value': [[{ a: [1, 2, 1] }], { $pull: { a: 1 } }, [{ a: [2] }]],
    'a condition': [[{ a: [1, 5, 9] }], { $pull: { a: { $gte: 5 } } }, [{ a: [1] }]],
    $in: [[{ a: ['x', 'y', 'z'] }], { $pull: { a: { $in: ['x', 'z'] } } }, [{ a: ['y'] }]],
    'a pattern': [[{ a: ['ab', 'b'] }], { $pull: { a: /^a/ } }, [{ a: ['b'] }]],
    documents: [
      [
        {
          a: [
            { n: 1, s: 8 },
            { n: 2, s: 8 },
          ],
        },
      ],
      { $pull: { a: { n: 1, s: 8 } } },
      [{ a: [{ n: 2, s: 8 }] }],
    ],
    'documents in any order': [
      [{ a: [{ n: 1, s: 8 }, { n: 2 }] }],
      { $pull: { a: { s: 8, n: 1 } } },
      [{ a: [{ n: 2 }] }],
    ],
    'documents by a part': [
      [{ a: [{ n: 1, s: 8 }, { n: 2 }] }],
      { $pull: { a: { n: 1 } } },
      [{ a: [{ n: 2 }] }],
    ],
    'documents by a condition': [
      [{ a: [{ n: 1 }, { n: 5 }] }],
      { $pull: { a: { n: { $gt: 3 } } } },
      [{ a: [{ n: 1 }] }],
    ],
    'an array exactly': [[{ a: [[1], [1, 2]] }], { $pull: { a: [1] } }, [{ a: [[1, 2]] }]],
    null: [[{ a: [null, 1] }], { $pull: { a: null } }, [{ a: [1] }]],
    nothing: [[{ a: [1] }], { $pull: { a: 5 } }, [{ a: [1] }]],
    'of a missing field': [[{ b: 1 }], { $pull: { a: 5 } }, [{ b: 1 }]],
    'of a number': [[{ a: 1 }], { $pull: { a: 1 } }, fails(2)],
    'an unknown operator': [[{ a: [1] }], { $pull: { a: { $above: 1 } } }, fails(2)],
    $expr: [[{ a: [{ n: 1 }] }], { $pull: { a: { $expr: { $eq: ['$n', 1] } } } }, fails(224)],
  }),
  ...casesOf(`${UPDATE}/pullAll/`, updated, {
    values: [[{ a: [0, 2, 5, 5, 1, 0] }], { $pullAll: { a: [0, 5] } }, [{ a: [2, 1] }]],
    'whole documents': [
      [{ a: [{ n: 1, s: 8 }, { n: 1 }] }],
      { $pullAll: { a: [{ n: 1 }] } },
      [{ a: [{ n: 1, s: 8 }] }],
    ],
    'of a missing field': [[{}], { $pullAll: { a: [1] } }, [{}]],
    'a value': [[{ a: [1] }], { $pullAll: { a: 1 } }, fails(2)],
    'of a string': [[{ a: 'x' }], { $pullAll: { a: [1] } }, fails(2)],
  }),
]
