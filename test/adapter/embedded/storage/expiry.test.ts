import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { holdIntervals } from '../../../support/clock.ts'
import { runAll, startScriptedServer } from '../../../support/scripted-server.ts'

const NOW = new Date()
const LATER = new Date(NOW.getTime() + 3_600_000)
const EARLIER = new Date(NOW.getTime() - 3_600_000)

/** Returns a client of a server in this thread, whose timers the test holds. */
async function openClient(t: Test): Promise<MongoClient> {
  const client = new MongoClient(await startScriptedServer(t, runAll))
  t.teardown(() => client.close())
  return client.connect()
}

t.test('records expire by an index, once a minute', async (t) => {
  const sweeps = holdIntervals(t)
  const client = await openClient(t)
  const tokens = client.db('test').collection<{ _id: string; [field: string]: unknown }>('tokens')
  await tokens.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })
  await tokens.createIndex({ 'seen.at': 1 }, { expireAfterSeconds: 7_200 })
  await tokens.createIndex(
    { usedAt: 1 },
    { expireAfterSeconds: 0, partialFilterExpression: { kind: 'guest' } },
  )
  await tokens.createIndex({ left: 1 })
  await tokens.insertMany([
    { _id: 'expired', expiresAt: EARLIER },
    { _id: 'valid', expiresAt: LATER },
    { _id: 'one of several dates', expiresAt: [LATER, EARLIER] },
    { _id: 'no date', expiresAt: '1970-01-01' },
    { _id: 'nothing' },
    { _id: 'inside', seen: [{ at: new Date(0) }] },
    { _id: 'not yet', seen: { at: EARLIER } },
    { _id: 'a guest', kind: 'guest', usedAt: EARLIER },
    { _id: 'no guest', kind: 'user', usedAt: EARLIER },
    { _id: 'of another index', left: EARLIER },
  ])
  const kept = async () => (await tokens.find().toArray()).map(({ _id }) => _id)
  t.equal((await kept()).length, 10)
  sweeps.fire()
  t.strictSame(await kept(), [
    ...['valid', 'no date', 'nothing', 'not yet', 'no guest', 'of another index'],
  ])
  t.match(await tokens.indexes(), [{}, { expireAfterSeconds: 0 }, { expireAfterSeconds: 7_200 }])
})

t.test('what a transaction writes waits, and its snapshot keeps what expires', async (t) => {
  const sweeps = holdIntervals(t)
  const client = await openClient(t)
  const tokens = client
    .db('test')
    .collection<{ _id: number; expiresAt: Date; n?: number }>('tokens')
  await tokens.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })
  await tokens.insertMany([1, 2].map((_id) => ({ _id, expiresAt: EARLIER })))
  await client.withSession(async (session) => {
    session.startTransaction()
    await tokens.updateOne({ _id: 1 }, { $set: { expiresAt: LATER } }, { session })
    sweeps.fire()
    t.equal(await tokens.countDocuments(), 1)
    t.equal(await tokens.countDocuments({}, { session }), 2)
    await session.commitTransaction()
  })
  sweeps.fire()
  t.match(await tokens.find().toArray(), [{ _id: 1, expiresAt: LATER }])
})
