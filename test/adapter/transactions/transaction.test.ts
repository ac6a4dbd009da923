import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'

import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { MongoDBService, transaction } from '../../../src/adapter/index.ts'
import type { Application } from '../../../src/core/index.ts'
import { BadRequest, createApp, NotFound } from '../../../src/core/index.ts'
import { namesOf, openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'

const { client, db, empty, commandsOf } = await openDatabase(t)
const accounts = db.collection('accounts')
const entries = db.collection('entries')

t.beforeEach(async () => {
  await empty('accounts')
  await empty('entries')
  // So that no attempt has to make the collections, or the index.
  await entries.createIndex({ key: 1 }, { unique: true, sparse: true })
  await accounts.insertOne({ _id: 'a' as never, sum: 0 })
})

function createBank(options: Partial<MongoDBOptions> = {}): { app: Application; seen: string[] } {
  const app = createApp()
    .use('accounts', new MongoDBService({ Model: accounts, multi: true, ...options }))
    .use('entries', new MongoDBService({ Model: entries, multi: true, ...options }))
  const seen: string[] = []
  for (const path of ['accounts', 'entries']) {
    for (const event of ['created', 'patched', 'removed']) {
      app.service(path).on(event, (record) => {
        seen.push(`${path} ${event} ${(record as Document).n}`)
      })
    }
  }
  return { app, seen }
}

/** The numbers of the transactions of commands, once each; those without one are `undefined`. */
function numbersOf(commands: Document[]): unknown[] {
  return [...new Set(commands.map(({ txnNumber }) => txnNumber && Number(txnNumber)))]
}

/** Makes a call fail by a write conflict, by a change that another transaction has made. */
async function inConflict(call: () => Promise<unknown>): Promise<void> {
  const other = client.startSession()
  other.startTransaction()
  try {
    await accounts.updateOne({ _id: 'a' as never }, { $inc: { others: 1 } }, { session: other })
    await call()
  } finally {
    await other.abortTransaction()
    await other.endSession()
  }
}

t.test('resolves to what the function returns, after one commit', async (t) => {
  const { app } = createBank()
  const commands = await commandsOf(async () => {
    const sum = await transaction(app, async () => {
      await app.service('entries').create({ n: 1 })
      await app.service('accounts').patch('a', { $inc: { sum: 5 } })
      const { sum } = (await app.service('accounts').get('a')) as Document
      return sum
    })
    t.equal(sum, 5)
  })
  t.strictSame(namesOf(commands), ['insert', 'findAndModify', 'find', 'commitTransaction'])
  t.equal(numbersOf(commands).length, 1)
  t.equal(await entries.countDocuments(), 1)
})

t.test('every command of every method belongs to the transaction', async (t) => {
  const { app } = createBank({ paginate: { default: 1 }, useEstimatedDocumentCount: true })
  const service = app.service('entries') as unknown as MongoDBService
  const commands = await commandsOf(() =>
    transaction(app, async () => {
      const [{ _id }] = (await service.create([{ n: 1 }, { n: 2 }, { n: 3 }])) as [Document]
      t.match(await service.find(), { total: 3 })
      await service.update(_id, { n: 4 })
      await service.patch(_id, { n: 5 })
      await service.patch(null, { m: 1 })
      t.equal(await service.countDocuments(), 3)
      t.equal((await (await service.findRaw()).toArray()).length, 1)
      await service.remove(_id)
      t.equal((await service.remove(null)).length, 2)
    }),
  )
  t.ok(commands.length > 12)
  t.equal(numbersOf(commands).length, 1)
  t.notMatch(numbersOf(commands), [undefined])
})

t.test('a session in params.docdb joins every command of a call', async (t) => {
  const service = new MongoDBService({
    ...{ Model: entries, multi: true, paginate: { default: 1 } },
    useEstimatedDocumentCount: true,
  })
  await service.create([{ n: 1 }, { n: 2 }])
  const session = client.startSession()
  t.teardown(() => session.endSession())
  const params = { docdb: { session } }
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    insert: () => service.create({ n: 3 }, params),
    'insert ': () => service.create([{ n: 4 }, { n: 5 }], params),
    'find,aggregate': () => service.find(params),
    'find,update,find': () => service.patch(null, { m: 1 }, params),
    'find,delete': () => service.remove(null, params),
    aggregate: () => service.countDocuments(params),
  }
  for (const [expected, call] of Object.entries(calls)) {
    session.startTransaction()
    const commands = await commandsOf(call)
    await session.abortTransaction()
    t.equal(namesOf(commands).join(), expected.trim())
    t.strictSame(numbersOf(commands), [Number(session.serverSession.txnNumber)], expected)
  }
  t.equal(await entries.countDocuments(), 2)
})

t.test('another session in params.docdb leaves the transaction', async (t) => {
  const { app } = createBank()
  const session = client.startSession()
  t.teardown(() => session.endSession())
  const failed = transaction(app, async () => {
    await app.service('entries').create({ n: 1 })
    await app.service('entries').create({ n: 2 }, { docdb: { session } } as object)
    throw new BadRequest('no')
  })
  await t.rejects(failed, { message: 'no' })
  t.match(await entries.find().toArray(), [{ n: 2 }])
})

t.test('gives the session to the function, for commands of its own', async (t) => {
  const { app } = createBank()
  const failed = transaction(app, async (session) => {
    await entries.insertOne({ n: 1 }, { session })
    await app.service('entries').create({ n: 2 }, { docdb: { session } } as object)
    throw new BadRequest('no')
  })
  await t.rejects(failed, { message: 'no' })
  t.equal(await entries.countDocuments(), 0)
})

t.test('a transaction inside another one of the same client is a part of it', async (t) => {
  const { app } = createBank()
  const commands = await commandsOf(() =>
    transaction(app, async () => {
      await app.service('entries').create({ n: 1 })
      await transaction(app, () => app.service('entries').create({ n: 2 }))
    }),
  )
  t.strictSame(namesOf(commands), ['insert', 'insert', 'commitTransaction'])
})

t.test('calls in parallel are sent one after the other', async (t) => {
  const { app, seen } = createBank()
  const commands = await commandsOf(() =>
    transaction(app, () => Promise.all([1, 2, 3].map((n) => app.service('entries').create({ n })))),
  )
  t.strictSame(namesOf(commands), ['insert', 'insert', 'insert', 'commitTransaction'])
  t.strictSame(
    commands.map(({ startTransaction = false }) => startTransaction),
    [true, false, false, false],
  )
  t.strictSame(seen, ['entries created 1', 'entries created 2', 'entries created 3'])
})

t.test('services of another client take no part', async (t) => {
  const other = new MongoClient(`mongodb://${client.options.hosts[0]}`, {
    ...(client.options.directConnection ? {} : { replicaSet: client.options.replicaSet ?? 'rs0' }),
  })
  t.teardown(() => other.close())
  const { app } = createBank()
  const Model = other.db(db.databaseName).collection('entries')
  app.use('elsewhere', new MongoDBService({ Model }))
  const failing = async (): Promise<never> => {
    await app.service('elsewhere').create({ n: 1 })
    await app.service('entries').create({ n: 2 })
    throw new BadRequest('no')
  }
  await t.rejects(transaction(app, failing), {
    name: 'TypeError',
    message:
      "transaction(): the option 'client' is required, since the services of the application are of 2 clients",
  })
  await t.rejects(transaction(app, failing, { client }), { message: 'no' })
  t.match(await entries.find().toArray(), [{ n: 1 }])

  // A transaction of each: calls find theirs through the other one.
  const both = transaction(
    app,
    () =>
      transaction(
        app,
        async () => {
          await app.service('elsewhere').create({ n: 3 })
          await app.service('entries').create({ n: 4 })
        },
        { client: other },
      ).then(() => Promise.reject(new BadRequest('no'))),
    { client },
  )
  await t.rejects(both, { message: 'no' })
  t.match(await entries.find().sort({ n: 1 }).toArray(), [{ n: 1 }, { n: 3 }])
})

t.test('a failed call leaves no record, no event and no session (DB-15)', async (t) => {
  const { app, seen } = createBank()
  const commands = await commandsOf(async () => {
    const failed = transaction(app, async () => {
      await app.service('entries').create({ n: 1 })
      await app.service('accounts').patch('a', { sum: 5, n: 2 })
      throw new NotFound('the third')
    })
    await t.rejects(failed, { name: 'NotFound', message: 'the third' })
  })
  t.equal(namesOf(commands).at(-1), 'abortTransaction')
  t.equal(await entries.countDocuments(), 0)
  t.match(await accounts.findOne(), { sum: 0 })
  t.strictSame(seen, [])
})

t.test('holds events back until the commit, in their order', async (t) => {
  const { app, seen } = createBank()
  app.use('mails', { create: async (data: unknown) => data })
  app.service('mails').on('created', () => seen.push('mails created'))
  await transaction(app, async () => {
    await app.service('entries').create([{ n: 1 }, { n: 2 }])
    await app.service('mails').create({})
    await app.service('accounts').patch('a', { n: 3 })
    seen.push('end')
  })
  t.strictSame(seen, [
    'end',
    ...['entries created 1', 'entries created 2', 'mails created', 'accounts patched 3'],
  ])
})

t.test('holds back the events of another application, which has no database', async (t) => {
  const { app, seen } = createBank()
  const other = createApp().use('emails', { create: async (data: object) => data })
  other.service('emails').on('created', () => seen.push('emails created'))
  const inner = createApp().use('notes', { create: async (data: object) => data })
  inner.service('notes').on('created', () => seen.push('notes created'))
  app.use('mounted', inner)
  // Of all that the calls below are given, nothing comes from the application of the transaction.
  const callOthers = async (): Promise<void> => {
    await other.service('emails').create({})
    await app.service('mounted/notes').create({})
  }
  app.service('entries').hooks({ after: { create: [callOthers] } })
  await transaction(app, async () => {
    await app.service('entries').create({ n: 1 })
    seen.push('end')
  })
  const events = ['emails created', 'notes created', 'entries created 1']
  t.strictSame(seen, ['end', ...events])
  const failed = transaction(app, async () => {
    await app.service('entries').create({ n: 2 })
    throw new BadRequest('no')
  })
  await t.rejects(failed, { message: 'no' })
  t.strictSame(seen, ['end', ...events], 'none of a transaction that was aborted')
})

t.test('a listener of a held event writes outside of the transaction', async (t) => {
  const { app } = createBank()
  let written: Promise<unknown> | undefined
  app.service('entries').once('created', () => {
    written = app.service('accounts').patch('a', { sum: 7 })
  })
  await transaction(app, () => app.service('entries').create({ n: 1 }))
  await written
  t.match(await accounts.findOne(), { sum: 7 })
})

t.test('a call that nobody has awaited is refused after the end', async (t) => {
  const { app, seen } = createBank()
  const gate = new Gate()
  let late: Promise<unknown> = Promise.resolve()
  const failed = transaction(app, async () => {
    late = gate.pass(undefined).then(() => app.service('entries').create({ n: 1 }))
    throw new BadRequest('no')
  })
  await t.rejects(failed, { message: 'no' })
  gate.open()
  await t.rejects(late, { message: /^The transaction of this call has ended/ })
  t.equal(await entries.countDocuments(), 0)
  t.strictSame(seen, [])
})

t.test('runs the function again after a write conflict, with its events once', async (t) => {
  const { app, seen } = createBank()
  let attempts = 0
  await transaction(app, async () => {
    attempts += 1
    await app.service('entries').create({ n: attempts })
    const patch = () => app.service('accounts').patch('a', { $inc: { sum: 1 } })
    if (attempts < 3) await inConflict(patch)
    else await patch()
  })
  t.equal(attempts, 3)
  t.match(await entries.find().toArray(), [{ n: 3 }])
  t.match(await accounts.findOne(), { sum: 1 })
  t.strictSame(seen, ['entries created 3', 'accounts patched undefined'])
})

t.test('runs the function again when a hook has replaced the error', async (t) => {
  const { app } = createBank()
  app.service('accounts').hooks({
    error: {
      patch: (context) => {
        context.error = new BadRequest('replaced')
      },
    },
  })
  let attempts = 0
  await transaction(app, async () => {
    attempts += 1
    const patch = () => app.service('accounts').patch('a', { $inc: { sum: 1 } })
    return attempts === 1 ? inConflict(patch) : patch()
  })
  t.equal(attempts, 2)
})

t.test('stops to try again when the signal is aborted', async (t) => {
  const { app } = createBank()
  const controller = new AbortController()
  let attempts = 0
  const failed = transaction(
    app,
    () => {
      attempts += 1
      controller.abort(new BadRequest('The client has gone'))
      return inConflict(() => app.service('accounts').patch('a', { sum: 1 }))
    },
    { signal: controller.signal },
  )
  await t.rejects(failed, { message: 'The client has gone' })
  t.equal(attempts, 1)
})

t.test('an error of the database ends the transaction, also where it is caught', async (t) => {
  const { app, seen } = createBank()
  await entries.insertOne({ key: 1 })
  const create = (data: object | object[]) =>
    transaction(app, async () => {
      await app.service('accounts').patch('a', { sum: 1 })
      await app
        .service('entries')
        .create(data)
        .catch(() => undefined)
    })
  await t.rejects(create({ key: 1 }), { code: 409, data: { fields: ['key'] } })
  await t.rejects(create([{ key: 1 }]), { code: 409 })
  t.match(await accounts.findOne(), { sum: 0 })
  t.strictSame(seen, [])
})

t.test('an error that is not of the database may be caught', async (t) => {
  const { app } = createBank()
  await transaction(app, async () => {
    await t.rejects(app.service('accounts').get('nobody'), { code: 404 })
    await app.service('accounts').patch('a', { sum: 1 })
  })
  t.match(await accounts.findOne(), { sum: 1 })
})

t.test('what the driver refuses before it sends anything may be caught', async (t) => {
  const { app } = createBank()
  await transaction(app, async () => {
    const unsent = { docdb: { sort: { n: 'up' } } } as object
    await t.rejects(app.service('accounts').patch('a', { sum: 1 }, unsent), { code: 500 })
    await app.service('accounts').patch('a', { sum: 2 })
    const cyclic: Document = {}
    cyclic['self'] = cyclic
    await t.rejects(app.service('entries').create({ cyclic }), { code: 400 })
  })
  t.match(await accounts.findOne(), { sum: 2 })
})

t.test('reads from the primary, wherever the client and the service read from', async (t) => {
  const { app } = createBank({ readPreference: 'secondary' })
  const secondary = { readPreference: 'secondary' } as const
  const url = `mongodb://${client.options.hosts[0]}/?readPreference=secondaryPreferred`
  const other = new MongoClient(url, {
    ...(client.options.directConnection
      ? { directConnection: true }
      : { replicaSet: client.options.replicaSet ?? 'rs0' }),
  })
  t.teardown(() => other.close())
  app.use(
    'elsewhere',
    new MongoDBService({ Model: other.db(db.databaseName).collection('entries') }),
  )
  for (const [path, its] of [
    ['entries', client],
    ['elsewhere', other],
  ] as const) {
    const failed = transaction(
      app,
      async () => {
        await app.service(path).create({ n: 1 })
        t.match(await app.service(path).find(), [{ n: 1 }])
        await app.service(path).find({ docdb: secondary } as object)
      },
      { client: its },
    )
    await t.rejects(failed, { name: 'TypeError', message: /params\.docdb\.readPreference/ })
  }
})

t.test('an error of the driver becomes that of a service', async (t) => {
  const { app } = createBank()
  await entries.insertOne({ key: 1 })
  const failed = transaction(app, (session) => entries.insertOne({ key: 1 }, { session }))
  await t.rejects(failed, { name: 'Conflict', data: { fields: ['key'] } })
})

t.test('50 increments in parallel come to 50 (DB-14)', async (t) => {
  const { app } = createBank()
  const increment = () =>
    transaction(app, async () => {
      const { sum } = (await app.service('accounts').get('a')) as { sum: number }
      await app.service('accounts').patch('a', { sum: sum + 1 })
    })
  await Promise.all(Array.from({ length: 50 }, increment))
  t.match(await accounts.findOne(), { sum: 50 })
})

t.test('hands its options to the driver', async (t) => {
  const { app } = createBank()
  const commands = await commandsOf(() =>
    transaction(app, () => app.service('entries').create({ n: 1 }), {
      readConcern: { level: 'snapshot' },
      writeConcern: { w: 'majority' },
      readPreference: 'primary',
      maxCommitTimeMS: 10_000,
    }),
  )
  t.match(commands, [
    { readConcern: { level: 'snapshot' } },
    { maxTimeMS: 10_000, writeConcern: { w: 'majority' } },
  ])
})

const WRONG: readonly [options: object, message: string][] = [
  [{ client: {} }, "the option 'client' must be a MongoClient"],
  [{ readConcern: 'snapshot' }, "the option 'readConcern' must be an object"],
  [{ readConcern: { lvl: 'x' } }, "unknown option 'readConcern.lvl'"],
  [{ writeConcern: 'majority' }, "the option 'writeConcern' must be an object"],
  [{ readPreference: 1 }, "the option 'readPreference' must be 'primary'"],
  [{ readPreference: 'secondary' }, "the option 'readPreference' must be 'primary'"],
  [{ maxCommitTimeMS: '1' }, "the option 'maxCommitTimeMS' must be a whole number"],
  [{ timeoutMS: 1 }, "unknown option 'timeoutMS'"],
]

async function refusesOptions(t: Test, call: (options: object) => unknown): Promise<void> {
  for (const [options, message] of WRONG) {
    const refused = (async () => call(options))()
    await t.rejects(refused, {
      name: 'TypeError',
      message: new RegExp(`^transaction\\(\\): ${message}`),
    })
  }
}

t.test('refuses an option that is not known, or has a wrong value', async (t) => {
  const { app } = createBank()
  await refusesOptions(t, (options) => transaction(app, async () => undefined, options))
  await refusesOptions(t, (options) => transaction(options))
  t.throws(() => transaction({ signal: AbortSignal.abort() } as object), /unknown option 'signal'/)
  await t.rejects(
    transaction(createApp(), async () => undefined),
    {
      message: /'client' is required, since the application has no MongoDB service$/,
    },
  )
  await t.rejects(transaction(app, 'x' as never), { message: 'transaction(): needs a function' })
})

t.test('what its function has aborted by the session emits nothing, takes no calls', async (t) => {
  const { app, seen } = createBank()
  await transaction(app, async (session) => {
    await app.service('entries').create({ n: 1 })
    await session.abortTransaction()
  })
  await t.rejects(
    transaction(app, async (session) => {
      await session.abortTransaction()
      await app.service('entries').create({ n: 2 })
    }),
    /has ended/,
  )
  t.strictSame(seen, [])
  t.equal(await entries.countDocuments({}), 0)
})

t.test('work that goes on after a failed transaction emits its events', async (t) => {
  const { app, seen } = createBank()
  app.use('plain', { create: async (data: object) => data })
  app.service('plain').on('created', () => seen.push('plain created'))
  const gate = new Gate()
  let later: Promise<unknown> = Promise.resolve()
  await t.rejects(
    transaction(app, async () => {
      later = gate.pass().then(() => app.service('plain').create({}))
      throw new BadRequest('no')
    }),
    { name: 'BadRequest' },
  )
  gate.open()
  await later
  t.strictSame(seen, ['plain created'])
})
