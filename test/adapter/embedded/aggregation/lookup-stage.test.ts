import type { Document } from 'mongodb'
import t from 'tap'
import { pluck } from '../../../support/pluck.ts'
import { openDatabase } from '../open-database.ts'
import { AS_CASES, JOIN_CASES, PIPELINE_CASES } from './lookup-cases.ts'

type Numbered = Document & { _id: number }

for (const cases of [JOIN_CASES, PIPELINE_CASES]) {
  t.test('$lookup', async (t) => {
    const database = await openDatabase(t)
    const collection = database.collection<Numbered>('documents')
    const others = database.collection<Numbered>('others')
    for (const [title, { documents, others: stored, lookup, found }] of Object.entries(cases)) {
      await t.test(title, async (t) => {
        await collection.deleteMany({})
        await others.deleteMany({})
        await collection.insertMany(documents.map((document, _id) => ({ _id, ...document })))
        await others.insertMany(stored as Numbered[])
        const stage = { $lookup: { from: 'others', as: 'out', ...lookup } }
        const results = await collection.aggregate([stage]).toArray()
        t.strictSame(
          results.map(({ out }) => out.map(({ _id }: Document) => _id)),
          found,
        )
      })
    }
  })
}

t.test('$lookup puts its result', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('documents')
  for (const [as, document, result] of AS_CASES) {
    await t.test(`at ${as} of ${JSON.stringify(document)}`, async (t) => {
      await collection.deleteMany({})
      await collection.insertOne({ ...document })
      const pipeline = [{ $lookup: { from: 'none', pipeline: [], as } }, { $unset: '_id' }]
      t.strictSame(await collection.aggregate(pipeline).toArray(), [result])
    })
  }
})

t.test('$lookup has in its result what its pipeline makes', async (t) => {
  const database = await openDatabase(t)
  const users = database.collection<Numbered>('users')
  await users.insertMany([{ _id: 1, name: 'Ada' }, { _id: 2, name: 'Bob' }, { _id: 3 }])
  const match = { $match: { $expr: { $gt: ['$_id', '$$own'] } } }
  const count = { from: 'users', let: { own: '$_id' }, pipeline: [match, { $count: 'n' }] }
  const found = await users.aggregate([{ $lookup: { ...count, as: 'after' } }]).toArray()
  t.strictSame(pluck(found, 'after'), [[{ n: 2 }], [{ n: 1 }], []])
})
