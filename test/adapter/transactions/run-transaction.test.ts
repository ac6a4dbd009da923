import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'

import { MongoDBService, transaction } from '../../../src/adapter/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { namesOf } from '../../support/database.ts'
import type { TestScope } from '../../support/http.ts'
import { openImpatientClient } from '../../support/impatient-client.ts'
import { pluck } from '../../support/pluck.ts'
import type { Script } from '../../support/scripted-server.ts'
import { DRIVER_COMMANDS, startScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

const pass: Script = (_name, _command, run) => run()
let script = pass
let commands: Document[] = []
const url = await startScriptedServer(t, (name, command, run) => {
  if (!DRIVER_COMMANDS.has(name)) commands.push(command)
  return script(name, command, run)
})

t.beforeEach(() => {
  script = pass
})

const REPLICA_SET = { replicaSet: 'rs0' }

/** Opens a service with two records, by a client of its own. */
async function openNotes(t: TestScope, client = new MongoClient(url, REPLICA_SET)) {
  t.teardown(() => client.close())
  const Model = client.db('a').collection('notes')
  await Model.deleteMany({})
  await Model.insertMany([{ n: 1 }, { n: 2 }])
  commands = []
  return { client, Model, notes: new MongoDBService({ Model, multi: true }) }
}

/** Answers the first commands of a name with an error, then as the server does. */
function failing(name: string, times: number, error: Document): Script {
  let left = times
  return async (command, _body, run) => {
    if (command !== name || left === 0) return run()
    left -= 1
    return { ok: 0, errmsg: 'scripted', ...error }
  }
}

const UPSERT = { docdb: { upsert: true } }
const CONFLICT = { code: 112, errorLabels: ['TransientTransactionError'] }
const STANDALONE = {
  code: 20,
  errmsg: 'Transaction numbers are only allowed on a replica set member or mongos',
}

t.test('a standalone server is asked for a transaction once', async (t) => {
  const { notes } = await openNotes(t)
  script = async (_name, command, run) =>
    command['startTransaction'] === undefined ? run() : { ok: 0, ...STANDALONE }
  t.equal((await notes.patch(null, { a: 1 })).length, 2)
  t.strictSame(namesOf(commands), ['find', 'abortTransaction', 'find', 'update', 'find'])
  commands = []
  t.equal((await notes.remove(null)).length, 2)
  t.strictSame(namesOf(commands), ['find', 'delete'])
})

for (const code of [115, 238, 263, 290, 388]) {
  t.test(`writes without a transaction where the server refuses one: ${code}`, async (t) => {
    const { notes } = await openNotes(t)
    script = async (name, command, run) =>
      name === 'update' && command['autocommit'] === false ? { ok: 0, code, errmsg: '' } : run()
    t.match(await notes.patch(null, { $inc: { n: 1 } }), [{ n: 2 }, { n: 3 }])
    t.strictSame(namesOf(commands), [
      ...['find', 'update', 'abortTransaction'],
      ...['find', 'update', 'find'],
    ])
  })
}

t.test('runs again after two write conflicts, and writes once', async (t) => {
  const { notes } = await openNotes(t)
  script = failing('update', 2, CONFLICT)
  t.match(await notes.patch(null, { $inc: { n: 1 } }), [{ n: 2 }, { n: 3 }])
  const attempt = ['find', 'update', 'abortTransaction']
  t.strictSame(namesOf(commands), [
    ...[...attempt, ...attempt],
    ...['find', 'update', 'find', 'commitTransaction'],
  ])
})

t.test('runs again after a conflict of the commit', async (t) => {
  const { notes } = await openNotes(t)
  script = failing('commitTransaction', 1, { ...CONFLICT, code: 251 })
  t.match(await notes.patch(null, { a: 1 }), [{ a: 1 }, { a: 1 }])
  t.equal(namesOf(commands).filter((name) => name === 'commitTransaction').length, 2)
})

t.test('gives up after eight conflicts with 409 and the request to wait', async (t) => {
  const { notes, Model } = await openNotes(t)
  script = failing('delete', 99, CONFLICT)
  await t.rejects(notes.remove(null), { code: 409, data: { retryAfter: 1 } })
  t.equal(namesOf(commands).filter((name) => name === 'delete').length, 8)
  script = pass
  t.equal(await Model.countDocuments(), 2)
})

t.test('what the database refuses leaves nothing written', async (t) => {
  const { notes, Model } = await openNotes(t)
  await Model.createIndex({ m: 1 }, { unique: true, sparse: true })
  t.teardown(() => Model.dropIndexes())
  await t.rejects(notes.patch(null, { m: 1 }), { code: 409, data: { fields: ['m'] } })
  t.equal(await Model.countDocuments({ m: 1 }), 0)
})

t.test('a lost reply to the commit is asked for again, and written once', async (t) => {
  const { notes } = await openNotes(t)
  let isLost = false
  script = async (name, _command, run) => {
    const reply = await run()
    if (name !== 'commitTransaction' || isLost) return reply
    isLost = true
    throw new Error('lost')
  }
  t.match(await notes.patch(null, { $inc: { n: 1 } }), [{ n: 2 }, { n: 3 }])
})

t.test('a commit that nobody confirms is of unknown outcome', async (t) => {
  const { notes } = await openNotes(t)
  script = async (name, _command, run) => {
    const reply = await run()
    if (name === 'commitTransaction') throw new Error('lost')
    return reply
  }
  await t.rejects(notes.patch(null, { a: 1 }), { code: 503, errors: { outcome: 'unknown' } })
})

/** Runs what the server does, and loses its replies to a command from the given one on. */
function losing(lost: string, from = 1): Script {
  let count = 0
  return async (name, _command, run) => {
    const reply = await run()
    if (name === lost) count += 1
    if (name === lost && count >= from) throw new Error('lost')
    return reply
  }
}

t.test('a patch of many whose reply is lost is not repeated, nor written (DB-11)', async (t) => {
  const { notes, Model } = await openNotes(t)
  script = losing('update')
  const error = await notes.patch(null, { $inc: { n: 1 } }).catch((thrown) => thrown)
  t.match(error, { code: 503, errors: undefined })
  t.equal(namesOf(commands).filter((name) => name === 'update').length, 1)
  script = pass
  t.strictSame(pluck(await Model.find().toArray(), 'n'), [1, 2])
})

for (const [name, write] of [
  ['update', (notes: MongoDBService) => notes.patch(null, { n: 9 })],
  ['delete', (notes: MongoDBService) => notes.remove(null)],
] as const) {
  t.test(`without transactions, a lost reply of ${name} of many is unknown (DB-11)`, async (t) => {
    const { notes, Model } = await openNotes(t)
    const lost = losing(name)
    script = async (sent, command, run) =>
      command['startTransaction'] === undefined
        ? lost(sent, command, run)
        : { ok: 0, ...STANDALONE }
    await t.rejects(write(notes), { code: 503, errors: { outcome: 'unknown' } })
    t.equal(namesOf(commands).filter((sent) => sent === name).length, 1)
    script = pass
    t.equal(await Model.countDocuments({ n: { $lt: 9 } }), 0, 'it has happened')
  })
}

t.test('a commit whose server is gone afterwards is of unknown outcome', async (t) => {
  const impatient = await openImpatientClient(t, url, REPLICA_SET)
  const { client, notes, Model } = await openNotes(t, impatient)
  const app = createApp<{ notes: typeof notes }>()
  app.use('notes', notes)
  const calls = [
    () => notes.patch(null, { $inc: { n: 1 } }),
    () => transaction(app, () => notes.patch(1 as never, { n: 5 }, UPSERT), { client }),
  ]
  for (const call of calls) {
    let isGone = false
    script = async (name, _command, run) => {
      if (isGone) throw new Error('gone')
      const reply = await run()
      if (name !== 'commitTransaction') return reply
      isGone = true
      throw new Error('lost')
    }
    await t.rejects(call(), { code: 503, errors: { outcome: 'unknown' } })
    script = pass
    await until(() =>
      notes.find().then(
        () => true,
        () => false,
      ),
    )
  }
  t.match(await Model.find({ n: { $gt: 1 } }).toArray(), [{ n: 2 }, { n: 3 }, { n: 5 }])
})

t.test('what is refused after a part of many is written says so', async (t) => {
  const { notes, Model } = await openNotes(t)
  await Model.insertMany(Array.from({ length: 1_000 }, () => ({ n: 0 })))
  const answers: readonly [Document, object][] = [
    [CONFLICT, { code: 409, errors: { outcome: 'partial' }, data: { retryAfter: undefined } }],
    [{ code: 50 }, { code: 408, errors: { outcome: 'partial' } }],
    [
      { code: 11000, keyPattern: { n: 1 } },
      { code: 409, data: { fields: ['n'] }, errors: { outcome: 'partial' } },
    ],
  ]
  for (const [answer, expected] of answers) {
    let count = 0
    script = async (name, _command, run) => {
      if (name === 'update') count += 1
      return name === 'update' && count > 1 ? { ok: 0, errmsg: '', ...answer } : run()
    }
    const error = await notes.patch(null, { $inc: { m: 1 } }).catch((thrown) => thrown)
    t.match(error, expected)
  }
  script = pass
  t.equal(await Model.countDocuments({ m: 3 }), 1_000)
})

t.test('a part of many that is written makes the rest unknown (DB-11)', async (t) => {
  const { notes, Model } = await openNotes(t)
  await Model.insertMany(Array.from({ length: 1_000 }, () => ({ n: 0 })))
  script = losing('update', 2)
  await t.rejects(notes.patch(null, { n: 9 }), { code: 503, errors: { outcome: 'unknown' } })
  script = pass
  t.equal(await Model.countDocuments({ n: 9 }), 1_000)
})

t.test('uses the session of its caller, and leaves it as it was', async (t) => {
  const { client, notes } = await openNotes(t)
  await client.withSession(async (session) => {
    const docdb = { session }
    t.equal((await notes.patch(null, { a: 1 }, { docdb })).length, 2)
    t.notOk(session.inTransaction())
    t.notOk(session.hasEnded)
    script = failing('update', 1, { code: 2 })
    await t.rejects(notes.patch(null, { a: 2 }, { docdb }), { code: 400 })
    t.notOk(session.inTransaction())
    t.equal((await notes.find({ query: { a: 1 }, docdb, paginate: false })).length, 2)
  })
  const sessions = commands.flatMap(({ lsid }) => (lsid === undefined ? [] : [String(lsid.id)]))
  t.equal(new Set(sessions).size, 1)
})

t.test('no call succeeds whose transaction another one has ended by their session', async (t) => {
  const { client, Model, notes } = await openNotes(t)
  const session = client.startSession()
  t.teardown(() => session.endSession())
  script = async (name, _command, run) => {
    const reply = await run()
    // As a call does that finds its session in a transaction already.
    if (name === 'update' && session.inTransaction()) await session.abortTransaction()
    return reply
  }
  await t.rejects(notes.patch(null, { a: 1 }, { docdb: { session } }))
  t.equal(await Model.countDocuments({ a: 1 }), 0)
})

t.test('is a part of the transaction around it', async (t) => {
  const { client, notes, Model } = await openNotes(t)
  const app = createApp<{ notes: typeof notes }>()
  app.use('notes', notes)
  const failed = transaction(
    app,
    async () => {
      t.equal((await app.service('notes').patch(null, { a: 1 })).length, 2)
      t.equal((await app.service('notes').remove(null, { query: { n: 1 } })).length, 1)
      throw new Error('no')
    },
    { client },
  )
  await t.rejects(failed, /no/)
  t.strictSame(namesOf(commands), ['find', 'update', 'find', 'find', 'delete', 'abortTransaction'])
  t.equal(await Model.countDocuments({ a: { $exists: false } }), 2)
})

t.test('gives concerns to the transaction, and reads from the primary', async (t) => {
  const client = new MongoClient(url, { replicaSet: 'rs0', readPreference: 'secondaryPreferred' })
  t.teardown(() => client.close())
  const Model = client.db('a').collection('notes')
  const settings = {
    readPreference: 'secondary',
    readConcern: { level: 'majority' },
    writeConcern: { w: 1, wtimeoutMS: 1234 },
  } as const
  const notes = new MongoDBService({ Model, multi: true, ...settings })
  commands = []
  await notes.patch(null, { a: 1 })
  const sent = commands.filter((command) => 'lsid' in command)
  t.strictSame(pluck(sent, 'readConcern'), [undefined, undefined, undefined, undefined])
  t.match(sent.at(-1), { commitTransaction: 1, writeConcern: { w: 1, wtimeout: 1234 } })
  t.notOk(sent.slice(0, -1).some((command) => 'writeConcern' in command))
  commands = []
  const docdb = { readConcern: { level: 'snapshot' } } as never
  await notes.patch(null, { a: 1 }, { docdb })
  const levels = commands.filter((command) => 'lsid' in command).map((one) => one['readConcern'])
  t.match(levels, [{ level: 'snapshot' }, undefined, undefined, undefined])
})

t.test('has the concerns of the collection, where the service says nothing', async (t) => {
  const { client } = await openNotes(t)
  const concerns = { readConcern: { level: 'majority' }, writeConcern: { w: 1 } } as const
  const Model = client.db('a').collection('notes', concerns)
  const notes = new MongoDBService({ Model, multi: true })
  await notes.patch(null, { a: 1 })
  const sent = commands.filter((command) => 'lsid' in command)
  t.match(sent[0], { readConcern: { level: 'majority' } })
  t.match(sent.at(-1), { commitTransaction: 1, writeConcern: { w: 1 } })
})

for (const docdb of [
  { writeConcern: { w: 0 } },
  { readConcern: { level: 'linearizable' } },
] as const) {
  t.test(`takes no transaction for what none has: ${Object.keys(docdb)}`, async (t) => {
    const { notes } = await openNotes(t)
    await notes.patch(null, { a: 1 }, { docdb: docdb as never })
    t.strictSame(namesOf(commands), ['find', 'update', 'find'])
  })
}

t.test('leaves no transaction in the session of its caller when the server has gone', async (t) => {
  const { client, notes, Model } = await openNotes(t)
  await client.withSession(async (session) => {
    script = losing('update')
    await t.rejects(notes.patch(null, { a: 1 }, { docdb: { session } }), { code: 503 })
    t.notOk(session.inTransaction())
    script = pass
    t.equal((await notes.patch(null, { a: 2 }, { docdb: { session } })).length, 2)
  })
  t.equal(await Model.countDocuments({ a: 2 }), 2)
})
