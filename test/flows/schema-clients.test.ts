import authenticationClient, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import { ObjectId } from 'mongodb'
import t from 'tap'

import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import { authenticate } from '../../src/auth/index.ts'
import { authentication, createClient } from '../../src/client/index.ts'
import { DateSchema, Type } from '../../src/core/schema/index.ts'
import { openDatabase } from '../support/database.ts'
import { startApp } from '../support/test-app.ts'
import { CREDENTIALS } from '../support/users.ts'

const ID = ObjectIdSchema()

const City = Type.Object({
  _id: ID,
  name: Type.String({ minLength: 1 }),
  area: Type.Number(),
  coastal: Type.Boolean(),
  founded: Type.Optional(DateSchema()),
  mayor: Type.Optional(Type.Union([ID, Type.Null()])),
  rank: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  motto: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
const NewCity = Type.Omit(City, ['_id'])
const Greeting = Type.Object({ when: DateSchema(), times: Type.Integer() })

class Cities extends MongoDBService {
  async greet({ when, times }: { when: Date; times: number }): Promise<object> {
    return { year: when.getUTCFullYear(), twice: times * 2 }
  }
}

/** What the cases need of a client. */
interface Remote {
  find(params: object): Promise<unknown>
  create(data: unknown): Promise<unknown>
  patch(id: unknown, data: object, params?: object): Promise<unknown>
  remove(id: unknown, params?: object): Promise<unknown>
  greet(data: object): Promise<unknown>
}

interface Connection {
  readonly cities: Remote
  logIn(): Promise<unknown>
}

/** The official client of Feathers, by fetch. */
function connectFeathers(url: string): Connection {
  const client = feathers()
  const connection = restClient.default(url).fetch(fetch)
  client.configure(connection)
  client.configure(authenticationClient.default({ storage: new MemoryStorage() }))
  const methods = ['find', 'get', 'create', 'update', 'patch', 'remove', 'greet']
  client.use('cities', connection.service('cities'), { methods })
  return {
    cities: client.service('cities') as unknown as Remote,
    logIn: () => client.authenticate(CREDENTIALS),
  }
}

/** The client of Remex. */
function connectRemex(baseURL: string): Connection {
  const client = createClient({ baseURL, methods: { cities: ['greet'] } })
  client.configure(authentication({ storage: new MemoryStorage() }))
  return {
    cities: client.service('cities') as unknown as Remote,
    logIn: () => client.authenticate(CREDENTIALS),
  }
}

const { empty } = await openDatabase(t)
const collection = await empty('cities')
const mayor = new ObjectId()
const RECORDS = [
  {
    name: 'a',
    area: 9,
    coastal: true,
    founded: new Date('1990-01-01'),
    mayor,
    rank: 1,
    motto: 'x',
  },
  { name: 'b', area: 10, coastal: false, founded: new Date('1900-01-01'), mayor: null, rank: null },
  { name: 'c', area: 11, coastal: false, motto: '' },
]

function start() {
  const cities = new Cities({ Model: collection, multi: true, paginate: { default: 50 } })
  const options = {
    methods: ['find', 'create', 'patch', 'remove', 'greet'],
    schemas: { entity: City, create: NewCity, methods: { greet: { data: Greeting } } },
  }
  return startApp(t, {
    accounts: {},
    services: { cities: [cities, options] },
    hooks: { cities: { around: { all: [authenticate('jwt')] } } },
  })
}

async function namesOf(cities: Remote, query: object): Promise<string> {
  const { data } = (await cities.find({ query })) as { data: { name: string }[] }
  return data.map(({ name }) => name).join('')
}

/** Queries, and the names of the records that each of them finds. */
const QUERIES: readonly (readonly [title: string, query: object, names: string])[] = [
  ['a number', { area: { $gt: 9 } }, 'bc'],
  ['a number with an exponent', { area: { $gt: 1e-7 } }, 'abc'],
  ['true', { coastal: true }, 'a'],
  ['false', { coastal: false }, 'bc'],
  ['a Date', { founded: new Date('1990-01-01') }, 'a'],
  ['an order of Dates', { founded: { $lt: new Date('1950-01-01') } }, 'b'],
  ['an id', { mayor: String(mayor) }, 'a'],
  ['a list of one', { area: { $in: [9] } }, 'a'],
  ['a long list', { area: { $in: Array.from({ length: 40 }, (_, index) => index + 10) } }, 'bc'],
  ['a long list of ids', { mayor: { $in: Array<string>(40).fill(String(mayor)) } }, 'a'],
  ['$or', { $or: [{ area: 9 }, { founded: { $lt: new Date('1950-01-01') } }] }, 'ab'],
  ['$and', { $and: [{ coastal: false }, { $or: [{ area: 9 }, { area: 11 }] }] }, 'c'],
  ['$sort, $limit and $skip', { $sort: { area: -1 }, $limit: 1, $skip: 1 }, 'b'],
  ['an empty string', { motto: '' }, 'c'],
]

/** Queries with `null`: sent as an empty value by the official client, not at all by that of Remex. */
const NULLS: readonly (readonly [title: string, query: object, names: string])[] = [
  ['a number', { rank: null }, 'bc'],
  ['a date', { founded: null }, 'c'],
  ['an id', { mayor: null }, 'bc'],
  ['no null', { rank: { $ne: null } }, 'a'],
  ['a list', { rank: { $in: [1, null] } }, 'abc'],
  // What it sends for an empty string is the same.
  ['a string, which is an empty one', { motto: null }, 'c'],
]

/** Queries with empty lists, which the client of Feathers leaves out. */
const EMPTY_LISTS: readonly (readonly [title: string, query: object, names: string])[] = [
  ['$in', { area: { $in: [] } }, ''],
  ['$in of ids', { _id: { $in: [] } }, ''],
  ['$nin', { area: { $nin: [] } }, 'abc'],
  ['$in of a field that may be null', { rank: { $in: [] } }, ''],
  ['$nin of a field that may be null', { rank: { $nin: [] } }, 'abc'],
  ['in $or', { $or: [{ area: { $in: [] } }, { coastal: true }] }, 'a'],
  ['in $and', { $and: [{ area: { $gt: 9 } }, { motto: { $in: [] } }] }, ''],
  ['$and', { $and: [], area: 9 }, 'a'],
]

/** Data that is refused: the places of what is wrong, and why. */
const REFUSED: readonly (readonly [data: object, instancePath: string, keyword: string])[] = [
  [{ name: 'd', area: '1', coastal: true }, '/area', 'type'],
  [{ name: '', area: 1, coastal: true }, '/name', 'minLength'],
  [{ name: 'd', area: 1 }, '', 'required'],
  [{ name: 'd', area: 1, coastal: true, founded: null }, '/founded', 'date'],
  [{ name: 'd', area: 1, coastal: true, role: 'admin' }, '', 'additionalProperties'],
  [[{ name: 'd', area: 1, coastal: true }, { name: 5 }], '/1', 'required'],
]

const server = await start()

for (const [title, connect] of [
  ['the client of Feathers', connectFeathers],
  ['the client of Remex', connectRemex],
] as const) {
  t.test(`a service with schemas, by ${title}`, async (t) => {
    const { cities, logIn } = connect(server.url)
    await t.rejects(cities.find({ query: { nope: 1 } }), { code: 401 }, 'before the query is read')
    await logIn()
    t.beforeEach(async () => {
      await collection.deleteMany({})
      await collection.insertMany(RECORDS.map((record) => ({ ...record })))
    })

    t.test('finds by values with their types', async (t) => {
      for (const [title, query, names] of QUERIES)
        t.equal(await namesOf(cities, query), names, title)
    })

    t.test('is told what is wrong with a query', async (t) => {
      const refused = { name: 'BadRequest', code: 400, message: 'validation failed' }
      await t.rejects(cities.find({ query: { area: 'abc' } }), {
        ...refused,
        data: [{ instancePath: '/area', message: 'must be number' }],
      })
      await t.rejects(cities.find({ query: { rank: 'abc' } }), {
        ...refused,
        data: [{ instancePath: '/rank', message: 'must be integer' }],
      })
      const unknown = [{ params: { additionalProperty: 'nope' } }]
      await t.rejects(cities.find({ query: { nope: 1 } }), { ...refused, data: unknown })
    })

    t.test('sends dates, ids and null in data', async (t) => {
      const data = { name: 'd', area: 1, coastal: false, founded: new Date(0), mayor, rank: null }
      const sent = { ...data, founded: data.founded.toJSON(), mayor: String(mayor) }
      t.match(await cities.create({ ...data, motto: undefined }), sent)
      t.match(await collection.findOne({ name: 'd' }), data)
      t.match(await cities.create([data, data]), [sent, sent])
      t.match(await cities.patch(null, { rank: 2 }, { query: { name: 'd' } }), [
        { rank: 2 },
        {},
        {},
      ])
      t.equal(((await cities.remove(null, { query: { rank: 2 } })) as object[]).length, 3)
    })

    t.test('is told what is wrong with data', async (t) => {
      for (const [data, instancePath, keyword] of REFUSED) {
        const error = (await cities.create(data).catch((thrown: unknown) => thrown)) as {
          readonly data: unknown
          readonly errors: unknown
        }
        t.match(error, { name: 'BadRequest', code: 400, data: [{ instancePath, keyword }] })
        t.equal(error.errors, undefined)
      }
      t.equal(await collection.countDocuments(), RECORDS.length)
    })

    t.test('calls a custom method', async (t) => {
      const greeting = { when: new Date(0), times: 2 }
      t.strictSame(await cities.greet(greeting), { year: 1970, twice: 4 })
      const issue = { instancePath: '/times', keyword: 'type' }
      await t.rejects(cities.greet({ ...greeting, times: '2' }), { code: 400, data: [issue] })
    })

    t.test('null in queries', async (t) => {
      for (const [title, query, names] of NULLS) {
        if (connect === connectFeathers) t.equal(await namesOf(cities, query), names, title)
        else await t.rejects(cities.find({ query }), /is null, which is '' in a query/)
        const sent = JSON.parse(JSON.stringify(query).replaceAll('null', '""')) as object
        t.equal(await namesOf(cities, sent), names, `${title}, as an empty string`)
      }
    })
  })
}

t.test('an empty value is a 400 where there is a value always', async (t) => {
  const { cities, logIn } = connectFeathers(server.url)
  await logIn()
  for (const [name, instancePath] of [
    ['area', '/area'],
    ['coastal', '/coastal'],
    ['name', '/name'],
    ['_id', '/_id'],
  ] as const) {
    const find = cities.find({ query: { [name]: null } })
    await t.rejects(find, { code: 400, data: [{ instancePath }] }, name)
  }
  const ordered = cities.find({ query: { founded: { $gt: null } } })
  await t.rejects(ordered, { code: 400, data: [{ instancePath: '/founded/$gt' }] }, 'an order')
})

t.test('empty lists have their meaning, by the client of Remex', async (t) => {
  const { cities, logIn } = connectRemex(server.url)
  await logIn()
  await collection.deleteMany({})
  await collection.insertMany(RECORDS.map((record) => ({ ...record })))
  for (const [title, query, names] of EMPTY_LISTS) {
    t.equal(await namesOf(cities, query), names, title)
  }
  t.strictSame(await cities.patch(null, { rank: 9 }, { query: { area: { $in: [] } } }), [])
  t.strictSame(await cities.remove(null, { query: { _id: { $in: [] } } }), [])
  t.equal(await collection.countDocuments({ rank: { $ne: 9 } }), 3)
  await t.rejects(cities.remove(null, { query: { $and: [] } }), /the query has no condition/)
  await t.rejects(cities.find({ query: { $or: [] } }), /\$or must be a non-empty list/)
  await t.rejects(cities.find({ query: { name: [] } }), { code: 400 }, 'a string is no list')
})
