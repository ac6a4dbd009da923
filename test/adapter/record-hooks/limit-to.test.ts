import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import t from 'tap'
import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { limitTo, MongoDBService } from '../../../src/adapter/index.ts'
import type { AnyService, HookOptions, Params } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { querySyntax, validateQuery } from '../../../src/core/schema/index.ts'
import { recheckStreams } from '../../../src/transport/realtime/index.ts'
import { namesOf, openDatabase } from '../../support/database.ts'
import { openFrames } from '../../support/event-frames.ts'
import type { TestScope } from '../../support/http.ts'
import { startRecords } from '../../support/record-server.ts'

const { empty, commandsOf } = await openDatabase(t)

const userOf = ({ user }: Params): string => (user as { _id: string } | undefined)?._id ?? 'nobody'

const own = limitTo((params) => ({ ownerId: userOf(params) }))

type Hooks = HookOptions<AnyService>

async function start(t: TestScope, before: object, options: Partial<MongoDBOptions> = {}) {
  const Model = await empty('notes')
  const adapter = { Model, multi: true, paginate: { default: 10 }, ...options } as MongoDBOptions
  const started = await startRecords(t, { adapter, hooks: { before } as Hooks })
  const insert = async (...notes: Document[]) =>
    Object.values((await Model.insertMany(notes.map((note) => ({ ...note })))).insertedIds).map(
      String,
    )
  return { ...started, Model, insert }
}

const all = { all: [own] }
const NOTES = [
  { ownerId: 'ann', text: 'a', n: 1 },
  { ownerId: 'ben', text: 'b', n: 2 },
]

t.test('each method reaches the records of the caller alone, by one command', async (t) => {
  const { send, insert, Model } = await start(t, all)
  const [anns, bens] = await insert(...NOTES)
  for (const [method, data, command] of [
    ['GET', undefined, 'find'],
    ['PATCH', { text: 'c' }, 'findAndModify'],
    ['PUT', { text: 'c' }, 'findAndModify'],
    ['DELETE', undefined, 'findAndModify'],
  ] as const) {
    t.equal((await send(method, `/${bens}`, data, 'ann')).status, 404, method)
    const commands = await commandsOf(async () => {
      t.equal((await send(method, `/${anns}`, data, 'ann')).status, 200, method)
    })
    t.strictSame(namesOf(commands), [command])
  }
  t.match(await Model.find().toArray(), [NOTES[1]])
  t.match((await send('GET', '', undefined, 'ann')).body, { total: 0, data: [] })
  t.match((await send('GET', '', undefined, 'ben')).body, { total: 1, data: [{ text: 'b' }] })
})

t.test('no query of a caller undoes the condition', async (t) => {
  const { send, insert, Model } = await start(t, all, { operators: ['$nor', '$exists'] })
  const [anns, bens] = await insert(...NOTES)
  for (const query of [
    'ownerId=ben',
    'ownerId[$ne]=ann',
    'ownerId[$in][0]=ann&ownerId[$in][1]=ben',
    '$or[0][ownerId]=ben&$or[1][n][$gt]=0',
    '$or[0][ownerId]=ann&$or[1][ownerId]=ben',
    '$and[0][ownerId]=ben',
    '$nor[0][ownerId]=ann',
    'ownerId[$exists]=true',
    '$select[]=text',
    '$limit=1&$sort[n]=-1',
  ]) {
    const { body } = await send('GET', `?${query}`, undefined, 'ann')
    const { data, total } = body as { data: Document[]; total: number }
    t.ok(total <= 1 && data.every(({ _id }) => _id === anns), query)
    t.not((await send('GET', `/${bens}?${query}`, undefined, 'ann')).status, 200, query)
    t.not((await send('PATCH', `/${bens}?${query}`, { n: 9 }, 'ann')).status, 200, query)
    await send('PATCH', `?${query}`, { n: 9 }, 'ann')
    t.match(await Model.findOne({ ownerId: 'ben' }), { n: 2 }, query)
  }
})

t.test('hooks that replace query or params leave the condition', async (t) => {
  const replacing = [
    (context: { params: Params }) => {
      context.params.query = {}
    },
    (context: { params: Params }) => {
      context.params = { ...context.params, query: {} }
    },
    (context: { params: Params }) => {
      context.params = { provider: 'rest', query: {} }
    },
  ]
  for (const replace of replacing) {
    for (const hooks of [{ all: [own], find: [replace] }, { find: [replace, own] }]) {
      const { send, insert } = await start(t, hooks)
      await insert(...NOTES)
      const isLast = 'all' in hooks
      if (!isLast && replace === replacing[2]) continue
      t.match((await send('GET', '', undefined, 'ann')).body, { total: 1, data: [NOTES[0]] })
    }
  }
})

t.test('a query schema does not need the field, nor do hidden fields hinder', async (t) => {
  const syntax = querySyntax({ text: { type: 'string' } } as const)
  const schema = { type: 'object', properties: syntax, additionalProperties: false } as const
  const before = { find: [validateQuery(schema), own], get: [own] }
  const { send, insert } = await start(t, before, { hidden: ['ownerId'] })
  await insert(...NOTES)
  t.equal((await send('GET', '?ownerId=ben', undefined, 'ann')).status, 400)
  t.match((await send('GET', '?text=a', undefined, 'ann')).body, { total: 1 })
  const { body } = await send('GET', '', undefined, 'ann')
  t.strictSame(
    (body as Document)['data'].map((one: Document) => one['ownerId']),
    [undefined],
  )
})

t.test('operators of the condition are code, and need not be allowed', async (t) => {
  const limit = limitTo(() => ({ text: { $regex: '^a' }, n: { $exists: true } }))
  const { send, insert } = await start(t, { find: [limit], create: [limit] })
  await insert(...NOTES)
  t.match((await send('GET', '')).body, { total: 1 })
  t.equal((await send('POST', '', { text: 'b', n: 1 })).status, 403)
  t.equal((await send('POST', '', { text: 'ab', n: 1 })).status, 201)
})

t.test('new records get the values of the condition, and may have no others', async (t) => {
  const { send, Model } = await start(t, all)
  t.match((await send('POST', '', { text: 'a' }, 'ann')).body, { ownerId: 'ann' })
  t.equal((await send('POST', '', { ownerId: 'ann' }, 'ann')).status, 201)
  t.match(await send('POST', '', { ownerId: 'ben' }, 'ann'), { status: 403 })
  t.equal((await send('POST', '', [{ text: 'b' }, { ownerId: 'ben' }], 'ann')).status, 403)
  t.equal((await send('POST', '', { ownerId: null }, 'ann')).status, 403)
  t.equal((await send('POST', '', { ownerId: ['ann', 'ben'] }, 'ann')).status, 403)
  t.match((await send('POST', '', [{}, {}], 'ann')).body, [{ ownerId: 'ann' }, { ownerId: 'ann' }])
  t.equal(await Model.countDocuments({ ownerId: { $ne: 'ann' } }), 0)
})

t.test('replacements keep the values, and no change gives a record away', async (t) => {
  const options = { updateOperators: ['$set', '$unset', '$rename', 'ownerId.a'] }
  const { send, insert, Model } = await start(t, all, options)
  const [id] = await insert({ ownerId: 'ann', text: 'a' })
  for (const data of [
    { ownerId: 'ben' },
    { ownerId: null },
    { ownerId: ['ann', 'ben'] },
    { $set: { ownerId: 'ann' } },
    { $unset: { ownerId: '' } },
    { $rename: { text: 'ownerId' } },
    { $rename: { ownerId: 'text' } },
    { 'ownerId.a': 1 },
  ]) {
    t.equal((await send('PATCH', `/${id}`, data, 'ann')).status, 403, JSON.stringify(data))
    t.equal((await send('PATCH', '?text=a', data, 'ann')).status, 403, JSON.stringify(data))
  }
  t.equal((await send('PUT', `/${id}`, { ownerId: 'ben' }, 'ann')).status, 403)
  t.match((await send('PUT', `/${id}`, { text: 'b' }, 'ann')).body, { ownerId: 'ann', text: 'b' })
  t.equal((await send('PATCH', `/${id}`, { ownerId: 'ann', text: 'c' }, 'ann')).status, 200)
  t.equal((await send('PATCH', `/${id}`, { $set: { text: 'd' } }, 'ann')).status, 200)
  t.match(await Model.findOne({}), { ownerId: 'ann', text: 'd' })
})

t.test('a condition may have lists, alternatives and ids', async (t) => {
  const [ann, team, other] = [new ObjectId(), new ObjectId(), new ObjectId()]
  const limit = limitTo(() => ({
    $and: [{ teamId: { $in: [team] } }, { kind: { $eq: 'note' } }],
    $or: [{ draft: false }, { authorId: ann }],
  }))
  const { send, bodyOf, Model } = await start(t, { all: [limit] })
  const teamId = String(team)
  t.equal((await send('POST', '', { draft: false })).status, 403, 'no team')
  // Without a schema, an id of JSON is a string: in a list nobody can tell which one is meant.
  t.equal((await send('POST', '', { draft: false, teamId })).status, 403)
  const { insertedId } = await Model.insertOne({
    draft: true,
    teamId: team,
    kind: 'note',
    authorId: ann,
  })
  t.match(await bodyOf(send('GET')), { total: 1 })
  const path = `/${insertedId}`
  t.equal((await send('PATCH', path, { kind: 'page' })).status, 403)
  t.equal((await send('PATCH', path, { teamId: String(other) })).status, 403)
  t.equal((await send('PATCH', path, { authorId: String(ann) })).status, 403)
  t.equal((await send('PATCH', path, { draft: false })).status, 200)
  t.equal((await send('PATCH', path, { text: 'a', kind: 'note' })).status, 200)
})

t.test('an id of the condition takes strings of the same id for it', async (t) => {
  const id = new ObjectId()
  const { send, Model } = await start(t, { all: [limitTo(() => ({ ownerId: id }))] })
  t.equal((await send('POST', '', { ownerId: String(id) })).status, 201)
  const stored = await Model.findOne({})
  t.ok(stored?.['ownerId'] instanceof ObjectId)
  t.equal((await send('PATCH', `/${stored?._id}`, { ownerId: String(id) })).status, 200)
  t.ok((await Model.findOne({}))?.['ownerId'] instanceof ObjectId)
})

t.test('people may reach their own record by its id', async (t) => {
  const limit = limitTo(({ user }) => ({ _id: (user as { _id: string })._id }))
  const { send, insert } = await start(t, { all: [limit] })
  const [id = '', other] = await insert({ text: 'a' }, { text: 'b' })
  t.equal((await send('PATCH', `/${id}`, { text: 'c' }, id)).status, 200)
  t.equal((await send('PUT', `/${id}`, { _id: id, text: 'c' }, id)).status, 200)
  t.equal((await send('GET', `/${other}`, undefined, id)).status, 404)
  t.match((await send('GET', '', undefined, id)).body, { total: 1, data: [{ _id: id }] })
})

t.test('who has no condition reaches nothing, and an empty one everything', async (t) => {
  for (const [value, status, created] of [
    [undefined, 403, 403],
    [null, 403, 403],
    [false, 403, 403],
    [{ ownerId: undefined }, 400, 400],
    [{}, 200, 201],
  ] as const) {
    const { send } = await start(t, { all: [limitTo(async () => value as object)] })
    t.equal((await send('GET')).status, status)
    t.equal((await send('POST', '', { text: 'a' })).status, created)
  }
})

t.test('a condition is no query: what else it says is a fault of the code', async (t) => {
  for (const [value, pattern] of [
    [{ $limit: 1 }, /\$limit is no condition/],
    [{ $after: '' }, /\$after is no condition/],
    [{ $expr: { $eq: ['$a', '$b'] } }, /only the database can tell/],
  ] as const) {
    const { notes } = await start(t, { all: [limitTo(() => value)] })
    await t.rejects(notes.create({}, { provider: 'rest' }), pattern)
  }
  t.throws(() => limitTo({ ownerId: 1 } as never), TypeError)
})

t.test('data that can not be stored is refused like any other', async (t) => {
  const { send } = await start(t, all)
  for (const data of [{ ownerId: { _bsontype: 'ObjectId' } }, { 'a\u0000': 1 }, { $a: 1 }, [], 5]) {
    const { status } = await send('POST', '', data as object, 'ann')
    t.ok([201, 400, 403].includes(status), `${JSON.stringify(data)}: ${status}`)
  }
})

t.test('a removal of all records needs a query of the caller', async (t) => {
  const { send, insert, Model } = await start(t, all)
  await insert(...NOTES, { ownerId: 'ann', text: 'c' })
  t.equal((await send('DELETE', '', undefined, 'ann')).status, 400)
  t.equal((await send('PATCH', '', { text: 'd' }, 'ann')).status, 400)
  t.equal(((await send('DELETE', '?n[$ne]=5', undefined, 'ann')).body as unknown[]).length, 2)
  t.match(await Model.find().toArray(), [NOTES[1]])
})

t.test('calls inside pass, also with the params of a caller outside', async (t) => {
  const { send, notes, insert } = await start(t, all)
  await insert(...NOTES)
  t.match(await notes.find(), { total: 2 })
  const totals: unknown[] = []
  notes.hooks({
    after: {
      get: async ({ params, service }) => {
        for (const provider of ['rest', undefined]) {
          const page = await service.find({ ...params, provider, query: {} })
          totals.push((page as Document)['total'])
        }
      },
    },
  })
  const { body } = await send('GET', '', undefined, 'ann')
  await send('GET', `/${(body as Document)['data'][0]._id}`, undefined, 'ann')
  t.strictSame(totals, [1, 2])
})

t.test('the condition is of its service alone', async (t) => {
  const Other = await empty('others')
  await Other.insertMany([{ ownerId: 'ben' }])
  const { app, notes, send } = await start(t, all)
  app.use('others', new MongoDBService({ Model: Other }))
  const found: unknown[] = []
  notes.hooks({
    after: {
      find: async ({ params }) =>
        found.push(await app.service('others').find({ ...params, query: {} })),
    },
  })
  await send('GET', '', undefined, 'ann')
  t.match(found, [[{ ownerId: 'ben' }]])
})

t.test('a field of many values has its condition by an operator', async (t) => {
  const limit = limitTo((params) => ({ members: { $in: [userOf(params)] } }))
  const { send } = await start(t, { all: [limit] })
  t.equal((await send('POST', '', { members: ['ann', 'ben'] }, 'ann')).status, 201)
  t.equal((await send('POST', '', { members: ['ben'] }, 'ann')).status, 403)
  t.equal((await send('POST', '', {}, 'ann')).status, 403)
  t.match((await send('GET', '', undefined, 'ben')).body, { total: 1 })
})

t.test('a live list follows the condition, and a recheck finds a new one', async (t) => {
  let room = 'blue'
  const Model = await empty('notes')
  const { notes, url, app } = await startRecords(t, {
    adapter: { Model },
    hooks: { before: { all: [limitTo(() => ({ room }))] } },
  })
  await notes.create({ room: 'blue', text: 'a' })
  await notes.create({ room: 'red', text: 'b' })
  const frames = await openFrames(t, `${url}/notes?$or[0][room]=blue&$or[1][room]=red`)
  t.match((await frames.next()).data, [{ text: 'a' }])
  await notes.create({ room: 'red', text: 'c' })
  const { _id } = (await notes.create({ room: 'blue', text: 'd' })) as Document
  t.match(await frames.next(), { event: 'created', data: { text: 'd' } })
  await notes.patch(String(_id), { room: 'red' })
  t.match(await frames.next(), { event: 'left', data: { _id: String(_id) } })
  room = 'red'
  recheckStreams(app.service('notes'))
  t.match(await frames.next(), { event: 'resync' })
  t.match((await frames.next()).data, [{ text: 'b' }, { text: 'c' }, { text: 'd' }])
})

t.test('it is refused at the start where there is no collection', async (t) => {
  const app = createApp()
  app.use('plain', { find: async () => [] })
  app.service('plain').hooks({ before: { all: [own] } })
  await t.rejects(app.setup(), /limitTo\(\) in 'before all' of .*plain.* needs a service/)
})

t.test('a new record has the id that a condition asks for, or is refused', async (t) => {
  const self = limitTo((params) => ({ _id: userOf(params) }))
  const { send, Model } = await start(t, { all: [self] }, { allowClientId: true })
  const create = async (data: object): Promise<number> =>
    (await send('POST', '', data, 'ann')).status
  t.equal(await create({ _id: 'ben', text: 'a' }), 403)
  t.equal(await create({ text: 'a' }), 403)
  t.equal(await create([{ _id: 'ann' }, { _id: 'ben' }]), 403)
  t.equal(await Model.countDocuments(), 0)
  t.equal(await create({ _id: 'ann', text: 'a' }), 201)
  t.match((await send('PATCH', '/ann', { text: 'b' }, 'ann')).body, { _id: 'ann', text: 'b' })
})
