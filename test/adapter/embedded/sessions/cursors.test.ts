import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

t.test('cursors', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Numbered>('cursors')
  await collection.insertMany(Array.from({ length: 250 }, (_, _id) => ({ _id })))
  const fill = async (name: string, size: { documents: number; bytes: number }) => {
    const text = 'x'.repeat(size.bytes)
    await database
      .collection(name)
      .insertMany(Array.from({ length: size.documents }, () => ({ text })))
  }
  /** Resolves to how many documents each reply has. */
  const countReplies = async (command: Document, options: Document = {}): Promise<number[]> => {
    const { cursor } = await database.command(command)
    const counts: number[] = [cursor.firstBatch.length]
    for (let { id } = cursor; id > 0; ) {
      const collection = Object.values(command)[0]
      const more = await database.command({ getMore: id, collection, ...options })
      counts.push(more['cursor'].nextBatch.length)
      id = more['cursor'].id
    }
    return counts
  }
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
  await t.test('send up to 256 kB in a reply, which a client decodes at once', async (t) => {
    await fill('batches', { documents: 100, bytes: 20_000 })
    const counts = [12, 12, 12, 12, 12, 12, 12, 12, 4]
    t.strictSame(await countReplies({ find: 'batches' }), counts)
    t.strictSame(await countReplies({ aggregate: 'batches', pipeline: [], cursor: {} }), counts)
    t.strictSame(await countReplies({ find: 'batches', limit: 30 }), [12, 12, 6])
    t.strictSame(await countReplies({ find: 'batches', limit: 30, batchSize: 40 }), [12, 12, 6])
    const small = { find: 'batches', limit: 30, batchSize: 5 }
    t.strictSame(await countReplies(small, { batchSize: 10 }), [5, 10, 10, 5])
  })
  await t.test('send a document that is larger than a batch alone', async (t) => {
    await fill('large', { documents: 3, bytes: 300_000 })
    t.strictSame(await countReplies({ find: 'large' }), [1, 1, 1])
  })
  await t.test('answer in one reply of up to 16 MiB where it is the only one', async (t) => {
    await fill('single', { documents: 110, bytes: 10_000 })
    t.equal((await database.collection('single').find().limit(-50).toArray()).length, 50)
    const one = { find: 'single', singleBatch: true }
    t.strictSame(await countReplies({ ...one, limit: 50 }), [50])
    t.strictSame(await countReplies({ ...one, batchSize: 105 }), [105])
    t.strictSame(await countReplies(one), [101], 'the default of batchSize')
    await fill('huge', { documents: 2, bytes: 9_000_000 })
    t.strictSame(await countReplies({ find: 'huge', singleBatch: true }), [1], 'no room for two')
  })
})
