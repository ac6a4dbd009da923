import type { Collection, Document, IndexSpecification } from 'mongodb'
import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { findDuplicateKey } from '../../../src/adapter/writes/write.ts'
import { namesOf, openDatabase } from '../../support/database.ts'

const { db, empty, commandsOf } = await openDatabase(t)

interface UniqueIndex {
  readonly key: IndexSpecification
  readonly name?: string
  readonly records: readonly Document[]
  readonly fields: readonly string[]
}

const INDEXES: Readonly<Record<string, UniqueIndex>> = {
  'one field': { key: { a: 1 }, records: [{ a: 1 }, { a: 1 }], fields: ['a'] },
  'several fields': {
    key: { a: 1, 'b.c': -1 },
    records: [
      { a: 1, b: { c: 2 } },
      { a: 1, b: { c: 2 } },
    ],
    fields: ['a', 'b.c'],
  },
  'a name with spaces': {
    key: { a: 1 },
    name: 'only one a',
    records: [{ a: 1 }, { a: 1 }],
    fields: ['a'],
  },
  'values that look like the text of the server': {
    key: { a: 1 },
    records: [
      { a: 'x" } index: _id_ dup key: { _id: "y' },
      { a: 'x" } index: _id_ dup key: { _id: "y' },
    ],
    fields: ['a'],
  },
}

async function createUnique({ key, name }: UniqueIndex): Promise<Collection> {
  const collection = await empty('unique')
  await collection.dropIndexes().catch(() => undefined)
  await collection.createIndex(key, { unique: true, ...(name === undefined ? {} : { name }) })
  await collection.createIndex({ other: 1 }, { name: 'only one' })
  return collection
}

for (const [title, index] of Object.entries(INDEXES)) {
  t.test(`names the fields of a duplicate among many: ${title}`, async (t) => {
    const Model = await createUnique(index)
    const service = new MongoDBService({ Model, multi: true })
    const commands = await commandsOf(async () => {
      await t.rejects(service.create([...index.records]), {
        code: 409,
        data: { fields: index.fields },
      })
    })
    t.strictSame(namesOf(commands), ['insert', 'abortTransaction', 'listIndexes'])
  })
}

t.test('names the id, and the first duplicate of a list that is not in order', async (t) => {
  const service = new MongoDBService({ Model: await empty('ids'), multi: true })
  const docdb = { ordered: false }
  const records = [{ _id: 'a' }, { _id: 'a' }, { _id: 'b' }, { _id: 'b' }]
  await t.rejects(service.create(records, { docdb }), { code: 409, data: { fields: ['_id'] } })
  t.equal(await service.countDocuments(), 2)
})

t.test('names nothing where the text is of another kind, or indexes are unreadable', async (t) => {
  const duplicate = (message: string): Error => Object.assign(new Error(message), { code: 11000 })
  t.equal(
    await findDuplicateKey(db.collection('ids'), duplicate('E11000 duplicate key')),
    undefined,
  )
  const away = db.collection('away')
  const text = `E11000 duplicate key error collection: ${away.namespace} index: _id_ dup key: {}`
  t.equal(await findDuplicateKey(away, duplicate(text)), undefined)
  t.equal(await findDuplicateKey(away, new Error(text)), undefined)
})
