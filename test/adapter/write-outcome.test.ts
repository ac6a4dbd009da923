import type { Document, MongoClientOptions } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'

import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { connectMongoDB, MongoDBService } from '../../src/adapter/index.ts'
import type { FaultProxy } from '../support/fault-proxy.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { TestScope } from '../support/http.ts'
import { openImpatientClient } from '../support/impatient-client.ts'
import { createSocketPath } from '../support/socket-path.ts'
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
  const collection = direct.db('a').collection<{ _id: number; n?: number; m?: number }>(name)
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
  t.test(`a broken connection ends an ${command} of many, which runs once (DB-11)`, async (t) => {
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
    const written = write(notes).catch((error) => error)
    await until(() => sent >= 1)
    proxy.reset()
    proxy.release()
    t.match(await written, { code: 503, errors: undefined })
    t.equal(sent, 1)
    t.match(await stored.find().toArray(), [{ n: 0 }, { n: 0 }], 'was not committed')
    await write(notes)
    t.match(await stored.find().toArray(), expected, 'works again')
  })
}

/** An open client behind a proxy; its monitor asks once and then never again. */
async function openBroken(
  t: Pick<TestScope, 'teardown'>,
  name: string,
  options: MongoClientOptions = {},
) {
  const stored = await fill(name)
  const proxy = await startFaultProxy(t, embedded.url)
  const client = await openImpatientClient(t, proxy.url, {
    heartbeatFrequencyMS: 600_000,
    ...options,
  })
  const notes = new MongoDBService({ Model: client.db('a').collection(name), multi: true })
  // The first connection may take longer than the limits allow.
  await until(() =>
    notes.find().then(
      () => true,
      () => false,
    ),
  )
  return { stored, proxy, client, notes }
}

/** What all connections begin with. */
const HANDSHAKE = 'ismaster'

interface Unsent {
  readonly options?: MongoClientOptions
  readonly cause: object
  fault(proxy: FaultProxy, notes: MongoDBService): unknown
}

const UNSENT: Readonly<Record<string, Unsent>> = {
  'no free connection': {
    options: { maxPoolSize: 1, waitQueueTimeoutMS: 100 },
    cause: { name: 'MongoWaitQueueTimeoutError' },
    fault(proxy, notes) {
      proxy.hold()
      void notes.find().catch(() => undefined)
    },
  },
  'a connection that can not be opened': {
    options: { maxPoolSize: 2 },
    cause: { name: 'MongoNetworkError' },
    fault(proxy, notes) {
      proxy.hold()
      void notes.find().catch(() => undefined)
      proxy.loseCommand(HANDSHAKE, 100)
    },
  },
}

for (const [title, { options = {}, cause, fault }] of Object.entries(UNSENT)) {
  t.test(`nothing is unknown of a write that was not sent: ${title}`, async (t) => {
    const { stored, proxy, client, notes } = await openBroken(t, 'unsent', options)
    let handedOut = 0
    client.on('connectionCheckedOut', () => {
      handedOut += 1
    })
    fault(proxy, notes)
    await until(() => handedOut >= 1)
    for (const write of [
      () => notes.create({ _id: 3 }),
      () => notes.create([{ _id: 3 }, { _id: 4 }]),
      () => notes.patch(1, { n: 1 }),
      () => notes.patch(null, { n: 1 }),
      () => notes.remove(null),
    ]) {
      const error = await write().catch((thrown) => thrown)
      t.match(error, { name: 'Unavailable', code: 503 })
      const { cause: thrown } = error
      t.match(thrown.errorResponse ?? thrown, cause)
      t.equal(error.errors, undefined)
    }
    t.equal(handedOut, 1)
    t.equal(await stored.countDocuments({ n: 0 }), 2)
    proxy.reset()
  })
}

t.test('nothing is unknown of a write for which there is no server', async (t) => {
  const client = new MongoClient(createSocketPath(t).url, { serverSelectionTimeoutMS: 50 })
  t.teardown(() => client.close())
  const notes = new MongoDBService({ Model: client.db('a').collection('away') })
  const error = await notes.create({ _id: 1 }).catch((thrown) => thrown)
  t.match(error, { name: 'Unavailable', cause: { name: 'MongoServerSelectionError' } })
  t.equal(error.errors, undefined)
})

t.test('nothing is unknown of a write of many whose records can not be read', async (t) => {
  const { stored, proxy, notes } = await openBroken(t, 'unread', {
    ...{ retryReads: false, serverSelectionTimeoutMS: 10_000 },
  })
  for (const write of [() => notes.patch(null, { n: 1 }), () => notes.remove(null)]) {
    proxy.loseReply('find')
    const error = await write().catch((thrown) => thrown)
    t.match(error, { name: 'Unavailable', cause: { name: 'MongoNetworkError' } })
    t.equal(error.errors, undefined)
  }
  t.equal(await stored.countDocuments({ n: 0 }), 2)
})

t.test('a write is unknown whose second attempt finds no server', async (t) => {
  const { stored, proxy, notes } = await openBroken(t, 'repeated')
  proxy.loseReply('insert')
  proxy.loseCommand(HANDSHAKE, 100)
  // Either the monitor or the second attempt itself is the first to see that there is no server.
  const cause = { name: /^Mongo(?:ServerSelection|Network)Error$/ }
  await t.rejects(notes.create({ _id: 3 }), { ...UNKNOWN, cause })
  t.equal(await stored.countDocuments({ _id: 3 }), 1, 'it has happened')
})

t.test('nothing is unknown of a write that its transaction takes back', async (t) => {
  const { stored, proxy, client, notes } = await openBroken(t, 'half', {
    ...{ retryReads: false, monitorCommands: true },
  })
  client.on('commandSucceeded', ({ commandName }) => {
    if (commandName === 'update') proxy.loseReply('find')
  })
  const error = await notes.patch(null, { n: 1 }).catch((thrown) => thrown)
  t.match(error, { code: 503, errors: undefined })
  t.equal(await stored.countDocuments({ n: 1 }), 0)
})
