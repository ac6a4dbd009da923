import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import t from 'tap'
import type { MongoDBParams } from '../../../src/adapter/index.ts'
import {
  createdBy,
  limitTo,
  MongoDBService,
  softDelete,
  timestamps,
  updatedBy,
} from '../../../src/adapter/index.ts'
import type { AnyService, Hook, HookOptions, Params } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import type { TestScope } from '../../support/http.ts'
import { startRecords } from '../../support/record-server.ts'

// What record hooks promise holds for what is stored, whatever hooks run after them.

const { empty, commandsOf } = await openDatabase(t)
const ID = '0'.repeat(24)
const LONG_AGO = new Date(0)
const OPERATORS = [
  ...['$set', '$unset', '$rename', '$inc', '$push', '$setOnInsert', '$currentDate'],
  ...['ownerId.a', 'ownerId.$[]'],
]
const UPSERT = { docdb: { upsert: true } }

type Before = NonNullable<HookOptions<AnyService>['before' & keyof HookOptions<AnyService>]>

async function start(t: TestScope, before: object, options: Document = {}) {
  const Model = await empty('notes')
  const adapter = {
    Model,
    multi: true,
    allowClientId: true,
    updateOperators: OPERATORS,
    ...options,
  }
  const hooks = { before: before as Before } as HookOptions<AnyService>
  const started = await startRecords(t, { adapter, hooks })
  const insert = async (note: Document) => String((await Model.insertOne({ ...note })).insertedId)
  const read = async (): Promise<Document> => (await Model.findOne({})) ?? {}
  return { ...started, Model, insert, read }
}

const own = limitTo(({ user }) => ({ ownerId: (user as { _id: string } | undefined)?._id }))
const setData =
  (data: unknown): Hook =>
  (context) => {
    context.data = data as never
  }
const setParams =
  (change: (params: Params) => object): Hook =>
  (context) => {
    context.params = change(context.params) as never
  }

t.test('a new record is of the caller, whatever later hooks make of the data', async (t) => {
  const { send, notes, Model } = await start(t, { all: [own] })
  let data: unknown
  notes.hooks({ before: { create: [(context) => setData(data)(context)] } })
  for (const [made, status] of [
    [{ text: 'forgets the rest' }, 201],
    [[{ text: 'a' }, { text: 'b', ownerId: undefined }], 201],
    [{ ownerId: 'ben' }, 403],
    [{ ownerId: null }, 403],
    [{ ownerId: ['ann', 'ben'] }, 403],
    [[{ text: 'a' }, { ownerId: 'ben' }], 403],
  ] as const) {
    await Model.deleteMany({})
    data = made
    t.equal((await send('POST', '', { text: 'a' }, 'ann')).status, status, JSON.stringify(made))
    t.equal(await Model.countDocuments({ ownerId: { $ne: 'ann' } }), 0)
    t.equal(await Model.countDocuments(), status === 201 ? [made].flat().length : 0)
  }
})

t.test('no change and no replacement of a later hook gives a record away', async (t) => {
  const { send, notes, insert, read } = await start(t, { all: [own] })
  const id = await insert({ ownerId: 'ann', text: 'a' })
  const before = await read()
  let data: unknown
  const set: Hook = (context) => setData(data)(context)
  notes.hooks({ before: { patch: [set], update: [set] } })
  for (const made of [
    { ownerId: 'ben' },
    { ownerId: null },
    { $set: { ownerId: 'ben' } },
    { ownerId: 'ann', $set: { ownerId: 'ben' } },
    { $unset: { ownerId: '' } },
    { $unset: new Map([['ownerId', '']]) },
    { $rename: { text: 'ownerId' } },
    { $rename: { ownerId: 'text' } },
    { $inc: { ownerId: 1 } },
    { $push: { ownerId: 'ben' } },
    { $setOnInsert: { ownerId: 'ben' } },
    { 'ownerId.a': 1 },
    { 'ownerId.$[]': 1 },
  ]) {
    data = made
    for (const [method, path] of [
      ['PATCH', `/${id}`],
      ['PATCH', '?text=a'],
      ...('ownerId.a' in made || 'ownerId.$[]' in made ? [] : [['PUT', `/${id}`]]),
    ] as [string, string][]) {
      const { status } = await send(method, path, { text: 'b' }, 'ann')
      const label = `${method} ${JSON.stringify(made)}: ${status}`
      t.ok(status === 403 || status === 400, label)
      t.strictSame(await read(), before, label)
    }
  }
  data = { text: 'c' }
  t.equal((await send('PUT', `/${id}`, {}, 'ann')).status, 200)
  t.match(await read(), { ownerId: 'ann', text: 'c' })
})

t.test('methods that a custom method calls with its params obey the condition', async (t) => {
  class Notes extends MongoDBService {
    async run(
      { call, data, inherits }: { call: string; data: Document; inherits: boolean },
      given: MongoDBParams,
    ) {
      const params = inherits ? Object.create(given) : given
      const byName = this as unknown as Record<string, (...args: unknown[]) => unknown>
      const isNew = call.endsWith('create')
      return byName[call]?.(...(isNew ? [data, params] : [ID, data, params]))
    }
  }
  const Model = await empty('own')
  const { app, url } = await startRecords(t, { adapter: { Model }, hooks: {} })
  app.use('own', new Notes({ Model }), { methods: ['run'] })
  app.service('own').hooks({
    before: { all: [setParams((params) => Object.assign(params, { user: { _id: 'ann' } })), own] },
  })
  const run = async (call: string, data: object, inherits = false): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-service-method': 'run' }
    const body = JSON.stringify({ call, data, inherits })
    return (await fetch(`${url}/own`, { method: 'POST', headers, body })).status
  }
  await Model.insertOne({ _id: new ObjectId(ID), ownerId: 'ann' })
  for (const name of ['patch', 'update', 'create']) {
    for (const call of [name, `_${name}`]) {
      t.equal(await run(call, { ownerId: 'ben', n: 1 }), 403, call)
      t.equal(await run(call, { ownerId: 'ben', n: 1 }, true), 403, call)
      t.equal(await run(call, { n: 2 }), 200, call)
    }
  }
  t.equal(await Model.countDocuments({ ownerId: { $ne: 'ann' } }), 0)
})

t.test('params that take the place of others keep the rules of the call', async (t) => {
  let held: object = {}
  const { send, notes, insert, Model } = await start(t, { all: [own] })
  const [anns, bens] = [await insert({ ownerId: 'ann' }), await insert({ ownerId: 'ben' })]
  const catchParams: Hook = ({ params }) => {
    if (params.provider === undefined) held = params
  }
  let change: (params: Params) => object = (params) => params
  notes.hooks({
    before: {
      all: [catchParams, setParams((params) => change(params))],
      create: [setData({ ownerId: 'ben' })],
    },
  })
  await notes.find()
  const internal = held
  for (const [name, made] of Object.entries<typeof change>({
    'new ones': () => ({ provider: 'rest', query: {} }),
    'without a provider': () => ({}),
    frozen: () => Object.freeze({ provider: 'rest' }),
    'a frozen copy': (params) => Object.freeze({ ...params }),
    'those of an internal call': () => internal,
    'a copy of those': () => ({ ...internal }),
    'an object with them as its prototype': (params) => Object.create(params),
    nothing: () => undefined as never,
  })) {
    change = made
    t.equal((await send('GET', `/${bens}`, undefined, 'ann')).status, 404, name)
    t.equal((await send('PATCH', `/${bens}`, { n: 1 }, 'ann')).status, 404, name)
    t.equal((await send('PATCH', `/${anns}`, { n: 1 }, 'ann')).status, 200, name)
    t.equal((await send('POST', '', {}, 'ann')).status, 403, name)
    t.equal((await send('POST', '', [{}, {}], 'ann')).status, 403, name)
  }
  t.equal(await Model.countDocuments(), 2)
})

t.test('a plain value of a path is the only one: no list leads to it', async (t) => {
  const limit = limitTo(({ user }) => ({ 'team.id': (user as { _id: string })._id }))
  const { send, insert, Model } = await start(t, { all: [limit] })
  const id = await insert({ team: { id: 'ann' } })
  for (const [team, status] of [
    [{ id: 'ann' }, 200],
    [{ id: 'ann', role: 'x' }, 200],
    [[{ id: 'ann' }, { id: 'ben' }], 403],
    [[{ id: 'ann' }], 403],
    [{ id: ['ann', 'ben'] }, 403],
    [{ id: 'ben' }, 403],
    [['ann'], 403],
    ['ann', 403],
    [{}, 403],
    [null, 403],
  ] as const) {
    for (const [method, path] of [
      ['POST', ''],
      ['PUT', `/${id}`],
      ['PATCH', `/${id}`],
    ] as const) {
      const answer = await send(method, path, { team }, 'ann')
      const expected = status === 200 && method === 'POST' ? 201 : status
      t.equal(answer.status, expected, `${method} ${JSON.stringify(team)}`)
    }
  }
  t.equal((await send('POST', '', { text: 'none' }, 'ann')).status, 403)
  t.equal(await Model.countDocuments({ 'team.id': 'ben' }), 0)
})

t.test('places in lists, null and values that are lists are compared as a whole', async (t) => {
  for (const [condition, good, bad] of [
    [{ 'team.0': 'ann' }, [{ team: ['ann', 'ben'] }], [{ team: ['ben', 'ann'] }]],
    [{ 'team.0.id': 'ann' }, [{ team: [{ id: 'ann' }] }], [{ team: [{ id: 'ben' }] }]],
    [{ 'team.0': 'ann' }, [], [{ team: [{ 0: 'ann' }] }, { team: [['ann']] }]],
    [{ roles: ['a'] }, [{ roles: ['a'] }], [{ roles: [['a'], 'b'] }, { roles: ['a', 'b'] }]],
    [{ 'team.id': null }, [{}, { team: {} }, { team: 'x' }], [{ team: [{ id: 1 }, {}] }]],
    [{ n: { $eq: 1, $lt: 5 } }, [{ n: 1 }], [{ n: [1, 2] }, { n: 2 }]],
    [{ $or: [{ a: 'x' }, { b: 'x' }] }, [{ a: 'x' }, { b: 'x' }], [{ a: ['x', 'y'] }]],
    [{ $or: [{ $and: [{ a: 1 }, { b: 1 }] }] }, [{ a: 1, b: 1 }], [{ a: [1, 2], b: 1 }]],
    [{ $nor: [{ a: 1 }] }, [{ a: 2 }, {}], [{ a: [1, 2] }]],
    [{ a: { $ne: 1 } }, [{ a: 2 }], [{ a: [1, 2] }]],
  ] as [object, object[], object[]][]) {
    const { send } = await start(t, { all: [limitTo(() => condition)] })
    const label = JSON.stringify(condition)
    for (const data of good) t.equal((await send('POST', '', data)).status, 201, label)
    for (const data of bad) t.equal((await send('POST', '', data)).status, 403, label)
  }
})

t.test('a change is judged by what it sets: other fields are not taken for missing', async (t) => {
  for (const [condition, stored, change] of [
    [{ $or: [{ closed: null }, { ownerId: 'ann' }] }, { closed: 1, ownerId: 'ann' }, 'ownerId'],
    [{ $or: [{ a: { $ne: 1 } }, { ownerId: 'ann' }] }, { a: 1, ownerId: 'ann' }, 'ownerId'],
    [{ $nor: [{ a: 1, ownerId: 'ben' }] }, { a: 1, ownerId: 'ann' }, 'ownerId'],
    [
      { 'years.2024.ownerId': 'ann' },
      { years: { 2024: { ownerId: 'ann' } } },
      'years.2024.ownerId',
    ],
  ] as const) {
    const options = { updateOperators: ['$set', 'years.2024.ownerId'] }
    const { send, insert, read } = await start(t, { all: [limitTo(() => condition)] }, options)
    const id = await insert(stored)
    const before = await read()
    const label = JSON.stringify(condition)
    for (const data of [{ [change]: 'ben' }, { $set: { [change]: 'ben' } }]) {
      t.equal((await send('PATCH', `/${id}`, data)).status, 403, label)
    }
    t.strictSame(await read(), before, label)
  }
})

t.test('the record that an upsert adds matches, or there is none', async (t) => {
  const upsert = setParams((params) => ({ ...params, ...UPSERT }))
  for (const [condition, query, data, status] of [
    [{ ownerId: 'ann' }, '', { n: 1 }, 200],
    [{ ownerId: 'ann' }, '?ownerId=ben', { n: 1 }, 400],
    [{ ownerId: { $in: ['ann', 'eve'] } }, '?ownerId=ben', { n: 1 }, 403],
    [{ ownerId: { $in: ['ann', 'eve'] } }, '', { n: 1 }, 403],
    [{ ownerId: { $in: ['ann', 'eve'] } }, '', { ownerId: 'eve' }, 200],
    [{ $or: [{ ownerId: 'ann' }, { open: true }] }, '', { open: true }, 200],
    [{ ownerId: 'ann', state: { $ne: 'x' } }, '?n=1', { state: 'y' }, 200],
    [{ ownerId: 'ann', state: { $ne: 'x' } }, '?n=1', { m: 1 }, 200],
    [{ ownerId: 'ann', state: { $ne: 'x' } }, '?state=y', { state: 'y' }, 200],
  ] as const) {
    for (const method of ['PATCH', 'PUT']) {
      const { send, read } = await start(t, { all: [limitTo(() => condition), upsert] })
      const label = `${method} ${JSON.stringify(condition)} ${query}`
      const answer = await send(method, `/${ID}${query}`, data)
      // A replacement has what is in it, and nothing of the query.
      if (method === 'PATCH') t.equal(answer.status, status, label)
      const { ownerId, open } = await read()
      t.ok(ownerId !== 'ben' && (answer.status === 200) === Boolean(ownerId ?? open), label)
    }
  }
})

t.test('the query of an upsert gives the new record no value against a condition', async (t) => {
  const upsert = setParams((params) => ({ ...params, ...UPSERT }))
  for (const [condition, query] of [
    [{ state: { $ne: 'x' } }, 'state=x'],
    [{ state: { $ne: 'x' } }, '$and[0][state]=x'],
    [{ state: { $ne: 'x' } }, '$or[0][state]=x'],
    [{ state: { $nin: ['x'] } }, 'state[$eq]=x'],
    [{ $nor: [{ state: 'x' }] }, 'state=x'],
    [{ state: { $exists: false } }, 'state=x'],
    [{ 'at.state': { $ne: 'x' } }, 'at[state]=x'],
  ] as const) {
    for (const data of [{ n: 1 }, { $set: { n: 1 } }, { $setOnInsert: { n: 1 } }]) {
      const own = limitTo(() => ({ ownerId: 'ann', ...condition }) as Document)
      const { send, Model } = await start(t, { all: [own, upsert] })
      const label = `${JSON.stringify(condition)} ${query} ${JSON.stringify(data)}`
      t.equal((await send('PATCH', `/${ID}?${query}`, data)).status, 400, label)
      t.equal(await Model.countDocuments(), 0, label)
    }
  }
})

t.test('an object with a toString of its own is no id of the caller', async (t) => {
  const { send, insert, Model } = await start(t, { all: [own] })
  const id = await insert({ ownerId: 'ann' })
  for (const value of [{ toString: 'ann' }, { toString: 1, valueOf: 1 }, ['ann'], [['ann']]]) {
    const label = JSON.stringify(value)
    t.equal((await send('POST', '', { ownerId: value }, 'ann')).status, 403, label)
    t.equal((await send('PATCH', `/${id}`, { ownerId: value }, 'ann')).status, 403, label)
    t.equal((await send('PUT', `/${id}`, { ownerId: value }, 'ann')).status, 403, label)
    t.equal((await send('PATCH', `/${id}`, { _id: value }, 'ann')).status, 400, label)
  }
  t.strictSame(await Model.distinct('ownerId'), ['ann'])
})

t.test('later hooks neither forge nor lose times and authors', async (t) => {
  const before = { all: [timestamps(), createdBy(), updatedBy()] }
  const { send, notes, insert, read, Model } = await start(t, before)
  let data: unknown
  const set: Hook = (context) => setData(data)(context)
  notes.hooks({ before: { create: [set], patch: [set], update: [set] } })
  const forged = { createdAt: 'x', updatedAt: LONG_AGO, createdBy: 'eve', updatedBy: 'eve' }
  const stamped = { createdAt: Date, updatedAt: Date, createdBy: 'ann', updatedBy: 'ann' }
  for (const made of [{ text: 'a' }, { text: 'a', ...forged }, { createdBy: undefined }]) {
    await Model.deleteMany({})
    data = made
    t.equal((await send('POST', '', {}, 'ann')).status, 201)
    t.match(await read(), stamped)
    t.not((await read())['updatedAt'].getTime(), 0)
  }
  await Model.deleteMany({})
  const id = await insert({ createdAt: LONG_AGO, createdBy: 'ben' })
  for (const method of ['PATCH', 'PUT']) {
    for (const made of [{ text: 'b' }, { text: 'b', ...forged }, { ...forged, createdBy: 'ann' }]) {
      data = made
      t.equal((await send(method, `/${id}`, {}, 'ann')).status, 200)
      t.match(await read(), { ...stamped, createdAt: LONG_AGO, createdBy: 'ben' })
      t.not((await read())['updatedAt'].getTime(), 0)
    }
    for (const made of [{ $set: { createdBy: 'eve' } }, { $unset: { updatedAt: '' } }]) {
      data = made
      t.match(await send(method, `/${id}`, {}, 'ann'), { status: 400 }, JSON.stringify(made))
    }
    data = { $inc: { n: 1 } }
    t.equal((await send(method, `/${id}`, {}, 'ann')).status, 200)
    t.match(await read(), { updatedAt: Date, updatedBy: 'ann' })
  }
})

t.test('a later hook may write a time or an id in another form', async (t) => {
  const id = new ObjectId()
  const convert: Hook = ({ data }) => {
    const record = data as Document
    record['createdBy'] = new ObjectId(record['createdBy'])
    record['createdAt'] = record['createdAt'].toISOString()
  }
  const { send, read } = await start(t, { all: [timestamps(), createdBy()], create: [convert] })
  t.equal((await send('POST', '', {}, String(id))).status, 201)
  t.match(await read(), { createdBy: id, createdAt: String, updatedAt: Date })
})

t.test('the query of an upsert does not say who has created the record', async (t) => {
  const upsert = setParams((params) => ({ ...params, ...UPSERT }))
  const before = { all: [createdBy()], patch: [upsert], update: [upsert] }
  const { send, notes, read } = await start(t, before)
  for (const query of ['createdBy=eve', '$and[0][createdBy]=eve', '$or[0][createdBy]=eve']) {
    t.equal((await send('PUT', `/${ID}?${query}`, { n: 1 }, 'ann')).status, 400, query)
  }
  t.strictSame(await read(), {})
  t.equal((await send('PUT', `/${ID}?n=1`, { n: 1 }, 'ann')).status, 200)
  t.match(await read(), { createdBy: 'ann', n: 1 })
  await notes.remove(ID)
  t.equal((await send('PATCH', `/${ID}?createdBy=eve`, { n: 1 }, 'ann')).status, 200)
  t.match(await read(), { createdBy: 'ann', n: 1 })
})

t.test('createdBy keeps a field that limitTo is about, in either order', async (t) => {
  const stamped = createdBy({ field: 'ownerId' })
  for (const all of [
    [own, stamped],
    [stamped, own],
  ]) {
    const { send, insert, read } = await start(t, { all })
    const id = await insert({ ownerId: 'ann', text: 'a' })
    t.equal((await send('PUT', `/${id}`, { text: 'b' }, 'ann')).status, 200)
    t.strictSame(await read(), { _id: new ObjectId(id), text: 'b', ownerId: 'ann' })
    t.equal((await send('PUT', `/${id}`, { text: 'b' }, 'ben')).status, 404)
    t.equal((await send('POST', '', { text: 'b' }, 'ben')).status, 201)
  }
})

t.test('no later hook marks a record as removed, or takes the mark off', async (t) => {
  const { send, notes, insert, read } = await start(t, { all: [softDelete()] })
  const id = await insert({ text: 'a' })
  let data: unknown
  const set: Hook = (context) => setData(data)(context)
  notes.hooks({ before: { create: [set], patch: [set], update: [set] } })
  for (const made of [
    { deletedAt: new Date() },
    { $set: { deletedAt: new Date() } },
    { $currentDate: { deletedAt: true } },
    { $rename: { text: 'deletedAt' } },
  ]) {
    data = made
    for (const [method, path] of [
      ['PATCH', `/${id}`],
      ['PATCH', '?text=a'],
      ['PUT', `/${id}`],
    ] as const) {
      const answer = await send(method, path, {})
      t.match(answer, { status: 400, body: { message: /'deletedAt' is set by the server/ } })
    }
  }
  t.match(await read(), { text: 'a', deletedAt: undefined })
  data = { text: 'b', deletedAt: null }
  t.equal((await send('POST', '', {})).status, 201, 'a record without a mark')
  t.match(await notes.patch(id, { deletedAt: new Date() }), { deletedAt: null }, 'the hook again')
})

t.test('the rules cost no command', async (t) => {
  const { send, insert } = await start(t, { all: [softDelete(), timestamps(), createdBy(), own] })
  const id = await insert({ ownerId: 'ann' })
  for (const [method, path] of [
    ['POST', ''],
    ['PATCH', `/${id}`],
    ['PUT', `/${id}`],
    ['DELETE', `/${id}`],
  ] as const) {
    t.equal((await commandsOf(() => send(method, path, { n: 1 }, 'ann'))).length, 1, method)
  }
})
