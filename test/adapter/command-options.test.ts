import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { Timeout } from '../../src/core/errors/index.ts'
import { openDatabase } from '../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)
const paginate = { default: 2 }

async function startNotes() {
  const Model = await empty('notes')
  await Model.insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3 }] as Document[])
  return new MongoDBService({ Model, paginate, multi: true })
}

type Notes = MongoDBService

const READS: Readonly<Record<string, (notes: Notes, params: MongoDBParams) => Promise<unknown>>> = {
  'find and its count': (notes, params) => notes.find(params),
  get: (notes, params) => notes.get(1, params),
  countDocuments: (notes, params) => notes.countDocuments(params),
  'the estimated count': (notes, params) =>
    notes.countDocuments({ ...params, adapter: { useEstimatedDocumentCount: true } }),
  findRaw: async (notes, params) => (await notes.findRaw(params)).toArray(),
}

const toLimits = (commands: Document[]) => [...new Set(commands.map(({ maxTimeMS }) => maxTimeMS))]

for (const [title, read] of Object.entries(READS)) {
  t.test(`limits the time of ${title} for callers outside alone`, async (t) => {
    const notes = await startNotes()
    const limitsOf = async (params: MongoDBParams) =>
      toLimits(await commandsOf(() => read(notes, params)))
    t.strictSame(await limitsOf({ provider: 'rest' }), [5_000])
    t.strictSame(await limitsOf({}), [undefined])
    t.strictSame(await limitsOf({ provider: 'rest', docdb: { maxTimeMS: 7 } }), [7])
    notes.options = { ...notes.options, limits: { ...notes.options.limits, timeMs: 9 } }
    t.strictSame(await limitsOf({ provider: 'rest' }), [9])
    notes.options = { ...notes.options, limits: { ...notes.options.limits, timeMs: Infinity } }
    t.strictSame(await limitsOf({ provider: 'rest' }), [undefined])
  })
}

t.test('limits no write, which would end half done', async (t) => {
  const notes = await startNotes()
  const params = { provider: 'rest', query: { n: { $ne: 1 } } }
  const commands = await commandsOf(async () => {
    await notes.create({ n: 0 }, params)
    await notes.create([{ n: 0 }, { n: 0 }], params)
    await notes.update(1, { n: 2 }, params)
    await notes.patch(2, { n: 3 }, params)
    await notes.patch(null, { n: 3 }, params)
    await notes.remove(3, params)
    await notes.remove(null, params)
  })
  t.ok(commands.length > 7)
  t.strictSame(toLimits(commands), [undefined])
})

t.test('INJ-16: an allowed pattern that takes too long ends at the time limit', async (t) => {
  const Model = await empty('notes')
  await Model.insertOne({ text: 'ab'.repeat(20_000) })
  const notes = new MongoDBService({ Model, operators: ['$regex'], limits: { timeMs: 50 } })
  const query = { text: { $regex: '.*a.*b.*c.*' } }
  await t.rejects(notes.find({ provider: 'rest', query }), Timeout)
  t.match(await notes.find({ provider: 'rest', query: { text: { $ne: 'a' } } }), { length: 1 })
})
