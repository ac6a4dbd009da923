import type { Document } from 'mongodb'
import { filterOf, pathOf, projectionOf, sortOf } from './filters.ts'
import type { Random } from './random.ts'
import { dateOf, numberOf, scalarOf, stringOf } from './random.ts'

type Make = (random: Random, depth: number) => unknown

const numeric: Make = (random, depth) =>
  depth > 0 && random.chance(0.4)
    ? ofKind('number', random, depth - 1)
    : random.pick<unknown>(['$n', '$n', '$o.k', numberOf(random)])
const text: Make = (random, depth) =>
  depth > 0 && random.chance(0.4)
    ? ofKind('string', random, depth - 1)
    : random.pick<unknown>(['$s', '$s', stringOf(random)])
const array: Make = (random, depth) =>
  depth > 0 && random.chance(0.4)
    ? ofKind('array', random, depth - 1)
    : random.pick<unknown>(['$l', '$m', '$d', '$d.k', [1, 'x']])
const anything: Make = (random, depth) =>
  random.pick<Make>([
    numeric,
    text,
    array,
    () => `$${pathOf(random)}`,
    () => ({ $literal: scalarOf(random) }),
  ])(random, depth)
const test: Make = (random, depth) =>
  depth > 0 ? ofKind('boolean', random, depth - 1) : `$${pathOf(random)}`

const pair =
  (first: Make, second: Make): Make =>
  (random, depth) => [first(random, depth), second(random, depth)]
const several =
  (make: Make): Make =>
  (random, depth) =>
    random.list(1, 3, () => make(random, depth))
/** A single operand stands in an array, so that none is taken for several. */
const single =
  (make: Make): Make =>
  (random, depth) => [make(random, depth)]
/** Of dates that may be null or missing. */
const date: Make = (random) => random.pick<unknown>(['$t', '$t', '$gone', dateOf(random)])

/** What each operator of expressions takes, by what it gives. */
const OPERATORS: Readonly<Record<string, Readonly<Record<string, Make>>>> = {
  number: {
    $abs: single(numeric),
    $add: several(numeric),
    $subtract: pair(numeric, numeric),
    $multiply: several(numeric),
    $divide: pair(numeric, (random) => 1 + random.below(4)),
    $mod: pair(numeric, (random) => 1 + random.below(4)),
    $ceil: single(numeric),
    $floor: single(numeric),
    $round: (random, depth) => [numeric(random, depth), random.below(2)],
    $trunc: single(numeric),
    $size: single((random) => random.pick<unknown>([[1, 2], { $ifNull: ['$m', []] }])),
    $strLenCP: (random) => ({ $ifNull: ['$s', stringOf(random)] }),
    $sum: several(anything),
    $avg: several(anything),
    $cmp: pair(anything, anything),
    $year: date,
    $month: date,
    $dayOfMonth: date,
    $hour: date,
    $dayOfWeek: date,
    $dayOfYear: date,
    $toLong: date,
    $toInt: (random) => random.pick<unknown>(['$n', '12', true, null]),
    $toDouble: numeric,
  },
  string: {
    $concat: several(text),
    $toUpper: text,
    $toLower: text,
    $substrCP: (random, depth) => [text(random, depth), random.below(3), random.below(3)],
    $toString: (random) => random.pick<unknown>(['$s', '$n', '$t', true, '$_id', null]),
    $type: single(anything),
    $dateToString: (random) => ({ date: '$t', format: random.pick(['%Y-%m-%d', '%H:%M:%S.%L']) }),
  },
  array: {
    $concatArrays: several(array),
    $slice: (random, depth) => [array(random, depth), random.below(5) - 2 || 1],
    $reverseArray: single(array),
    $map: (random, depth) => ({
      input: array(random, depth),
      in: random.pick<unknown>(['$$this', { $type: '$$this' }, ['$$this', 1]]),
    }),
    $filter: (random, depth) => ({
      input: array(random, depth),
      as: 'one',
      cond: random.pick<unknown>(['$$one', { $gt: ['$$one', numberOf(random)] }]),
    }),
    $split: (random, depth) => [text(random, depth), 'a'],
    $range: (random) => [0, random.below(4)],
  },
  boolean: {
    $eq: pair(anything, anything),
    $ne: pair(anything, anything),
    $gt: pair(anything, anything),
    $gte: pair(anything, anything),
    $lt: pair(anything, anything),
    $lte: pair(anything, anything),
    $and: several(test),
    $or: several(test),
    $not: single(test),
    $in: pair(anything, (random) => random.list(0, 3, () => scalarOf(random))),
    $isArray: single(anything),
    $isNumber: single(anything),
    $toBool: single(anything),
  },
  any: {
    $cond: (random, depth) => [
      test(random, depth),
      anything(random, depth),
      anything(random, depth),
    ],
    $ifNull: pair(anything, anything),
    $arrayElemAt: (random, depth) => [array(random, depth), random.below(4) - 2],
    $first: single(array),
    $last: single(array),
    $min: several(anything),
    $max: several(anything),
    $let: (random, depth) => ({ vars: { v: anything(random, depth) }, in: ['$$v'] }),
    $mergeObjects: () => ['$o', { z: 1 }],
    $reduce: (random) => ({
      input: '$m',
      initialValue: numberOf(random),
      in: { $add: ['$$value', '$$this'] },
    }),
  },
}

function ofKind(kind: string, random: Random, depth: number): Document {
  const operators = OPERATORS[kind] ?? {}
  const name = random.pick(Object.keys(operators))
  return { [name]: operators[name]?.(random, depth) }
}

/** Returns an expression. */
export function expressionOf(random: Random): Document {
  return ofKind(random.pick(Object.keys(OPERATORS)), random, 2)
}

const ACCUMULATORS: Readonly<Record<string, Make>> = {
  $sum: numeric,
  $avg: numeric,
  $min: (random) => `$${pathOf(random)}`,
  $max: (random) => `$${pathOf(random)}`,
  $first: (random) => `$${pathOf(random)}`,
  $last: (random) => `$${pathOf(random)}`,
  $push: (random) => `$${pathOf(random)}`,
  $mergeObjects: () => '$o',
  $count: () => ({}),
}

function groupOf(random: Random): Document[] {
  const fields = random.list(0, 3, () => random.pick(Object.keys(ACCUMULATORS)))
  const group: Document = {
    _id: random.pick<unknown>(['$b', '$s', '$n', null, { s: '$s', n: '$n' }, '$l', '$o.k']),
  }
  for (const [at, name] of fields.entries()) {
    group[`f${at}`] = { [name]: ACCUMULATORS[name]?.(random, 1) }
  }
  return [{ $group: group }, { $sort: { _id: 1 } }]
}

/** Stages that keep the order of documents and their `_id`. */
const STAGES: readonly ((random: Random) => Document)[] = [
  (random) => ({ $match: filterOf(random) }),
  (random) => ({ $set: { x: expressionOf(random) } }),
  (random) => ({ $addFields: { 'o.z': expressionOf(random) } }),
  (random) => ({ $project: projectionOf(random) }),
  (random) => ({ $project: { x: expressionOf(random), n: 1 } }),
  (random) => ({ $sort: sortOf(random) }),
  (random) => ({ $limit: 1 + random.below(5) }),
  (random) => ({ $skip: random.below(3) }),
  (random) => ({ $unset: random.pick(['a', 'o.k', 'd.v', 'l']) }),
]

/** Stages after which no two documents can be told apart by their `_id`. */
const LAST_STAGES: readonly ((random: Random, name: string) => Document[])[] = [
  () => [],
  () => [],
  groupOf,
  groupOf,
  (random) => [{ $unwind: random.pick(['$l', '$m', '$d', '$d.k', '$s', '$gone']) }],
  (random) => [
    {
      $unwind: {
        path: '$m',
        includeArrayIndex: 'i',
        preserveNullAndEmptyArrays: random.chance(0.5),
      },
    },
  ],
  () => [{ $count: 'count' }],
  (random) => [{ $replaceWith: { r: expressionOf(random) } }],
  (random) => [
    { $facet: { f: [{ $match: filterOf(random) }, { $count: 'n' }], g: [{ $limit: 1 }] } },
  ],
  (random, from) => [
    {
      $lookup: {
        from,
        localField: random.pick(['n', 'm', 'o.k', 'd.k', 'gone']),
        foreignField: random.pick(['n', 'm', '_id']),
        as: 'joined',
        pipeline: [{ $sort: { _id: 1 } }, { $project: { _id: 1 } }],
      },
    },
  ],
  (random) => [{ $sortByCount: random.pick(['$s', '$n']) }, { $sort: { count: 1, _id: 1 } }],
]

/** Returns a pipeline whose results have an order. */
export function pipelineOf(random: Random, name: string): Document[] {
  return [
    { $sort: { _id: 1 } },
    ...random.list(0, 3, () => random.pick(STAGES)(random)),
    ...random.pick(LAST_STAGES)(random, name),
  ]
}
