import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { TestScope } from '../../support/http.ts'
import type { Script } from '../../support/scripted-server.ts'
import {
  asStandalone,
  DRIVER_COMMANDS,
  runAll,
  startScriptedServer,
} from '../../support/scripted-server.ts'

interface Opened {
  readonly people: MongoDBService
  /** The numbers of the records that are stored, in order. */
  readonly stored: () => Promise<number[]>
  readonly client: MongoClient
  /** The commands since the start. */
  readonly commands: string[]
  /** What the event `changed` has told. */
  readonly changes: unknown[]
  script: Script
}

const REPLICA_SET = { replicaSet: 'rs0' }

/** Opens a service whose records have a unique `n`; one with `n: 0` is there. */
async function openPeople(t: TestScope, isStandalone = false): Promise<Opened> {
  const commands: string[] = []
  const scripted = { script: runAll }
  const watch: Script = (name, command, run) => {
    if (!DRIVER_COMMANDS.has(name)) commands.push(name)
    return scripted.script(name, command, run)
  }
  const url = await startScriptedServer(t, isStandalone ? asStandalone(watch) : watch)
  const client = new MongoClient(url, isStandalone ? {} : REPLICA_SET)
  t.teardown(() => client.close())
  const Model = client.db('a').collection('people')
  await Model.createIndex({ n: 1 }, { unique: true })
  await Model.insertOne({ n: 0 })
  const app = createApp<{ people: MongoDBService }>()
  app.use('people', new MongoDBService({ Model, multi: true }))
  const people = app.service('people')
  const changes: unknown[] = []
  people.on('changed' as never, ((change: unknown) => void changes.push(change)) as never)
  // A server that is asked for the first time does not know yet that it takes no transactions.
  if (isStandalone) await people.patch(null, {}, { query: { n: -1 } })
  commands.length = 0
  const stored = async (): Promise<number[]> => {
    scripted.script = runAll
    const records = await Model.find().sort({ n: 1 }).toArray()
    return records.map(({ n }) => n as number)
  }
  return Object.assign(scripted, { people, stored, client, commands, changes })
}

const DUPLICATE = { name: 'Conflict', code: 409, data: { fields: ['n'] } }
const UNCLEAR = [{ acknowledged: false, matched: 0, modified: 0 }]
const LIST = [{ n: 1 }, { n: 0 }, { n: 2 }]

const listOf = (size: number) => Array.from({ length: size }, (_, index) => ({ n: index + 1 }))

/** Resolves to what a call fails with. */
const failureOf = (call: Promise<unknown>): Promise<Document> =>
  call.then(
    () => ({}),
    (thrown: Document) => thrown,
  )

t.test('stores nothing of a list that fails midway', async (t) => {
  const { people, stored, changes } = await openPeople(t)
  for (const pipeline of [undefined, [{ $set: { more: true } }]]) {
    const error = await failureOf(people.create(LIST, { pipeline }))
    t.match(error, { ...DUPLICATE, errors: undefined })
    t.strictSame(await stored(), [0])
  }
  await t.rejects(people.create([{ n: 1 }, { n: 2, a: '' }, { n: 1 }]), DUPLICATE)
  t.strictSame(await stored(), [0])
  t.strictSame(changes, [])
})

t.test('creates a list again after a conflict with another call, and once', async (t) => {
  const opened = await openPeople(t)
  let conflicts = 2
  opened.script = async (name, _command, run) => {
    if (name !== 'insert' || conflicts === 0) return run()
    conflicts -= 1
    return { ok: 0, code: 112, errmsg: '', errorLabels: ['TransientTransactionError'] }
  }
  t.match(await opened.people.create([{ n: 1 }, { n: 2 }]), [{ n: 1 }, { n: 2 }])
  const attempt = ['insert', 'abortTransaction']
  t.strictSame(opened.commands, [...attempt, ...attempt, 'insert', 'commitTransaction'])
  t.strictSame(await opened.stored(), [0, 1, 2])
})

t.test('says of a longer list that earlier slices stay stored', async (t) => {
  const { people, stored, changes, commands } = await openPeople(t)
  const list = [...listOf(1_500), { n: 1_200 }]
  t.match(await failureOf(people.create(list)), { ...DUPLICATE, errors: { outcome: 'partial' } })
  t.strictSame(commands, [
    ...['insert', 'commitTransaction'],
    ...['insert', 'abortTransaction', 'listIndexes'],
  ])
  t.equal((await stored()).length, 1_001)
  t.strictSame(changes, UNCLEAR)
})

t.test('says of a longer list that the rest is unknown where the server has gone', async (t) => {
  const opened = await openPeople(t)
  let count = 0
  opened.script = async (name, _command, run) => {
    if (name === 'insert') count += 1
    if (name === 'insert' && count > 1) throw new Error('gone')
    return run()
  }
  const error = await failureOf(opened.people.create(listOf(1_500)))
  t.match(error, { code: 503, errors: { outcome: 'unknown' } })
  t.equal((await opened.stored()).length, 1_001)
  t.strictSame(opened.changes, UNCLEAR)
})

t.test('is a part of the transaction around it, of which nothing is stored', async (t) => {
  const { people, client, stored, changes } = await openPeople(t)
  await client.withSession(async (session) => {
    session.startTransaction()
    const docdb = { session }
    const list = [...listOf(1_500), { n: 1_200 }]
    t.match(await failureOf(people.create(list, { docdb })), { ...DUPLICATE, errors: undefined })
    await session.abortTransaction()
  })
  t.strictSame(await stored(), [0])
  t.strictSame(changes, [])
})

t.test('without an order stores all that it can, and says so', async (t) => {
  const { people, stored, changes, commands } = await openPeople(t)
  const docdb = { ordered: false }
  const error = await failureOf(people.create(LIST, { docdb }))
  t.match(error, { ...DUPLICATE, errors: { outcome: 'partial' } })
  t.strictSame(commands, ['insert', 'listIndexes'])
  t.strictSame(await stored(), [0, 1, 2])
  t.strictSame(changes, UNCLEAR)
  t.strictSame(await people.create([], { docdb }), [])
})

t.test('says what a standalone server has stored of a list', async (t) => {
  const { people, stored, changes, commands } = await openPeople(t, true)
  t.match(await failureOf(people.create(LIST)), { ...DUPLICATE, errors: { outcome: 'partial' } })
  t.strictSame(commands, ['insert', 'listIndexes'])
  t.strictSame(await stored(), [0, 1])
  t.strictSame(changes, UNCLEAR)
  for (const list of [[{ n: 0 }], [{ n: 0 }, { n: 3 }]]) {
    t.match(await failureOf(people.create(list)), { ...DUPLICATE, errors: undefined })
  }
  t.strictSame(await stored(), [0, 1])
  t.strictSame(changes, UNCLEAR)
})

t.test('says that a command outside of a transaction may have written some records', async (t) => {
  const opened = await openPeople(t, true)
  const { people, changes } = opened
  await people.create(listOf(3))
  const TIMED_OUT = { ok: 0, code: 50, errmsg: '' }
  const unread = { docdb: { returning: false } } as const
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    insert: () => people.create([{ n: 8 }, { n: 9 }]),
    update: () => people.patch(null, { m: 1 }),
    'update ': () => people.patch(null, { m: 1 }, unread),
    delete: () => people.remove(null),
    'delete ': () => people.remove(null, unread),
  }
  for (const [command, call] of Object.entries(calls)) {
    opened.script = (name, _command, run) =>
      name === command.trim() ? Promise.resolve(TIMED_OUT) : run()
    t.match(await failureOf(call()), { code: 408, errors: { outcome: 'unknown' } }, command)
  }
  t.equal(changes.length, 5)
  opened.script = (name, _command, run) => (name === 'update' ? Promise.resolve(TIMED_OUT) : run())
  const one = await failureOf(people.patch(null, { m: 1 }, { query: { n: 1 } }))
  t.match(one, { code: 408, errors: undefined }, 'one record is changed or not')
  t.equal(changes.length, 5)
})

t.test('says that a command of many whose reply is lost may have written records', async (t) => {
  const opened = await openPeople(t, true)
  const { people, changes } = opened
  await people.create(listOf(3))
  const unread = { docdb: { returning: false } } as const
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    insert: () => people.create([{ n: 8 }, { n: 9 }]),
    'insert ': () => people.create([{ n: 6 }, { n: 7 }], { docdb: { ordered: false } }),
    update: () => people.patch(null, { m: 1 }),
    'update ': () => people.patch(null, { m: 1 }, unread),
    delete: () => people.remove(null, { query: { n: { $gt: 7 } } }),
    'delete ': () => people.remove(null, { ...unread, query: { n: { $lt: 8 } } }),
  }
  for (const [command, call] of Object.entries(calls)) {
    changes.length = 0
    opened.script = async (name, _command, run) => {
      const reply = await run()
      if (name === command.trim()) throw new Error('lost')
      return reply
    }
    t.match(await failureOf(call()), { code: 503, errors: { outcome: 'unknown' } }, command)
    t.strictSame(changes, UNCLEAR, command)
  }
  t.strictSame(await opened.stored(), [])
})

t.test('says that a write has happened whose answer can not be read', async (t) => {
  const opened = await openPeople(t, true)
  const { people, changes, stored } = opened
  const failing: Script = (name, _command, run) =>
    isReading && ['find', 'aggregate'].includes(name)
      ? Promise.resolve({ ok: 0, code: 50, errmsg: '' })
      : run().then((reply) => {
          if (name !== 'find' && name !== 'aggregate') isReading = true
          return reply
        })
  let isReading = false
  const pipeline = [{ $set: { more: true } }]
  const calls: readonly (() => Promise<unknown>)[] = [
    () => people.create({ n: 1 }, { pipeline }),
    () => people.create([{ n: 2 }, { n: 3 }], { pipeline }),
    () => people.patch(null, { m: 1 }),
    () => people.patch(null, { m: 2 }, { pipeline }),
  ]
  for (const call of calls) {
    isReading = false
    opened.script = failing
    t.match(await failureOf(call()), { code: 408, errors: { outcome: 'unknown' } }, String(call))
  }
  t.equal(changes.length, calls.length)
  t.strictSame(await stored(), [0, 1, 2, 3])
  t.equal(await people.countDocuments({ query: { m: 2 } }), 4)
})
