import { ObjectId } from 'mongodb'
import t from 'tap'
import type { MongoDBOptions } from '../../../src/adapter/mongodb-options.ts'
import type { SplitQuery } from '../../../src/adapter/queries/split-query.ts'
import {
  createRecordFilter,
  isEmptyFilter,
  splitQuery,
} from '../../../src/adapter/queries/split-query.ts'
import { resolveMongoDBOptions } from '../../../src/adapter/resolve-options.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import type { Query } from '../../../src/core/params.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const HEX = '507f1f77bcf86cd799439011'
const ID = new ObjectId(HEX)

function split(query: Query, options: Partial<MongoDBOptions> = {}): SplitQuery {
  return splitQuery(query, resolveMongoDBOptions({ Model: idleCollection, ...options }))
}

t.test('takes a query apart', async (t) => {
  const query = { age: 5, $limit: '2', $skip: 1, $sort: { age: 1 }, $select: ['name'] }
  t.strictSame(split(query), {
    filter: { age: 5 },
    limit: 2,
    paged: false,
    skip: 1,
    sort: { age: 1 },
    select: ['name'],
  })
})

t.test('leaves fields out of $select that lie inside another one', async (t) => {
  const $select = ['address.city', 'address', 'a.b.c', 'a.b', 'ab', 'ab']
  t.strictSame(split({ $select }).select, ['address', 'a.b', 'ab'])
})

const IDS: readonly [string, Query, Query][] = [
  ['a value', { _id: HEX }, { _id: ID }],
  [
    '$in and $nin',
    { _id: { $in: [HEX, 'x', 5], $nin: [HEX] } },
    { _id: { $in: [ID, 'x', 5], $nin: [ID] } },
  ],
  ['$ne and $eq', { _id: { $ne: HEX, $eq: HEX } }, { _id: { $ne: ID, $eq: ID } }],
  ['$gt and $lte', { _id: { $gt: HEX, $lte: HEX } }, { _id: { $gt: ID, $lte: ID } }],
  ['$not', { _id: { $not: { $in: [HEX] } } }, { _id: { $not: { $in: [ID] } } }],
  ['$or inside $and', { $and: [{ $or: [{ _id: HEX }] }] }, { $and: [{ $or: [{ _id: ID }] }] }],
  ['an ObjectId', { _id: ID }, { _id: ID }],
]

for (const [title, query, filter] of IDS) {
  t.test(`makes ObjectIds in _id: ${title}`, async (t) => {
    t.strictSame(split(query).filter, filter)
    t.strictSame(split(query, { id: 'key' }).filter, filter)
  })
}

t.test('leaves strings of 24 hexadecimal digits alone everywhere else', async (t) => {
  const query = { key: HEX, user: { _id: HEX }, _id: { $regex: HEX } }
  t.strictSame(split(query, { id: 'key' }).filter, query)
  t.strictSame(split({ _id: HEX }, { disableObjectify: true }).filter, { _id: HEX })
})

t.test('refuses undefined anywhere in a filter', async (t) => {
  const queries: Query[] = [
    { owner: undefined },
    { $or: [{ a: 1 }, { owner: undefined }] },
    { owner: { $in: ['a', undefined] } },
    { owner: { $ne: undefined } },
    { address: { city: undefined } },
  ]
  for (const query of queries) t.throws(() => split(query), BadRequest)
  t.strictSame(split({ $limit: undefined, $select: undefined }).filter, {})
})

t.test('changes nothing in the query', async (t) => {
  const query = { _id: { $in: [HEX] }, $or: [{ _id: HEX }] }
  split(query)
  t.strictSame(query, { _id: { $in: [HEX] }, $or: [{ _id: HEX }] })
})

t.test('adds the id to a filter without losing a condition on the same field', async (t) => {
  t.strictSame(createRecordFilter({ age: 5 }, '_id', ID), { _id: ID, age: 5 })
  t.strictSame(createRecordFilter({ _id: 'x' }, '_id', ID), { $and: [{ _id: ID }, { _id: 'x' }] })
})

t.test('knows a filter that has no condition', async (t) => {
  const empty = [{}, { $and: [{}] }, { $and: [{ $and: [{}, {}] }] }, { $or: [{ a: 1 }, {}] }]
  for (const filter of empty) t.equal(isEmptyFilter(filter), true, JSON.stringify(filter))
  const some = [{ a: 1 }, { $and: [{}, { a: 1 }] }, { $or: [{ a: 1 }] }, { $or: [{}], a: 1 }]
  for (const filter of some) t.equal(isEmptyFilter(filter), false, JSON.stringify(filter))
})

const PAGES: readonly [MongoDBOptions['paginate'], unknown, number | undefined, boolean][] = [
  [false, undefined, undefined, false],
  [false, 7, 7, false],
  [false, 0, 0, false],
  [{}, undefined, undefined, false],
  [{}, 7, 7, false],
  [{ default: 10, max: 50 }, undefined, 10, true],
  [{ default: 10, max: 50 }, '100', 50, true],
  [{ default: 10, max: 50 }, 20, 20, true],
  [{ default: 10, max: 50 }, '0', 0, true],
  [{ default: 10 }, 1000, 1000, true],
  [{ default: 100, max: 50 }, undefined, 50, true],
  [{ max: 10 }, undefined, 10, false],
  [{ max: 10 }, 100, 10, false],
  [{ max: 10 }, 3, 3, false],
]

for (const [paginate, $limit, limit, paged] of PAGES) {
  t.test(`paginate ${JSON.stringify(paginate)} and $limit ${$limit} give ${limit}`, async (t) => {
    const options = paginate === undefined ? {} : { paginate }
    t.match(split({ $limit }, options), { limit, paged })
  })
}
