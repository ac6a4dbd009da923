import t from 'tap'
import { openClient } from '../open-database.ts'

t.test('collections and databases are made, listed, renamed and dropped', async (t) => {
  const client = await openClient(t)
  const database = client.db('shop')
  const names = async (): Promise<string[]> =>
    (await database.listCollections().toArray()).map(({ name }) => name)
  await database.createCollection('a')
  await t.rejects(database.createCollection('a', { collation: { locale: 'en' } }), { code: 48 })
  await database.collection('b').insertOne({ x: 1 })
  t.same(await names(), ['a', 'b'])
  t.same(
    (await client.db().admin().listDatabases()).databases.map(({ name }) => name),
    ['shop'],
  )
  await database.collection('b').rename('c')
  t.equal(await database.collection('c').countDocuments({ x: 1 }), 1)
  await t.rejects(database.collection('c').rename('a'), { code: 48 })
  t.equal(await database.collection('c').drop(), true)
  t.equal(await database.collection('c').drop(), true)
  await database.dropDatabase()
  t.same(await names(), [])
  await t.rejects(database.createCollection('capped', { capped: true, size: 10 }), { code: 72 })
  await t.rejects(database.createCollection('checked', { validator: { a: 1 } }), { code: 72 })
  await t.rejects(database.collection('a$b').insertOne({}), { code: 73 })
})
