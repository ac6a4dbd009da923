import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { openDatabase } from '../../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)
const OUTSIDE = { provider: 'rest' }
const HIDDEN = ['password', 'profile.token', 'tokens.secret', 'tokens.secret.part']
const ANN = {
  ...{ name: 'ann', password: 'SECRET' },
  profile: { token: 'SECRET', city: 'Rome' },
  tokens: [{ secret: 'SECRET', label: 'a' }, [{ secret: { part: 'SECRET' }, label: 'b' }], 'plain'],
}

/** Brings hidden fields back, from the same collection. */
const SELF = [
  { $lookup: { from: 'users', localField: '_id', foreignField: '_id', as: 'self' } },
  { $replaceRoot: { newRoot: { $first: '$self' } } },
]
const PIPELINES: readonly [string, MongoDBParams['pipeline']][] = [
  ['stages after the query', [{ $set: { copy: '$password', all: '$$ROOT' } }]],
  ['stages before the query', [{ $set: { a: 1 } }, { $framework: {} }]],
  ['stages that bring fields back', SELF],
  ['a marker alone', [{ $framework: {} }]],
]

async function createUsers(options: Partial<MongoDBOptions> = {}) {
  const Model = await empty('users')
  const users = new MongoDBService({ Model, multi: true, hidden: HIDDEN, ...options })
  const { _id } = await users.create(ANN)
  return { users, id: String(_id) }
}

type Call = (users: MongoDBService, id: string, params: MongoDBParams) => Promise<unknown>

const CALLS: readonly [string, Call][] = [
  ['find', (users, _id, params) => users.find(params)],
  ['find with pages', (users, _id, params) => users.find({ ...params, paginate: { default: 5 } })],
  ['get', (users, id, params) => users.get(id, params)],
  ['create', (users, _id, params) => users.create(structuredClone(ANN), params)],
  ['create of many', (users, _id, params) => users.create([structuredClone(ANN)], params)],
  ['update', (users, id, params) => users.update(id, structuredClone(ANN), params)],
  ['patch', (users, id, params) => users.patch(id, { password: 'SECRET' }, params)],
  ['patch of many', (users, _id, params) => users._patch(null, { password: 'SECRET' }, params)],
  ['remove', (users, id, params) => users.remove(id, params)],
  ['remove of many', (users, _id, params) => users._remove(null, params)],
  ['aggregateRaw', async (users, _id, params) => (await users.aggregateRaw(params)).toArray()],
]

for (const [title, call] of CALLS) {
  t.test(`no hidden field comes out of the pipeline of ${title} (MASS-3)`, async (t) => {
    for (const [name, pipeline] of PIPELINES) {
      if (title.endsWith('of many') && name === 'stages that bring fields back') continue
      for (const query of [{}, { $select: ['name', 'profile'] }] as const) {
        const { users, id } = await createUsers()
        const outside = JSON.stringify(
          await call(users, id, { ...OUTSIDE, query: { ...query }, pipeline }),
        )
        t.notMatch(outside, 'SECRET', name)
        t.match(outside, 'ann', name)
      }
    }
  })

  t.test(`${title} with a pipeline returns everything inside`, async (t) => {
    const { users, id } = await createUsers()
    const inside = JSON.stringify(await call(users, id, { pipeline: [{ $set: { a: 1 } }] }))
    t.match(inside, 'SECRET')
  })
}

type Raw = (users: MongoDBService, params: MongoDBParams) => Promise<unknown>

const RAW: readonly [string, Raw][] = [
  ['findRaw', (users, params) => users.findRaw(params)],
  ['aggregateRaw', (users, params) => users.aggregateRaw(params)],
  ['makeFeathersPipeline', async (users, params) => users.makeFeathersPipeline(params)],
  ['countDocuments', (users, params) => users.countDocuments(params)],
]

const QUESTIONS: readonly [string, NonNullable<MongoDBParams['query']>, RegExp][] = [
  ['a condition', { password: { $gte: 'A' } }, /'password' cannot be queried/],
  ['a condition in $or', { $or: [{ password: 'A' }] }, /'password' cannot be queried/],
  ['a part of something larger', { profile: { token: 'A' } }, /'profile' cannot be queried/],
  ['$sort', { $sort: { password: 1 } }, /'password' cannot be queried/],
  ['$sort as a list', { $sort: ['password'] }, /\$sort must be an object/],
  ['$sort as a string', { $sort: 'password' }, /\$sort must be an object/],
  ['$select', { $select: ['password'] }, /'password' cannot be queried/],
  ['an operator that reads any field', { $expr: { $gt: ['$password', 'A'] } }, /\$expr can read/],
]

for (const [title, ask] of RAW) {
  t.test(`${title} answers no question of a caller outside about hidden fields`, async (t) => {
    const { users } = await createUsers()
    const commands = await commandsOf(async () => {
      for (const [name, query, message] of QUESTIONS) {
        const error = await t.rejects(ask(users, { ...OUTSIDE, query }), { message }, name)
        t.type(error, BadRequest)
      }
    })
    t.strictSame(commands, [])
    await t.resolves(ask(users, { ...OUTSIDE, query: { name: 'ann', $sort: { name: 1 } } }))
    await t.resolves(ask(users, { query: { password: { $gte: 'A' } } }))
  })
}

t.test('stages before the query see hidden fields, those after it do not', async (t) => {
  const { users } = await createUsers()
  const condition = { $match: { password: 'SECRET' } }
  const count = (pipeline: object[]) =>
    users.countDocuments({ ...OUTSIDE, pipeline } as MongoDBParams)
  t.equal(await count([condition, { $framework: {} }]), 1)
  t.equal(await count([condition]), 0)
})

t.test('makeFeathersPipeline leaves hidden fields out for callers outside', async (t) => {
  const { users } = await createUsers()
  const stages = users.makeFeathersPipeline(OUTSIDE)
  t.strictSame(stages.at(-1), { $unset: ['password', 'profile.token', 'tokens.secret'] })
  const [ann] = (await (await users.getModel()).aggregate(stages).toArray()) as Document[]
  t.match(ann, { name: 'ann', password: undefined, profile: { token: undefined, city: 'Rome' } })
})
