import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'

import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { connectMongoDB, MongoDBService } from '../../src/adapter/index.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { until } from '../support/until.ts'

const embedded = await startEmbeddedMongo()
const direct = new MongoClient(embedded.url)
t.teardown(async () => {
  await direct.close()
  await embedded.close()
})

const UNKNOWN = { name: 'Unavailable', code: 503, errors: { outcome: 'unknown' } }

/** Removes all records of a collection and inserts two. */
async function fill(name: string) {
  const collection = direct.db('a').collection<{ _id: number; n: number }>(name)
  await collection.deleteMany({})
  await collection.insertMany([
    { _id: 1, n: 0 },
    { _id: 2, n: 0 },
  ])
  return collection
}

t.test('a write that too few servers confirm is unknown, not failed', async (t) => {
  const stored = await fill('unconfirmed')
  const notes = new MongoDBService({ Model: stored, multi: true })
  const params = { docdb: { writeConcern: { w: 3 } } }
  await t.rejects(notes.create({ _id: 3 }, params), UNKNOWN)
  await t.rejects(notes.create([{ _id: 4 }], params), UNKNOWN)
  await t.rejects(notes.patch(1, { n: 1 }, params), UNKNOWN)
  await t.rejects(notes.patch(null, { m: 1 }, params), UNKNOWN)
  await t.rejects(notes.update(2, { n: 2 }, params), UNKNOWN)
  await t.rejects(notes.remove(3, params), UNKNOWN)
  await t.rejects(notes.remove(null, { ...params, query: { _id: 4 } }), UNKNOWN)
  t.strictSame(await stored.find().toArray(), [
    { _id: 1, n: 1, m: 1 },
    { _id: 2, n: 2 },
  ])
})

const WRITES: readonly [string, (notes: MongoDBService) => Promise<unknown>, Document[]][] = [
  ['update', (notes) => notes.patch(null, { $inc: { n: 1 } }), [{ n: 1 }, { n: 1 }]],
  ['delete', (notes) => notes.remove(null), []],
]

for (const [command, write, expected] of WRITES) {
  t.test(`DB-11: a broken connection ends an ${command} of many, which runs once`, async (t) => {
    const stored = await fill('broken')
    const proxy = await startFaultProxy(t, embedded.url)
    const client = await connectMongoDB(proxy.url, { monitorCommands: true })
    t.teardown(() => client.close())
    let sent = 0
    client.on('commandStarted', ({ commandName }) => {
      if (commandName !== command || sent > 0) return
      sent += 1
      proxy.hold()
    })
    const notes = new MongoDBService({ Model: client.db('a').collection('broken'), multi: true })
    const written = t.rejects(write(notes), UNKNOWN)
    await until(() => sent === 1)
    proxy.reset()
    proxy.release()
    await written
    t.equal(sent, 1)
    t.match(await stored.find().toArray(), [{ n: 0 }, { n: 0 }], 'was not committed')
    await write(notes)
    t.match(await stored.find().toArray(), expected, 'works again')
  })
}
