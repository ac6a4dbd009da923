import { ObjectId } from 'mongodb'
import t from 'tap'
import { z } from 'zod'

import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import type { HookContext, Params, Query } from '../../src/core/index.ts'
import { DateSchema, querySyntax, Type } from '../../src/core/schema/index.ts'
import { openDatabase } from '../support/database.ts'
import type { Answer } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

const ID = ObjectIdSchema()

const City = Type.Object({
  _id: ID,
  name: Type.String({ minLength: 1 }),
  area: Type.Number(),
  coastal: Type.Boolean(),
  founded: Type.Optional(DateSchema()),
  mayor: Type.Optional(Type.Union([ID, Type.Null()])),
  districts: Type.Array(Type.Object({ name: Type.String(), area: Type.Optional(Type.Number()) })),
})

const NewCity = Type.Object({
  name: Type.String({ minLength: 1 }),
  area: Type.Number({ default: 1 }),
  coastal: Type.Boolean({ default: false }),
  founded: Type.Optional(DateSchema()),
  mayor: Type.Optional(ID),
  districts: Type.Array(Type.Object({ name: Type.String() }), { default: [] }),
})

const { empty } = await openDatabase(t)
const cities = await empty('cities')
const towns = await empty('towns')
const calls: unknown[] = []

const NewTown = Type.Object({ name: Type.String() })

function addLevel(context: HookContext): void {
  context.data = Object.assign({ level: 1 }, context.data)
}

/** What of the issues of a refusal tells where and why. */
function placesOf({ status, body }: Answer): unknown {
  const { name, message, data } = body as { name: string; message: string; data: unknown[] }
  const issues = (data ?? []) as { instancePath: string; keyword: string }[]
  return { status, name, message, first: [issues[0]?.instancePath, issues[0]?.keyword] }
}

const refused = (path: string, keyword: string): object => ({
  ...{ status: 400, name: 'BadRequest', message: 'validation failed', first: [path, keyword] },
})

/** As a hook with a fault does it: what a caller sends becomes a condition that no schema has seen. */
function searchByHeader({ headers, query }: Params): Query {
  const { 'x-field': field, 'x-pattern': $regex } = headers ?? {}
  return field === undefined ? { ...query } : { ...query, [String(field)]: { $regex } }
}

for (const mode of MODES) {
  t.test(`a service with schemas, ${mode}`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => {
        const service = new MongoDBService({ Model: cities, multi: true, paginate: { default: 5 } })
        app.use('cities', service, {
          schemas: {
            entity: City,
            create: NewCity,
            query: querySyntax(City, { name: { $regex: Type.String() } }),
          },
        })
        const greetings = {
          find: async () => [{ text: 'a', secret: 'b' }],
          create: async (data: object) => ({ ...data, secret: 'b' }),
          greet: async (data: object) => data,
        }
        app.use('greetings', greetings, {
          methods: ['find', 'create', 'greet'],
          schemas: {
            entity: Type.Object({ text: Type.String() }),
            create: z.object({ text: z.string().trim().min(1) }),
            methods: { greet: { data: Type.Object({ times: Type.Integer() }) } },
          },
        })
        app.service('cities').hooks({
          before: {
            create: [(context) => void calls.push(structuredClone(context.data))],
            find: [({ params }) => Object.assign(params, { query: searchByHeader(params) })],
          },
        })
        app.use('towns', new MongoDBService({ Model: towns }), {
          methods: ['create'],
          schemas: { create: NewTown },
        })
        app.service('towns').hooks({ before: { create: [addLevel] } })
      },
    })
    const { request } = server
    const create = (data: unknown): Promise<Answer> => request('/cities', { data })
    t.beforeEach(async () => {
      await cities.deleteMany({})
      await towns.deleteMany({})
    })

    t.test('data: defaults are set, dates and ids converted, before the hooks', async (t) => {
      const mayor = new ObjectId()
      const founded = '1237-10-28T00:00:00.000Z'
      const { status, body } = await create({ name: 'Berlin', founded, mayor: String(mayor) })
      t.equal(status, 201)
      t.match(body, { name: 'Berlin', area: 1, coastal: false, founded, mayor: String(mayor) })
      const [stored] = await cities.find().toArray()
      t.match(stored, { founded: new Date(founded), mayor, districts: [] })
      t.match(calls.at(-1), { area: 1, founded: new Date(founded) })
    })

    t.test('fields that are not named are refused at every depth (MASS-1, MASS-2)', async (t) => {
      const city = { name: 'Bonn' }
      t.strictSame(
        placesOf(await create({ ...city, role: 'a' })),
        refused('', 'additionalProperties'),
      )
      const id = String(new ObjectId())
      t.strictSame(
        placesOf(await create({ ...city, _id: id })),
        refused('', 'additionalProperties'),
      )
      const nested = { ...city, districts: [{ name: 'a', role: 'b' }] }
      t.strictSame(placesOf(await create(nested)), refused('/districts/0', 'additionalProperties'))
      const list = [city, { ...city, role: 'a' }]
      t.strictSame(placesOf(await create(list)), refused('/1', 'additionalProperties'))
      const form = await request('/cities', {
        method: 'POST',
        body: 'name=Bonn&role=admin',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      t.strictSame(placesOf(form), refused('', 'additionalProperties'))
      const custom = await request('/greetings', {
        data: { times: 1, role: 'a' },
        headers: { 'x-service-method': 'greet' },
      })
      t.strictSame(placesOf(custom), refused('', 'additionalProperties'))
      t.equal(await cities.countDocuments(), 0)
    })

    t.test('nobody changes what only the service sets (MASS-1)', async (t) => {
      const { body } = await create({ name: 'Bonn' })
      const id = (body as { _id: string })._id
      const data = { name: 'Bonn' }
      for (const method of ['PATCH', 'PUT']) {
        for (const field of ['_id', 'role', 'createdAt', 'isVerified', 'districts.0.role']) {
          const path = `/cities/${id}`
          const answer = await request(path, { method, data: { ...data, [field]: id } })
          t.strictSame(placesOf(answer), refused('', 'additionalProperties'), `${method} ${field}`)
        }
      }
      t.notMatch(await cities.findOne(), { role: id })
    })

    t.test('JSON makes no ObjectId and no date, in data and queries (FTH-7)', async (t) => {
      for (const fake of [{ _bsontype: 'ObjectId', toHexString: 'x' }, { toHexString: 'x' }]) {
        t.strictSame(
          placesOf(await create({ name: 'Bonn', mayor: fake })),
          refused('/mayor', 'objectid'),
        )
        t.strictSame(
          placesOf(await create({ name: 'Bonn', founded: fake })),
          refused('/founded', 'date'),
        )
      }
      for (const query of ['mayor[_bsontype]=ObjectId', 'mayor[$in][0][toHexString]=x']) {
        t.equal((await request(`/cities?${query}`)).status, 400, query)
      }
      t.equal(await cities.countDocuments(), 0)
    })

    t.test('an operator that a hook adds is allowed at named places alone (FTH-17)', async (t) => {
      await create({ name: 'Bonn', districts: [{ name: 'Bad Godesberg' }] })
      const find = async (field: string): Promise<unknown> => {
        const headers = { 'x-field': field, 'x-pattern': '^B' }
        const { status, body } = await request('/cities?coastal=false', { headers })
        return { status, ...(body as object) }
      }
      t.match(await find('name'), { status: 200, total: 1 })
      for (const field of ['districts.name', 'area', '_id']) {
        t.match(
          await find(field),
          { status: 400, message: 'Invalid query parameter $regex' },
          field,
        )
      }
    })

    t.test('a $regex that the schema names is checked as any other (INJ-15)', async (t) => {
      const bad = ['(a+)+$', 'a'.repeat(129), '(', 'a\0']
      const queries = [
        ...bad.map((pattern) => `name[$regex]=${encodeURIComponent(pattern)}`),
        ...['name[$regex][]=a', 'name[$regex][a]=b', 'name[$regex]=a&name[$options]=x'],
      ]
      for (const query of queries) {
        const { status, body } = await request(`/cities?${query}`)
        t.match({ status, body }, { status: 400, body: { name: 'BadRequest' } }, query)
      }
    })

    t.test('no hook for one record gets a list, where the service takes none', async (t) => {
      const { status, body } = await request('/towns', { data: [{ name: 'a' }] })
      t.match({ status, ...(body as object) }, { status: 405, name: 'MethodNotAllowed' })
      t.equal(await towns.countDocuments(), 0)
      t.match(await request('/towns', { data: { name: 'a' } }), { status: 201, body: { level: 1 } })
      const service = server.app.service('towns')
      const params = { provider: 'rest', adapter: { multi: true } }
      const list = await service.create([{ name: 'a' }], params)
      t.equal(Array.isArray(list), false, 'a call that says otherwise is the business of its hooks')
    })

    t.test('data of JSON is not converted, that of a form is', async (t) => {
      t.strictSame(placesOf(await create({ name: 'Bonn', area: '5' })), refused('/area', 'type'))
      t.strictSame(placesOf(await create({ area: 5 })), refused('', 'required'))
      const form = await request('/cities', {
        method: 'POST',
        body: 'name=Bonn&area=5&coastal=true',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      t.match(form, { status: 201, body: { area: 5, coastal: true } })
    })

    t.test('patch demands nothing and sets no defaults, update does', async (t) => {
      const { body } = await create({ name: 'Bonn', area: 2, coastal: true })
      const path = `/cities/${(body as { _id: string })._id}`
      const patched = await request(path, { method: 'PATCH', data: { area: 3 } })
      t.match(patched, { status: 200, body: { name: 'Bonn', area: 3, coastal: true } })
      const wrong = await request(path, { method: 'PATCH', data: { area: '3' } })
      t.strictSame(placesOf(wrong), refused('/area', 'type'))
      const updated = await request(path, { method: 'PUT', data: { name: 'Bonn' } })
      t.match(updated, { status: 200, body: { name: 'Bonn', area: 1, coastal: false } })
      const short = await request(path, { method: 'PUT', data: { area: 5 } })
      t.strictSame(placesOf(short), refused('', 'required'))
    })

    t.test('queries: values have the types of the schema', async (t) => {
      await create([
        { name: 'a', area: 9, coastal: true, founded: '1990-01-01T00:00:00Z' },
        { name: 'b', area: 10, founded: '1900-01-01T00:00:00Z' },
      ])
      const names = async (query: string): Promise<unknown> => {
        const { status, body } = await request(`/cities?${query}`)
        if (status !== 200) return body
        return (body as { data: { name: string }[] }).data.map(({ name }) => name)
      }
      t.strictSame(await names('area[$gt]=9'), ['b'], 'numbers')
      t.strictSame(await names('coastal=true'), ['a'], 'booleans')
      t.strictSame(await names('founded[$lt]=1950-01-01T00:00:00Z'), ['b'], 'dates')
      t.strictSame(await names('$sort[area]=-1&$limit=1'), ['b'])
      t.strictSame(await names('$or[0][area]=9&$or[1][coastal]=false&$sort[name]=1'), ['a', 'b'])
      const [city] = await cities.find({ name: 'a' }).toArray()
      t.strictSame(await names(`_id[$in]=${city?._id}`), ['a'], 'ids')
      const many = Array.from({ length: 30 }, (_, index) => `area[$in][]=${index + 10}`).join('&')
      t.strictSame(await names(many), ['b'], 'long lists')
      t.strictSame(await names('name[$regex]=%5Eb'), ['b'], 'an operator that the schema names')
    })

    t.test('queries that do not fit are refused, by the name of the field (INJ-20)', async (t) => {
      const cases: readonly (readonly [string, string])[] = [
        ['area[$gt]=abc', '/area/$gt'],
        ['coastal=yes', '/coastal'],
        ['_id=zz', '/_id'],
        ['founded[$lt]=never', '/founded/$lt'],
        ['nope=1', ''],
        ['area[$regex]=a', '/area'],
        ['$sort[nope]=1', '/$sort'],
        ['$sort[name]=0', '/$sort/name'],
        ['$select[]=nope', '/$select/0'],
        ['$limit=-1', '/$limit'],
        ['$where=1', ''],
      ]
      for (const [query, place] of cases) {
        const answer = await request(`/cities?${query}`)
        const { data } = answer.body as { data: { instancePath: string }[] }
        t.equal(answer.status, 400, query)
        t.equal(data[0]?.instancePath, place, query)
      }
      for (const method of ['PATCH', 'DELETE']) {
        const data = method === 'PATCH' ? { data: { area: 1 } } : {}
        const answer = await request('/cities?nope=1', { method, ...data })
        t.equal(answer.status, 400, `${method} of many`)
      }
    })

    t.test('answers have the fields of the schema, and no others (MASS-3)', async (t) => {
      await cities.insertOne({ name: 'a', area: null, secret: 'b', districts: [{ secret: 'c' }] })
      const { body } = await request('/cities?$select[]=name&$select[]=area')
      t.match(body, { total: 1, limit: 5, skip: 0, data: [{ name: 'a', area: null }] })
      const { text } = await request('/cities')
      t.notMatch(text, /secret/)
      t.match(JSON.parse(text), { data: [{ districts: [{}] }] })
      t.strictSame((await request('/greetings')).body, [{ text: 'a' }], 'a list')
      const path = `/cities/${(JSON.parse(text) as { data: [{ _id: string }] }).data[0]._id}`
      const answers = [
        ...[await request(path), await request(`${path}?$select[]=name`)],
        await request(path, { method: 'PATCH', data: { area: 2 } }),
        await request(path, { method: 'DELETE' }),
        await request('/greetings', { data: { text: 'a' } }),
      ]
      for (const { status, text } of answers) {
        t.ok(status < 300)
        t.notMatch(text, /secret/)
      }
    })

    t.test('data may have a schema of another library', async (t) => {
      const greeting = await request('/greetings', { data: { text: ' a ' } })
      t.strictSame(greeting.body, { text: 'a' }, 'converted by it')
      t.strictSame(
        placesOf(await request('/greetings', { data: { text: '' } })),
        refused('/text', 'standard'),
      )
      const list = await request('/greetings', { data: [{ text: 'a' }, { text: 5 }] })
      t.strictSame(placesOf(list), refused('/1/text', 'standard'))
    })

    t.test('calls within the process are not checked', async (t) => {
      const service = server.app.service('cities')
      const created = await service.create({ name: '', further: new Date(0) })
      t.match(created, { name: '', further: new Date(0) })
      t.match(await service.find({ query: { further: new Date(0) } }), { total: 1 })
      await t.rejects(service.create({ name: '' }, { provider: 'rest' }), { code: 400 })
    })
  })
}
