import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import type { MongoDBParams, Operation } from '../../src/adapter/mongodb-params.ts'
import { createDriverOptions } from '../../src/adapter/mongodb-params.ts'
import { NotFound } from '../../src/core/errors/index.ts'
import { openDatabase } from '../support/database.ts'

const { empty } = await openDatabase(t)

const REFUSED: readonly [Operation, object, RegExp][] = [
  ['read', { upsert: true }, /params\.docdb\.upsert is not one for read/],
  ['read', { arrayFilters: [] }, /arrayFilters/],
  ['read', { limit: 5 }, /limit/],
  ['read', { skip: 5 }, /skip/],
  ['read', { explain: true }, /explain/],
  ['read', { timeoutMS: 5 }, /timeoutMS/],
  ['read', { tailable: true }, /tailable/],
  ['read', { hints: 'a' }, /hints is not one for read; did you mean 'hint'/],
  ['read', { raw: true }, /raw/],
  ['create', { upsert: true }, /upsert/],
  ['create', { projection: {} }, /projection/],
  ['create', { collation: { locale: 'en' } }, /params\.docdb\.collation is not one for create/],
  ['create', { forceServerObjectId: true }, /forceServerObjectId/],
  ['create', { signal: new AbortController().signal }, /signal/],
  ['update', { arrayFilters: [] }, /arrayFilters/],
  ['patch', { signal: new AbortController().signal }, /signal/],
  ['patch', { returnDocument: 'before' }, /returnDocument/],
  ['patch', { includeResultMetadata: true }, /includeResultMetadata/],
  ['patch', { sesion: 1 }, /sesion.*did you mean 'session'/],
  ['patch of many', { upsert: true }, /upsert is not one for patch of many/],
  ['remove', { upsert: true }, /upsert/],
  ['remove of many', { signal: new AbortController().signal }, /signal/],
  ['read', JSON.parse('{"__proto__":1}'), /__proto__/],
  ['read', { constructor: 1 }, /constructor/],
]

for (const [operation, docdb, message] of REFUSED) {
  t.test(`names ${Object.keys(docdb)[0]}, which does nothing in a ${operation}`, async (t) => {
    t.throws(() => createDriverOptions({ docdb } as MongoDBParams, operation), { message })
    t.throws(() => createDriverOptions({ mongodb: docdb } as MongoDBParams, operation), TypeError)
  })
}

t.test('passes on what a command of the operation takes, leaves the params alone', async (t) => {
  const docdb = Object.freeze({ comment: 'a', maxTimeMS: 5, collation: { locale: 'en' } })
  for (const operation of ['read', 'update', 'patch', 'remove'] as const) {
    t.strictSame(createDriverOptions({ docdb }, operation), docdb)
  }
  t.strictSame(createDriverOptions({ docdb: { comment: 'a' } }, 'create'), { comment: 'a' })
  const collation = { locale: 'de' }
  t.strictSame(createDriverOptions({ collation }, 'read'), { collation })
  t.strictSame(createDriverOptions({ collation, mongodb: docdb }, 'read'), docdb)
  t.strictSame(createDriverOptions({ docdb: { upsert: undefined } } as never, 'read'), {
    upsert: undefined,
  })
})

t.test('refuses options under both names, as one of them would be lost', async (t) => {
  t.throws(() => createDriverOptions({ docdb: {}, mongodb: {} }, 'read'), /params\.mongodb/)
})

t.test('leaves params.collation out of create, and compares by it everywhere else', async (t) => {
  const notes = new MongoDBService({ Model: await empty('notes'), multi: true })
  const params = { collation: { locale: 'en', strength: 2 } }
  const { _id } = await notes.create({ text: 'a' }, params)
  await notes.create([{ text: 'b' }], params)
  const matching = { ...params, query: { text: 'A' } }
  t.match(await notes.find(matching), [{ text: 'a' }])
  t.match(await notes.get(_id, matching), { text: 'a' })
  t.match(await notes.update(_id, { text: 'a', n: 1 }, matching), { n: 1 })
  t.match(await notes.patch(_id, { n: 2 }, matching), { n: 2 })
  t.match(await notes.patch(null, { n: 3 }, matching), [{ n: 3 }])
  t.match(await notes.remove(null, matching), [{ n: 3 }])
  await t.rejects(notes.remove(_id, matching), NotFound)
})

t.test('tells the caller in the process what is wrong with the params', async (t) => {
  const notes = new MongoDBService({ Model: await empty('notes') })
  await t.rejects(notes.find({ docdb: { upsert: true } }), /params\.docdb\.upsert/)
  await t.rejects(notes.find({ adapter: { mutli: true } as never }), /did you mean 'multi'/)
  await t.rejects(notes.getModel({ adapter: { mutli: true } as never }), /did you mean 'multi'/)
})
