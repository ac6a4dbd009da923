import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'
import {
  audit,
  limitTo,
  MongoDBService,
  softDelete,
  timestamps,
  transaction,
} from '../../../src/adapter/index.ts'
import { hashPassword, protect } from '../../../src/auth/index.ts'
import type { AnyService, AroundHook, HookContext, HookOptions } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { TestScope } from '../../support/http.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { pluck } from '../../support/pluck.ts'
import { startRecords } from '../../support/record-server.ts'
import type { Script } from '../../support/scripted-server.ts'
import {
  DRIVER_COMMANDS,
  failTimes,
  runAll,
  startScriptedServer,
} from '../../support/scripted-server.ts'

/** What happens to commands in the test that runs. */
let script = runAll
let commands: string[] = []
const url = await startScriptedServer(t, (name, command, run) => {
  if (!DRIVER_COMMANDS.has(name)) commands.push(name)
  return script(name, command, run)
})
const client = new MongoClient(url, { replicaSet: 'rs0' })
t.teardown(() => client.close())
const db = client.db('audited')
const Model = db.collection('notes')
const Log = db.collection('log')

type Hooks = HookOptions<AnyService>

t.beforeEach(async () => {
  script = runAll
  await Promise.all([Model.deleteMany({}), Log.deleteMany({})])
})

const AUDITED = { around: { all: [audit({ service: 'log' })] } }

async function start(t: TestScope, hooks: object = AUDITED, options: Document = {}) {
  const started = await startRecords(t, {
    adapter: { Model, multi: true, ...options },
    hooks: hooks as Hooks,
    others: { log: new MongoDBService({ Model: Log }) as never },
  })
  const entries = (): Promise<Document[]> => Log.find({}, { sort: { _id: 1 } }).toArray()
  const commandsOf = async (run: () => Promise<unknown>): Promise<string[]> => {
    commands = []
    await run()
    return commands
  }
  return { ...started, entries, commandsOf }
}

t.test('each write has an entry: who, when, what and which record', async (t) => {
  const { send, bodyOf, entries } = await start(t)
  const { _id } = await bodyOf(send('POST', '', { text: 'a', n: 1 }, 'ann'))
  await send('PATCH', `/${_id}`, { text: 'b' }, 'ben')
  await send('PUT', `/${_id}`, { text: 'c' })
  await send('DELETE', `/${_id}`, undefined, 'ann')
  const all = await entries()
  t.match(all, [
    { method: 'create', by: 'ann', fields: ['text', 'n'], values: { text: 'a', n: 1 } },
    { method: 'patch', by: 'ben', fields: ['text'], values: { text: 'b', n: undefined } },
    { method: 'update', by: null, fields: ['text'], values: { text: 'c' } },
    { method: 'remove', by: 'ann', fields: [], values: { text: 'c' } },
  ])
  for (const { at, service, recordId, values } of all) {
    t.ok(at instanceof Date)
    t.strictSame([service, String(recordId)], ['notes', _id])
    t.notOk('_id' in values)
  }
  t.equal(all.length, 4)
})

t.test('a write, its record and the entry are read and written by four commands', async (t) => {
  const { send, bodyOf, commandsOf } = await start(t)
  let id = ''
  const create = async () => {
    id = (await bodyOf(send('POST', '', { text: 'a' })))['_id']
  }
  t.strictSame(await commandsOf(create), ['insert', 'find', 'insert', 'commitTransaction'])
  const patch = () => send('PATCH', `/${id}`, { text: 'b' })
  const written = ['findAndModify', 'find', 'insert', 'commitTransaction']
  t.strictSame(await commandsOf(patch), written)
  const remove = () => send('DELETE', `/${id}`)
  t.strictSame(await commandsOf(remove), ['findAndModify', 'insert', 'commitTransaction'])
  t.strictSame(await commandsOf(() => send('GET')), ['find'], 'reads are left alone')
})

t.test('of many records each has its entry', async (t) => {
  const { send, entries } = await start(t)
  await send('POST', '', [{ text: 'b', n: 1 }, { text: 'b' }, { text: 'b' }])
  await send('PATCH', '?text=b', { text: 'a' })
  t.match(pluck(await entries(), 'method'), [
    ...['create', 'create', 'create', 'patch', 'patch', 'patch'],
  ])
  await Log.deleteMany({})
  const found = await Model.find().toArray()
  await send('DELETE', '?text=a')
  t.strictSame(
    (await entries()).map(({ recordId, values }) => ({ _id: recordId, ...values })),
    found,
  )
  await send('DELETE', '?text=a')
  t.equal((await entries()).length, 3, 'nothing was removed')
})

t.test('$select and after hooks change nothing of an entry', async (t) => {
  const replace = (context: { result?: unknown }) => {
    context.result = { ok: true }
  }
  const hooks = { ...AUDITED, after: { all: [replace] } }
  const { send, entries } = await start(t, hooks)
  await send('POST', '?$select[]=n', { text: 'a', n: 1 })
  const [created] = await entries()
  t.match(created, { fields: ['text', 'n'], values: { text: 'a', n: 1 } })
  await send('DELETE', `/${created?.['recordId']}?$select[]=n`)
  t.match((await entries())[1], { method: 'remove', values: { text: 'a', n: 1 } })
})

t.test('no password and no hidden field reaches the entries, from outside or inside', async (t) => {
  const secrets = {
    password: 'secret one',
    pin: 'secret two',
    profile: { token: 'secret three', a: 1 },
  }
  const around = { all: [audit({ service: 'log', omit: ['nested.key'] })] }
  for (const [hooks, options] of [
    [{ around }, { hidden: ['password', 'pin', 'profile.token'] }],
    [{ around, after: { all: [protect('password', 'pin', 'profile.token')] } }, {}],
  ] as const) {
    const { send, notes, entries } = await start(t, hooks, {
      ...options,
      updateOperators: ['$set', 'profile.token'],
    })
    const data = { ...secrets, name: 'Ann', nested: [{ key: 'secret four', b: 1 }] }
    for (const run of [
      () => notes.create(data),
      () => send('POST', '', data),
      () => notes.patch(null, { $set: { password: 'secret one', 'profile.token': 'secret' } }),
      () => send('PATCH', '?name=Ann', secrets),
      async () => notes.update(String((await Model.findOne({}))?._id), data),
      () => send('DELETE', '?name=Ann'),
    ]) {
      await run()
    }
    const all = await entries()
    t.ok(all.length >= 8)
    t.notMatch(JSON.stringify(all), /secret/)
    t.match(all.find(({ method }) => method === 'patch')?.['fields'], ['password', 'profile.token'])
    t.match(all.at(-1), { values: { name: 'Ann', profile: { a: 1 }, nested: [{ b: 1 }] } })
    await Promise.all([Model.deleteMany({}), Log.deleteMany({})])
  }
})

t.test('what hashPassword hashes is not stored', async (t) => {
  const hash = hashPassword('password')
  t.ok(hash)
  const { notes, entries } = await start(t, AUDITED)
  notes.hooks({ before: { remove: [hash as never] } })
  await notes.create({ password: 'hashed elsewhere', name: 'Ann' })
  t.strictSame((await entries())[0]?.['values'], { name: 'Ann' })
})

t.test('a write that fails has no entry, and without an entry there is no write', async (t) => {
  const { app, notes, entries, events } = await start(t)
  await t.rejects(notes.patch('0'.repeat(24), { text: 'a' }), { code: 404 })
  t.strictSame(await entries(), [])
  app.service('log').hooks({
    before: {
      create: () => {
        throw new Error('The log is full')
      },
    },
  })
  await t.rejects(notes.create({ text: 'a' }), /The log is full/)
  t.equal(await Model.countDocuments(), 0)
  t.strictSame(events, [])
})

t.test('a repeated transaction has its entries once', async (t) => {
  let attempts = 0
  const limit = limitTo(() => {
    attempts += 1
    return { attempts }
  })
  const hooks = { ...AUDITED, before: { all: [limit] } }
  const { send, entries, events, commandsOf } = await start(t, hooks)
  const errorLabels = ['TransientTransactionError']
  const failing: Readonly<Record<string, Script>> = {
    insert: failTimes(3, 'insert', { code: 112, errmsg: 'WriteConflict', errorLabels }),
    commitTransaction: failTimes(2, 'commitTransaction', {
      code: 251,
      errmsg: 'NoSuchTransaction',
      errorLabels,
    }),
  }
  for (const [name, fail] of Object.entries(failing)) {
    await Promise.all([Model.deleteMany({}), Log.deleteMany({})])
    events.length = 0
    script = fail
    const sent = await commandsOf(() => send('POST', '', { text: 'a' }))
    t.ok(sent.filter((one) => one === name).length > 2, name)
    t.match(await entries(), [{ method: 'create', values: { text: 'a', attempts } }])
    t.equal((await entries()).length, 1)
    t.match(await Model.find().toArray(), [{ attempts }], 'by the condition of the last attempt')
    t.strictSame(events, ['created'])
  }
})

t.test('in a transaction of several calls the entries are a part of it', async (t) => {
  const { app, notes, entries } = await start(t)
  const run = (isFailing: boolean) =>
    transaction(app, async () => {
      await notes.create({ n: 1 })
      await notes.create({ n: 2 })
      if (isFailing) throw new Error('later')
    })
  await t.rejects(run(true), /later/)
  t.strictSame(await entries(), [])
  await run(false)
  t.match(await entries(), [{ values: { n: 1 } }, { values: { n: 2 } }])
})

t.test('over many calls with planted failures, entries and writes are the same', async (t) => {
  const { notes, entries } = await start(t, { ...AUDITED, before: { create: [timestamps()] } })
  // Numbers that look random, and are the same in each run.
  let state = 7
  const random = (): number => {
    state = (state * 48271) % 2147483647
    return state / 2147483647
  }
  const errorLabels = ['TransientTransactionError']
  script = async (name, _command, run) => {
    const fails = ['insert', 'findAndModify', 'update', 'delete', 'commitTransaction'].includes(
      name,
    )
    if (!fails || random() > 0.2) return run()
    if (random() > 0.4) return { ok: 0, code: 112, errmsg: 'WriteConflict', errorLabels }
    return { ok: 0, code: 13, errmsg: 'not authorized' }
  }
  const versions = new Map<unknown, number>()
  let failed = 0
  for (let step = 0; step < 120; step += 1) {
    const known = [...versions.keys()]
    const id = known[Math.floor(random() * known.length)]
    try {
      if (id === undefined || random() < 0.4) {
        versions.set(((await notes.create({ step })) as Document)['_id'], 1)
      } else if (random() < 0.7) {
        await notes.patch(String(id), { step })
        versions.set(id, (versions.get(id) ?? 0) + 1)
      } else {
        await notes.remove(String(id))
        versions.set(id, (versions.get(id) ?? 0) + 1)
        versions.delete(id)
      }
    } catch {
      failed += 1
    }
  }
  script = runAll
  t.ok(failed > 5 && failed < 100, `${failed} calls have failed`)
  const stored = await Model.find().toArray()
  t.strictSame(stored.map(({ _id }) => String(_id)).sort(), [...versions.keys()].map(String).sort())
  const all = await entries()
  for (const [id, writes] of versions) {
    t.equal(all.filter(({ recordId }) => String(recordId) === String(id)).length, writes)
  }
  for (const { _id, step } of stored) {
    const last = all.findLast(({ recordId }) => String(recordId) === String(_id))
    t.equal(last?.['values'].step, step, 'the last entry has what is stored')
  }
  const removed = all.filter(({ method }) => method === 'remove').length
  const created = all.filter(({ method }) => method === 'create').length
  t.equal(created - removed, stored.length)
})

t.test('a mark of softDelete is a removal, and limitTo holds', async (t) => {
  const limit = limitTo(({ user }) => ({ ownerId: (user as { _id: string })._id }))
  const hooks = { ...AUDITED, before: { all: [softDelete(), limit] } }
  const { send, bodyOf, entries } = await start(t, hooks)
  const { _id } = await bodyOf(send('POST', '', { text: 'a' }, 'ann'))
  t.equal((await send('DELETE', `/${_id}`, undefined, 'ben')).status, 404)
  t.equal((await send('DELETE', `/${_id}`, undefined, 'ann')).status, 200)
  t.match(await entries(), [
    { method: 'create' },
    { method: 'remove', values: { text: 'a', deletedAt: undefined } },
  ])
})

t.test('operators and paths are told by the fields that they write', async (t) => {
  const { notes, entries } = await start(t)
  const { _id } = (await notes.create({ n: 1, list: [{ a: 1, b: 1 }], old: 2 })) as Document
  await Log.deleteMany({})
  await notes.patch(String(_id), { $inc: { n: 1 }, 'list.0.a': 5, $rename: { old: 'new' } })
  t.match(await entries(), [
    {
      fields: ['n', 'list.0.a', 'old', 'new'],
      values: { n: 2, list: [{ a: 5, b: undefined }], new: 2 },
    },
  ])
  await notes.update(String(_id), { $set: { n: 9 } })
  t.match((await entries())[1], { fields: ['n'], values: { n: 9 } })
})

t.test('fields that hooks add when the command is made are told, too', async (t) => {
  const before = { all: [timestamps({ updatedAt: 'at' })] }
  const { send, bodyOf, entries } = await start(
    t,
    { ...AUDITED, before },
    { updateOperators: ['$inc'] },
  )
  const { _id } = await bodyOf(send('POST', '', { n: 1 }))
  await Log.deleteMany({})
  for (const [method, path] of [
    ['PATCH', `/${_id}`],
    ['PUT', `/${_id}`],
    ['PATCH', '?createdAt[$ne]=1'],
  ] as const) {
    await send(method, path, { $inc: { n: 1 } })
  }
  const all = await entries()
  t.strictSame(pluck(all, 'fields'), [
    ['n', 'at'],
    ['n', 'at'],
    ['n', 'at'],
  ])
  t.match(all, [{ values: { n: 2, at: Date } }, { values: { n: 3 } }, { values: { n: 4 } }])
})

t.test('a record that an upsert adds is emitted whole, with no field it did not set', async (t) => {
  const { notes, entries } = await start(t, { ...AUDITED, before: { all: [timestamps()] } })
  const upsert: object = { docdb: { upsert: true } }
  const id = '0'.repeat(24)
  await notes.patch(id, { n: 1, $setOnInsert: { m: 1 } }, upsert)
  await notes.patch(id, { n: 2, $setOnInsert: { m: 2 } }, upsert)
  const [added, changed] = await entries()
  t.strictSame(added?.['fields'].toSorted(), ['createdAt', 'm', 'n', 'updatedAt'])
  t.match(added?.['values'], { n: 1, m: 1, createdAt: Date })
  t.strictSame(changed?.['fields'], ['n', 'updatedAt'])
  t.strictSame(Object.keys(changed?.['values']).toSorted(), ['n', 'updatedAt'])
})

t.test('a call that does not tell its records is refused, and writes nothing', async (t) => {
  const { notes, entries } = await start(t)
  await notes.create({ n: 1 })
  const unread = { docdb: { returning: false } } as object
  await t.rejects(notes.patch(null, { n: 2 }, unread), /returning/)
  t.match(await Model.find().toArray(), [{ n: 1 }])
  t.equal((await entries()).length, 1)
})

t.test('a result that a hook has set is no write', async (t) => {
  const skip = (context: { result?: unknown }) => {
    context.result = { _id: 1 }
  }
  const { notes, entries } = await start(t, { ...AUDITED, before: { create: [skip] } })
  await notes.create({ n: 1 })
  t.strictSame(await entries(), [])
})

t.test('it is refused where entries can not be stored', async (t) => {
  t.throws(() => audit({} as never), /needs the option 'service'/)
  t.throws(() => audit({ service: 'log', fields: [] } as never), /unknown option 'fields'/)
  for (const [service, message] of [
    ['none', /no service 'none'/],
    ['notes', /cannot store what its own calls write/],
  ] as const) {
    const app = createApp()
    app.use('notes', new MongoDBService({ Model }))
    app.service('notes').hooks({ around: { all: [audit({ service })] } })
    await t.rejects(app.service('notes').create({}), message)
    await t.rejects(app.setup(), message)
  }
})

/** A service that adds fields to patches, and has methods of its own. */
class Pages extends MongoDBService<Document> {
  override async patch(id: never, data: object, params?: object): Promise<never> {
    return super.patch(id, { ...data, slug: 'of the class' }, params as never) as never
  }

  override async update(id: never, data: object, params?: object): Promise<never> {
    return super._update(id, { $set: { ...data, slug: 'of the class' } }, params as never) as never
  }

  /** Reads, and writes nothing. */
  async search(_data: object, params: object): Promise<unknown> {
    return this._find(params)
  }

  async rename({ _id, title }: Renaming, params: object): Promise<unknown> {
    return this._patch(_id, { $set: { title }, $inc: { renames: 1 } }, params)
  }

  async renameAll({ title }: Renaming, params: object): Promise<unknown> {
    return this._patch(null, { title }, { ...params, query: {}, adapter: { multi: true } })
  }

  async copy({ _id, title }: Renaming, params: object): Promise<unknown> {
    const { _id: _, ...page } = await this._get(_id, params)
    const copy = await this._create({ ...page, title }, params)
    await this._patch(_id, { copies: 1 }, params)
    return copy
  }

  async restore({ _id }: Renaming): Promise<unknown> {
    const params = { query: { deletedAt: { $ne: null } }, withDeleted: true }
    return pages().patch(_id, { $unset: { deletedAt: '' } } as never, params)
  }

  async purge({ _id }: Renaming, params: object): Promise<unknown> {
    return pages().remove(_id, { ...params, provider: undefined, withDeleted: true } as never)
  }

  async fail({ _id }: Renaming, params: object): Promise<unknown> {
    await this._patch(_id, { title: 'lost' }, params)
    throw new Error('The method fails')
  }
}

interface Renaming {
  readonly _id: never
  readonly title?: string
}

/** The service of the test that runs. */
let pages: () => MongoDBService

async function startPages(t: TestScope, hooks: object = AUDITED) {
  const custom = ['search', 'rename', 'renameAll', 'copy', 'restore', 'purge', 'fail']
  const { app, request } = await startOwnServer(t, (app) => {
    app.use('pages', new Pages({ Model }), {
      methods: ['create', 'update', 'patch', 'remove', ...custom],
    } as never)
    app.use('log', new MongoDBService({ Model: Log }))
    const logIn: AroundHook = ({ params }, next) => {
      const _id = params.headers?.['user']
      if (_id !== undefined) params.user = { _id } as never
      return next()
    }
    app.service('pages').hooks({ around: { all: [logIn] } } as never)
    app.service('pages').hooks(hooks as Hooks)
  })
  pages = () => app.service('pages') as never
  const { insertedId: _id } = await Model.insertOne({ title: 'a' })
  const entries = (): Promise<Document[]> => Log.find({}, { sort: { _id: 1 } }).toArray()
  const call = async (name: string, data: object = {}, user = 'ann') => {
    const headers = { 'x-service-method': name, user }
    return request('/pages', { method: 'POST', data: { _id, ...data }, headers })
  }
  return { app, request, entries, call, _id }
}

t.test('fields that a class adds to data have their place in an entry', async (t) => {
  const { request, entries, _id } = await startPages(t)
  const headers = { user: 'ann' }
  for (const method of ['PATCH', 'PUT']) {
    await request(`/pages/${_id}`, { method, data: { title: 'b' }, headers })
  }
  t.equal((await Model.findOne({ _id }))?.['slug'], 'of the class')
  const entry = { by: 'ann', method: 'patch', fields: ['title', 'slug'], recordId: _id }
  const values = { title: 'b', slug: 'of the class' }
  t.match(await entries(), [
    { ...entry, values },
    { ...entry, values },
  ])
})

t.test('a field that a record hook sets again has its place in an entry', async (t) => {
  const replaceData = (context: HookContext): void => {
    context.data = { title: 'b' }
  }
  const { request, entries, _id } = await startPages(t, {
    ...AUDITED,
    before: { patch: [timestamps(), replaceData] },
  })
  await request(`/pages/${_id}`, { method: 'PATCH', data: { title: 'a' } })
  t.match(await entries(), [{ fields: ['title', 'slug', 'updatedAt'], values: { title: 'b' } }])
})

t.test('what custom methods write has entries, with their caller', async (t) => {
  const { entries, call, _id } = await startPages(t)
  for (const [name, wanted] of [
    ['search', []],
    ['rename', [{ method: 'patch', fields: ['title', 'renames'], values: { title: 'b' } }]],
    ['renameAll', [{ method: 'patch', fields: ['title'], values: { title: 'b' } }]],
    [
      'copy',
      [
        { method: 'create', fields: ['title', 'renames'], values: { title: 'b' } },
        { method: 'patch', recordId: _id, fields: ['copies'], values: { copies: 1 } },
      ],
    ],
    ['purge', [{ method: 'remove', recordId: _id, fields: [], values: { title: 'b' } }]],
    ['fail', []],
  ] as const) {
    const { status } = await call(name, { title: 'b' })
    t.equal(status, name === 'fail' ? 404 : 200, name)
    const all = await entries()
    t.equal(all.length, wanted.length, name)
    t.match(
      all,
      wanted.map((one) => ({ ...one, by: 'ann', service: 'pages' })),
      name,
    )
    await Log.deleteMany({})
  }
})

t.test('a custom method that fails leaves neither its writes nor their entries', async (t) => {
  const { entries, call, _id } = await startPages(t)
  t.equal((await call('fail')).status, 500)
  t.strictSame(await entries(), [])
  t.strictSame(await Model.findOne({ _id }), { _id, title: 'a' })
})

t.test('an internal call inside of a call has the caller of that', async (t) => {
  const hooks = { around: { all: [audit({ service: 'log' })] }, before: { all: [softDelete()] } }
  const { request, entries, call, _id } = await startPages(t, hooks)
  await request(`/pages/${_id}`, { method: 'DELETE', headers: { user: 'ben' } })
  t.equal((await call('restore')).status, 200)
  t.match(await entries(), [
    { method: 'remove', by: 'ben' },
    { method: 'patch', by: 'ann', fields: ['deletedAt', 'slug'] },
  ])
  t.equal((await entries()).length, 2)
})

t.test('an internal call, and an external one without a user, have no caller', async (t) => {
  const { app, entries, _id } = await startPages(t)
  const outside = async (): Promise<void> => {
    await pages().patch(_id as never, { title: 'b' }, { provider: 'rest' } as never)
  }
  await pages().patch(_id as never, { title: 'c' })
  await outside()
  const user = { _id: 'ann' }
  const call: AroundHook = async (_context, next) => {
    await outside()
    await next()
  }
  app.service('pages').hooks({ around: { create: [call] } } as never)
  await pages().create({ title: 'd' }, { user } as never)
  t.strictSame(
    (await entries()).map(({ method, by }) => [method, by]),
    [
      ['patch', null],
      ['patch', null],
      ['patch', null],
      ['create', 'ann'],
    ],
  )
})
