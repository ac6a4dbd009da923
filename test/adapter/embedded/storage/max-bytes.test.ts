import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { startEmbeddedMongo } from '../../../../src/adapter/embedded/index.ts'

/** A document whose id the test chooses. */
type Item = { _id?: string | number; [field: string]: unknown }

const FULL = { code: 14031, message: /no space left: maxBytes is 10000/ }
const text = 'x'.repeat(1_900)

/** Returns a client of a server that stores up to 10,000 bytes, five such texts. */
async function openSmall(t: Test): Promise<MongoClient> {
  const server = await startEmbeddedMongo({ maxBytes: 10_000 })
  t.teardown(() => server.close())
  const client = new MongoClient(server.url)
  t.teardown(() => client.close())
  return client
}

const create = (count: number): Item[] => Array.from({ length: count }, (_, _id) => ({ _id, text }))

t.test('writes that grow beyond maxBytes are refused, and others are done', async (t) => {
  const collection = (await openSmall(t)).db('x').collection<Item>('c')
  await t.rejects(collection.insertMany(create(7)), { ...FULL, insertedCount: 5 })
  await t.rejects(collection.updateOne({ _id: 0 }, { $set: { text: text + text } }), FULL)
  await t.rejects(collection.updateOne({ _id: 9 }, { $set: { text } }, { upsert: true }), FULL)
  await collection.updateOne({ _id: 0 }, { $set: { text: text.toUpperCase() } })
  await collection.updateOne({ _id: 1 }, { $set: { text: '' } })
  await collection.insertOne({ text: text.slice(100) })
  await collection.deleteMany({ _id: { $in: [2, 3] } })
  await collection.insertMany([{ text }, { text }])
  await t.rejects(collection.insertOne({ text }), FULL)
  t.equal(await collection.countDocuments(), 6)
})

t.test('a dropped collection, database and a replaced one give their bytes back', async (t) => {
  const database = (await openSmall(t)).db('x')
  const collection = database.collection<Item>('c')
  const gone = [
    () => collection.drop(),
    () => database.dropDatabase(),
    () =>
      database
        .collection('empty')
        .aggregate([{ $out: 'c' }])
        .toArray(),
  ]
  for (const empty of gone) {
    await collection.insertMany(create(5))
    await t.rejects(database.collection('d').insertOne({ text }), FULL)
    await empty()
  }
  await collection.insertMany(create(3))
  for (let time = 0; time < 3; time += 1) {
    await t.rejects(collection.aggregate([{ $out: 'd' }]).toArray(), FULL)
  }
  t.equal(await database.collection('d').countDocuments(), 0)
  await collection.insertOne({ text })
})

t.test('what a transaction writes counts, and counts no more when it has ended', async (t) => {
  const client = await openSmall(t)
  const collection = client.db('x').collection<Item>('c')
  await collection.insertMany(create(3))
  const session = client.startSession()
  t.teardown(() => session.endSession())
  for (let time = 0; time < 3; time += 1) {
    session.startTransaction()
    await collection.insertOne({ text }, { session })
    await collection.insertOne({ text }, { session })
    await t.rejects(client.db('x').collection('d').insertOne({ text }), FULL)
    await session.abortTransaction()
  }
  session.startTransaction()
  await collection.insertOne({ text }, { session })
  await t.rejects(collection.insertMany(create(3), { session }))
  await session.abortTransaction()
  session.startTransaction()
  await collection.updateOne({ _id: 0 }, { $set: { n: 1 } }, { session })
  await collection.insertOne({ text }, { session })
  // The transaction may still have to see what is deleted here.
  await collection.deleteOne({ _id: 2 })
  await t.rejects(collection.insertOne({ text }), FULL)
  await session.commitTransaction()
  await collection.insertMany([{ text }, { text }])
  await t.rejects(collection.insertOne({ text }), FULL)
  t.equal(await collection.countDocuments(), 5)
})
