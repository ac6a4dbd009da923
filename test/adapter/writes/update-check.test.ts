import t from 'tap'

import { resolveMongoDBOptions } from '../../../src/adapter/resolve-options.ts'
import { checkChange, UPDATE_OPERATORS } from '../../../src/adapter/writes/data-check.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const settings = resolveMongoDBOptions({
  Model: idleCollection,
  hidden: ['password', 'profile.token', 'tokens.secret'],
  updateOperators: [
    ...UPDATE_OPERATORS.keys(),
    ...['address.city', 'profile.token', 'tokens.$[].secret', 'tokens.$[].label', '_id.x'],
  ],
})

const check = (operator: string, fields: unknown) => (): void =>
  checkChange({ [operator]: fields }, null, settings)

const REFUSED: readonly [string, unknown][] = [
  // Where a field goes is a path as well.
  ['$rename', { name: 'address.street' }],
  ['$rename', { name: 'profile.isAdmin' }],
  ['$rename', { name: '_id' }],
  ['$rename', { name: '_id.x' }],
  ['$rename', { name: '$where' }],
  ['$rename', { name: '__proto__' }],
  ['$rename', { name: '' }],
  ['$rename', { name: 1 }],
  ['$rename', { name: { x: 'y' } }],
  ['$rename', { 'address.street': 'name' }],
  ['$rename', { _id: 'name' }],
  ['$rename', { $a: 'name' }],
  // Keys that say how, where they mean nothing or are stored.
  ['$set', { a: { $gt: 1 } }],
  ['$set', { a: { $each: [1] } }],
  ['$set', { '_id.x': 1 }],
  ['$setOnInsert', { _id: 1 }],
  ['$push', { tags: { $each: [{ $gt: 1 }] } }],
  ['$push', { tags: { x: { $each: [1] } } }],
  ['$push', { tags: { $each: [], $sort: { 'a.b': 1 } } }],
  ['$addToSet', { tags: { $sort: 1 } }],
  ['$pull', { tags: { $where: '1' } }],
  ['$pull', { tags: { $elemMatch: { a: 1 } } }],
  ['$set', { note: { 'address.city': 'Rome' } }],
  ['$set', 'name'],
  ['$set', [{ a: 1 }]],
  ['$set', null],
  ['$bogus', { a: 1 }],
]

for (const [operator, fields] of REFUSED) {
  t.test(`refuses ${operator} with ${JSON.stringify(fields)} (FTH-9)`, async (t) => {
    t.throws(check(operator, fields), BadRequest)
  })
}

const ALLOWED: readonly [string, unknown][] = [
  ['$rename', { name: 'title' }],
  ['$rename', { 'address.city': 'city', city: 'address.city' }],
  ['$push', { tags: { $each: [{ a: 1 }], $position: 0, $slice: 5, $sort: { a: 1 } } }],
  ['$addToSet', { tags: { $each: ['a'] } }],
  ['$pull', { tags: { $in: ['a'] }, items: { price: { $gt: 5 } } }],
  ['$currentDate', { at: true, on: { $type: 'timestamp' } }],
  ['$inc', { 'address.city': 1 }],
  ['$bit', { flags: { and: 5 } }],
]

for (const [operator, fields] of ALLOWED) {
  t.test(`lets ${operator} with ${JSON.stringify(fields)} pass`, async (t) => {
    t.doesNotThrow(check(operator, fields))
  })
}

for (const operator of UPDATE_OPERATORS.keys()) {
  t.test(`${operator} does not reach hidden fields (MASS-3)`, async (t) => {
    const value = operator === '$rename' ? 'name' : 1
    for (const path of ['password', 'profile.token', 'tokens.$[].secret']) {
      t.throws(check(operator, { [path]: value }), {
        message: `The field '${path}' cannot be changed by ${operator}`,
      })
    }
  })
}

const READING: readonly [string, unknown][] = [
  ['$rename', { name: 'password' }],
  ['$rename', { profile: 'open' }],
  ['$rename', { name: 'profile' }],
  ['$min', { profile: { token: 'a' } }],
  ['$max', { profile: { token: 'a' } }],
  ['$addToSet', { tokens: { secret: 'guess' } }],
  ['$pullAll', { tokens: [{ secret: 'guess' }] }],
  ['$pull', { tokens: { secret: 'guess' } }],
  ['$pull', { tokens: { secret: { $gt: 'a' } } }],
  ['$pull', { tokens: { $in: [{ secret: 'guess' }] } }],
  ['$push', { tokens: { $each: [], $sort: { secret: 1 } } }],
  ['$push', { tokens: { $each: [], $sort: 1 } }],
]

for (const [operator, fields] of READING) {
  t.test(`${operator} with ${JSON.stringify(fields)} would tell of a hidden field`, async (t) => {
    t.throws(check(operator, fields), BadRequest)
  })
}

const WRITING: readonly [string, unknown][] = [
  ['$set', { profile: { city: 'Rome' } }],
  ['$unset', { profile: 1 }],
  ['$push', { tokens: { label: 'a', secret: 'new' } }],
  ['$pull', { tokens: { label: 'a' } }],
  ['$pull', { tokens: 'plain' }],
  ['$pop', { tokens: 1 }],
  ['$set', { 'tokens.$[].label': 'a' }],
]

for (const [operator, fields] of WRITING) {
  t.test(`${operator} with ${JSON.stringify(fields)} tells nothing`, async (t) => {
    t.doesNotThrow(check(operator, fields))
  })
}

t.test('takes only operators that the option lists', async (t) => {
  const closed = resolveMongoDBOptions({ Model: idleCollection, updateOperators: ['$inc'] })
  t.throws(() => checkChange({ $set: { a: 1 } }, null, closed), BadRequest)
  t.doesNotThrow(() => checkChange({ $inc: { a: 1 } }, null, closed))
})
