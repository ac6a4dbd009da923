import t from 'tap'
import { pluck } from '../../../support/pluck.ts'
import { openClient } from '../open-database.ts'

t.test('collections and databases are made, listed and dropped', async (t) => {
  const client = await openClient(t)
  const database = client.db('shop')
  const names = async (): Promise<string[]> =>
    (await database.listCollections().toArray()).map(({ name }) => name)
  await database.createCollection('a')
  await t.rejects(database.createCollection('a', { collation: { locale: 'en' } }), { code: 48 })
  await database.collection('b').insertOne({ x: 1 })
  t.same(await names(), ['a', 'b'])
  t.same(pluck((await client.db().admin().listDatabases()).databases, 'name'), ['shop'])
  t.match(await client.db().admin().buildInfo(), { version: '7.0.0', ok: 1 })
  t.equal(await database.collection('b').drop(), true)
  t.equal(await database.collection('b').drop(), true)
  await database.dropDatabase()
  t.same(await names(), [])
  await t.rejects(database.createCollection('capped', { capped: true, size: 10 }), { code: 72 })
  await t.rejects(database.createCollection('checked', { validator: { a: 1 } }), { code: 72 })
  await t.rejects(database.collection('a$b').insertOne({}), { code: 73 })
})

t.test('a name no collection can have is refused, also where nothing is written', async (t) => {
  const client = await openClient(t)
  const database = client.db('shop')
  for (const name of ['a$b', '.a', 'a.', 'a\0b', '']) {
    for (const command of [
      ...['find', 'count', 'drop', 'listIndexes', 'create'].map((one) => ({ [one]: name })),
      { distinct: name, key: 'a' },
      { aggregate: name, pipeline: [], cursor: {} },
      { update: name, updates: [{ q: {}, u: { $set: { a: 1 } } }] },
      { delete: name, deletes: [{ q: {}, limit: 1 }] },
      { findAndModify: name, remove: true },
    ]) {
      const { writeErrors: [error] = [] } = await database
        .command(command)
        .catch((error: unknown) => ({ writeErrors: [error] }))
      t.equal(error?.code, 73, JSON.stringify(command))
    }
  }
  const counted = await database.command({ count: 'system.views' })
  t.match(counted, { n: 0, ok: 1 }, 'a reserved one is read')
})

t.test('a command that is not there is refused by its name', async (t) => {
  const client = await openClient(t)
  for (const name of [
    ...['renameCollection', 'connectionStatus', 'killSessions', 'killAllSessions'],
    ...['refreshSessions', 'collMod', 'mapReduce', 'explain', 'serverStatus', 'constructor'],
  ]) {
    const message = `The command '${name}' is not supported by the embedded server`
    await t.rejects(client.db('shop').command({ [name]: 1 }), { code: 59, message })
  }
})
