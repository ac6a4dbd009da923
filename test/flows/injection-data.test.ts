import { ObjectId } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import type { HookContext } from '../../src/transport/index.ts'
import { namesOf, openDatabase } from '../support/database.ts'
import type { RequestOptions } from '../support/http.ts'
import { checkPrototypes, startServer } from '../support/http.ts'

const { empty, commandsOf } = await openDatabase(t)
const users = await empty('users')

/** Runs once between the search and the change of a call that changes many records. */
let interfere: (() => Promise<unknown>) | undefined
const slowUsers = Object.create(users, {
  updateMany: {
    value: async (...args: Parameters<typeof users.updateMany>) => {
      await interfere?.()
      return users.updateMany(...args)
    },
  },
})

const server = await startServer(t, 'standalone', {
  services(app) {
    app.use('users', new MongoDBService({ Model: users, multi: true }))
    app.use('single', new MongoDBService({ Model: users }))
    app.use('free', new MongoDBService({ Model: users, multi: true, allowEmptyFilter: true }))
    app.use('slow', new MongoDBService({ Model: slowUsers, multi: true }))
    app.use('plain', { run: async (data: unknown) => data }, { methods: ['run'] })
    app.use('hooked', new MongoDBService({ Model: users, paginate: { default: 10 } }))
    app.service('hooked').hooks({ before: { get: [hide], find: [hide] } })
  },
})

/** Read hooks that find nothing. */
function hide({ params }: HookContext): void {
  params.query = { ...params.query, visible: true }
}

t.beforeEach(async () => {
  await users.deleteMany({})
  interfere = undefined
})

/** Asserts that a request is answered with 400, naming something, and does not reach the database. */
async function refuses(t: Test, path: string, options: RequestOptions, named = '') {
  const commands = await commandsOf(async () => {
    const { status, body, text } = await server.request(path, options)
    t.match({ status, body }, { status: 400, body: { name: 'BadRequest' } }, text)
    t.ok(text.includes(named), `${text} names ${named}`)
  })
  t.strictSame(commands, [], `${options.body ?? JSON.stringify(options.data)} sends no command`)
}

async function insert(record: object): Promise<string> {
  return (await users.insertOne({ ...record })).insertedId.toHexString()
}

const patch = (data: unknown): RequestOptions => ({ method: 'PATCH', data })

t.test('dotted names are refused as data (INJ-25)', async (t) => {
  const id = await insert({ roles: ['user'], profile: {} })
  const dotted = [
    { 'profile.isAdmin': true },
    { 'roles.0': 'admin' },
    { '$set.x': 1 },
    { a: { 'b.c': 1 } },
  ]
  for (const data of dotted) {
    await refuses(t, '/users', { data })
    await refuses(t, '/users', { data: [{ ok: 1 }, data] })
    await refuses(t, `/users/${id}`, patch(data))
    await refuses(t, `/users/${id}`, { method: 'PUT', data })
    await refuses(t, '/users?a=1', patch(data))
  }
  t.match(await users.findOne(), { roles: ['user'], profile: {} })
})

t.test('the id of a record never changes, and is never an object (INJ-26)', async (t) => {
  const id = await insert({ name: 'ann' })
  const other = new ObjectId().toHexString()
  for (const method of ['PATCH', 'PUT'])
    await refuses(t, `/users/${id}`, { method, data: { _id: other } })
  await refuses(t, `/users/${id}`, { method: 'PUT', data: { $set: { a: 1 } } })
  for (const _id of [{ $ne: 1 }, {}, [], null, true, [id]])
    await refuses(t, '/users', { data: { _id } })
  for (const _id of [id, other]) {
    const { status, body } = await server.request('/users', { data: { _id } })
    t.match({ status, body }, { status: 400, body: { message: /'_id' is set by the server/ } })
  }
  t.strictSame(
    (await users.find().toArray()).map(({ _id }) => _id.toHexString()),
    [id],
  )
})

t.test('numbers that are not finite are refused, others stored as JSON (INJ-28)', async (t) => {
  const json = { 'content-type': 'application/json' }
  for (const body of ['{"n":1e400}', '{"n":[-1e400]}', '{"a":{"b":{"n":1e999}}}']) {
    await refuses(t, '/users', { method: 'POST', headers: json, body })
  }
  for (const [text, stored] of [
    ['-0', 0],
    ['9007199254740993', 9007199254740992],
    ['0.30000000000000004', 0.1 + 0.2],
    ['1e-400', 0],
  ] as const) {
    const options = { method: 'POST', headers: json, body: `{"n":${text}}` }
    t.match((await server.request('/users', options)).body, { n: stored })
  }
})

t.test('a record that is too large or too deep is refused, inside too (INJ-29)', async (t) => {
  const nest = (levels: number): object => (levels === 0 ? {} : { a: nest(levels - 1) })
  const service = server.app.service('users')
  const id = await insert({})
  for (const mebibytes of [16, 17, 20]) {
    const record = { text: 'x'.repeat(mebibytes * 1024 * 1024) }
    for (const call of [
      ...[() => service.create(record), () => service.create([record])],
      ...[() => service.patch(id, record), () => service.update(id, record)],
    ]) {
      await t.rejects(call(), { code: 413 }, `${mebibytes} MiB by ${call}`)
    }
  }
  await t.rejects(service.create(nest(201)), { code: 400 })
  await t.rejects(service.create(nest(101), { provider: 'rest' }), { code: 400 })
  await refuses(t, '/users', { data: nest(51) })
  t.equal(await users.countDocuments(), 1)
})

t.test('a body that is no record is refused (INJ-30)', async (t) => {
  const send = (path: string, method: string, body: string) =>
    server.request(path, { method, body, headers: { 'content-type': 'application/json' } })
  const id = await insert({ name: 'ann' })
  for (const body of ['null', '"x"', '1', 'true', '[[]]', '[null]', '[1]', '[[{}]]']) {
    t.equal((await send('/users', 'POST', body)).status, 400, `POST ${body}`)
    t.equal((await send('/single', 'POST', body)).status, body.startsWith('[') ? 405 : 400)
    t.equal((await send(`/users/${id}`, 'PATCH', body)).status, 400, `PATCH ${body}`)
    t.equal((await send(`/users/${id}`, 'PUT', body)).status, 400, `PUT ${body}`)
  }
  for (const body of ['null', '"x"', '1']) {
    const headers = { 'content-type': 'application/json', 'x-service-method': 'run' }
    t.equal((await server.request('/plain', { method: 'POST', body, headers })).status, 400)
  }
  t.equal((await send('/single', 'POST', '[]')).status, 405)
  t.strictSame((await send('/users', 'POST', '[]')).body, [])
  t.equal((await send('/users', 'POST', '{}')).status, 201)
  t.equal((await send('/users', 'POST', '')).status, 201)
  t.equal(await users.countDocuments(), 3)
})

t.test('an id that is an object reaches no command (FTH-5)', async (t) => {
  const service = server.app.service('users')
  const commands = await commandsOf(async () => {
    for (const id of [
      { $ne: null },
      { $gt: '' },
      ['x'],
      { toHexString: String },
      undefined,
      true,
    ]) {
      const given = id as unknown as string
      await t.rejects(service.get(given), { name: 'BadRequest' })
      await t.rejects(service.patch(given, {}), { name: 'BadRequest' })
      await t.rejects(service.update(given, {}), { name: 'BadRequest' })
      await t.rejects(service.remove(given), { name: 'BadRequest' })
    }
  })
  t.strictSame(commands, [])
})

/** What JSON can hold of an ObjectId, and of other types of BSON. */
const IMITATIONS: readonly (readonly [key: string, value: object])[] = [
  ['_bsontype', { _bsontype: 'ObjectId' }],
  ['_bsontype', { _bsontype: 'ObjectId', id: 'x'.repeat(12) }],
  ['_bsontype', { _bsontype: 'Code', code: 'x' }],
  ['_bsontype', { _bsontype: null }],
  ['toHexString', { toHexString: 'x' }],
  ['toHexString', { toHexString: { a: 1 }, id: 1 }],
]

/** Where they can stand, down to a depth of 5. */
const PLACES: readonly ((value: object) => object)[] = [
  (value) => value,
  (value) => ({ ref: value }),
  (value) => ({ a: 1, refs: ['x', value] }),
  (value) => ({ a: [[{ b: [value] }]] }),
  (value) => ({ a: { b: { c: { d: value } } } }),
]

/** Returns the notation of an object in a query string: `a[b][0]=x`. */
function toQueryString(value: unknown, name = ''): string {
  if (typeof value !== 'object' || value === null) return `${name}=${value}`
  return Object.entries(value)
    .map(([key, inner]) => toQueryString(inner, name === '' ? key : `${name}[${key}]`))
    .join('&')
}

t.test('JSON makes no ObjectId (FTH-7)', async (t) => {
  for (const [key, imitation] of IMITATIONS) {
    for (const place of PLACES) {
      const data = place(imitation)
      await refuses(t, '/users', { data }, key)
      await refuses(t, '/users', { data: [{ a: 1 }, data] }, key)
      await refuses(t, '/users/1', patch(data), key)
      await refuses(t, '/users?a=1', patch(data), key)
      await refuses(t, '/users/1', { method: 'PUT', data }, key)
    }
  }
})

t.test('no value of a query is a type of BSON that JSON imitates (MDB-3)', async (t) => {
  const service = server.app.service('users')
  for (const [key, imitation] of IMITATIONS) {
    for (const place of PLACES) {
      const query = place(imitation) as Record<string, unknown>
      const path = `/users?${toQueryString(query)}`
      await refuses(t, path, { method: 'GET' }, key)
      await refuses(t, path, { method: 'DELETE' }, key)
      const commands = await commandsOf(async () => {
        const refused = { code: 400, message: new RegExp(key) }
        for (const inside of [
          ...[query, { ref: { $in: [query] } }, { $or: [{ a: 1 }, query] }],
          { ref: { $ne: query } },
        ]) {
          await t.rejects(service.find({ query: inside }), refused, JSON.stringify(inside))
          await t.rejects(service.patch(null, { a: 1 }, { query: inside }), refused)
        }
      })
      t.strictSame(commands, [])
    }
  }
})

t.test('data of calls inside holds no type of BSON that JSON imitates (MDB-3)', async (t) => {
  const service = server.app.service('users')
  for (const [key, imitation] of IMITATIONS) {
    for (const place of PLACES) {
      const data = place(imitation)
      const refused = {
        code: 400,
        message: `The data has the field name '${key}', which is not allowed`,
      }
      const commands = await commandsOf(async () => {
        await t.rejects(service.create(data), refused, JSON.stringify(data))
        await t.rejects(service.create([{}, data]), refused)
        await t.rejects(service.patch('1', data), refused)
        await t.rejects(service.patch(null, { $set: data }), refused)
        await t.rejects(service.update('1', data), refused)
      })
      t.strictSame(commands, [])
    }
  }
  const ref = new ObjectId()
  t.match(await service.create({ ref, refs: [ref, { ref }], bytes: Buffer.from('x') }), { ref })
})

t.test('update operators from outside are refused (FTH-9)', async (t) => {
  const id = await insert({ password: 'x', roles: [], credit: 0 })
  for (const data of [
    ...[
      { $rename: { password: 'name' } },
      { $unset: { password: 1 } },
      { $push: { roles: 'admin' } },
    ],
    ...[
      { $inc: { credit: 9 } },
      { $set: { role: 'admin' } },
      { $currentDate: {} },
      { $where: '1' },
    ],
    { name: 'ann', $inc: { credit: 9 } },
  ]) {
    for (const method of ['PATCH', 'PUT']) await refuses(t, `/users/${id}`, { method, data })
    await refuses(t, '/users?password=x', patch(data))
    await refuses(t, '/users', { data })
  }
  t.match(await users.findOne(), { password: 'x', roles: [], credit: 0 })
})

t.test('an array is never an update (FTH-10)', async (t) => {
  const id = await insert({ name: 'ann', password: 'x' })
  for (const path of [`/users/${id}`, '/users?name=ann']) {
    await refuses(t, path, patch([{ $set: { name: '$password' } }]))
    await refuses(t, path, { method: 'PUT', data: [{ $set: { name: '$password' } }] })
  }
})

t.test('an empty id addresses nothing (FTH-20)', async (t) => {
  await insert({ name: 'ann' })
  for (const method of ['DELETE', 'PATCH', 'PUT']) {
    for (const path of ['/users/', '/users/?name=ann', '/free/']) {
      await refuses(t, path, { method, data: { name: 'bob' } })
    }
    t.equal((await server.request('/users//', { method, data: { name: 'bob' } })).status, 404)
  }
  await t.rejects(server.app.service('users').remove(undefined as unknown as string), { code: 400 })
  t.match(await users.find().toArray(), [{ name: 'ann' }])
})

t.test('create answers the new record, whatever query and read hooks say (FTH-23)', async (t) => {
  const commands = await commandsOf(async () => {
    const query = 'owner=nobody&$select[]=name'
    const { status, body } = await server.request(`/hooked?${query}`, {
      data: { name: 'ann', age: 1 },
    })
    t.equal(status, 201)
    t.strictSame(Object.keys(body as object), ['_id', 'name'])
  })
  t.strictSame(namesOf(commands), ['insert'])
})

t.test('a record that leaves the query meanwhile is not changed (FTH-24)', async (t) => {
  await users.insertMany([0, 1, 2, 3].map((n) => ({ n, owner: 'a' })))
  interfere = () => users.updateMany({ n: { $gte: 2 } }, { $set: { owner: 'b' } })
  const { status, body } = await server.request('/slow?owner=a', patch({ x: 1 }))
  t.strictSame([status, (body as { n: number }[]).map(({ n }) => n)], [200, [0, 1]])
  t.match(await users.find({ owner: 'b' }).toArray(), [
    { n: 2, x: undefined },
    { n: 3, x: undefined },
  ])
})

const POLLUTING = '{"__proto__":{"polluted":1}}'

/** At depths 1, 2 and 5, and in lists. */
const POLLUTED: readonly string[] = [
  POLLUTING,
  '{"a":1,"__proto__":null}',
  `{"a":${POLLUTING}}`,
  `{"a":{"a":{"a":{"a":${POLLUTING}}}}}`,
  `{"a":[${POLLUTING}]}`,
  `{"a":[1,{"b":[[${POLLUTING}]]}]}`,
]

t.test('__proto__ in data is refused, however deep (FTH-26)', async (t) => {
  const service = server.app.service('users')
  const headers = { 'content-type': 'application/json' }
  const refused = { code: 400, message: /__proto__/ }
  for (const body of POLLUTED) {
    await refuses(t, '/users', { method: 'POST', body, headers })
    await refuses(t, '/users', { method: 'POST', body: `[{},${body}]`, headers })
    await refuses(t, '/users/1', { method: 'PATCH', body, headers })
    await refuses(t, '/users/1', { method: 'PUT', body, headers })
    const commands = await commandsOf(async () => {
      for (const params of [{}, { provider: 'rest' }]) {
        await t.rejects(service.create(JSON.parse(body), params), refused, body)
        await t.rejects(service.create([{}, JSON.parse(body)], params), refused)
        await t.rejects(service.patch('1', JSON.parse(body), params), refused)
        await t.rejects(service.update('1', JSON.parse(body), params), refused)
      }
    })
    t.strictSame(commands, [], body)
    checkPrototypes()
  }
})

t.test('__proto__ in a form is dropped or refused (FTH-26)', async (t) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  t.equal((await server.request('/users', { method: 'POST', body: 'b=1', headers })).status, 201)
  for (const name of ['__proto__', 'a[__proto__]', 'a[a][a][a][__proto__]', 'a[0][__proto__]']) {
    const commands = await commandsOf(async () => {
      const body = `b=1&${name}[polluted]=1`
      const { status } = await server.request('/users', { method: 'POST', body, headers })
      t.ok(status === 201 || status === 400, `${status} ${body}`)
    })
    t.notMatch(JSON.stringify(commands), /polluted|__proto__/, name)
    checkPrototypes()
  }
})

t.test('__proto__ in a query is dropped or refused, however deep (FTH-26)', async (t) => {
  const service = server.app.service('users')
  const places = [
    '',
    'a',
    'a[a][a][a]',
    '$or[0]',
    '$or[0][a]',
    'a[$in][0]',
    'a[0][0]',
    '$sort',
    '$select',
  ]
  for (const place of places) {
    const name = place === '' ? '__proto__' : `${place}[__proto__]`
    for (const notation of [`${name}[polluted]=1`, `${name}=1`, `${name}[]=1`]) {
      const commands = await commandsOf(async () => {
        const { status, text } = await server.request(`/users?b=1&${notation}`)
        t.ok(status === 200 || status === 400, `${status} ${notation} ${text}`)
      })
      t.notMatch(JSON.stringify(commands), /polluted|__proto__/, notation)
      checkPrototypes()
    }
  }
  const commands = await commandsOf(async () => {
    for (const query of POLLUTED.map((text) => JSON.parse(text))) {
      for (const inside of [query, { $or: [query] }, { a: { $in: [query] } }]) {
        await t.rejects(service.find({ query: inside }), { code: 400, message: /__proto__/ })
        await t.rejects(service.remove(null, { query: inside }), {
          code: 400,
          message: /__proto__/,
        })
      }
    }
  })
  t.strictSame(commands, [])
  checkPrototypes()
})

t.test('an operator in data is found wherever it stands (MDB-4)', async (t) => {
  for (const data of [
    ...[
      { a: { b: 1 }, $where: '1' },
      { a: [1, [2]], $where: 1 },
      { a: { b: { c: 1, $where: 1 } } },
    ],
    ...[{ a: [{ b: 1 }, { b: { $where: 1 } }] }, { a: [[[{ $where: 1 }]]] }],
  ]) {
    await refuses(t, '/users', { data })
    await refuses(t, '/users/1', patch(data))
  }
})

t.test('nobody outside writes to all records by an empty query (MTH-7)', async (t) => {
  await insert({ name: 'ann' })
  for (const query of ['', '?', '?$limit=1', '?$and[0][$and][0]', '?$sort[name]=1']) {
    await refuses(t, `/users${query}`, { method: 'DELETE' })
    await refuses(t, `/users${query}`, patch({ a: 1 }))
  }
  t.equal((await server.request('/free', patch({ a: 1 }))).status, 200)
  t.equal((await server.request('/free', { method: 'DELETE' })).status, 200)
  t.equal(await users.countDocuments(), 0)
})
