import type { Document } from 'mongodb'
import { Long } from 'mongodb'
import t from 'tap'
import { COMMANDS } from '../../../../src/adapter/embedded/dispatch.ts'
import { openClient, openDatabase } from '../open-database.ts'

/** One valid body for each command that has a table of its fields. */
const BODIES: Readonly<Record<string, Document>> = {
  ping: { ping: 1 },
  buildInfo: { buildInfo: 1 },
  buildinfo: { buildinfo: 1 },
  listDatabases: { listDatabases: 1 },
  endSessions: { endSessions: [] },
  find: { find: 'c' },
  count: { count: 'c' },
  distinct: { distinct: 'c', key: 'a' },
  getMore: { getMore: Long.fromNumber(1), collection: 'c' },
  killCursors: { killCursors: 'c', cursors: [Long.fromNumber(1)] },
  insert: { insert: 'c', documents: [{}] },
  update: { update: 'c', updates: [{ q: {}, u: { $set: { a: 1 } } }] },
  delete: { delete: 'c', deletes: [{ q: {}, limit: 1 }] },
  findAndModify: { findAndModify: 'c', update: { $set: { a: 1 } } },
  aggregate: { aggregate: 'c', pipeline: [], cursor: {} },
  create: { create: 'made' },
  drop: { drop: 'made' },
  dropDatabase: { dropDatabase: 1 },
  listCollections: { listCollections: 1 },
  createIndexes: { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a' }] },
  dropIndexes: { dropIndexes: 'c', index: 'a' },
  listIndexes: { listIndexes: 'c' },
}

/** Returns the code of a command's refusal, `undefined` where it is done. */
async function codeOf(run: Promise<Document>): Promise<unknown> {
  return await run.then(
    ({ writeErrors }) => writeErrors?.[0]?.code,
    ({ code }) => code,
  )
}

t.test('a field that a command does not know is refused by name:', async (t) => {
  const database = await openDatabase(t)
  for (const [name, body] of Object.entries(BODIES)) {
    await t.test(name, async (t) => {
      const sent = database.command({ ...body, sortOf: 1 })
      const message = `BSON field '${name}.sortOf' is an unknown field.`
      await t.rejects(sent, { code: 40415, message })
    })
  }
  await t.test('and every command has such a table, but for the first greeting', (t) => {
    const free = ['hello', 'ismaster', 'isMaster']
    const inTransactions = ['commitTransaction', 'abortTransaction']
    t.strictSame(
      [...COMMANDS.keys()].toSorted(),
      [...Object.keys(BODIES), ...free, ...inTransactions].toSorted(),
    )
    const withoutTable = [...COMMANDS].filter(([, { fields }]) => fields === undefined)
    t.strictSame(
      withoutTable.map(([name]) => name),
      free,
    )
    t.end()
  })
})

t.test('the fields of every command may stand in any', async (t) => {
  const client = await openClient(t)
  const common = { comment: { by: 'me' }, maxTimeMS: 5000, apiVersion: '1' }
  const bodies = Object.entries(BODIES).filter(([name]) => name !== 'getMore')
  for (const [name, body] of bodies) {
    await client.db('test').collection('c').insertOne({ a: 1 })
    await client.db('test').collection('c').createIndex({ a: 1 }, { name: 'a' })
    const sent = client.db('test').command({ ...body, ...common })
    t.equal(await codeOf(sent), undefined, name)
  }
})

type Refusal = readonly [title: string, command: Document, code: number]

const FIND = { find: 'c' }
const UPDATE = { q: {}, u: { $set: { a: 1 } } }
const update = (fields: Document): Document => ({
  update: 'c',
  updates: [{ ...UPDATE, ...fields }],
})
const remove = (fields: Document): Document => ({
  delete: 'c',
  deletes: [{ q: {}, limit: 0, ...fields }],
})

const REFUSALS: readonly Refusal[] = [
  ['a filter that is a string', { ...FIND, filter: 'a' }, 14],
  ['a limit that is a string', { ...FIND, limit: '1' }, 14],
  ['a negative skip', { ...FIND, skip: -1 }, 51024],
  ['a negative limit', { ...FIND, limit: -1 }, 51024],
  ['a negative batchSize', { ...FIND, batchSize: -1 }, 51024],
  ['a limit of a fraction', { ...FIND, limit: 1.5 }, 2],
  ['a time limit that is a string', { ...FIND, maxTimeMS: '5' }, 14],
  ['a time limit of 2^31', { ...FIND, maxTimeMS: 2 ** 31 }, 2],
  ['a singleBatch that is a string', { ...FIND, singleBatch: 'yes' }, 14],
  ...['tailable', 'awaitData', 'noCursorTimeout', 'returnKey', 'showRecordId'].map(
    (name): Refusal => [`find with ${name}`, { ...FIND, [name]: true }, 72],
  ),
  ...['min', 'max'].map(
    (name): Refusal => [`find with ${name}`, { ...FIND, [name]: { a: 1 } }, 72],
  ),
  ['an update with a sort', update({ sort: { a: 1 } }), 40415],
  ['an update with an unknown field', update({ first: true }), 40415],
  ['an update without q', { update: 'c', updates: [{ u: {} }] }, 40414],
  ['an update with constants', update({ c: { a: 1 } }), 72],
  ['a filter of an update that is a list', update({ q: [] }), 14],
  ['array filters that are no list', update({ arrayFilters: {} }), 14],
  ['a delete with an unknown field', remove({ sort: {} }), 40415],
  ['a delete without a limit', { delete: 'c', deletes: [{ q: {} }] }, 40414],
  ['a delete of two', remove({ limit: 2 }), 9],
  ['an insert with a collation', { insert: 'c', documents: [{}], collation: {} }, 40415],
  ['an insert of nothing', { insert: 'c', documents: [] }, 16],
  ['an insert of a number', { insert: 'c', documents: [1] }, 14],
  [
    'an aggregate with a batch size of its own',
    { aggregate: 'c', pipeline: [], batchSize: 1 },
    40415,
  ],
  ['an unknown cursor option', { aggregate: 'c', pipeline: [], cursor: { size: 1 } }, 40415],
  ['an aggregate without a cursor', { aggregate: 'c', pipeline: [] }, 9],
  ['an aggregate that explains', { aggregate: 'c', pipeline: [], cursor: {}, explain: true }, 72],
  ['a pipeline that is no list', { aggregate: 'c', pipeline: {}, cursor: {} }, 14],
  ['removing and updating', { findAndModify: 'c', remove: true, update: {} }, 9],
  ['removing and returning the new one', { findAndModify: 'c', remove: true, new: true }, 9],
  ['removing and inserting', { findAndModify: 'c', remove: true, upsert: true }, 9],
  ['neither removing nor updating', { findAndModify: 'c' }, 9],
  ['distinct without a key', { distinct: 'c' }, 40414],
  ...['capped', 'timeseries', 'viewOn', 'validator', 'storageEngine', 'clusteredIndex'].map(
    (name): Refusal => [`create with ${name}`, { create: 'x', [name]: { a: 1 } }, 72],
  ),
  ['a list of collections of an unknown cursor', { listCollections: 1, cursor: { a: 1 } }, 40415],
  ['a version of the API that does not exist', { ping: 1, apiVersion: '2' }, 322],
  ['a strict API', { ping: 1, apiVersion: '1', apiStrict: true }, 72],
  ['a time limit below zero', { ping: 1, maxTimeMS: -1 }, 2],
  ['a time limit that is a fraction', { ping: 1, maxTimeMS: 1.5 }, 2],
  ['an unknown read concern', { ...FIND, readConcern: { level: 'newest' } }, 9],
  ['an unknown field of a read concern', { ...FIND, readConcern: { at: 1 } }, 72],
  ['an unknown field of a write concern', { ...BODIES['insert'], writeConcern: { x: 1 } }, 9],
  ['a write concern below zero', { ...BODIES['insert'], writeConcern: { w: -1 } }, 9],
  ['a write concern that is a list', { ...BODIES['insert'], writeConcern: { w: [1] } }, 9],
  ['a write concern of a name', { ...BODIES['insert'], writeConcern: { w: 'far' } }, 79],
  ['autocommit outside of a transaction', { ...FIND, autocommit: false }, 72],
  ['an unknown read preference', { ...FIND, $readPreference: { mode: 'any' } }, 9],
  ['an unknown field of a read preference', { ...FIND, $readPreference: { at: 1 } }, 40415],
  ['a sort by an empty name', { ...FIND, sort: { 'a..b': 1 } }, 15998],
  ['a count to a fraction', { count: 'c', limit: 1.5 }, 2],
  ['a hint that is a number', { ...FIND, hint: 5 }, 9],
  ['a hint at the natural order', { ...FIND, hint: { $natural: 1 } }, 2],
  ['a let that is a list', { ...FIND, let: [] }, 14],
  ['a let that is no name', { ...FIND, let: { A: 1 } }, 16867],
  ['a let of an unknown expression', { ...FIND, let: { a: { $nope: 1 } } }, 168],
]

t.test('a command is refused with MongoDB’s code for', async (t) => {
  const database = await openDatabase(t)
  await database.collection('c').insertOne({ a: 1 })
  for (const [title, command, code] of REFUSALS) {
    await t.test(title, async (t) => {
      t.equal(await codeOf(database.command(command)), code)
      t.equal(await database.collection('c').countDocuments(), 1)
    })
  }
})

t.test('null is as good as no field', async (t) => {
  const database = await openDatabase(t)
  await database.collection('c').insertOne({ a: 1 })
  const reply = await database.command({ find: 'c', filter: null, sort: null, limit: null })
  t.equal(reply['cursor'].firstBatch.length, 1)
})

const COLLATIONS: readonly (readonly [title: string, collation: unknown, code: number])[] = [
  ['no object', 'en', 14],
  ['no locale', { strength: 1 }, 40414],
  ['an unknown locale', { locale: 'xx' }, 2],
  ['a locale that is none', { locale: 'not a locale' }, 2],
  ['an unknown field', { locale: 'en', level: 1 }, 40415],
  ['a strength of 4', { locale: 'en', strength: 4 }, 2],
  ['a strength of 9', { locale: 'en', strength: 9 }, 2],
  ['a strength that is a string', { locale: 'en', strength: '2' }, 14],
  ['caseLevel', { locale: 'en', caseLevel: true }, 72],
  ['caseFirst', { locale: 'en', caseFirst: 'upper' }, 72],
  ['alternate', { locale: 'en', alternate: 'shifted' }, 72],
  ['maxVariable', { locale: 'en', maxVariable: 'punct' }, 72],
  ['backwards', { locale: 'fr', backwards: true }, 72],
  ['the simple one with a strength', { locale: 'simple', strength: 1 }, 2],
]

t.test('a collation is refused, wherever it stands, with', async (t) => {
  const database = await openDatabase(t)
  await database.collection('c').insertOne({ a: 1 })
  for (const [title, collation, code] of COLLATIONS) {
    const index = { key: { a: 1 }, name: 'a', collation }
    const commands: readonly Document[] = [
      { find: 'c', collation },
      { count: 'c', collation },
      { distinct: 'c', key: 'a', collation },
      { aggregate: 'c', pipeline: [], cursor: {}, collation },
      { findAndModify: 'c', update: { a: 1 }, collation },
      update({ collation }),
      remove({ collation }),
      { create: 'x', collation },
      { createIndexes: 'c', indexes: [index] },
    ]
    await t.test(title, async (t) => {
      for (const command of commands) {
        // An index answers with a code of its own for what is refused by name.
        const expected = code === 72 && 'createIndexes' in command ? [72, 67] : [code]
        t.ok(expected.includes(Number(await codeOf(database.command(command)))))
      }
    })
  }
})
