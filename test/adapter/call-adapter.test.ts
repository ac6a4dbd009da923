import type { ClientSession, Document } from 'mongodb'
import { ReadPreference } from 'mongodb'
import t from 'tap'

import { readFacts } from '../../src/adapter/adapter-call.ts'
import { addServiceOptions } from '../../src/adapter/call-adapter.ts'
import { MongoDBService, resolveMongoDBOptions } from '../../src/adapter/index.ts'
import type { DriverOptions, MongoDBParams, Operation } from '../../src/adapter/mongodb-params.ts'
import { createDriverOptions } from '../../src/adapter/mongodb-params.ts'
import { Timeout } from '../../src/core/errors/index.ts'
import { openDatabase } from '../support/database.ts'
import { idleCollection } from '../support/idle-collection.ts'

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
    t.strictSame(await limitsOf({ provider: 'rest', docdb: { maxTimeMS: 70_000 } }), [70_000])
    notes.options = { ...notes.options, limits: { ...notes.options.limits, timeMs: 90_000 } }
    t.strictSame(await limitsOf({ provider: 'rest' }), [90_000])
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
  const limited = commands.filter((command) => command['maxTimeMS'] !== undefined)
  // What finds the records of a patch and a remove of many.
  t.match(limited, [{ find: 'notes' }, { find: 'notes' }])
  t.strictSame(toLimits(limited), [5_000])
  t.ok(commands.length > 7 + limited.length)
})

t.test('an allowed pattern that takes too long ends at the time limit (INJ-16)', async (t) => {
  const Model = await empty('notes')
  await Model.insertOne({ text: 'ab'.repeat(20_000) })
  const notes = new MongoDBService({ Model, operators: ['$regex'], limits: { timeMs: 50 } })
  const query = { text: { $regex: '.*a.*b.*c' } }
  await t.rejects(notes.find({ provider: 'rest', query }), Timeout)
  // Without the limit, which a slow machine may reach by any query.
  const others = new MongoDBService({ Model })
  t.match(await others.find({ provider: 'rest', query: { text: { $ne: 'a' } } }), { length: 1 })
})

const CONCERNS = {
  readPreference: 'secondaryPreferred',
  readConcern: { level: 'majority' },
  writeConcern: { w: 1, journal: true },
} as const
const settings = resolveMongoDBOptions({ Model: idleCollection, ...CONCERNS })
const { writeConcern, ...reading } = CONCERNS

function toOptions(params: MongoDBParams, operation: Operation): DriverOptions {
  const options = createDriverOptions(params, operation)
  addServiceOptions(options, readFacts({ options: settings }, params), operation)
  return options
}

t.test('gives reads and writes the concerns of the service', async (t) => {
  for (const operation of ['read', 'cursor', 'aggregate'] as const) {
    t.strictSame(toOptions({}, operation), reading)
  }
  const writes = ['create', 'update', 'patch', 'remove', 'patch of many', 'remove of many'] as const
  for (const operation of [...writes, 'aggregate into a collection'] as const) {
    t.strictSame(toOptions({}, operation), { writeConcern })
  }
})

t.test('lets params.docdb win over the concerns of the service', async (t) => {
  const docdb = { readPreference: 'primary', readConcern: { level: 'local' } } as const
  t.strictSame(toOptions({ docdb }, 'read'), docdb)
  const own = { writeConcern: { w: 'majority' } } as const
  t.strictSame(toOptions({ mongodb: own }, 'patch'), own)
})

t.test('leaves the concerns of a transaction alone', async (t) => {
  const session = { inTransaction: () => true } as ClientSession
  t.strictSame(toOptions({ docdb: { session } }, 'read'), { session })
  t.strictSame(toOptions({ docdb: { session } }, 'patch'), { session })
})

t.test('refuses to read from another server than the primary within a transaction', async (t) => {
  const session = { inTransaction: () => true } as ClientSession
  for (const readPreference of ['secondary', new ReadPreference('nearest')] as const) {
    for (const operation of ['read', 'aggregate', 'patch of many'] as const) {
      t.throws(() => toOptions({ docdb: { session, readPreference } }, operation), {
        name: 'TypeError',
        message: /^The option params\.docdb\.readPreference must be 'primary' within a transaction/,
      })
    }
  }
  const docdb = { session, readPreference: ReadPreference.primary }
  t.strictSame(toOptions({ docdb }, 'read'), docdb)
  t.match(toOptions({ docdb: { readPreference: 'secondary' } }, 'read'), {
    readPreference: 'secondary',
  })
})

t.test('sends the concerns of the service', async (t) => {
  const notes = new MongoDBService({ Model: await empty('notes'), multi: true, ...CONCERNS })
  const concernsOf = async (run: () => Promise<unknown>) =>
    (await commandsOf(run)).map(({ readConcern, writeConcern }) => readConcern ?? writeConcern)
  t.match(await concernsOf(() => notes.find()), [{ level: 'majority' }])
  t.match(await concernsOf(() => notes.countDocuments()), [{ level: 'majority' }])
  t.match(await concernsOf(() => notes.create({ n: 1 })), [{ w: 1, j: true }])
  const commit = { w: 1, j: true }
  const patched = await concernsOf(() => notes.patch(null, { n: 2 }))
  t.match(patched, [undefined, undefined, undefined, commit])
  t.match(await concernsOf(() => notes.remove(null)), [undefined, undefined, commit])
})
