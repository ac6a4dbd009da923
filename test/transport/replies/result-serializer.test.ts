import { Binary, ObjectId } from 'mongodb'
import t from 'tap'
import type { JSONSchema } from '../../../src/core/services/service-schemas.ts'
import { injectServer, MODES, startServer } from '../../support/http.ts'

interface Case {
  readonly title: string
  readonly schema: JSONSchema
  readonly record: unknown
  readonly sent: unknown
}

const string = { type: 'string' }
const named = { type: 'object', properties: { name: string } }
const secret = { name: 'a', password: 'p' }
const shown = { name: 'a' }

/** Returns the schema of a record with one field, and parts that are referred to. */
function field(schema: object, $defs: object = {}): object {
  return { $defs, type: 'object', properties: { value: schema } }
}

const list = { type: 'array', items: named }
const node = { type: 'object', properties: { name: string, sub: { type: 'array' } } }

const LEAKS: readonly Case[] = [
  ...[
    { title: 'a list or null', schema: field({ anyOf: [list, { type: 'null' }] }) },
    { title: 'one of two lists', schema: field({ anyOf: [list, { type: 'array' }] }) },
    { title: 'the items of a tuple', schema: field({ type: 'array', prefixItems: [named] }) },
    { title: 'a list in parts', schema: field({ allOf: [list] }) },
    { title: 'a list elsewhere', schema: field({ $ref: '#/$defs/List' }, { List: list }) },
    {
      title: 'a list elsewhere or null',
      schema: field({ anyOf: [{ $ref: '#/$defs/List' }, { type: 'null' }] }, { List: list }),
    },
    { title: 'lists where one record is meant', schema: field(named) },
  ].map((one) => ({ ...one, record: { value: [secret] }, sent: { value: [shown] } })),
  ...[
    { title: 'an encoded reference', schema: field({ $ref: '#/$defs/a%20b' }, { 'a b': named }) },
    {
      title: 'a reference by an id',
      schema: field({ $ref: 'Named' }, { Named: { $id: 'Named', ...named } }),
    },
    { title: 'one record where a list is meant', schema: field(list) },
  ].map((one) => ({ ...one, record: { value: secret }, sent: { value: shown } })),
  {
    title: 'records that contain themselves',
    schema: { ...node, properties: { name: string, sub: { type: 'array', items: { $ref: '#' } } } },
    record: { ...secret, sub: [{ ...secret, sub: [secret] }] },
    sent: { ...shown, sub: [{ ...shown, sub: [shown] }] },
  },
  {
    title: 'a record where an id is meant',
    schema: field(string),
    record: { value: secret },
    sent: {},
  },
]

const id = new ObjectId()

/** The values stay what they are, whatever the schema says. */
const VALUES: readonly Case[] = [
  { type: 'string', values: [5, true, ['a', 'b'], null] },
  { type: 'number', values: ['12', '', true, [], null] },
  { type: 'boolean', values: ['no', 'false', 0, 1, null] },
  { type: 'object', properties: { name: string }, values: ['a', 5, null] },
]
  .flatMap(({ values, ...schema }) => values.map((value: unknown) => ({ schema, value })))
  .map(({ schema, value }) => ({
    title: `${JSON.stringify(value)} where ${schema.type} is meant`,
    schema: field(schema),
    record: { value },
    sent: { value },
  }))

class Claimed {
  readonly password = 'p'
  get _bsontype(): string {
    return 'ObjectId'
  }
  toJSON(): object {
    return { ...secret }
  }
}

class Records extends Array<string> {
  toJSON(): object {
    return secret
  }
}

const OTHERS: readonly Case[] = [
  { title: 'ids', schema: field(string), record: { value: id }, sent: { value: String(id) } },
  {
    title: 'bytes',
    schema: field(string),
    record: { value: new Binary(Buffer.from('abc')) },
    sent: { value: 'YWJj' },
  },
  {
    title: 'a date where a record is meant',
    schema: field(named),
    record: { value: new Date(0) },
    sent: { value: '1970-01-01T00:00:00.000Z' },
  },
  {
    title: 'no function, also where anything is meant',
    schema: field({}),
    record: { value: () => 1 },
    sent: {},
  },
  {
    title: 'no field that each object inherits',
    schema: { type: 'object', properties: { constructor: string, toString: {}, name: string } },
    record: shown,
    sent: shown,
  },
  { title: 'the items of a list', schema: named, record: Records.of('a'), sent: ['a'] },
  { title: 'ids in place of records', schema: named, record: [id, null], sent: [String(id), null] },
  {
    title: 'an object that is its own JSON',
    schema: named,
    record: new (class {
      name = 'a'
      toJSON(): this {
        return this
      }
    })(),
    sent: shown,
  },
  {
    title: 'the fields of each alternative, at every depth',
    schema: {
      anyOf: [field(named), field({ type: 'object', properties: { age: { type: 'number' } } })],
    },
    record: { value: { age: 5, password: 'p' } },
    sent: { value: { age: 5 } },
  },
  {
    title: 'fields that a condition names',
    schema: { ...named, if: { required: ['name'] }, else: { properties: { age: string } } },
    record: { age: 'b' },
    sent: { age: 'b' },
  },
]

/** Objects that say of themselves that they are ids, dates, bytes or lists, by what claims it. */
const CLAIMS: Readonly<Record<string, unknown>> = {
  'a class of ids': new Claimed(),
  'a prototype of numbers': Object.assign(Object.create({ _bsontype: 'Long' }), secret),
  'a prototype of decimals': Object.create({ _bsontype: 'Decimal128', toJSON: () => secret }),
  'a date': Object.assign(new Date(0), { toJSON: () => secret }),
  'a pattern': Object.assign(/a/, secret),
  bytes: Object.assign(Buffer.from('a'), { toJSON: () => secret }),
  'a map': Object.assign(new Map(), { toJSON: () => secret }),
  'a list of scalars': Records.of('a'),
}

const CLAIMING: readonly Case[] = Object.entries(CLAIMS).flatMap(([name, value]) => [
  // A result of bytes is sent as such, and a list with its items.
  ...(ArrayBuffer.isView(value) || Array.isArray(value)
    ? []
    : [{ title: `${name} where a record is meant`, schema: named, record: value, sent: shown }]),
  { title: `${name} in a field`, schema: field(named), record: { value }, sent: { value: shown } },
  {
    title: `${name} in a list`,
    schema: field(list),
    record: { value: [value, secret] },
    sent: { value: [shown, shown] },
  },
  { title: `${name} where an id is meant`, schema: field(string), record: { value }, sent: {} },
])

/** What the log is told of a result, by its fields. */
const TOLD: readonly (readonly [record: object, messages: readonly RegExp[], field?: string])[] = [
  [{ name: 'a', age: 5 }, []],
  [{ name: 'a', password: {} }, []],
  [
    { name: 5 },
    [/types of a result differ from its schema; values that are not objects are sent unchanged/],
  ],
  [
    { name: { first: 'a' } },
    [/types of a result differ/, /has an object where .* it is left out/],
    'name',
  ],
  [{ names: ['a', { first: 'a' }] }, [/types of a result differ/, /it is left out/], 'names'],
]

const GROUPS = {
  'no unnamed field (MASS-3)': [...LEAKS, ...CLAIMING],
  'as it is': VALUES,
  'as JSON': OTHERS,
}

for (const mode of MODES) {
  t.test(`answers of services with schemas, ${mode}`, async (t) => {
    const cases = Object.entries(GROUPS).flatMap(([group, list]) =>
      list.map((one) => ({ ...one, title: `${one.title}: ${group}` })),
    )
    const { request } = await startServer(t, mode, {
      services: (app) => {
        for (const [index, { schema, record }] of cases.entries()) {
          const service = { get: async () => record }
          app.use(`things-${index}`, service, { schemas: { entity: schema, query: true } })
        }
      },
    })
    for (const [index, { title, sent }] of cases.entries()) {
      const { status, text } = await request(`/things-${index}/1`)
      t.strictSame({ status, body: JSON.parse(text) }, { status: 200, body: sent }, title)
    }
  })
}

const page = { total: 1, limit: 5, skip: 0, data: [secret] }
const shownPage = { ...page, data: [shown] }
const also = { secret: 'p', name: 'p', inner: [secret], skip: secret }
const parts = { $ref: '#/$defs/Named', $defs: { Named: named } }

/** Pages as a hook leaves them, and what is sent of them. */
const PAGES: readonly (readonly [
  title: string,
  schema: JSONSchema,
  found: object,
  sent: object,
])[] = [
  ['a page', named, page, shownPage],
  ['fields beside the data', named, { ...also, ...page }, shownPage],
  ['an object in the place of a count', named, { ...page, ...also }, withoutSkip(shownPage)],
  ['fields of a record that is a reference', parts, { ...also, ...page }, shownPage],
  ['a page without counts', named, { total: 1, data: [secret] }, { total: 1, data: [shown] }],
  ['a page without a total', named, { ...also, data: [secret] }, { data: [shown] }],
  ['everything where anything is declared', true, { ...also, ...page }, { ...also, ...page }],
]

function withoutSkip({ skip: _, ...others }: typeof shownPage): object {
  return others
}

t.test('no unnamed field of a page, also where Fastify changes the body (MASS-3)', async (t) => {
  for (const changes of [false, true]) {
    const { request } = await injectServer(t, {
      services: (app) => {
        for (const [index, [, entity, found]] of PAGES.entries()) {
          app.use(
            `pages-${index}`,
            { find: async () => found },
            { schemas: { entity, query: true } },
          )
        }
      },
      server: (server) => {
        if (!changes) return
        server.addHook('preSerialization', async (_request, _reply, body) => ({ body }))
      },
    })
    for (const [index, [title, , , sent]] of PAGES.entries()) {
      const { text } = await request(`/pages-${index}`)
      t.strictSame(JSON.parse(text), changes ? { body: sent } : sent, title)
    }
  }
})

t.test('sends a singleton as one record, also where it has a list named data', async (t) => {
  const entity = { type: 'object', properties: { name: string, data: list } }
  const found = { ...secret, total: 1, data: [secret] }
  const { request } = await injectServer(t, {
    services: (app) => {
      const options = { singleton: true, schemas: { entity, query: true } }
      app.use('me', { find: async () => found }, options)
    },
  })
  t.strictSame(JSON.parse((await request('/me')).text), { ...shown, data: [shown] })
})

t.test('a function is no record, whatever its toJSON returns (MASS-3)', async (t) => {
  const value = Object.assign(() => 1, { toJSON: () => secret })
  const { request } = await injectServer(t, {
    services: (app) => {
      const functions = { get: async () => value, find: async () => [value, secret] }
      app.use('functions', functions as object, { schemas: { entity: named, query: true } })
    },
  })
  t.equal((await request('/functions/1')).status, 500)
  t.strictSame(JSON.parse((await request('/functions')).text), [null, shown])
})

t.test('no unnamed field of a body with a toJSON, where Fastify changes it (MASS-3)', async (t) => {
  const { request } = await injectServer(t, {
    services: (app) => {
      const get = async () => new Claimed()
      app.use('claims', { get } as object, { schemas: { entity: named, query: true } })
    },
    server: (server) =>
      void server.addHook('preSerialization', async (_request, _reply, body) => ({ body })),
  })
  t.strictSame(JSON.parse((await request('/claims/1')).text), { body: shown })
})

t.test('the log is told once of other types, and once of objects that are left out', async (t) => {
  const entity = {
    type: 'object',
    properties: { name: string, names: { type: 'array', items: string }, age: { type: 'number' } },
  }
  const { request, logged } = await injectServer(t, {
    services: (app) => {
      for (const [index, [record]] of TOLD.entries()) {
        app.use(`things-${index}`, { get: async () => record }, { schemas: { entity } })
      }
    },
  })
  for (const [index, [record, messages, field]] of TOLD.entries()) {
    const start = logged.length
    await request(`/things-${index}/1`)
    await request(`/things-${index}/1`)
    const told = logged.slice(start)
    const details = { method: 'get', path: `things-${index}` }
    t.equal(told.length, messages.length, JSON.stringify(record))
    t.match(
      told,
      messages.map((message) => ({ details, message })),
    )
    if (field !== undefined) t.match(told.at(-1), { details: { field } })
  }
})
