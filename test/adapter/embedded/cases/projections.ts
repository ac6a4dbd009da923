import type { Document } from 'mongodb'
import type { Ask, Case, RowsOver } from './case.ts'
import { casesOf, fails, MANUAL, over, renamed, SERVER } from './case.ts'

const DOCUMENT = {
  name: 'Ann',
  age: 30,
  size: { w: 1, h: 2, deep: { x: 1, y: 2 } },
  tags: ['a', 'b', 'c', 'd'],
  lines: [
    { n: 1, at: 'A' },
    { n: 2, at: 'B' },
    { n: 3, at: 'C' },
  ],
  nil: null,
}
const { lines, tags, size } = DOCUMENT

/** Asks for the first document with a projection. */
const projected: Ask<Document> = (collection, projection) => collection.findOne({}, { projection })

/** The same with a filter, which a positional projection needs. */
const foundAndProjected: Ask<readonly [filter: Document, projection: Document]> = (
  collection,
  [filter, projection],
) => collection.findOne(filter, { projection })

const projectedByStage: Ask<Document> = async (collection, projection) => {
  const [first] = await collection.aggregate([{ $project: projection }]).toArray()
  return first
}

const projectedByUpdate: Ask<Document> = (collection, projection) =>
  collection.findOneAndUpdate({}, { $set: { n: 1 } }, { projection })

const CONFLICTS_TEST = `${SERVER}/98427b7a2228f6a8d54475adc9df3991c1c60314/jstests/core/projection_conflicts.js`

/** Paths that meet: one would decide about the fields of another. */
const COLLISIONS: RowsOver<Document> = {
  'a path and its parent document': [{ 'a.b': 1, a: { b: { c: 1 } } }, fails(31249)],
  'a parent document and a path': [{ a: { b: { c: 1 } }, 'a.b': 1 }, fails(31250)],
  'a field twice': [{ 'a.b': 1, a: { b: '$$REMOVE' } }, fails(31250)],
  'a field and one below it': [{ a: 1, 'a.b': 1 }, fails(31249)],
  'a field and the one above it': [{ 'a.b': 1, a: 1 }, fails(31250)],
  'a path and one below it': [{ 'a.b': 1, 'a.b.c': 1 }, fails(31249)],
  'exclusions: a path and its parent document': [{ 'a.b': 0, a: { b: { c: 0 } } }, fails(31249)],
  'exclusions: a parent document and a path': [{ a: { b: { c: 0 } }, 'a.b': 0 }, fails(31250)],
  'exclusions: a field and one below it': [{ a: 0, 'a.b': 0 }, fails(31249)],
  'exclusions: a field and the one above it': [{ 'a.b': 0, a: 0 }, fails(31250)],
  'exclusions: a path and one below it': [{ 'a.b': 0, 'a.b.c': 0 }, fails(31249)],
  'a path within a document and one below it': [{ a: { b: 1, 'b.c': 1 } }, fails(31249)],
  'an expression and a path below it': [{ a: { $add: [1, 1] }, 'a.b': 1 }, fails(31249)],
  'the _id and a path below it': [{ _id: 1, '_id.a': 1 }, fails(31249)],
  'two fields of one document, in two forms': [
    { 'a.b': 1, a: { c: 1 } },
    { _id: 0, a: { b: 1, c: 2 } },
  ],
}

/** Projections of `find`. */
export const PROJECTION_CASES: readonly Case[] = [
  ...casesOf(`${MANUAL}/tutorial/project-fields-from-query-results/`, projected, {
    ...over([DOCUMENT], {
      'a field': [{ name: 1 }, { _id: 0, name: 'Ann' }],
      'two fields, in the order of the document': [
        { age: 1, name: 1 },
        { _id: 0, name: 'Ann', age: 30 },
      ],
      true: [{ age: true }, { _id: 0, age: 30 }],
      'any number but zero': [{ age: 5 }, { _id: 0, age: 30 }],
      'without the _id': [{ age: 1, _id: 0 }, { age: 30 }],
      'the _id only': [{ _id: 1 }, { _id: 0 }],
      'a field that is not there': [{ gone: 1 }, { _id: 0 }],
      null: [{ nil: 1 }, { _id: 0, nil: null }],
      'all but the _id': [
        { _id: 0, lines: 0, size: 0, tags: 0 },
        { name: 'Ann', age: 30, nil: null },
      ],
      'all but some': [
        { lines: 0, size: 0, tags: false },
        { _id: 0, name: 'Ann', age: 30, nil: null },
      ],
      'a path': [{ 'size.w': 1 }, { _id: 0, size: { w: 1 } }],
      'two paths': [
        { 'size.h': 1, 'size.w': 1 },
        { _id: 0, size: { w: 1, h: 2 } },
      ],
      'a deep path': [{ 'size.deep.y': 1 }, { _id: 0, size: { deep: { y: 2 } } }],
      'a document of fields': [{ size: { w: 1 } }, { _id: 0, size: { w: 1 } }],
      'a path through a value': [{ 'name.x': 1 }, { _id: 0 }],
      'a path to nothing': [{ 'size.gone': 1 }, { _id: 0, size: {} }],
      'a path through an array': [
        { 'lines.n': 1 },
        { _id: 0, lines: [{ n: 1 }, { n: 2 }, { n: 3 }] },
      ],
      'a path through values of an array': [{ 'tags.x': 1 }, { _id: 0, tags: [] }],
      'an index is no path': [{ 'lines.0': 1 }, { _id: 0, lines: [{}, {}, {}] }],
      'all but a path': [
        { 'size.deep': 0, lines: 0, tags: 0, nil: 0 },
        { _id: 0, name: 'Ann', age: 30, size: { w: 1, h: 2 } },
      ],
      'all but a path in an array': [
        { _id: 0, name: 0, age: 0, size: 0, tags: 0, nil: 0, 'lines.n': 0 },
        { lines: [{ at: 'A' }, { at: 'B' }, { at: 'C' }] },
      ],
      'no projection': [{}, { _id: 0, ...DOCUMENT }],
    }),
  }),
  ...casesOf(
    `${MANUAL}/reference/method/db.collection.find/#projection`,
    projected,
    over([DOCUMENT], {
      'an expression': [{ _id: 0, next: { $add: ['$age', 1] } }, { next: 31 }],
      'an expression beside a field': [
        { name: 1, n: { $size: '$tags' } },
        { _id: 0, name: 'Ann', n: 4 },
      ],
      'a path as a new field': [{ _id: 0, who: '$name' }, { who: 'Ann' }],
      'a string': [{ _id: 0, who: 'someone' }, { who: 'someone' }],
      'a literal number': [{ _id: 0, one: { $literal: 1 } }, { one: 1 }],
      'a missing value': [{ _id: 0, x: '$gone' }, {}],
      'an array': [{ _id: 0, pair: ['$name', '$gone'] }, { pair: ['Ann', null] }],
      'into a document': [
        { _id: 0, 'size.area': { $multiply: ['$size.w', 3] } },
        { size: { area: 3 } },
      ],
      'a path of an array': [{ _id: 0, ns: '$lines.n' }, { ns: [1, 2, 3] }],
      'inclusion and exclusion': [{ name: 1, age: 0 }, fails(31254)],
      'exclusion and inclusion': [{ name: 0, age: 1 }, fails(31253)],
      'a path and its parent': [{ size: 1, 'size.w': 1 }, fails(31249)],
      'a parent and its path': [{ 'size.w': 1, size: 1 }, fails(31250)],
      'an empty document': [{ size: {} }, fails(51270)],
      'an empty name': [{ 'size..w': 1 }, fails(15998)],
      'an unknown expression': [{ x: { $nope: 1 } }, fails(31325)],
      'two operators': [{ x: { $add: [1], $abs: 1 } }, fails(16410)],
      'an expression in an exclusion': [{ name: 0, x: { $add: [1, 2] } }, fails(31252)],
      'a computed _id': [{ _id: '$size.w' }, { _id: 1 }],
      'a computed _id in an exclusion': [{ name: 0, _id: { $add: [1, 2] } }, fails(31252)],
      'a string in an exclusion': [{ name: 0, x: 'y' }, fails(31310)],
      'an exclusion beside an expression': [{ x: { $add: [1, 2] }, name: 0 }, fails(31254)],
      'the _id beside an exclusion': [
        { _id: 1, lines: 0, size: 0, tags: 0, nil: 0 },
        { _id: 0, name: 'Ann', age: 30 },
      ],
    }),
  ),
  ...casesOf(CONFLICTS_TEST, projected, over([{ a: { b: 1, c: 2 } }], COLLISIONS)),
  ...casesOf(
    CONFLICTS_TEST,
    projectedByStage,
    over(
      [{ a: { b: 1, c: 2 } }],
      renamed(COLLISIONS, (title) => `$project: ${title}`),
    ),
  ),
  ...casesOf(
    CONFLICTS_TEST,
    projectedByUpdate,
    over(
      [{ a: { b: 1, c: 2 } }],
      renamed(COLLISIONS, (title) => `findAndModify: ${title}`),
    ),
  ),
  ...casesOf(
    `${MANUAL}/reference/operator/projection/slice/`,
    projected,
    over([{ tags, lines }], {
      'the first items': [{ _id: 0, tags: { $slice: 2 }, lines: 0 }, { tags: ['a', 'b'] }, 2],
      'the last items': [{ _id: 0, tags: { $slice: -1 }, lines: 0 }, { tags: ['d'] }, 2],
      'from a place': [{ _id: 0, tags: { $slice: [1, 2] }, lines: 0 }, { tags: ['b', 'c'] }, 2],
      'beside a field': [{ _id: 0, lines: 1, tags: { $slice: 1 } }, { tags: ['a'], lines }, 2],
    }),
  ),
  ...casesOf(
    `${MANUAL}/reference/operator/projection/elemMatch/`,
    projected,
    over([{ lines }], {
      'an item': [{ _id: 0, lines: { $elemMatch: { n: 2 } } }, { lines: [{ n: 2, at: 'B' }] }, 168],
      'no item': [{ _id: 0, lines: { $elemMatch: { n: 9 } } }, {}, 168],
    }),
  ),
  ...casesOf(`${MANUAL}/reference/operator/projection/positional/`, foundAndProjected, {
    'the item that was found': [
      [{ tags }],
      [{ tags: 'b' }, { _id: 0, 'tags.$': 1 }],
      { tags: ['b'] },
      16410,
    ],
  }),
  ...casesOf(`${MANUAL}/reference/operator/aggregation/project/`, projected, {
    'the _id stands first': [[{ b: 1, a: 2 }], { a: 1, b: 1 }, { _id: 0, b: 1, a: 2 }],
    'new fields stand last': [[{ b: 1 }], { z: { $literal: 9 }, b: 1 }, { _id: 0, b: 1, z: 9 }],
    'arrays in arrays': [
      [{ a: [[{ x: 1, y: 1 }], { x: 2 }, 3] }],
      { _id: 0, 'a.x': 1 },
      { a: [[{ x: 1 }], { x: 2 }] },
    ],
    'arrays in arrays left out': [
      [{ a: [[{ x: 1, y: 1 }], 3] }],
      { _id: 0, 'a.x': 0 },
      { a: [[{ y: 1 }], 3] },
    ],
    'a document with a size': [
      [{ size }],
      { _id: 0, 'size.deep': { x: 1 } },
      { size: { deep: { x: 1 } } },
    ],
  }),
]
