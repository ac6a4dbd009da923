import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

t.test('cursors', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('cursors')
  await collection.insertMany(Array.from({ length: 250 }, (_, _id) => ({ _id })))
  await t.test('give 101 documents first and the rest on demand', async (t) => {
    const { cursor } = await database.command({ find: 'cursors', filter: {} })
    t.equal(cursor.firstBatch.length, 101)
    const more = await database.command({
      getMore: cursor.id,
      collection: 'cursors',
      batchSize: 100,
    })
    t.equal(more['cursor'].nextBatch.length, 100)
    t.equal((await collection.find().toArray()).length, 250)
  })
  await t.test('obey batchSize, skip and limit', async (t) => {
    const found = await collection
      .find()
      .sort({ _id: -1 })
      .batchSize(7)
      .skip(10)
      .limit(20)
      .toArray()
    t.same(
      found.map(({ _id }) => _id),
      Array.from({ length: 20 }, (_, index) => 239 - index),
    )
  })
  await t.test('are gone after killCursors', async (t) => {
    const { cursor } = await database.command({ find: 'cursors', batchSize: 1 })
    t.match(await database.command({ killCursors: 'cursors', cursors: [cursor.id] }), {
      cursorsKilled: { length: 1 },
    })
    await t.rejects(database.command({ getMore: cursor.id, collection: 'cursors' }), { code: 43 })
  })
  await t.test('keep a batch below 256 kB, which a client decodes at once', async (t) => {
    const large = database.collection('batches')
    for (let count = 0; count < 3; count += 1) await large.insertOne({ text: 'x'.repeat(110_000) })
    const { cursor } = await database.command({ find: 'batches' })
    t.equal(cursor.firstBatch.length, 2)
    t.equal((await large.find().toArray()).length, 3)
  })
})
