import { ObjectId } from 'mongodb'
import t from 'tap'
import type { MongoDBOptions } from '../../../src/adapter/mongodb-options.ts'
import { checkHiddenQuery } from '../../../src/adapter/queries/hidden-field-check.ts'
import { sanitizeQuery } from '../../../src/adapter/queries/query-operators.ts'
import { resolveMongoDBOptions } from '../../../src/adapter/resolve-options.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import type { Query } from '../../../src/core/params.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const OPTIONS: MongoDBOptions = {
  Model: idleCollection,
  hidden: ['password', 'profile.token', 'tokens.secret'],
  operators: [
    ...['$regex', '$exists', '$not', '$nor', '$elemMatch', '$all', '$size', '$type', '$mod'],
    ...['$expr', '$where', '$text', '$jsonSchema', '$geoWithin', '$comment'],
    ...['$geometry', '$search'],
  ],
  filters: { $where: true, $sum: (value) => value, $comment: true },
}

function check(query: Query): void {
  const settings = resolveMongoDBOptions(OPTIONS)
  checkHiddenQuery(sanitizeQuery(query, settings), settings)
}

const REFUSED: readonly [Query, string][] = [
  [{ password: 'x' }, 'password'],
  [{ password: { $gte: '$scrypt$' } }, 'password'],
  [{ password: null }, 'password'],
  [{ password: { $exists: true } }, 'password'],
  [{ password: { $size: 3 } }, 'password'],
  [{ password: { $not: { $regex: '^a' } } }, 'password'],
  [{ 'password.0': 'x' }, 'password.0'],
  [{ 'password.x.y': 'x' }, 'password.x.y'],
  [{ $or: [{ a: 1 }, { password: 'x' }] }, 'password'],
  [{ $and: [{ $or: [{ password: 'x' }] }] }, 'password'],
  [{ $nor: [{ password: 'x' }] }, 'password'],
  [{ $or: { 0: { password: 'x' } } }, 'password'],
  [{ 'profile.token': 'x' }, 'profile.token'],
  [{ profile: { token: 'x' } }, 'profile'],
  [{ profile: {} }, 'profile'],
  [{ profile: { $eq: { token: 'x' } } }, 'profile'],
  [{ profile: { $gt: { name: 'a' } } }, 'profile'],
  [{ profile: { $in: [1, { token: 'x' }] } }, 'profile'],
  [{ profile: { $not: { $lt: { token: 'x' } } } }, 'profile'],
  [{ profile: { $elemMatch: { token: 'x' } } }, 'profile.token'],
  [{ profile: { name: 'a', $gt: 1 } }, 'profile'],
  [{ profile: [{ token: 'x' }] }, 'profile'],
  [{ profile: { $in: [['x']] } }, 'profile'],
  [{ profile: { $geoWithin: { $geometry: {} } } }, 'profile'],
  [{ tokens: { $elemMatch: { label: 'a', secret: { $gt: 'x' } } } }, 'tokens.secret'],
  [{ tokens: { $elemMatch: { $or: [{ secret: 'x' }] } } }, 'tokens.secret'],
  [{ tokens: { $elemMatch: { $elemMatch: { secret: 'x' } } } }, 'tokens.secret'],
  [{ tokens: { $elemMatch: { 0: { secret: 'x' } } } }, 'tokens.0'],
  [{ tokens: { $elemMatch: { $gt: { secret: 'x' } } } }, 'tokens'],
  [{ tokens: { $all: [{ $elemMatch: { secret: 'x' } }] } }, 'tokens.secret'],
  [{ tokens: { $all: [{ secret: 'x' }] } }, 'tokens'],
  [{ tokens: { $not: { $elemMatch: { secret: 'x' } } } }, 'tokens.secret'],
  [{ 'tokens.0.secret': 'x' }, 'tokens.0.secret'],
  [{ 'tokens.0': { secret: 'x' } }, 'tokens.0'],
  [{ 'tokens.0': { $gt: {} } }, 'tokens.0'],
  [{ $sort: { password: 1 } }, 'password'],
  [{ $sort: { a: 1, 'profile.token': -1 } }, 'profile.token'],
  [{ $sort: { profile: 1 } }, 'profile'],
  [{ $sort: { 'tokens.0': 1 } }, 'tokens.0'],
  [{ $select: ['name', 'password'] }, 'password'],
  [{ $select: { 0: 'tokens.0.secret' } }, 'tokens.0.secret'],
  [{ $select: ['profile.token.text'] }, 'profile.token.text'],
]

for (const [query, path] of REFUSED) {
  t.test(`refuses ${JSON.stringify(query)}, naming the field (MASS-3)`, async (t) => {
    t.throws(() => check(query), new BadRequest(`The field '${path}' cannot be queried`))
  })
}

const READS_ANY_FIELD: readonly Query[] = [
  { $expr: { $gt: ['$password', 'x'] } },
  { $where: 'this.password > "x"' },
  { $text: { $search: 'x' } },
  { $jsonSchema: { properties: { password: { pattern: '^a' } } } },
  { $or: [{ $expr: true }] },
  { $nor: [{ $or: [{ $where: '1' }] }] },
  { name: { $elemMatch: { $expr: true } } },
  { $regex: 'x' },
]

for (const query of READS_ANY_FIELD) {
  t.test(`refuses ${JSON.stringify(query)}, which can read any field`, async (t) => {
    t.throws(() => check(query), { name: 'BadRequest', message: /^The operator \$\w+ can read/ })
  })
}

const ALLOWED: readonly Query[] = [
  {},
  { name: 'a', passwords: 'x', 'x.password': 1 },
  { profile: null },
  { profile: { $ne: null, $exists: true } },
  { profile: { $in: [null, 'x', new ObjectId()] } },
  { profile: { $gt: new Date(), $not: { $type: 'string' } } },
  { 'profile.name': { $gt: { token: 'x' } } },
  { name: { token: 'x' } },
  { tokens: { $size: 2, $elemMatch: { label: 'a', $or: [{ label: 'b' }] } } },
  { tokens: { $all: [{ $elemMatch: { label: 'a' } }, 'x'] } },
  { 'tokens.0.label': 'a' },
  { $sort: { name: 1, 'profile.name': -1 }, $select: ['profile', 'tokens'], $limit: 5, $skip: 1 },
  { $comment: 'x', $sum: { $password: 1 } },
]

for (const query of ALLOWED) {
  t.test(`lets ${JSON.stringify(query)} pass`, async (t) => {
    t.doesNotThrow(() => check(query))
  })
}

t.test('names what callers asked for and nothing that they did not', async (t) => {
  t.throws(() => check({ profile: { token: 'guess' } }), { message: /^((?!token|guess).)*$/ })
})

t.test('lets a filter of the option make of $or what it wants', async (t) => {
  const settings = resolveMongoDBOptions({ ...OPTIONS, filters: { $or: () => 'nothing' } })
  t.doesNotThrow(() => checkHiddenQuery(sanitizeQuery({ $or: 'x' }, settings), settings))
  const open = resolveMongoDBOptions({ ...OPTIONS, filters: { $or: (value) => value } })
  const query = sanitizeQuery({ $or: [{ password: 'x' }] }, open)
  t.throws(() => checkHiddenQuery(query, open), BadRequest)
})
