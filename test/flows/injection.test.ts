import type { Test } from 'tap'
import t from 'tap'

import type { MongoDBOptions } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { HookContext } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import type { RequestOptions } from '../support/http.ts'
import { startServer } from '../support/http.ts'

const RECORDS = [
  { name: 'ann', age: 32, owner: 'a', active: true, born: new Date(0) },
  { name: 'bob', age: 33, owner: 'b', active: true, born: new Date(0) },
  { name: 'cid', age: 34, owner: '', active: true, born: new Date(0) },
  { name: 'dot', age: 35, owner: null, active: true, born: new Date(0) },
]

const { empty, commandsOf } = await openDatabase(t)
const people = await empty('people')
const create = (options: Partial<MongoDBOptions> = {}) =>
  new MongoDBService({ Model: people, multi: true, paginate: { default: 2, max: 3 }, ...options })

const server = await startServer(t, 'standalone', {
  services(app) {
    app.use('people', create())
    app.use('nor', create({ operators: ['$nor', '$not', '$elemMatch'] }))
    app.use('bounded', create({ paginate: { max: 3 } }))
    app.use('all', create({ paginate: false }))
    app.use('mine', create())
    app.service('mine').hooks({ before: { all: [restrictToOwner] } })
  },
})

/** A hook as it should not be: an anonymous caller has no id, and that must not mean "everybody". */
function restrictToOwner({ params }: HookContext): void {
  const user = params.user as { id?: unknown } | undefined
  params.query = { ...params.query, owner: user?.id }
}

t.beforeEach(async () => {
  await people.deleteMany({})
  await people.insertMany(RECORDS.map((record) => ({ ...record })))
})

/** Asserts that a request is answered with 400, naming something, and does not reach the database. */
async function refuses(t: Test, path: string, named: string, options: RequestOptions = {}) {
  const commands = await commandsOf(async () => {
    const { status, body, text } = await server.request(path, options)
    t.match({ status, body }, { status: 400, body: { name: 'BadRequest' } }, path.slice(0, 80))
    t.ok(text.includes(JSON.stringify(named).slice(1, -1)), `${text} names ${named}`)
  })
  t.strictSame(commands, [], 'sends no command')
}

async function find(path: string): Promise<{ status: number; names: unknown[]; body: unknown }> {
  const { status, body } = await server.request(path)
  const records = Array.isArray(body) ? body : (body as { data?: object[] }).data
  return { status, body, names: (records ?? []).map(({ name }: { name?: unknown }) => name) }
}

const OPERATORS = [
  ...['$where', '$function', '$accumulator', '$expr', '$jsonSchema', '$text', '$near', '$not'],
  ...[
    '$geoWithin',
    '$elemMatch',
    '$regex',
    '$options',
    '$comment',
    '$mod',
    '$type',
    '$size',
    '$all',
  ],
  ...['$nor', '$exists', '$rand', '$sampleRate'],
]
const SPELLINGS = ['$WHERE', '$where ', ' $where', '\uFF04where', '%24where', 'a.$where', '$']

for (const operator of [...OPERATORS, ...SPELLINGS]) {
  t.test(`'${operator}' is refused at every place and named (INJ-1..12)`, async (t) => {
    const name = encodeURIComponent(operator)
    for (const place of [
      ...[`${name}=1`, `${name}[a]=1`, `name[${name}]=1`, `name[a][b][${name}]=1`],
      ...[`$or[0][${name}]=1`, `$or[0][a]=1&$or[1][b][${name}]=1`, `$and[0][$or][0][a][${name}]=1`],
      ...[
        `name[$in][0]=a&name[$in][1][${name}]=1`,
        `name[0][0][${name}]=1`,
        `name[$ne][${name}]=1`,
      ],
    ]) {
      await refuses(t, `/people?${place}`, operator)
    }
    for (const method of ['PATCH', 'DELETE']) {
      await refuses(t, `/people?name[${name}]=1`, operator, { method, data: { age: 1 } })
      await refuses(t, `/people/1?name[${name}]=1`, operator, { method, data: { age: 1 } })
    }
  })
}

t.test('names at the top of a query that are no filter of ours are refused (INJ-13)', async (t) => {
  for (const name of [
    ...['$populate', '$aggregate', '$lookup', '$out', '$merge', '$unionWith', '$hint', '$explain'],
    ...['$collation', '$maxTimeMS', '$session', '$search', '$project', '$match', '$readPreference'],
  ]) {
    await refuses(t, `/people?${name}=1`, name)
    await refuses(t, `/people?${name}[from]=users`, name)
  }
})

t.test('a value of another type finds nothing, and fails nothing (INJ-20)', async (t) => {
  for (const query of [
    'age[$gt]=abc',
    'active=yes',
    '_id=zz',
    'born[$lt]=never',
    'age=32',
    'name[]=',
  ]) {
    const { status, names } = await find(`/people?${query}`)
    t.strictSame([status, names], [200, []], query)
  }
})

t.test('$limit and $skip are whole numbers, and $limit stays within max (INJ-22)', async (t) => {
  const wrong = [
    '-1',
    '1.5',
    '0x10',
    'Infinity',
    'NaN',
    '%205%20',
    '5;',
    '',
    '1e3',
    '99999999999999999999',
  ]
  for (const name of ['$limit', '$skip']) {
    for (const value of wrong) await refuses(t, `/people?${name}=${value}`, name)
    for (const shape of ['[]=1', '[]=', '[a]=1', '=1&$limit=2&$skip=2']) {
      await refuses(t, `/people?${name}${shape}`, '$')
    }
  }
  t.strictSame((await find('/people?$limit=1000000000')).names, ['ann', 'bob', 'cid'])
})

t.test('lists inside the lists of $or and $and are searched too (FTH-1)', async (t) => {
  for (const place of ['$or[0][0]', '$and[0][0][0]', '$or[0][$and][0][0]', '$or[0][0][a][0]']) {
    await refuses(t, `/people?${place}[$where]=1`, '$')
    await refuses(t, `/people?${place}[$function]=1`, '$')
  }
})

t.test('$or and $and that are no list are refused (FTH-2)', async (t) => {
  for (const query of ['$or[$where]=1', '$and=1', '$or=1', '$or[name]=a', '$and[]=a', '$or[]=']) {
    await refuses(t, `/people?${query}`, query.slice(0, query.startsWith('$or') ? 3 : 4))
  }
})

t.test('$sort takes field names with 1 and -1 (FTH-4)', async (t) => {
  for (const query of [
    ...[
      '$sort[a][$meta]=textScore',
      '$sort[$natural]=-1',
      '$sort=password',
      '$sort[]=a',
      '$sort[a]=2',
    ],
    ...['$sort[a]=', '$sort[a]=1&$sort[a]=-1', '$sort[$where]=1', '$sort[a..b]=1', '$sort[a][b]=1'],
  ]) {
    await refuses(t, `/people?${query}`, '$sort')
  }
  t.strictSame((await find('/people?$sort[age]=-1')).names, ['dot', 'cid'])
})

t.test('an error does not repeat the values of the query (FTH-27)', async (t) => {
  for (const query of [
    'password[$bad]=hunter2',
    '$bad=hunter2',
    'a[$in]=hunter2',
    '$limit=hunter2',
  ]) {
    const { status, text } = await server.request(`/people?${query}`)
    t.equal(status, 400)
    t.notMatch(text, /hunter2/)
  }
})

t.test('what is forbidden is found behind siblings, in lists, deep inside (MDB-4)', async (t) => {
  for (const query of [
    ...['a[b]=1&$where=1', 'a[]=1&a[]=2&$where=1', 'a[b][c]=1&a[b][d]=1&a[b][$where]=1'],
    ...['$or[0][a][b]=1&$or[0][$where]=1', '$or[0][a]=1&$or[1][b][c]=1&$or[1][b][$where]=1'],
  ]) {
    await refuses(t, `/people?${query}`, '$where')
  }
})

t.test('inside an operator that is allowed the others are still refused (MDB-5)', async (t) => {
  for (const place of ['$nor[0]', '$nor[0][$nor][0]', '$nor[0][a][$not]', 'a[$elemMatch]']) {
    await refuses(t, `/nor?${place}[$where]=1`, '$where')
  }
  t.strictSame((await find('/nor?$nor[0][name]=ann')).names, ['bob', 'cid'])
})

t.test('a query has limits, which are named (MDB-7)', async (t) => {
  const many = (count: number, toItem: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => toItem(index)).join('&')
  await refuses(t, `/people?${many(160, (index) => `$or[${index}][a]=1`)}`, '150 conditions')
  await refuses(t, `/people?${many(200, (index) => `f${index}=1`)}`, '150 conditions')
  await refuses(t, `/people?${'$and[0]'.repeat(20)}[a]=1`, '10 levels')
  await refuses(t, `/people?${many(1_001, () => 'a')}`, '1000 parameters')
  await refuses(t, `/people?${many(33, (index) => `$sort[f${index}]=1`)}`, '32 fields')
  await refuses(t, `/people?$select[]=${'a.'.repeat(5_000)}a`, '$select')
  await refuses(t, `/people?a=${'x'.repeat(12_288)}`, '12288 bytes')
  const service = server.app.service('people')
  const commands = await commandsOf(async () => {
    const query = { age: { $in: Array(100_000).fill(1) } }
    await t.rejects(service.find({ query }), { code: 400, message: /10000 values/ })
  })
  t.strictSame(commands, [])
})

t.test('a condition that is undefined is refused, not left out (MDB-8, BOLA-4)', async (t) => {
  await refuses(t, '/mine', 'owner')
  await refuses(t, '/mine?name=ann', 'owner')
  await refuses(t, '/mine/1', 'owner')
  await refuses(t, '/mine?name=ann', 'owner', { method: 'DELETE' })
  await refuses(t, '/mine?name=ann', 'owner', { method: 'PATCH', data: { age: 1 } })
  const mine = server.app.service('mine')
  await t.rejects(mine.remove(null, { user: {} }), { code: 400 })
  await t.rejects(mine.find({ query: { $or: [{ name: undefined }] }, user: { id: 'a' } }), {
    code: 400,
  })
  t.match(await mine.remove(null, { user: { id: '' } }), [{ name: 'cid' }])
  t.match(await mine.remove(null, { user: { id: null } }), [{ name: 'dot' }])
  t.equal(await people.countDocuments(), 2)
})

t.test('a list of more than 20 items is the same in every notation (QS-3)', async (t) => {
  const names = [...Array(25).keys()].map((index) => (index === 24 ? 'bob' : `n${index}`))
  const notations = [
    names.map((name) => `name[$in][]=${name}`),
    names.map((name) => `name[$in]=${name}`),
    names.map((name, index) => `name[$in][${index}]=${name}`),
    names.map((name, index) => (index % 2 ? `name[$in][]=${name}` : `name[$in]=${name}`)),
  ]
  for (const notation of notations) {
    t.strictSame((await find(`/people?${notation.join('&')}`)).names, ['bob'], notation[0] ?? '')
  }
  await refuses(t, `/people?name[$in]=${names.join(',')}`, '$in')
  await refuses(t, `/people?${notations[0]?.join('&')}&name[$in][$ne]=1`, '$in')
})

t.test('$in of up to 200 ids by URL finds the records (QS-9)', async (t) => {
  await people.insertMany([...Array(200).keys()].map((index) => ({ name: `n${index}` })))
  const ids = (await people.find({ name: /^n/ }).toArray()).map(({ _id }) => _id.toHexString())
  for (const count of [20, 21, 200]) {
    const query = ids.slice(0, count).map((id) => `_id[$in][]=${id}`)
    const { status, names } = await find(`/all?${query.join('&')}`)
    t.strictSame([status, names.length], [200, count])
  }
})

t.test('the page size applies whatever the query asks for (RES-2)', async (t) => {
  t.match((await find('/people')).body, { limit: 2, total: 4, data: { length: 2 } })
  t.match((await find('/people?$limit=100')).body, { limit: 3, data: { length: 3 } })
  t.match((await find('/people?$limit=0')).body, { limit: 0, total: 4, data: [] })
  t.equal((await find('/bounded')).names.length, 3)
  t.equal((await find('/bounded?$limit=100')).names.length, 3)
  const commands = await commandsOf(() => find('/people?$limit=100'))
  t.strictSame(commands.map(({ find: name, limit }) => [name, limit])[0], ['people', 3])
})

t.test('$skip has a maximum (RES-7)', async (t) => {
  await refuses(t, '/people?$skip=10000000', '1000000')
  t.equal((await find('/people?$skip=1000000')).status, 200)
})
