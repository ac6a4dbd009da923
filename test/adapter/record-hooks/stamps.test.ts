import type { Document } from 'mongodb'
import t from 'tap'
import { createdBy, timestamps, transaction, updatedBy } from '../../../src/adapter/index.ts'
import type { AnyService, HookOptions } from '../../../src/core/index.ts'
import { namesOf, openDatabase } from '../../support/database.ts'
import type { TestScope } from '../../support/http.ts'
import { startRecords } from '../../support/record-server.ts'

const { empty, commandsOf } = await openDatabase(t)
const LONG_AGO = new Date(0)
const ID = '0'.repeat(24)
const OPERATORS = ['$set', '$unset', '$inc', '$rename', '$currentDate', 'createdAt.a']

async function start(t: TestScope, before: object, options: Document = {}) {
  const Model = await empty('notes')
  const adapter = { Model, multi: true, updateOperators: OPERATORS, ...options }
  const started = await startRecords(t, { adapter, hooks: { before } as HookOptions<AnyService> })
  const read = async (): Promise<Document> => (await Model.findOne({})) ?? {}
  const insert = async (note: Document) => String((await Model.insertOne(note)).insertedId)
  return { ...started, Model, read, insert }
}

const all = { all: [timestamps()] }

t.test('create sets both times to the same date, whatever callers outside send', async (t) => {
  const { send, notes, read, Model } = await start(t, all)
  const forged = { text: 'a', createdAt: 'x', updatedAt: 'y' }
  const commands = await commandsOf(() => send('POST', '', forged))
  t.strictSame(namesOf(commands), ['insert'])
  const { createdAt, updatedAt, text } = await read()
  t.ok(createdAt instanceof Date)
  t.strictSame([createdAt, text], [updatedAt, 'a'])
  await send('POST', '', [forged, forged])
  t.equal(await Model.countDocuments({ createdAt: { $type: 'date' } }), 3)

  const own = Object.freeze({ text: 'own', createdAt: LONG_AGO })
  t.match(await notes.create(own), { createdAt: LONG_AGO, updatedAt: Date }, 'code inside may')
  t.strictSame(own, { text: 'own', createdAt: LONG_AGO })
})

t.test('patch sets the time of the change alone, by one command', async (t) => {
  const { send, notes, read, insert } = await start(t, all)
  const id = await insert({ text: 'a', createdAt: LONG_AGO, updatedAt: LONG_AGO })
  const whole = { text: 'b', createdAt: '1970-01-01', updatedAt: '1970-01-01' }
  const commands = await commandsOf(() => send('PATCH', `/${id}`, whole))
  t.strictSame(namesOf(commands), ['findAndModify'])
  const changed = await read()
  t.strictSame(changed['createdAt'], LONG_AGO)
  t.ok(changed['updatedAt'] instanceof Date && changed['updatedAt'] > LONG_AGO)

  await notes.patch(id, { updatedAt: LONG_AGO }).catch(() => undefined)
  await notes.patch(id, { $set: { updatedAt: LONG_AGO } })
  t.strictSame((await read())['updatedAt'], LONG_AGO, 'an operator from inside says so itself')
  await send('PATCH', '?text=b', { text: 'c' })
  t.not((await read())['updatedAt'].getTime(), 0, 'a patch of many')
  await notes.patch(id, { $set: { updatedAt: LONG_AGO } })
  await send('PATCH', `/${id}`, { $inc: { n: 1 } })
  await notes.update(id, { $inc: { n: 1 } })
  t.match(await read(), { n: 2, createdAt: LONG_AGO })
  t.not((await read())['updatedAt'].getTime(), 0, 'an update by operators')
})

t.test('operators from outside change none of the fields', async (t) => {
  const { send, read, insert } = await start(t, all)
  const id = await insert({ text: 'a', createdAt: LONG_AGO, updatedAt: LONG_AGO })
  const before = await read()
  for (const data of [
    { $set: { createdAt: 1 } },
    { $set: { updatedAt: 1 } },
    { $unset: { createdAt: '' } },
    { $rename: { text: 'createdAt' } },
    { $rename: { createdAt: 'text' } },
    { $currentDate: { createdAt: true } },
    { 'createdAt.a': 1 },
    { createdAt: 1, $set: { createdAt: 1 } },
  ]) {
    const answer = await send('PATCH', `/${id}`, data)
    t.match(answer, { status: 400, body: { message: /At' is set by the server/ } })
  }
  t.strictSame(await read(), before)
})

t.test('a replacement keeps the time of create, by one command', async (t) => {
  const { send, notes, read, insert } = await start(t, all)
  const id = await insert({ text: 'a', old: 1, createdAt: LONG_AGO })
  const commands = await commandsOf(() => send('PUT', `/${id}`, { text: 'b', createdAt: 'x' }))
  t.strictSame(namesOf(commands), ['findAndModify'])
  t.match(await read(), { text: 'b', old: undefined, createdAt: LONG_AGO, updatedAt: Date })
  const later = new Date(1)
  t.match(await notes.update(id, { text: '$text', createdAt: later }), { createdAt: later })
  t.match(await notes.update(id, { text: '$text' }), { text: '$text', createdAt: later })
  t.equal((await send('PUT', `/${ID}`, { text: 'b' })).status, 404)
  await notes.patch(id, { $unset: { createdAt: '' } })
  await send('PUT', `/${id}`, { text: 'd' })
  t.notOk('createdAt' in (await read()), 'nobody knows it')
})

t.test('a record that an upsert adds has both times, an existing one keeps its own', async (t) => {
  const { notes, read, Model } = await start(t, all)
  const upsert = { docdb: { upsert: true } } as object
  await notes.patch(ID, { text: 'a' }, upsert)
  t.match(await read(), { text: 'a', createdAt: Date, updatedAt: Date })
  await Model.updateOne({}, { $set: { createdAt: LONG_AGO } })
  await notes.patch(ID, { text: 'b', $setOnInsert: { n: 1 } }, upsert)
  t.match(await read(), { text: 'b', createdAt: LONG_AGO, n: undefined })
  await notes.update(ID, { text: 'c' }, upsert)
  t.match(await read(), { text: 'c', createdAt: LONG_AGO })
  await Model.deleteMany({})
  await notes.update(ID, { text: 'd' }, upsert)
  t.match(await read(), { text: 'd', createdAt: Date })
})

t.test('a replacement raises the version and keeps the time, by one command', async (t) => {
  const { send, read, insert } = await start(t, all, { version: 'version' })
  const id = await insert({ text: 'a', createdAt: LONG_AGO, version: 3 })
  const commands = await commandsOf(() => send('PUT', `/${id}`, { text: 'b' }))
  t.equal(commands.length, 1)
  t.match(await read(), { text: 'b', createdAt: LONG_AGO, version: 4 })
})

t.test('in a transaction, a replacement reads what the transaction has written', async (t) => {
  const { app, notes, read } = await start(t, all)
  await transaction(app, async () => {
    const { _id } = (await notes.create({ text: 'a', createdAt: LONG_AGO })) as Document
    await notes.update(String(_id), { text: 'b' })
  })
  t.match(await read(), { text: 'b', createdAt: LONG_AGO })
})

t.test('createdBy and updatedBy store the user, and refuse callers without one', async (t) => {
  const before = { all: [createdBy(), updatedBy({ field: 'editor' })] }
  const { send, notes, read, bodyOf } = await start(t, before)
  t.equal((await send('POST', '', { text: 'a' })).status, 401)
  const { _id } = await bodyOf(send('POST', '', { text: 'a', createdBy: 'eve' }, 'ann'))
  t.match(await read(), { createdBy: 'ann', editor: 'ann' })
  await send('PATCH', `/${_id}`, { text: 'b', createdBy: 'eve', editor: 'eve' }, 'ben')
  t.match(await read(), { text: 'b', createdBy: 'ann', editor: 'ben' })
  await send('PUT', `/${_id}`, { text: 'c', createdBy: 'eve' }, 'cat')
  t.strictSame(await read(), {
    _id: (await read())['_id'],
    text: 'c',
    createdBy: 'ann',
    editor: 'cat',
  })
  t.equal((await send('PATCH', `/${_id}`, { text: 'd' })).status, 401)
  t.equal((await send('PUT', `/${_id}`, { text: 'd' })).status, 401)

  await notes.patch(_id, { text: 'e' })
  t.match(
    await read(),
    { text: 'e', createdBy: 'ann', editor: 'cat' },
    'nobody is logged in inside',
  )
  t.match(await notes.create({ createdBy: 'seed' }), { createdBy: 'seed', editor: undefined })
  t.match(await notes.create({}, { user: { id: 7 } as never }), { createdBy: 7, editor: 7 })
})

t.test('by says what is stored of a caller', async (t) => {
  const by = ({ headers }: { headers?: object | undefined }) =>
    Reflect.get(headers ?? {}, 'x') ?? null
  const { send, read } = await start(t, { all: [createdBy({ by })] })
  await send('POST', '', { text: 'a' })
  t.match(await read(), { createdBy: null })
})

t.test('data that is none is left to the service', async (t) => {
  const { send, notes } = await start(t, all)
  t.equal((await send('PATCH', `/${ID}`, [])).status, 400)
  t.equal((await send('PUT', `/${ID}`, [])).status, 400)
  t.equal((await send('PUT', `/${ID}`, { $set: 'text' })).status, 400)
  await t.rejects(notes.create('a'), { code: 400 })
  await t.rejects(notes.create(null), { code: 400 })
})

t.test('options and places that can not be meant are refused', async (t) => {
  t.throws(() => timestamps({ created: 'a' } as object), TypeError)
  t.throws(() => createdBy({ by: 'user' } as object), TypeError)
  const { notes } = await start(t, { all: [] })
  notes.hooks({ around: { create: [timestamps() as never] } })
  await t.rejects(notes.create({}), /must be a before hook/)
})
