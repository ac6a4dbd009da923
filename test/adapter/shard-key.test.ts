import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { BadRequest } from '../../src/core/errors/index.ts'
import { openDatabase } from '../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)

const TENANT = new ObjectId()

async function createNotes(options: Partial<MongoDBOptions> = {}) {
  const Model = await empty('notes')
  await Model.insertMany([
    { _id: 1, tenant: 'a', n: 0, address: { country: 'is' } },
    { _id: 2, tenant: 'b', n: 0, address: { country: 'no' } },
    { _id: 3, tenant: TENANT, n: 0 },
  ] as unknown as Document[])
  return {
    Model,
    notes: new MongoDBService({ Model, multi: true, shardKey: ['tenant'], ...options }),
  }
}

type Notes = MongoDBService
type Call = (notes: Notes, params: MongoDBParams) => Promise<unknown>

/** Calls on one record, and those that need no more data than the query to know its shard. */
const CALLS: Readonly<Record<string, Call>> = {
  get: (notes, params) => notes.get(1, params),
  _get: (notes, params) => notes._get(1, params),
  patch: (notes, params) => notes.patch(1, { n: 1 }, params),
  _patch: (notes, params) => notes._patch(1, { n: 1 }, params),
  'update by operators': (notes, params) => notes.update(1, { $set: { n: 1 } } as Document, params),
  remove: (notes, params) => notes.remove(1, params),
}

/** Returns all filters of a command on records. */
function filtersOf(command: Document): unknown {
  return command['filter'] ?? command['query'] ?? command['pipeline'][0].$match
}

const TARGETED: Readonly<Record<string, Document>> = {
  'a value': { tenant: 'a' },
  $eq: { tenant: { $eq: 'a' } },
  'a value inside $and': { $and: [{ n: 0 }, { $and: [{ tenant: 'a' }] }] },
}

const ADDING = [{ $addFields: { aggregation: true } }]

for (const [method, call] of Object.entries(CALLS)) {
  t.test(`${method} sends one command, to the shard of its query`, async (t) => {
    for (const [title, query] of Object.entries(TARGETED)) {
      const { notes } = await createNotes()
      const commands = await commandsOf(() => call(notes, { query }))
      t.strictSame(commands.map(filtersOf), [{ _id: 1, ...query }], title)
    }
  })

  t.test(`${method} with a pipeline goes to the shard, too`, async (t) => {
    for (const pipeline of [ADDING, [{ $match: { tenant: 'a' } }, ...ADDING]]) {
      const { notes } = await createNotes()
      const query = pipeline === ADDING ? { tenant: 'a' } : {}
      const commands = await commandsOf(async () => {
        t.match(await call(notes, { query, pipeline }), { _id: 1, aggregation: true })
      })
      for (const command of commands) {
        const matches = JSON.stringify(command['query'] ?? command['pipeline'])
        t.match(matches, '"tenant":"a"')
      }
    }
  })

  t.test(`${method} is refused without one value for the shard key`, async (t) => {
    const { notes } = await createNotes({ operators: ['$regex'] })
    const queries = [
      {},
      { tenant: { $in: ['a'] } },
      { tenant: { $gte: 'a' } },
      { tenant: ['a'] },
      { tenant: { $eq: ['a'] } },
      { tenant: { $regex: 'a' } },
      { tenant: /a/ },
      { $or: [{ tenant: 'a' }] },
    ]
    const message = "The query must have one value for 'tenant', which is part of the shard key"
    const commands = await commandsOf(async () => {
      for (const query of queries as Document[]) {
        await t.rejects(call(notes, { query }), { name: 'BadRequest', message })
      }
    })
    t.strictSame(commands, [])
  })

  t.test(`${method} names the field of a longer shard key, and knows the id`, async (t) => {
    const { notes } = await createNotes({ shardKey: ['_id', 'tenant', 'address.country'] })
    const message = /'address\.country'/
    await t.rejects(call(notes, { query: { tenant: 'a' } }), { name: 'BadRequest', message })
    const query = { tenant: 'a', 'address.country': 'is' }
    t.match(await call(notes, { query }), { _id: 1 })
  })
}

t.test('find, counts, and calls on many may ask all shards', async (t) => {
  const { notes } = await createNotes({ paginate: { default: 1 } })
  t.match(await notes.find(), { total: 3 })
  t.equal(await notes.countDocuments(), 3)
  t.equal((await notes.patch(null, { n: 1 })).length, 3)
  t.equal((await notes.remove(null, { query: { tenant: 'a' } })).length, 1)
})

t.test('callers outside get 400 too, and reach their shard by the query of a hook', async (t) => {
  const { notes } = await createNotes()
  await t.rejects(notes.get(1, { provider: 'rest' }), { code: 400, message: /'tenant'/ })
  t.match(await notes.get(1, { provider: 'rest', query: { tenant: 'a' } }), { _id: 1 })
  await t.rejects(notes.get(1, { provider: 'rest', query: { tenant: 'b' } }), { code: 404 })
})

t.test('update takes the shard of its data where the query does not tell it', async (t) => {
  const { notes, Model } = await createNotes({ shardKey: ['tenant', 'address.country'] })
  const data = { tenant: 'a', address: { country: 'is' }, n: 1 }
  const commands = await commandsOf(async () => {
    t.match(await notes.update(1, data), { n: 1 })
    t.match(await notes.update(1, data, { query: { tenant: 'a' } }), { n: 1 })
    await t.rejects(notes.update(2, data), { name: 'NotFound' })
  })
  const both = { tenant: 'a', 'address.country': 'is' }
  t.strictSame(commands.map(filtersOf), [
    { _id: 1, $and: [{}, both] },
    { _id: 1, $and: [{ tenant: 'a' }, { 'address.country': 'is' }] },
    { _id: 2, $and: [{}, both] },
  ])
  t.match(await Model.findOne({ n: 1 }), data)
})

const INCOMPLETE: readonly Document[] = [
  { n: 1 },
  { tenant: 'a' },
  { tenant: ['a'], address: { country: 'is' } },
  { tenant: undefined, address: { country: 'is' } },
  { tenant: 'a', address: [{ country: 'is' }] },
  { tenant: 'a', address: 'is' },
]

t.test('a record is stored with a value for each field of the shard key', async (t) => {
  const { notes, Model } = await createNotes({ shardKey: ['_id', 'tenant', 'address.country'] })
  const query = { tenant: 'a', 'address.country': 'is' }
  const refused = {
    name: 'BadRequest',
    message: /^The data must have one value for '(tenant|address\.country)', which is part/,
  }
  for (const data of INCOMPLETE) {
    await t.rejects(notes.create(data), refused)
    await t.rejects(notes._create([{ tenant: 'a', address: { country: 'is' } }, data]), refused)
    await t.rejects(notes.update(1, data, { query }), refused)
  }
  t.equal(await Model.countDocuments(), 3)
  t.match(await notes.create({ tenant: 'a', address: { country: 'is' } }), { tenant: 'a' })
})

const KEPT: readonly Document[] = [
  { tenant: 'a', n: 1 },
  { tenant: undefined, n: 1 },
  { $set: { tenant: 'a', n: 1 } },
  { address: { country: 'is', city: 'x' }, n: 1 },
  { 'address.country': 'is', n: 1 },
  { 'address.city': 'x', n: 1 },
  { $inc: { n: 1 }, $rename: { tenants: 'other' } },
]
const CHANGED: readonly Document[] = [
  { tenant: 'b' },
  { tenant: null },
  { 'tenant.x': 1 },
  { 'tenant.x': { '': 'a' } },
  { $set: { tenant: 'b' } },
  { $setOnInsert: { tenant: 'b' } },
  { $unset: { tenant: '' } },
  { $rename: { n: 'tenant' } },
  { $rename: { tenant: 'n' } },
  { address: { city: 'x' } },
  { address: null },
  { $set: { 'address.country': 'no' } },
  { $unset: { address: '' } },
  { $push: { 'address.country.list': 1 } },
]

t.test('a patch keeps the fields of the shard key', async (t) => {
  const { notes } = await createNotes({ shardKey: ['tenant', 'address.country'] })
  const query = { tenant: 'a', 'address.country': 'is' }
  for (const data of KEPT) {
    t.match(await notes.patch(1, data, { query }), { tenant: 'a' }, JSON.stringify(data))
    t.equal((await notes.patch(null, data, { query })).length, 1)
  }
  const refused = {
    name: 'BadRequest',
    message:
      /^The field '(tenant|address\.country)' is part of the shard key and cannot be changed$/,
  }
  for (const data of CHANGED) {
    await t.rejects(notes.patch(1, data, { query }), refused, JSON.stringify(data))
    await t.rejects(notes.patch(null, data, { query }), refused)
    if (Object.keys(data)[0]?.startsWith('$')) {
      await t.rejects(notes.update(1, data, { query }), refused)
    }
  }
})

t.test('a record is not replaced by one of another shard', async (t) => {
  const { notes } = await createNotes()
  const query = { tenant: 'a' }
  await t.rejects(notes.update(1, { tenant: 'b' }, { query }), {
    code: 400,
    message: "The field 'tenant' is part of the shard key and cannot be changed",
  })
  const pipeline = [{ $match: { tenant: 'a' } }]
  await t.rejects(notes.update(1, { tenant: 'b' }, { pipeline }), { code: 400 })
})

t.test('one value may be written in several ways, and types are told apart', async (t) => {
  const { notes } = await createNotes()
  const query = { tenant: TENANT }
  const same = new ObjectId(TENANT.toHexString())
  t.match(await notes.patch(3, { tenant: same, n: 1 }, { query }), { n: 1 })
  await t.rejects(notes.patch(3, { tenant: TENANT.toHexString() }, { query }), { code: 400 })
})

t.test('a patch of many that has no value for the shard key can not write it', async (t) => {
  const { notes } = await createNotes()
  await t.rejects(notes.patch(null, { tenant: 'a' }), { code: 400, message: /'tenant'/ })
})

t.test('upserts with the value of the query', async (t) => {
  const { notes } = await createNotes()
  const params = { query: { tenant: 'c' }, docdb: { upsert: true } }
  t.strictSame(await notes.patch(7, { n: 1 }, params), { _id: 7, tenant: 'c', n: 1 })
  const { query, ...upsert } = params
  t.strictSame(await notes.update(8, { tenant: 'c' }, upsert), { _id: 8, tenant: 'c' })
})

t.test('reads the answer of a pipeline from the shard of the new record', async (t) => {
  const { notes } = await createNotes()
  const [, answer] = await commandsOf(async () => {
    const created = await notes.create({ _id: 9, tenant: 'c' }, { pipeline: ADDING })
    t.strictSame(created, { _id: 9, tenant: 'c', aggregation: true })
  })
  t.strictSame(answer && filtersOf(answer), { _id: 9, tenant: 'c' })
})

t.test('an id of another name is known, and one call may have another shard key', async (t) => {
  const { notes } = await createNotes({ id: 'key', shardKey: ['key'] })
  const { key } = await notes.create({ n: 5 })
  t.match(await notes.patch(key, { n: 6 }), { n: 6 })
  await t.rejects(notes.get(key, { adapter: { shardKey: ['_id'] } }), { message: /'_id'/ })
  t.match(await notes.get(key, { adapter: { shardKey: [] } }), { n: 6 })
})

t.test('every command of a call on many goes to the shard of its query', async (t) => {
  const { notes } = await createNotes()
  const query = { tenant: 'a', n: { $gte: 0 } }
  const commands = await commandsOf(async () => {
    t.equal((await notes.patch(null, { n: 1 }, { query })).length, 1)
    t.equal((await notes.remove(null, { query })).length, 1)
  })
  const statements = commands
    .filter(({ commitTransaction }) => commitTransaction === undefined)
    .map((command) => command['updates']?.[0].q ?? command['deletes']?.[0].q ?? command['filter'])
  t.equal(statements.length, 5)
  for (const filter of statements) t.match(filter, { tenant: 'a' })
})

t.test('an id of another name in the shard key is not changed by operators', async (t) => {
  const { notes } = await createNotes({ id: 'slug', shardKey: ['slug'] })
  const changes = [{ $rename: { slug: 'q' } }, { $inc: { slug: 1 } }, { $unset: { slug: '' } }]
  const refusal = new BadRequest("The field 'slug' is part of the shard key and cannot be changed")
  for (const change of changes) {
    await t.rejects(notes.patch(null, change, {}), refusal)
    await t.rejects(notes.patch('a', change, {}), refusal)
  }
})

t.test('a field around a hidden one is no shard key', async (t) => {
  const Model = await empty('notes')
  for (const hidden of [['a'], ['a.b']]) {
    t.throws(() => new MongoDBService({ Model, shardKey: ['a'], hidden }), /shardKey/)
  }
})
