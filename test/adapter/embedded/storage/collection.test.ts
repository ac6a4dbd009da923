import t from 'tap'
import { openDatabase } from '../open-database.ts'

t.test('a collation of the collection holds for its filters, its _id and indexes', async (t) => {
  const database = await openDatabase(t)
  const collection = await database.createCollection<{ _id: string; name?: string }>('german', {
    collation: { locale: 'de', strength: 1 },
  })
  await collection.createIndex({ name: 1 }, { unique: true })
  await collection.insertOne({ _id: 'A', name: 'Ä' })
  t.same(await collection.findOne({ _id: 'a' }), { _id: 'A', name: 'Ä' })
  await t.rejects(collection.insertOne({ _id: 'a' }), { code: 11000 })
  await t.rejects(collection.insertOne({ _id: 'b', name: 'a' }), { code: 11000 })
  const simple = { collation: { locale: 'simple' } }
  t.equal(await collection.findOne({ _id: 'a' }, simple), null)
})
