import type { Document } from 'mongodb'
import type { Ask, Case } from './case.ts'
import { casesOf, fails, MANUAL, over, SERVER } from './case.ts'

const UPDATE = `${MANUAL}/reference/operator/update`
const FILTERS_TEST = `${SERVER}/4be00f9aef88e082f0ef170873fb5c7e30da1c1c/jstests/core/write/update/update_arrayFilters.js`
const OFFSET_TEST = `${SERVER}/4be00f9aef88e082f0ef170873fb5c7e30da1c1c/jstests/core/write/update/update_array_offset_positional.js`

/** Asks for the documents after an update of those that a filter finds. */
const filtered: Ask<readonly [filter: Document, update: Document]> = async (
  collection,
  [filter, update],
) => {
  await collection.updateMany(filter, update)
  return collection.find({}, { projection: { _id: 0 } }).toArray()
}

/** The same of all documents, with array filters. */
const arrayFiltered: Ask<readonly [update: Document, ...arrayFilters: Document[]]> = async (
  collection,
  [update, ...arrayFilters],
) => {
  await collection.updateMany({}, update, { arrayFilters })
  return collection.find({}, { projection: { _id: 0 } }).toArray()
}

const GRADES = [
  { grades: [85, 80, 80] },
  { grades: [88, 90, 92] },
  {
    grades: [
      { grade: 80, mean: 75 },
      { grade: 85, mean: 90 },
    ],
  },
]

/** Updates of the items of arrays that a filter or an array filter finds. */
export const POSITIONAL_UPDATE_CASES: readonly Case[] = [
  ...casesOf(`${UPDATE}/positional/`, filtered, {
    'a value': [
      GRADES.slice(0, 1),
      [{ grades: 80 }, { $set: { 'grades.$': 82 } }],
      [{ grades: [85, 82, 80] }],
    ],
    'a range': [
      GRADES.slice(1, 2),
      [{ grades: { $gt: 88 } }, { $set: { 'grades.$': 0 } }],
      [{ grades: [88, 0, 92] }],
    ],
    'a field of an item': [
      GRADES.slice(2),
      [{ 'grades.grade': 85 }, { $set: { 'grades.$.std': 6 } }],
      [
        {
          grades: [
            { grade: 80, mean: 75 },
            { grade: 85, mean: 90, std: 6 },
          ],
        },
      ],
    ],
    'with $elemMatch': [
      GRADES.slice(2),
      [
        { grades: { $elemMatch: { grade: { $lte: 90 }, mean: { $gt: 80 } } } },
        { $inc: { 'grades.$.mean': 1 } },
      ],
      [
        {
          grades: [
            { grade: 80, mean: 75 },
            { grade: 85, mean: 91 },
          ],
        },
      ],
    ],
    'in each document': [
      GRADES.slice(0, 2),
      [{ grades: { $gte: 85 } }, { $inc: { 'grades.$': 1 } }],
      [{ grades: [86, 80, 80] }, { grades: [89, 90, 92] }],
    ],
    $in: [[{ a: [1, 2, 3] }], [{ a: { $in: [3, 2] } }, { $set: { 'a.$': 0 } }], [{ a: [1, 0, 3] }]],
    'inside $and': [
      [{ a: [1, 2] }],
      [{ $and: [{ a: 2 }] }, { $set: { 'a.$': 0 } }],
      [{ a: [1, 0] }],
    ],
    'a path': [
      [{ o: { a: [1, 2] } }],
      [{ 'o.a': 2 }, { $set: { 'o.a.$': 0 } }],
      [{ o: { a: [1, 0] } }],
    ],
    $unset: [[{ a: [1, 2] }], [{ a: 2 }, { $unset: { 'a.$': '' } }], [{ a: [1, null] }]],
    '$push to an item': [
      [{ a: [{ n: 1, b: [] }] }],
      [{ 'a.n': 1 }, { $push: { 'a.$.b': 7 } }],
      [{ a: [{ n: 1, b: [7] }] }],
    ],
    'without an array in the filter': [[{ a: [1] }], [{}, { $set: { 'a.$': 0 } }], fails(2)],
    'of no array': [[{ a: 1 }], [{ a: 1 }, { $set: { 'a.$': 0 } }], fails(2)],
    twice: [[{ a: [[1]] }], [{ a: [1] }, { $set: { 'a.$.$': 0 } }], fails(2)],
    'in a place of its own': [[{ a: [1] }], [{ a: 1 }, { $set: { $: 0 } }], fails(52)],
  }),
  ...casesOf(`${UPDATE}/positional-all/`, filtered, {
    'every item': [[{ a: [1, 2] }], [{}, { $inc: { 'a.$[]': 10 } }], [{ a: [11, 12] }]],
    'a field of every item': [
      [{ a: [{ n: 1 }, {}] }],
      [{}, { $set: { 'a.$[].n': 5 } }],
      [{ a: [{ n: 5 }, { n: 5 }] }],
    ],
    'items of items': [
      [{ a: [[1], [2, 3]] }],
      [{}, { $inc: { 'a.$[].$[]': 1 } }],
      [{ a: [[2], [3, 4]] }],
    ],
    'no items': [[{ a: [] }], [{}, { $set: { 'a.$[]': 1 } }], [{ a: [] }]],
    'of no array': [[{ a: 1 }], [{}, { $set: { 'a.$[]': 1 } }], fails(2)],
    'of a missing field': [[{}], [{}, { $set: { 'a.$[]': 1 } }], fails(2)],
    'a scalar item': [[{ a: [1] }], [{}, { $set: { 'a.$[].n': 1 } }], fails(28)],
  }),
  ...casesOf(OFFSET_TEST, filtered, {
    'an item by its index': [[{ a: [0] }], [{ 'a.0': 0 }, { $set: { 'a.$': 1 } }], fails(2)],
    'a field of an item by its index': [
      [{ a: [{ b: 0 }] }],
      [{ 'a.0.b': 0 }, { $set: { 'a.$.b': 1 } }],
      fails(2),
    ],
    'two indexes': [[{ a: [[0]] }], [{ 'a.0.0': 0 }, { $set: { 'a.$.0': 1 } }], fails(2)],
    'an index on either side': [
      [{ a: [{ b: [0] }] }],
      [{ 'a.0.b.0': 0 }, { $set: { 'a.$.b.0': 1 } }],
      fails(2),
    ],
    'an item in an item by its index': [
      [{ a: [{ b: [0, 1] }] }],
      [{ 'a.0.b': 1 }, { $set: { 'a.0.b.$': 2 } }],
      [{ a: [{ b: [0, 2] }] }],
    ],
    'an index in an item that is found': [
      [{ a: [{ b: [0, 1] }] }],
      [{ 'a.b.1': 1 }, { $set: { 'a.$.b.1': 2 } }],
      [{ a: [{ b: [0, 2] }] }],
    ],
    'an index in another array': [
      [{ a: [0, 1], b: [{ c: [0] }] }],
      [{ a: 1, 'b.0.c.0': 0 }, { $set: { 'a.$': 2 } }],
      [{ a: [0, 2], b: [{ c: [0] }] }],
    ],
  }),
  ...casesOf(
    `${SERVER}/3b54aa39c670c176541bdfdb37d0d3fcb2f1e9ea/src/mongo/db/update/update_object_node.cpp`,
    filtered,
    {
      '$[] and an index': [[{ a: [1] }], [{}, { $inc: { 'a.$[]': 1, 'a.0': 1 } }], fails(40)],
      '$[] and $': [[{ a: [1] }], [{ a: 1 }, { $inc: { 'a.$[]': 1, 'a.$': 1 } }], fails(40)],
      '$[] and an index, in two fields of an item': [
        [{ a: [{ n: 1 }] }],
        [{}, { $set: { 'a.$[].n': 1 }, $min: { 'a.0.m': 1 } }],
        fails(40),
      ],
      '$ and its index': [[{ a: [1] }], [{ a: 1 }, { $inc: { 'a.$': 1, 'a.0': 1 } }], fails(40)],
      '$ and another index': [
        [{ a: [1, 2] }],
        [{ a: 2 }, { $inc: { 'a.$': 1, 'a.0': 1 } }],
        [{ a: [2, 3] }],
      ],
      'two fields of an item, by $ and its index': [
        [{ a: [{ n: 1 }] }],
        [{ 'a.n': 1 }, { $set: { 'a.$.n': 2, 'a.0.m': 3 } }],
        [{ a: [{ n: 2, m: 3 }] }],
      ],
    },
  ),
  ...casesOf(FILTERS_TEST, arrayFiltered, {
    $set: [[{ a: [0, 1, 0, 1] }], [{ $set: { 'a.$[i]': 2 } }, { i: 0 }], [{ a: [2, 1, 2, 1] }]],
    $unset: [
      [{ a: [0, 1, 0, 1] }],
      [{ $unset: { 'a.$[i]': true } }, { i: 0 }],
      [{ a: [null, 1, null, 1] }],
    ],
    $inc: [[{ a: [0, 1, 0, 1] }], [{ $inc: { 'a.$[i]': 1 } }, { i: 1 }], [{ a: [0, 2, 0, 2] }]],
    $mul: [[{ a: [0, 2, 0, 2] }], [{ $mul: { 'a.$[i]': 3 } }, { i: 2 }], [{ a: [0, 6, 0, 6] }]],
    $min: [
      [
        {
          a: [
            { b: 0, c: 1 },
            { b: 1, c: 1 },
          ],
        },
      ],
      [{ $min: { 'a.$[i].c': 0 } }, { 'i.b': 0 }],
      [
        {
          a: [
            { b: 0, c: 0 },
            { b: 1, c: 1 },
          ],
        },
      ],
    ],
    $max: [
      [
        {
          a: [
            { b: 0, c: -1 },
            { b: 1, c: -1 },
          ],
        },
      ],
      [{ $max: { 'a.$[i].c': 0 } }, { 'i.b': 0 }],
      [
        {
          a: [
            { b: 0, c: 0 },
            { b: 1, c: -1 },
          ],
        },
      ],
    ],
    $addToSet: [
      [{ a: [[0], [1]] }],
      [{ $addToSet: { 'a.$[i]': 2 } }, { i: 0 }],
      [{ a: [[0, 2], [1]] }],
    ],
    $pop: [
      [
        {
          a: [
            [0, 1],
            [1, 2],
          ],
        },
      ],
      [{ $pop: { 'a.$[i]': 1 } }, { i: 0 }],
      [{ a: [[0], [1, 2]] }],
    ],
    $pullAll: [
      [
        {
          a: [
            [0, 1, 2, 3],
            [1, 2],
          ],
        },
      ],
      [{ $pullAll: { 'a.$[i]': [0, 2] } }, { i: 0 }],
      [
        {
          a: [
            [1, 3],
            [1, 2],
          ],
        },
      ],
    ],
    $pull: [
      [
        {
          a: [
            [0, 1],
            [1, 2],
          ],
        },
      ],
      [{ $pull: { 'a.$[i]': 1 } }, { i: 2 }],
      [{ a: [[0, 1], [2]] }],
    ],
    $push: [
      [
        {
          a: [
            [0, 1],
            [2, 3],
          ],
        },
      ],
      [{ $push: { 'a.$[i]': 4 } }, { i: 0 }],
      [
        {
          a: [
            [0, 1, 4],
            [2, 3],
          ],
        },
      ],
    ],
    'two names': [
      [{ a: [{ b: [1, 2] }] }],
      [{ $set: { 'a.$[i].b.$[j]': 0 } }, { 'i.b': 1 }, { j: 2 }],
      [{ a: [{ b: [1, 0] }] }],
    ],
    $or: [
      [{ a: [1, 2, 3] }],
      [{ $set: { 'a.$[i]': 0 } }, { $or: [{ i: 1 }, { i: 3 }] }],
      [{ a: [0, 2, 0] }],
    ],
    'a range': [
      [{ a: [1, 5, 9] }],
      [{ $set: { 'a.$[i]': 0 } }, { i: { $gt: 1, $lt: 9 } }],
      [{ a: [1, 0, 9] }],
    ],
    'no item': [[{ a: [1] }], [{ $set: { 'a.$[i]': 0 } }, { i: 7 }], [{ a: [1] }]],
    'two names for different items': [
      [{ a: [0, 1] }],
      [{ $set: { 'a.$[i]': 5, 'a.$[j]': 6 } }, { i: 0 }, { j: 1 }],
      [{ a: [5, 6] }],
    ],
    'two names for one item': [
      [{ a: [0] }],
      [{ $set: { 'a.$[i]': 5, 'a.$[j]': 6 } }, { i: 0 }, { j: { $lt: 1 } }],
      fails(40),
    ],
    'two names for one item, and one of its fields': [
      [{ a: [{ n: 0 }] }],
      [{ $set: { 'a.$[i]': 5, 'a.$[j].n': 6 } }, { 'i.n': 0 }, { 'j.n': 0 }],
      fails(40),
    ],
    ...over<readonly [update: Document, ...arrayFilters: Document[]]>([{ a: [1] }], {
      'two fields in a filter': [[{ $set: { 'a.$[i]': 5 } }, { i: 0, j: 0 }], fails(9)],
      'one name twice': [[{ $set: { 'a.$[i]': 5 } }, { i: 0 }, { i: 1 }], fails(9)],
      'a name that is not used': [[{ $set: { 'a.$[i]': 5 } }, { i: 0 }, { j: 0 }], fails(9)],
      'a name without a filter': [[{ $set: { 'a.$[i]': 5 } }], fails(2)],
      'no name': [[{ $set: { 'a.$[i]': 5 } }, {}], fails(9)],
      $expr: [[{ $set: { 'a.$[i]': 5 } }, { $expr: { $eq: ['$foo', '$bar'] } }], fails(224)],
      'a name that is not valid': [[{ $set: { 'a.$[I]': 5 } }, { I: 0 }], fails(2)],
    }),
  }),
  ...casesOf(
    `${SERVER}/676206d10e8a626e9c5e39045468dbe0bb2bd75a/src/mongo/db/update/update_array_node.cpp`,
    arrayFiltered,
    {
      'the items are chosen before any is changed': [
        [{ a: [{ n: 1 }] }],
        [{ $set: { 'a.$[].n': 5, 'a.$[i].m': 1, 'a.$[j].l': 1 } }, { 'i.n': 5 }, { 'j.n': 1 }],
        [{ a: [{ n: 5, l: 1 }] }],
      ],
    },
  ),
]
