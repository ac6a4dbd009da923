import type { Document } from 'mongodb'
import t from 'tap'
import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { limitTo, MongoDBService, softDelete, transaction } from '../../../src/adapter/index.ts'
import type { AnyService, HookContext, HookOptions } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { namesOf, openDatabase } from '../../support/database.ts'
import type { EventFrames } from '../../support/event-frames.ts'
import { openFrames } from '../../support/event-frames.ts'
import { startRecords } from '../../support/record-server.ts'

const { empty, commandsOf } = await openDatabase(t)
const PURGE: MongoDBParams = { withDeleted: true }

async function start(t: Parameters<typeof startRecords>[0], options: Document = {}) {
  const Model = await empty('notes')
  const adapter = { Model, multi: true, paginate: { default: 10 }, ...options }
  const started = await startRecords(t, { adapter, hooks: { before: { all: [softDelete()] } } })
  const insert = async (...notes: Document[]) =>
    Object.values((await Model.insertMany(notes)).insertedIds).map(String)
  return { ...started, Model, insert }
}

t.test('a removed record is marked by one command, and one event tells of it', async (t) => {
  const { send, events, insert, Model } = await start(t)
  const [id] = await insert({ text: 'a' })
  const commands = await commandsOf(() => send('DELETE', `/${id}`))
  t.strictSame(namesOf(commands), ['findAndModify'])
  t.strictSame(events, ['removed'])
  t.ok((await Model.findOne({}))?.['deletedAt'] instanceof Date)
  t.equal((await send('DELETE', `/${id}`)).status, 404)
  t.strictSame(events, ['removed'])
})

t.test('no method finds a marked record, and all do with withDeleted', async (t) => {
  const { send, insert, notes, Model } = await start(t)
  const [id = ''] = await insert({ text: 'a', deletedAt: new Date(0) }, { text: 'b' })
  for (const [method, path, data] of [
    ['GET', `/${id}`],
    ['PUT', `/${id}`, { text: 'c' }],
    ['PATCH', `/${id}`, { text: 'c' }],
    ['DELETE', `/${id}`],
  ] as const) {
    t.equal((await send(method, path, data)).status, 404, method)
  }
  t.match((await send('GET')).body, { total: 1, data: [{ text: 'b' }] })
  t.match((await send('GET', '?deletedAt[$ne]=x')).body, { total: 1 })
  t.match((await send('GET', '?$or[0][text]=a&$or[1][text]=b')).body, { total: 1 })
  t.match((await send('GET', '?withDeleted=true')).body, { total: 0 }, 'a field as any other')
  t.match((await send('PATCH', '?text=a', { text: 'c' })).body, [])
  t.match(await notes.find(), { total: 1 })
  t.match(await notes.find(PURGE), { total: 2 })
  t.match(await notes.get(id, PURGE), { text: 'a' })
  t.match(await notes.patch(id, { text: 'c' }, PURGE), { text: 'c' })
  t.match(await notes.remove(id, PURGE), { text: 'c' })
  t.equal(await Model.countDocuments(), 1, 'it is gone')
})

t.test('many records are marked by one update, and each has its event', async (t) => {
  const { send, events, insert, notes, Model } = await start(t)
  await insert({ text: 'a' }, { text: 'a' }, { text: 'a', deletedAt: new Date(0) }, { text: 'b' })
  const { body } = await send('DELETE', '?text=a')
  t.match(body, [{ text: 'a' }, { text: 'a' }])
  t.equal((body as unknown[]).length, 2)
  t.strictSame(events, ['removed', 'removed'])
  t.equal((await send('DELETE')).status, 400, 'a query without a condition')
  t.equal(await Model.countDocuments({ deletedAt: null }), 1)
  const query = { text: 'b' }
  t.match(await notes.remove(null, { query, docdb: { returning: false } } as object), {
    matched: 1,
  })
  t.strictSame(events.slice(2), ['changed'])
})

t.test('many are marked only where remove may remove many', async (t) => {
  const { send, insert, notes } = await start(t, { multi: ['remove'] })
  await insert({ text: 'a' }, { text: 'b' })
  t.equal((await send('PATCH', '?text=a', { text: 'c' })).status, 405)
  t.equal((await send('DELETE', '?text=a')).status, 200)
  t.match(await notes.find(), { total: 1 })
  const other = await start(t, { multi: ['patch'] })
  t.equal((await other.send('DELETE', '?text=a')).status, 405)
})

t.test('two removals at the same time mark a record once', async (t) => {
  const { send, events, insert } = await start(t)
  const [id] = await insert({ text: 'a' })
  const answers = await Promise.all([send('DELETE', `/${id}`), send('DELETE', `/${id}`)])
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 404])
  t.strictSame(events, ['removed'])
})

t.test('callers outside do not set the mark', async (t) => {
  const { send, notes, insert } = await start(t, { updateOperators: ['$set', '$unset', '$rename'] })
  const forged = { text: 'a', deletedAt: '2020-01-01' }
  const { body } = await send('POST', '', forged)
  const { _id } = body as Document
  t.strictSame(body, { _id, text: 'a' })
  t.strictSame((await send('PATCH', `/${_id}`, forged)).body, { _id, text: 'a' })
  t.strictSame((await send('PUT', `/${_id}`, forged)).body, { _id, text: 'a' })
  t.match((await send('POST', '', [forged, {}])).body, [{ deletedAt: undefined }, {}])
  for (const data of [
    { $set: { deletedAt: 1 } },
    { $set: { 'deletedAt.a': 1 } },
    { $rename: { text: 'deletedAt' } },
  ]) {
    t.match(await send('PATCH', `/${_id}`, data), { status: 400, body: { message: /deletedAt/ } })
  }
  const [id = ''] = await insert({ text: 'a', deletedAt: new Date(0) })
  t.equal((await send('PATCH', `/${id}`, { $unset: { deletedAt: '' } })).status, 400)
  t.strictSame(await notes.patch(id, { $unset: { deletedAt: '' } }, PURGE), {
    _id: ((await notes.get(id)) as Document)['_id'],
    text: 'a',
  })
})

t.test('the mark may be a hidden field, and a call may select fields', async (t) => {
  const { send, insert } = await start(t, { hidden: ['deletedAt'] })
  const [id, other] = await insert({ text: 'a', n: 1 }, { text: 'b', n: 2 })
  t.strictSame((await send('DELETE', `/${id}`)).body, { _id: id, text: 'a', n: 1 })
  t.strictSame((await send('DELETE', `/${other}?$select[]=n`)).body, { _id: other, n: 2 })
  t.match((await send('GET')).body, { total: 0 })
})

t.test('the hooks of patch do not run for a removal, and schemas stay as they are', async (t) => {
  const Model = await empty('notes')
  const text = { type: 'string' }
  const create = { type: 'object', properties: { text }, additionalProperties: false }
  const entity = { type: 'object', properties: { _id: {}, text } }
  const refuse = () => {
    throw new Error('no patch')
  }
  const { notes, send } = await startRecords(t, {
    adapter: { Model },
    service: { methods: ['find', 'create', 'remove'], schemas: { entity, create } },
    hooks: { before: { all: [softDelete({ field: 'gone' })], patch: [refuse] } },
  })
  const { _id } = (await notes.create({ text: 'a' })) as Document
  t.strictSame((await send('DELETE', `/${_id}`)).body, { _id: String(_id), text: 'a' })
  t.ok((await Model.findOne({}))?.['gone'] instanceof Date)
  t.match((await send('GET')).body, [])
})

t.test('an upsert does not bring a marked record back', async (t) => {
  const { insert, notes, Model } = await start(t)
  const [id = ''] = await insert({ text: 'a', deletedAt: new Date(0) })
  const upsert = { docdb: { upsert: true } } as object
  await t.rejects(notes.patch(id, { text: 'b' }, upsert), { code: 409 })
  await t.rejects(notes.remove('0'.repeat(24), upsert), TypeError)
  t.equal(await Model.countDocuments(), 1)
})

t.test('a subclass whose options are made for each call marks as well', async (t) => {
  class Notes extends MongoDBService {}
  const Model = await empty('notes')
  const service = new Notes({ Model })
  const { options } = service
  Object.defineProperty(service, 'options', { get: () => ({ ...options }) })
  const app = createApp<{ notes: Notes }>()
  app.use('notes', service)
  app.service('notes').hooks({ before: { all: [softDelete()] } })
  const { _id } = await app.service('notes').create({ text: 'a' })
  await app.service('notes').remove(_id)
  t.equal(await Model.countDocuments(), 1)
  t.strictSame(await app.service('notes').find(), [])
})

t.test('a removal by a version marks that version alone', async (t) => {
  const { notes } = await start(t, { version: 'version' })
  const { _id } = (await notes.create({ text: 'a' })) as Document
  await t.rejects(notes.remove(String(_id), { version: 2 }), { code: 412, data: { current: 1 } })
  t.match(await notes.remove(String(_id), { version: 1 }), { version: 2, deletedAt: Date })
  await t.rejects(notes.remove(String(_id), { version: 2 }), { code: 404 })
})

t.test('a transaction that fails marks nothing', async (t) => {
  const Model = await empty('notes')
  const fail = () => {
    throw new Error('later')
  }
  const { notes, events } = await startRecords(t, {
    adapter: { Model },
    hooks: {
      around: { remove: [transaction()] },
      before: { all: [softDelete()] },
      after: { remove: [fail] },
    },
  })
  const { _id } = (await notes.create({ text: 'a' })) as Document
  await t.rejects(notes.remove(String(_id)), { message: 'later' })
  t.match(await notes.find(), [{ text: 'a' }])
  t.strictSame(events, ['created'])
})

t.test('params that a hook passes on have the mark of their own call', async (t) => {
  const { notes, insert } = await start(t)
  const [id = ''] = await insert({ text: 'a', deletedAt: new Date(0) })
  const seen: unknown[] = []
  notes.hooks({
    after: {
      find: async ({ params, service }) => {
        seen.push(await service.get(id, { ...params, query: {}, ...PURGE }))
      },
    },
  })
  const params = { query: { text: 'a' } }
  t.match(await notes.find(params), { total: 0 })
  t.match(seen, [{ text: 'a' }])
  t.strictSame(Reflect.ownKeys(params), ['query'], 'the params of the caller stay as they are')
})

t.test('what a custom method reads by the params of its call is not marked', async (t) => {
  class Notes extends MongoDBService {
    async statistics(_data: unknown, params: object) {
      const stages = this.makeFeathersPipeline(params)
      const raw = await (await this.findRaw(params)).toArray()
      return { count: await this.countDocuments(params), raw: raw.length, stages }
    }
  }
  const Model = await empty('counted')
  await Model.insertMany([{ n: 1 }, { n: 2, deletedAt: new Date(0) }])
  const app = createApp<{ counted: Notes }>()
  app.use('counted', new Notes({ Model }), { methods: ['find', 'statistics'] })
  app.service('counted').hooks({ before: { all: [softDelete()] } })
  t.match(await app.service('counted').statistics({}, {}), {
    count: 1,
    raw: 1,
    stages: [{ $match: { deletedAt: null } }],
  })
})

t.test('a marked record leaves a live list, and comes back when it is restored', async (t) => {
  const Model = await empty('notes')
  const { notes, send, url } = await startRecords(t, {
    adapter: { Model },
    hooks: { before: { all: [softDelete()] } },
  })
  const { _id } = (await notes.create({ text: 'a' })) as Document
  await notes.create({ text: 'b' })
  const frames: EventFrames = await openFrames(t, `${url}/notes`)
  t.match((await frames.next()).data, [{ text: 'a' }, { text: 'b' }])
  await send('DELETE', `/${_id}`)
  t.match(await frames.next(), { event: 'removed', data: { text: 'a' } })
  const restore = { $unset: { deletedAt: '' } }
  await notes.patch(String(_id), restore, PURGE)
  t.match(await frames.next(), { event: 'patched', data: { text: 'a' } })
})

t.test('a live list that has one page hears of each removal, as without marks', async (t) => {
  const Model = await empty('notes')
  const { notes, send, url } = await startRecords(t, {
    adapter: { Model, multi: true, paginate: { default: 1 } },
    hooks: { before: { all: [softDelete()] } },
  })
  const made = (await notes.create([...'12345'].map((n) => ({ n, kind: 'a' })))) as Document[]
  const ids = made.map(({ _id }) => String(_id))
  const frames: EventFrames = await openFrames(t, `${url}/notes?kind=a&$select[]=n`)
  t.match((await frames.next()).data, { total: 5, data: [{ n: '1' }] })
  await send('DELETE', `/${ids[4]}`)
  t.strictSame((await frames.next()).data, { _id: ids[4], n: '5' })
  await send('DELETE', '?n[$in]=3&n[$in]=4')
  t.match(
    [await frames.next(), await frames.next()],
    ['3', '4'].map((n) => ({ event: 'removed', data: { n } })),
  )
  // A record that did not match is no removal from this list.
  const other = (await notes.create({ n: '6', kind: 'b' })) as Document
  await send('DELETE', `/${other['_id']}`)
  await send('DELETE', `/${ids[1]}`)
  t.match(await frames.next(), { event: 'removed', data: { n: '2' } })
})

t.test('a live list is told of a marked record as it was before', async (t) => {
  const Model = await empty('notes')
  const { notes, send, url } = await startRecords(t, {
    adapter: { Model, version: 'v' },
    hooks: { before: { all: [softDelete()] } },
  })
  const { _id } = (await notes.create({ text: 'a' })) as Document
  const frames: EventFrames = await openFrames(t, `${url}/notes`)
  await frames.next()
  t.match((await send('DELETE', `/${_id}`)).body, { v: 2, deletedAt: String })
  t.strictSame((await frames.next()).data, { _id: String(_id), text: 'a', v: 1 })
})

t.test('a live list with marked records is told that one has changed', async (t) => {
  const Model = await empty('notes')
  const showMarked = ({ params }: HookContext): void => {
    if (params.headers?.['x-marked']) Object.assign(params, PURGE)
  }
  const { notes, send, url } = await startRecords(t, {
    adapter: { Model },
    hooks: { before: { all: [showMarked, softDelete()] } },
  })
  const { _id } = (await notes.create({ text: 'a' })) as Document
  const marked: EventFrames = await openFrames(t, `${url}/notes`, { 'x-marked': '1' })
  const others: EventFrames = await openFrames(t, `${url}/notes`)
  for (const frames of [marked, others]) t.match((await frames.next()).data, [{ text: 'a' }])
  await send('DELETE', `/${_id}`)
  t.match(await marked.next(), { event: 'patched', data: { text: 'a', deletedAt: String } })
  t.match(await others.next(), { event: 'removed', data: { text: 'a' } })
  await notes.remove(String(_id), PURGE)
  t.match(await marked.next(), { event: 'removed', data: { text: 'a', deletedAt: String } })
})

t.test('it stands beside limitTo in any order', async (t) => {
  const limit = limitTo(({ user }) => ({ ownerId: (user as Document | undefined)?.['_id'] ?? '' }))
  for (const all of [
    [softDelete(), limit],
    [limit, softDelete()],
  ]) {
    const Model = await empty('notes')
    const { send } = await startRecords(t, {
      adapter: { Model, multi: true },
      hooks: { before: { all } },
    })
    const { body } = await send('POST', '', { text: 'a' }, 'ann')
    const { _id } = body as Document
    t.equal((await send('DELETE', `/${_id}`, undefined, 'ben')).status, 404)
    t.match((await send('DELETE', '?text=a', undefined, 'ben')).body, [])
    t.equal((await send('DELETE', `/${_id}`, undefined, 'ann')).status, 200)
    t.equal(await Model.countDocuments({ deletedAt: { $ne: null } }), 1)
  }
})

t.test('it is refused where it can do nothing', async (t) => {
  const Model = await empty('notes')
  t.throws(() => softDelete({ field: '' }), TypeError)
  t.throws(() => softDelete({ fields: 'a' } as object), /unknown option 'fields'/)
  const plain: Partial<AnyService> = { find: async () => [] }
  const start = startRecords(t, {
    adapter: { Model },
    hooks: {},
    others: { plain: plain as AnyService },
  })
  const { app } = await start
  app.service('plain').hooks({ before: { find: [softDelete()] } })
  await t.rejects(app.service('plain').find(), /needs a service of remex\/mongodb/)
})

t.test('it must stand before all methods', async (t) => {
  const Model = await empty('notes')
  const start = (hooks: HookOptions<MongoDBService>): Promise<unknown> => {
    const app = createApp<{ notes: MongoDBService }>()
    app.use('notes', new MongoDBService({ Model }))
    app.service('notes').hooks(hooks)
    return app.setup()
  }
  const hook = softDelete()
  await t.rejects(start({ before: { remove: [hook] } }), /must be registered in 'before all'/)
  await t.rejects(start({ before: { all: [softDelete()], get: [hook] } }), /in 'before get'/)
  await t.rejects(start({ after: { all: [hook] } }), /in 'after all'/)
  await start({ before: { all: [hook] } })
})
