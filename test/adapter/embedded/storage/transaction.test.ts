import type { ClientSession, Document } from 'mongodb'
import { MongoServerError } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { openClient, openDatabase } from '../open-database.ts'

type Counter = Document & { _id: number }

t.test('a transaction', async (t) => {
  const client = await openClient(t)
  const counters = client.db('test').collection<Counter>('counters')
  t.beforeEach(async () => {
    await counters.deleteMany({})
    await counters.insertMany([
      { _id: 1, n: 0 },
      { _id: 2, n: 0 },
    ])
  })
  const begin = (t: Test): ClientSession => {
    const session = client.startSession()
    t.teardown(() => session.endSession())
    session.startTransaction()
    return session
  }

  await t.test('shows its writes to itself at once and to others after the commit', async (t) => {
    const session = begin(t)
    await counters.updateOne({ _id: 1 }, { $inc: { n: 5 } }, { session })
    await counters.insertOne({ _id: 3, n: 3 }, { session })
    await counters.deleteOne({ _id: 2 }, { session })
    t.same(await counters.find({}, { session }).toArray(), [
      { _id: 1, n: 5 },
      { _id: 3, n: 3 },
    ])
    t.same(await counters.find().toArray(), [
      { _id: 1, n: 0 },
      { _id: 2, n: 0 },
    ])
    await session.commitTransaction()
    t.same(await counters.find().toArray(), [
      { _id: 1, n: 5 },
      { _id: 3, n: 3 },
    ])
  })

  await t.test('leaves nothing behind when it is aborted', async (t) => {
    const session = begin(t)
    await counters.updateMany({}, { $inc: { n: 5 } }, { session })
    await session.abortTransaction()
    t.same(await counters.find().toArray(), [
      { _id: 1, n: 0 },
      { _id: 2, n: 0 },
    ])
  })

  await t.test('reads the moment it began, whatever others write', async (t) => {
    const session = begin(t)
    t.equal(await counters.countDocuments({}, { session }), 2)
    await counters.insertOne({ _id: 3, n: 0 })
    await counters.updateOne({ _id: 1 }, { $set: { n: 9 } })
    await counters.deleteOne({ _id: 2 })
    const found = await counters.find({}, { session }).sort({ _id: 1 }).toArray()
    t.same(found, [
      { _id: 1, n: 0 },
      { _id: 2, n: 0 },
    ])
    await session.abortTransaction()
  })

  await t.test('conflicts with a write that was committed after its snapshot', async (t) => {
    const session = begin(t)
    await counters.findOne({ _id: 2 }, { session })
    await counters.updateOne({ _id: 1 }, { $set: { n: 9 } })
    const error = await counters
      .updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session })
      .catch((e) => e)
    t.ok(error instanceof MongoServerError)
    t.match(error, { code: 112, codeName: 'WriteConflict' })
    t.ok(error.hasErrorLabel('TransientTransactionError'))
  })

  await t.test('conflicts with another transaction that has written the record', async (t) => {
    const [first, second] = [begin(t), begin(t)]
    await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: first })
    await t.rejects(counters.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: second }), {
      code: 112,
    })
    await first.commitTransaction()
    t.same(await counters.findOne({ _id: 1 }), { _id: 1, n: 1 })
  })

  await t.test('makes a plain write to its record wait until it has ended', async (t) => {
    const session = begin(t)
    await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session })
    const waiting = counters.updateMany({}, { $inc: { n: 10 } })
    await counters.findOne({})
    await session.commitTransaction()
    t.match(await waiting, { modifiedCount: 2 })
    t.same(await counters.find().toArray(), [
      { _id: 1, n: 11 },
      { _id: 2, n: 10 },
    ])
  })

  await t.test('ends at the first failed write', async (t) => {
    const session = begin(t)
    await counters.insertOne({ _id: 3, n: 0 }, { session })
    await t.rejects(counters.insertOne({ _id: 1 }, { session }), { code: 11000 })
    await t.rejects(counters.insertOne({ _id: 4 }, { session }), { code: 251 })
    t.equal(await counters.countDocuments(), 2)
  })

  await t.test('cannot change the catalog', async (t) => {
    const session = begin(t)
    await t.rejects(client.db('test').command({ create: 'x' }, { session }), { code: 263 })
  })

  await t.test('is retried by withTransaction, so that no increment is lost', async (t) => {
    const increment = async (): Promise<void> =>
      await client.withSession((session) =>
        session.withTransaction(async () => {
          const found = await counters.findOne({ _id: 1 }, { session })
          await counters.updateOne({ _id: 1 }, { $set: { n: found?.['n'] + 1 } }, { session })
        }),
      )
    await Promise.all(Array.from({ length: 8 }, increment))
    t.same(await counters.findOne({ _id: 1 }), { _id: 1, n: 8 })
  })

  await t.test('never lets two records have one unique key', async (t) => {
    await counters.createIndex({ key: 1 }, { unique: true, sparse: true })
    const session = begin(t)
    await counters.insertOne({ _id: 3, key: 'x' }, { session })
    await t.rejects(counters.insertOne({ _id: 4, key: 'x' }, { session: begin(t) }), { code: 112 })
    const waiting = t.rejects(counters.insertOne({ _id: 5, key: 'x' }), { code: 11000 })
    await session.commitTransaction()
    await waiting
  })

  await t.test('conflicts about a unique key another record had at its snapshot', async (t) => {
    await counters.createIndex({ key: 1 }, { unique: true, sparse: true })
    await counters.insertOne({ _id: 3, key: 'x' })
    const session = begin(t)
    await counters.findOne({ _id: 1 }, { session })
    await counters.deleteOne({ _id: 3 })
    t.match(await counters.findOne({ key: 'x' }, { session }), { _id: 3 })
    await t.rejects(counters.insertOne({ _id: 4, key: 'x' }, { session }), { code: 112 })
  })

  await t.test('may give a unique key from one record to another', async (t) => {
    await counters.createIndex({ key: 1 }, { unique: true, sparse: true })
    const session = begin(t)
    await counters.insertOne({ _id: 3, key: 'x' }, { session })
    await counters.updateOne({ _id: 3 }, { $set: { key: 'y' } }, { session })
    await counters.updateOne({ _id: 1 }, { $set: { key: 'x' } }, { session })
    await counters.deleteOne({ _id: 3 }, { session })
    await counters.updateOne({ _id: 2 }, { $set: { key: 'y' } }, { session })
    t.match(await counters.findOne({ key: 'y' }, { session }), { _id: 2 })
    t.equal(await counters.findOne({ key: 'y' }), null)
    await session.commitTransaction()
    t.match(await counters.findOne({ key: 'x' }), { _id: 1 })
    t.match(await counters.findOne({ key: 'y' }), { _id: 2 })
  })
})

t.test('a transaction that writes to a collection that is not there', async (t) => {
  const client = await openClient(t)
  const listNames = async (database: string): Promise<string[]> => {
    const all = await client.db(database).listCollections({}, { nameOnly: true }).toArray()
    return all.map(({ name }) => name)
  }
  const begin = (t: Test): ClientSession => {
    const session = client.startSession()
    t.teardown(() => session.endSession())
    session.startTransaction()
    return session
  }
  const open = (database: string) => client.db(database).collection<Counter>('new')
  const set = { $set: { n: 1 } }

  const writes: Readonly<Record<string, (to: string, session: ClientSession) => Promise<unknown>>> =
    {
      insert: (to, session) => open(to).insertOne({ _id: 1 }, { session }),
      upsert: (to, session) => open(to).updateOne({ _id: 1 }, set, { session, upsert: true }),
      findAndModify: (to, session) =>
        open(to).findOneAndUpdate({ _id: 1 }, set, { session, upsert: true }),
      'bulk write': (to, session) =>
        open(to).bulkWrite([{ insertOne: { document: { _id: 1 } } }], { session }),
    }
  for (const [index, [name, write]] of Object.entries(writes).entries()) {
    await t.test(`creates it with the commit: ${name}`, async (t) => {
      const [left, made] = [`left${index}`, `made${index}`]
      const aborted = begin(t)
      await write(left, aborted)
      t.equal(await open(left).countDocuments({}, { session: aborted }), 1)
      t.same(await listNames(left), [], 'others do not see it')
      await aborted.abortTransaction()
      t.same(await listNames(left), [])
      const { databases } = await client.db('admin').admin().listDatabases()
      t.notOk(databases.some((one) => one.name === left))

      const committed = begin(t)
      await write(made, committed)
      await committed.commitTransaction()
      t.same(await listNames(made), ['new'])
      t.equal(await open(made).countDocuments(), 1)
    })
  }

  await t.test('creates it even where its records are gone again', async (t) => {
    const session = begin(t)
    await open('gone').insertOne({ _id: 1 }, { session })
    await open('gone').deleteOne({ _id: 1 }, { session })
    await session.commitTransaction()
    t.same(await listNames('gone'), ['new'])
  })

  await t.test('leaves none after a failed write, or when its session ends', async (t) => {
    const failed = begin(t)
    await open('failed').insertOne({ _id: 1 }, { session: failed })
    await t.rejects(open('failed').insertOne({ _id: 1 }, { session: failed }), { code: 11000 })
    t.same(await listNames('failed'), [])
    const ended = begin(t)
    await open('ended').insertOne({ _id: 1 }, { session: ended })
    await ended.endSession()
    t.same(await listNames('ended'), [])
  })

  await t.test('shares it with a plain write, and with other transactions', async (t) => {
    const [first, second, third] = [begin(t), begin(t), begin(t)]
    await open('shared').insertOne({ _id: 1, n: 1 }, { session: first })
    await open('shared').insertOne({ _id: 2, n: 2 }, { session: second })
    await open('shared').insertOne({ _id: 3, n: 3 })
    await t.rejects(open('shared').insertOne({ _id: 1 }, { session: third }), { code: 112 })
    const waiting = t.rejects(open('shared').insertOne({ _id: 1 }), { code: 11000 })
    await second.abortTransaction()
    await first.commitTransaction()
    await waiting
    const all = await open('shared').find().sort({ _id: 1 }).toArray()
    t.same(all, [
      { _id: 1, n: 1 },
      { _id: 3, n: 3 },
    ])
  })

  const creations: Readonly<Record<string, (to: string) => Promise<unknown>>> = {
    create: (to) => client.db(to).createCollection('new'),
    createIndexes: (to) => open(to).createIndex({ n: 1 }, { unique: true }),
    $out: async (to) => {
      await client.db(to).collection('old').insertOne({})
      return client
        .db(to)
        .collection('old')
        .aggregate([{ $out: 'new' }])
        .toArray()
    },
  }
  for (const [index, [name, create]] of Object.entries(creations).entries()) {
    await t.test(`makes other commands that create it wait: ${name}`, async (t) => {
      const to = `waiting${index}`
      const session = begin(t)
      await open(to).insertOne({ _id: 1, n: 1 }, { session })
      const creating = create(to)
      await open(to).find().toArray()
      t.notOk((await listNames(to)).includes('new'))
      await session.commitTransaction()
      await creating
      t.ok((await listNames(to)).includes('new'))
      if (name === 'createIndexes') {
        await t.rejects(open(to).insertOne({ _id: 2, n: 1 }), { code: 11000 })
      }
    })
  }
})

t.test('a write that fails creates no collection', async (t) => {
  const database = await openDatabase(t)
  const wrong = database.collection<Document>('wrong')
  await t.rejects(wrong.insertOne({ _id: [1] as never }), { code: 53 })
  await t.rejects(
    wrong.updateOne({ _id: 1 as never }, { $inc: { a: 'x' as never } }, { upsert: true }),
  )
  t.same(await database.listCollections().toArray(), [])
})

t.test('a retried write is answered again and not done again', async (t) => {
  const database = await openDatabase(t)
  const { client } = database
  const session = client.startSession()
  t.teardown(() => session.endSession())
  const insert = { insert: 'retried', documents: [{ a: 1 }], txnNumber: 7 }
  const first = await database.command(insert, { session })
  const second = await database.command(insert, { session })
  t.equal(first['n'], 1)
  t.equal(second['n'], 1)
  t.equal(await database.collection('retried').countDocuments(), 1)
  await t.rejects(database.command({ ...insert, txnNumber: 6 }, { session }), { code: 225 })
})
