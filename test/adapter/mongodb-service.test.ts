import { ObjectId } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { BadRequest, MethodNotAllowed } from '../../src/core/errors/index.ts'
import { createApp } from '../../src/core/index.ts'
import { openDatabase } from '../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)
const OUTSIDE = { provider: 'rest' }

async function createNotes(options: Partial<MongoDBOptions> = {}): Promise<MongoDBService> {
  const notes = new MongoDBService({ Model: await empty('notes'), multi: true, ...options })
  await notes.create([{ text: 'a' }, { text: 'b' }])
  return notes
}

t.test('rejects external creates of more records than limits.records, sends nothing', async (t) => {
  const notes = await createNotes()
  const toList = (length: number) => Array.from({ length }, (_, n) => ({ n }))
  const refused = { name: 'BadRequest', message: 'The data has more than 1000 records' }
  const commands = await commandsOf(() => t.rejects(notes.create(toList(1_001), OUTSIDE), refused))
  t.strictSame(commands, [])
  t.match(await notes.create(toList(1_000), OUTSIDE), { length: 1_000 })
  t.match(await notes.create(toList(1_001)), { length: 1_001 })
  const few = new MongoDBService({ ...notes.options, limits: { records: 2 } })
  await t.rejects(few.create(toList(3), OUTSIDE), /more than 2 records/)
  const many = { adapter: { limits: { records: Number.POSITIVE_INFINITY } } }
  t.match(await few.create(toList(3), { ...OUTSIDE, ...many }), { length: 3 })
  t.match(await few.create({ n: 1 }, OUTSIDE), { n: 1 })
})

t.test('a hook of create may find a list where multi is off, as its type says', async (t) => {
  const seen: unknown[] = []
  const app = createApp().use('notes', new MongoDBService({ Model: await empty('notes') }))
  const notes = app.service('notes')
  notes.hooks({ before: { create: [({ data }) => void seen.push(Array.isArray(data))] } })
  await t.rejects(notes.create([{ n: 1 }], OUTSIDE), MethodNotAllowed)
  await notes.create([{ n: 1 }], { adapter: { multi: true } } as object)
  t.strictSame(seen, [true, true])
})

t.test('refuses to patch or remove everything from outside', async (t) => {
  const notes = await createNotes()
  const queries = [undefined, {}, { $limit: 5 }, { $and: [{}] }, { $select: ['text'] }]
  const commands = await commandsOf(async () => {
    for (const query of queries) {
      const params = { ...OUTSIDE, query }
      await t.rejects(notes.patch(null, { x: 1 }, params), BadRequest)
      await t.rejects(notes.remove(null, params), BadRequest)
    }
  })
  t.strictSame(commands, [])
})

t.test('patches and removes everything from inside, or with allowEmptyFilter', async (t) => {
  const notes = await createNotes()
  t.equal((await notes.patch(null, { x: 1 })).length, 2)
  t.equal((await notes.patch(null, { x: 2 }, { ...OUTSIDE, query: { x: 1 } })).length, 2)
  notes.options.allowEmptyFilter = true
  t.equal((await notes.remove(null, OUTSIDE)).length, 2)
})

t.test('says first that many are not allowed, then that the query is empty', async (t) => {
  const notes = await createNotes()
  notes.options.multi = false
  await t.rejects(notes.remove(null, OUTSIDE), MethodNotAllowed)
})

t.test('checks the data of callers outside before any command', async (t) => {
  const notes = await createNotes()
  const [{ _id } = {}] = await notes.find({ paginate: false })
  const id = String(_id)
  const bad = [
    { $set: { x: 1 } },
    { 'a.b': 1 },
    { a: { $gt: 1 } },
    { x: Infinity },
    null,
    'x',
    1,
    [1],
  ]
  const commands = await commandsOf(async () => {
    for (const data of bad as never[]) {
      await t.rejects(notes.create(data, OUTSIDE), BadRequest)
      await t.rejects(notes.update(id, data, OUTSIDE), BadRequest)
      await t.rejects(notes.patch(id, data, OUTSIDE), BadRequest)
      await t.rejects(notes.patch(null, data, { ...OUTSIDE, query: { x: 1 } }), BadRequest)
    }
    await t.rejects(notes.patch(id, { _id: 'other' }, OUTSIDE), BadRequest)
    await t.rejects(notes.update(id, { _id: 'other' }, OUTSIDE), BadRequest)
    await t.rejects(notes.patch(id, [{ $set: { a: '$b' } }] as never), BadRequest)
  })
  t.strictSame(commands, [])
})

t.test('lets update operators of the option come from outside', async (t) => {
  const notes = await createNotes({ updateOperators: ['$inc', 'meta.seen'] })
  const [{ _id } = {}] = await notes.find({ paginate: false })
  t.match(await notes.patch(_id, { $inc: { n: 2 } }, OUTSIDE), { n: 2 })
  t.match(await notes.update(_id, { $inc: { n: 2 } }, OUTSIDE), { n: 4, text: 'a' })
  t.match(await notes.patch(_id, { 'meta.seen': true }, OUTSIDE), { meta: { seen: true } })
  await t.rejects(notes.patch(_id, { $unset: { n: 1 } }, OUTSIDE), BadRequest)
})

t.test('works on an object that only inherits from the service', async (t) => {
  const notes = await createNotes()
  const derived = Object.create(notes) as MongoDBService
  const { _id } = await derived.create({ text: 'c' })
  t.match(await derived.get(_id), { text: 'c' })
  t.equal(derived.id, '_id')
  derived.options.paginate = { default: 1 }
  t.match(await notes.find(), { limit: 1, total: 3 })
  t.equal(await derived.countDocuments(), 3)
})

t.test('creates a record where inherited params say', async (t) => {
  const notes = await createNotes()
  const Model = await empty('elsewhere')
  await notes._create({ text: 'c' }, Object.create({ adapter: { Model } }))
  t.equal(await Model.countDocuments(), 1)
  t.equal(await notes.countDocuments(), 2)
})

t.test('a subclass sees every read of find in _find', async (t) => {
  class Visible extends MongoDBService {
    override async _find(params: object = {}): Promise<never[]> {
      t.match(params, { query: { text: 'a' } })
      return []
    }
  }
  const notes = new Visible({ Model: await empty('notes') })
  t.strictSame(await notes.find({ query: { text: 'a' } }), [])
})

t.test('changes neither params nor query', async (t) => {
  const notes = await createNotes()
  const query = {
    text: { $in: { 0: 'a' } },
    $or: [{ text: 'a' }],
    $limit: '1',
    $sort: { text: '1' },
  }
  const params = { query, docdb: {}, adapter: {} }
  const before = structuredClone(params)
  await notes.find(params)
  await notes.patch(null, { x: 1 }, params)
  t.strictSame(params, before)
})

t.test('leaves Object.prototype alone, whatever keys come', async (t) => {
  const notes = await createNotes()
  const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
  await t.rejects(notes.create(JSON.parse(text) as object, OUTSIDE), BadRequest)
  await t.rejects(notes.find({ query: JSON.parse(text) as Record<string, unknown> }), BadRequest)
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
})

t.test('gives ids as they are stored', async (t) => {
  const hex = '507f1f77bcf86cd799439011'
  const Model = await empty('notes')
  const notes = new MongoDBService({ Model })
  t.strictSame(notes.getObjectId(hex), new ObjectId(hex))
  for (const id of ['ann', '', 7, new ObjectId()]) t.equal(notes.getObjectId(id), id)
  t.equal(new MongoDBService({ Model, id: 'key' }).getObjectId(hex), hex)
  notes.options.disableObjectify = true
  t.equal(notes.getObjectId(hex), hex)
})

t.test('refuses options without a Model', async (t) => {
  t.throws(() => new MongoDBService({} as MongoDBOptions), /Model/)
})
