import { ObjectId } from 'mongodb'
import t from 'tap'

import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { createApp } from '../../../../src/core/index.ts'
import type { ValidationInput } from '../../../../src/core/schema/index.ts'
import {
  Ajv,
  addFormats,
  DateSchema,
  getValidator,
  Type,
  validateQuery,
} from '../../../../src/core/schema/index.ts'

const COUNTRY_QUERY = Type.Object(
  {
    area: Type.Optional(
      Type.Union([
        Type.Number(),
        Type.Object(
          { $gt: Type.Optional(Type.Number()), $in: Type.Optional(Type.Array(Type.Number())) },
          { additionalProperties: false },
        ),
      ]),
    ),
    landlocked: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String()),
    createdAt: Type.Optional(
      Type.Union([DateSchema(), Type.Object({ $lt: Type.Optional(DateSchema()) })]),
    ),
    $limit: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  { additionalProperties: false },
)

/** Returns what `find` gets of a query, behind the hook. */
function createFind(schema: ValidationInput = COUNTRY_QUERY) {
  const countries = { find: async ({ query }: { query?: object } = {}) => query ?? {} }
  const app = createApp<{ countries: typeof countries }>().use('countries', countries)
  app.service('countries').hooks({ before: { find: [validateQuery(schema)] } })
  return (query: object) => app.service('countries').find({ query })
}

t.test('makes numbers, booleans and dates of the strings of a URL', async (t) => {
  const find = createFind()
  const query = {
    area: { $gt: '1000000', $in: ['1', '2.5'] },
    landlocked: 'true',
    name: '5',
    createdAt: { $lt: '2026-01-01T00:00:00Z' },
    $limit: '5',
  }
  t.strictSame(await find(query), {
    area: { $gt: 1000000, $in: [1, 2.5] },
    landlocked: true,
    name: '5',
    createdAt: { $lt: new Date('2026-01-01T00:00:00Z') },
    $limit: 5,
  })
})

t.test('leaves the query of the caller as it is', async (t) => {
  const query = { area: { $in: ['1', '2'] }, createdAt: '2026-01-01T00:00:00Z' }
  const copy = structuredClone(query)
  await createFind()(query)
  t.strictSame(query, copy)
})

t.test('takes the validators of an Ajv that converts', async (t) => {
  const ajv = addFormats(new Ajv({ coerceTypes: true }))
  const schema = { $id: 'Q', type: 'object', properties: { area: { type: 'number' } } }
  const query = { area: '5' }
  t.strictSame(await createFind(getValidator(schema, ajv))(query), { area: 5 })
  t.strictSame(query, { area: '5' })
  t.strictSame(await createFind(ajv.compile(schema))(query), { area: 5 })
})

const COERCING = addFormats(new Ajv({ coerceTypes: true }))

t.test('converts what Ajv would convert, but for what no client means', async (t) => {
  const schema = Type.Object({ value: Type.Union([Type.Null(), Type.Number()]) })
  const find = createFind(schema)
  t.strictSame(await find({ value: null }), { value: null })
  t.strictSame(await find({ value: '5' }), { value: 5 })
  t.strictSame(await find({ value: '' }), { value: null }, 'clients send null so')
  const refused = [' 1 ', '0x10', 'Infinity', 'NaN', 'null', '1e999', '01', 'TRUE', 'yes']
  for (const value of refused) {
    await t.rejects(find({ value }), { code: 400, data: [{ instancePath: '/value' }] }, value)
  }
  t.strictSame(await createFind(COERCING.compile(schema))({ value: '' }), { value: null })
})

t.test('converts ids, in lists and alternatives too', async (t) => {
  const [hex, other] = ['507f1f77bcf86cd799439011', '507f1f77bcf86cd799439012']
  const id = ObjectIdSchema()
  const operators = Type.Object(
    { $ne: Type.Optional(id), $in: Type.Optional(Type.Array(id)) },
    { additionalProperties: false },
  )
  const condition = { _id: Type.Optional(Type.Union([id, operators])) }
  const find = createFind(
    Type.Object(
      { ...condition, $or: Type.Optional(Type.Array(Type.Object(condition))) },
      { additionalProperties: false },
    ),
  )
  t.strictSame(await find({ _id: hex }), { _id: new ObjectId(hex) })
  t.strictSame(await find({ _id: { $in: [hex, other] } }), {
    _id: { $in: [new ObjectId(hex), new ObjectId(other)] },
  })
  t.strictSame(await find({ $or: [{ _id: hex }, { _id: { $ne: other } }] }), {
    $or: [{ _id: new ObjectId(hex) }, { _id: { $ne: new ObjectId(other) } }],
  })
  const given = new ObjectId()
  t.equal(((await find({ _id: given })) as { _id: unknown })._id, given)
})

t.test('a value of another type is refused with the path of the field (INJ-20)', async (t) => {
  const id = ObjectIdSchema()
  const between = (value: object) => ({
    anyOf: [value, { type: 'object', properties: { $gt: value, $lt: value } }],
  })
  const find = createFind({
    type: 'object',
    properties: {
      age: between({ type: 'number' }),
      active: between({ type: 'boolean' }),
      _id: between(id),
      date: between(DateSchema()),
    },
  })
  const queries: [query: object, instancePath: string][] = [
    [{ age: { $gt: 'abc' } }, '/age/$gt'],
    [{ age: ['1', '2'] }, '/age'],
    [{ active: 'yes' }, '/active'],
    [{ _id: 'zz' }, '/_id'],
    [{ date: { $lt: 'never' } }, '/date/$lt'],
  ]
  for (const [query, instancePath] of queries) {
    await t.rejects(find(query), { code: 400, data: [{ instancePath }] }, instancePath)
  }
})

t.test('an object of JSON that imitates an ObjectId or a Date is refused (FTH-7)', async (t) => {
  const schema = Type.Object({
    ref: Type.Optional(ObjectIdSchema()),
    at: Type.Optional(DateSchema()),
  })
  const imitations = [
    { _bsontype: 'ObjectId', id: '507f1f77bcf86cd799439011' },
    { toHexString: '507f1f77bcf86cd799439011' },
    { $oid: '507f1f77bcf86cd799439011' },
    { $date: '2026-01-31T12:00:00Z' },
    { _bsontype: 'Date', getTime: 0 },
  ]
  for (const imitation of imitations) {
    for (const name of ['ref', 'at']) {
      const data = [{ instancePath: `/${name}` }]
      await t.rejects(createFind(schema)({ [name]: imitation }), { code: 400, data })
    }
  }
})

t.test('an invalid ObjectId is an error of the validation, nothing else (FTH-8)', async (t) => {
  const schema = Type.Object({ ref: ObjectIdSchema() })
  for (const ref of ['zz', '', '507f1f77bcf86cd79943901', 5, true, null, [], {}]) {
    const issue = { instancePath: '/ref' }
    await t.rejects(createFind(schema)({ ref }), { code: 400, data: [issue] }, JSON.stringify(ref))
  }
})

t.test('an unknown field or operator is refused', async (t) => {
  const find = createFind()
  const issue = { instancePath: '', params: { additionalProperty: 'nope' } }
  await t.rejects(find({ nope: '1' }), { code: 400, message: 'validation failed', data: [issue] })
  const operator = { instancePath: '/area', params: { additionalProperty: '$where' } }
  await t.rejects(find({ area: { $where: '1' } }), { code: 400, data: [operator] })
  for (const name of ['__proto__', 'constructor', 'toString']) {
    await t.rejects(find(JSON.parse(`{"${name}":"1"}`)), { code: 400 }, name)
  }
})

t.test('validates a call without a query, and keeps all other params', async (t) => {
  const seen: object[] = []
  const todos = { find: async (params: object = {}) => seen.push(params) }
  const app = createApp<{ todos: typeof todos }>().use('todos', todos)
  app.service('todos').hooks({ around: { find: [validateQuery(COUNTRY_QUERY)] } })
  const params = { provider: 'rest' }
  await app.service('todos').find(params)
  await app.service('todos').find()
  t.match(seen, [{ provider: 'rest', query: {} }, { query: {} }])
  t.strictSame(params, { provider: 'rest' })
})

t.test('takes a function, which gets a copy', async (t) => {
  const find = createFind((query: { a: { b: string } }) => {
    query.a.b = 'changed'
    return query
  })
  const query = { a: { b: 'x' } }
  t.strictSame(await find(query), { a: { b: 'changed' } })
  t.strictSame(query, { a: { b: 'x' } })
})

t.test('sets no defaults, which would be conditions that nobody has asked for', async (t) => {
  const find = createFind(Type.Object({ area: Type.Optional(Type.Number({ default: 1 })) }))
  t.strictSame(await find({}), {})
})

t.test('refuses options that mean nothing here, by name', async (t) => {
  t.doesNotThrow(() => validateQuery(COUNTRY_QUERY, { skipSanitize: false }))
  // @ts-expect-error the adapter's check always runs
  t.throws(() => validateQuery(COUNTRY_QUERY, { skipSanitize: true }), {
    message:
      /validateQuery\(\): the option 'skipSanitize' must be false: the adapter's own check always runs/,
  })
  // @ts-expect-error no such option
  t.throws(() => validateQuery(COUNTRY_QUERY, { skipSanitise: false }), {
    message: /unknown option 'skipSanitise'.*skipSanitize/,
  })
  t.throws(() => validateQuery('query' as unknown as object), TypeError)
})

t.test('says so when it stands in the wrong place', async (t) => {
  const todos = { find: async () => [] }
  const app = createApp<{ todos: typeof todos }>().use('todos', todos)
  app.service('todos').hooks({ after: { find: [validateQuery(COUNTRY_QUERY)] } })
  const message = 'The validateQuery hook must be used as a before or an around hook'
  await t.rejects(app.service('todos').find(), new TypeError(message))
})
