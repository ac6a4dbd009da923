import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { BadRequest } from '../../src/core/errors/index.ts'
import { openDatabase } from '../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)
const OUTSIDE = { provider: 'rest' }
const HIDDEN = ['password', 'profile.token', 'tokens.secret', 'tokens.secret.part']
const ANN = {
  name: 'ann',
  password: 'SECRET',
  profile: { token: 'SECRET', city: 'Rome' },
  tokens: [{ secret: 'SECRET', label: 'a' }, [{ secret: { part: 'SECRET' }, label: 'b' }], 'plain'],
}
const VISIBLE = {
  name: 'ann',
  profile: { city: 'Rome' },
  tokens: [{ label: 'a' }, [{ label: 'b' }], 'plain'],
}

async function createUsers(options: Partial<MongoDBOptions> = {}) {
  const Model = await empty('users')
  const users = new MongoDBService({ Model, multi: true, hidden: HIDDEN, ...options })
  const { _id } = await users.create(ANN)
  return { users, id: String(_id), Model }
}

const withoutId = ({ _id, ...others }: Document): Document => others

/** Every way to a record of a service, each for a caller with these params. */
const READS: Readonly<
  Record<string, (users: MongoDBService, id: string, params: MongoDBParams) => Promise<unknown>>
> = {
  find: (users, _id, params) => users.find(params),
  'find with pages': (users, _id, params) => users.find({ ...params, paginate: { default: 5 } }),
  get: (users, id, params) => users.get(id, params),
  create: (users, _id, params) => users.create(structuredClone(ANN), params),
  'create of many': (users, _id, params) => users.create([structuredClone(ANN)], params),
  update: (users, id, params) => users.update(id, structuredClone(ANN), params),
  patch: (users, id, params) => users.patch(id, { password: 'SECRET' }, params),
  'patch of many': (users, _id, params) =>
    users.patch(
      null,
      { password: 'SECRET' },
      { ...params, query: { ...params.query, name: 'ann' } },
    ),
  remove: (users, id, params) => users.remove(id, params),
  'remove of many': (users, _id, params) =>
    users.remove(null, { ...params, query: { ...params.query, name: 'ann' } }),
  _find: (users, _id, params) => users._find(params),
  _get: (users, id, params) => users._get(id, params),
  _create: (users, _id, params) => users._create(structuredClone(ANN), params),
  _update: (users, id, params) => users._update(id, structuredClone(ANN), params),
  _patch: (users, id, params) => users._patch(id, { name: 'ann' }, params),
  _remove: (users, id, params) => users._remove(id, params),
  findRaw: async (users, _id, params) => (await users.findRaw(params)).toArray(),
}

function toRecord(result: unknown): Document {
  const records = Array.isArray(result) ? result : ((result as Document)['data'] ?? [result])
  return withoutId(records[0])
}

for (const [title, read] of Object.entries(READS)) {
  t.test(`hidden fields are not in what ${title} returns outside (MASS-3)`, async (t) => {
    const { users, id } = await createUsers()
    t.strictSame(toRecord(await read(users, id, OUTSIDE)), VISIBLE)
  })

  t.test(`hidden fields are in what ${title} returns inside`, async (t) => {
    const { users, id } = await createUsers()
    t.strictSame(toRecord(await read(users, id, {})), ANN)
  })

  t.test(`hidden fields are cut out of what $select names in ${title}`, async (t) => {
    const { users, id } = await createUsers()
    const params = { ...OUTSIDE, query: { $select: ['profile', 'tokens', 'name'] } }
    t.strictSame(toRecord(await read(users, id, params)), VISIBLE)
  })

  if (title.includes('create')) continue
  t.test(`a projection of the driver does not bring hidden fields back in ${title}`, async (t) => {
    const { users, id } = await createUsers()
    const docdb = { projection: { password: 1, profile: 1, name: 1, tokens: 1 } }
    t.strictSame(toRecord(await read(users, id, { ...OUTSIDE, docdb })), VISIBLE)
  })
}

t.test('hidden fields stay in the database, by the one command of the operation', async (t) => {
  const { users, id } = await createUsers()
  const projection = { password: 0, 'profile.token': 0, 'tokens.secret': 0 }
  const [found, ...others] = await commandsOf(() => users.get(id, OUTSIDE))
  t.match(found, { projection })
  t.strictSame(others, [])
  t.match(await commandsOf(() => users.patch(id, { a: 1 }, OUTSIDE)), [{ fields: projection }])
  t.match(await commandsOf(() => users.update(id, { a: 1 }, OUTSIDE)), [{ fields: projection }])
  const selecting = { ...OUTSIDE, query: { $select: ['name'] } }
  t.match(await commandsOf(() => users.find(selecting)), [{ projection: { name: 1, _id: 1 } }])
  t.match(await commandsOf(() => users.remove(id, OUTSIDE)), [{ fields: projection }])
})

t.test('the methods that check nothing return no hidden field that is selected', async (t) => {
  const { users, id } = await createUsers()
  const query = { password: 'SECRET', $select: ['password', 'profile.token', 'name'] }
  t.strictSame(withoutId(await users._get(id, { ...OUTSIDE, query })), { name: 'ann', profile: {} })
  t.match(await users._get(id, { query }), { password: 'SECRET' })
})

const ASKING = [
  { password: { $gte: 'S' } },
  { $or: [{ 'profile.token': 'SECRET' }] },
  { $sort: { password: 1 } },
  { $select: ['password'] },
]

t.test('no method asks for hidden fields from outside, by no command (MASS-3)', async (t) => {
  const { users, id } = await createUsers()
  const commands = await commandsOf(async () => {
    for (const query of ASKING) {
      const params = { ...OUTSIDE, query }
      await t.rejects(users.find(params), BadRequest)
      await t.rejects(users.get(id, params), BadRequest)
      await t.rejects(users.update(id, {}, params), BadRequest)
      await t.rejects(users.patch(id, {}, params), BadRequest)
      await t.rejects(users.patch(null, {}, params), BadRequest)
      await t.rejects(users.remove(id, params), BadRequest)
      await t.rejects(users.remove(null, params), BadRequest)
    }
    const selecting = { ...OUTSIDE, query: { $select: ['password'] } }
    await t.rejects(users.create({ name: 'a' }, selecting), BadRequest)
  })
  t.strictSame(commands, [])
})

t.test('asks for hidden fields from inside', async (t) => {
  const { users } = await createUsers()
  for (const query of ASKING) t.match(await users.find({ query }), { length: 1 })
})

t.test('a call from inside may hide other fields, or none', async (t) => {
  const { users, id } = await createUsers()
  const params = { ...OUTSIDE, query: { name: 'ann' } }
  t.strictSame(withoutId(await users.get(id, { ...params, adapter: { hidden: [] } })), ANN)
  await t.rejects(users.get(id, { ...params, adapter: { hidden: ['name'] } }), BadRequest)
})

t.test('a hidden field that is set later is hidden from then on', async (t) => {
  const { users, id } = await createUsers({ hidden: [] })
  t.match(await users.get(id, OUTSIDE), { password: 'SECRET' })
  users.options.hidden = ['password']
  t.notMatch(await users.get(id, OUTSIDE), { password: 'SECRET' })
})

t.test('a created record hides fields of objects that are no plain ones', async (t) => {
  class Profile {
    token = 'SECRET'
    city = 'Rome'
  }
  const { users } = await createUsers()
  const tokens = new Map([['secret', 'SECRET']])
  const data = { profile: new Profile(), tokens, at: new Date(0) }
  const created = await users.create(data, OUTSIDE)
  t.strictSame(withoutId(created), { profile: { city: 'Rome' }, tokens: {}, at: new Date(0) })
  t.equal(data.profile.token, 'SECRET')
})

t.test('a hidden field is written from outside, as a field', async (t) => {
  const { users, id, Model } = await createUsers({ updateOperators: ['profile.token'] })
  await users.patch(id, { password: 'new', 'profile.token': 'newer' }, OUTSIDE)
  t.match(await Model.findOne(), { password: 'new', profile: { token: 'newer', city: 'Rome' } })
})
