import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import t from 'tap'

import { keywordObjectId, ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { isObjectId } from '../../../../src/adapter/object-id.ts'
import { querySyntax, Type } from '../../../../src/core/schema/index.ts'

const ID = '507f1f77bcf86cd799439011'

const country = Type.Object({
  _id: ObjectIdSchema(),
  name: Type.String(),
  area: Type.Number({ minimum: 0 }),
  landlocked: Type.Boolean({ default: false }),
  motto: Type.Optional(Type.String()),
  rank: Type.Union([Type.Null(), Type.Number()]),
  tags: Type.Array(Type.String()),
  owners: Type.Array(ObjectIdSchema()),
  kind: Type.Union([Type.Literal('state'), Type.Literal('realm')]),
  capital: Type.Object({ name: Type.String(), people: Type.Number({ default: 0 }) }),
  cities: Type.Array(Type.Object({ people: Type.Number() })),
  founded: Type.Optional(Type.String({ format: 'date' })),
})

const syntax = querySyntax(country, {
  name: { $regex: Type.String(), $options: Type.String() },
  $search: Type.String(),
})

/** Returns what validates and converts, as applications that come from Feathers do it. */
function compile(schema: object): (query: Record<string, unknown>) => unknown {
  const ajv = new Ajv({ coerceTypes: true, addUsedSchema: false, strict: true })
  addFormats.default(ajv)
  ajv.addKeyword(keywordObjectId)
  const validate = ajv.compile(schema)
  return (query) => {
    if (validate(query)) return query
    return validate.errors?.map(({ instancePath }) => instancePath)[0]
  }
}

const validate = compile(syntax)

/** Queries of a URL, and what becomes of them. */
const CONVERTED: readonly (readonly [Record<string, unknown>, Record<string, unknown>])[] = [
  [
    { area: '5', landlocked: 'true' },
    { area: 5, landlocked: true },
  ],
  [{ area: { $gt: '5', $lte: '6' } }, { area: { $gt: 5, $lte: 6 } }],
  [{ area: { $ge: '5', $le: '6' } }, { area: { $ge: 5, $le: 6 } }],
  [{ area: { $in: ['5', '6'] } }, { area: { $in: [5, 6] } }],
  [{ area: { $eq: '0', $ne: '1' } }, { area: { $eq: 0, $ne: 1 } }],
  [{ name: '5' }, { name: '5' }],
  [{ name: '' }, { name: '' }],
  [{ rank: '0' }, { rank: 0 }],
  [{ rank: '' }, { rank: null }],
  [{ rank: null }, { rank: null }],
  [{ motto: null }, { motto: null }],
  [{ motto: '' }, { motto: '' }],
  [{ motto: { $ne: null } }, { motto: { $ne: null } }],
  [{ motto: { $in: [null, 'a'] } }, { motto: { $in: [null, 'a'] } }],
  [{ tags: 'a' }, { tags: 'a' }],
  [{ tags: ['a', 'b'] }, { tags: ['a', 'b'] }],
  [{ tags: { $in: ['a', ['b']] } }, { tags: { $in: ['a', ['b']] } }],
  [{ kind: 'state' }, { kind: 'state' }],
  [{ 'capital.people': { $gt: '5' } }, { 'capital.people': { $gt: 5 } }],
  [{ 'cities.people': '5' }, { 'cities.people': 5 }],
  [{ capital: { name: 'a', people: '5' } }, { capital: { name: 'a', people: 5 } }],
  [
    { capital: { $eq: { name: 'a', people: '5' } } },
    { capital: { $eq: { name: 'a', people: 5 } } },
  ],
  [
    { $limit: '5', $skip: '0' },
    { $limit: 5, $skip: 0 },
  ],
  [{ $sort: { area: '-1', 'capital.name': '1' } }, { $sort: { area: -1, 'capital.name': 1 } }],
  [{ $select: ['name', 'capital.name'] }, { $select: ['name', 'capital.name'] }],
  [
    { $or: [{ area: '5' }, { $and: [{ area: { $gt: '6' } }, { name: 'a' }] }] },
    { $or: [{ area: 5 }, { $and: [{ area: { $gt: 6 } }, { name: 'a' }] }] },
  ],
  [{ $and: [{ $or: [{ area: '5' }] }] }, { $and: [{ $or: [{ area: 5 }] }] }],
  [{ name: { $regex: 'a', $options: 'i' } }, { name: { $regex: 'a', $options: 'i' } }],
  [{ $or: [{ name: { $regex: 'a' } }] }, { $or: [{ name: { $regex: 'a' } }] }],
  [{ $search: 'a' }, { $search: 'a' }],
]

for (const [query, converted] of CONVERTED) {
  const text = JSON.stringify(query)
  t.test(`takes ${text}`, async (t) => {
    t.strictSame(validate(structuredClone(query)), converted)
  })
}

/** Queries that are not valid, and the place that the first error names. */
const REFUSED: readonly (readonly [Record<string, unknown>, string])[] = [
  [{ area: 'abc' }, '/area'],
  [{ area: '' }, '/area'],
  [{ area: '-1' }, '/area'],
  [{ area: { $gt: 'abc' } }, '/area'],
  [{ area: { $in: '5' } }, '/area'],
  [{ area: { $regex: 'a' } }, '/area'],
  [{ area: { $nor: [] } }, '/area'],
  [{ landlocked: 'yes' }, '/landlocked'],
  [{ kind: 'town' }, '/kind'],
  [{ motto: { $gt: { a: 1 } } }, '/motto'],
  [{ _id: 'x' }, '/_id'],
  [{ _id: { $in: [ID, 'x'] } }, '/_id'],
  [{ capital: { $where: '1' } }, '/capital'],
  [{ nope: '1' }, ''],
  [{ $nor: [{ name: 'a' }] }, ''],
  [{ $where: '1' }, ''],
  [{ $limit: '-1' }, '/$limit'],
  [{ $limit: '1.5' }, '/$limit'],
  [{ $skip: 'a' }, '/$skip'],
  [{ $sort: { area: '0' } }, '/$sort/area'],
  [{ $sort: { nope: '1' } }, '/$sort'],
  [{ $select: ['nope'] }, '/$select/0'],
  [{ $or: { area: '5' } }, '/$or'],
  [{ $or: [{ nope: '5' }] }, '/$or/0'],
  [{ $or: [{ $search: 'a' }] }, '/$or/0'],
  [{ $or: [{ $limit: '5' }] }, '/$or/0'],
  [{ $or: [{ $or: [{ area: '5' }] }] }, '/$or/0'],
  [{ $and: [{ $or: [{ $and: [{ area: '5' }] }] }] }, '/$and/0/$or/0'],
]

for (const [query, place] of REFUSED) {
  t.test(`refuses ${JSON.stringify(query)}`, async (t) => {
    const found = validate(structuredClone(query))
    t.type(found, 'string')
    t.ok(String(found).startsWith(place), String(found))
  })
}

t.test('makes ObjectIds, alone, in lists and of the items of lists', async (t) => {
  const query = { _id: { $in: [ID] }, owners: ID } as { _id: { $in: unknown[] }; owners: unknown }
  t.equal(validate(query), query)
  t.ok(isObjectId(query._id.$in[0]))
  t.ok(isObjectId(query.owners))
  const list = { owners: [ID] as unknown[] }
  t.equal(validate(list), list)
  t.ok(isObjectId(list.owners[0]))
})

t.test('leaves no default in a query', async (t) => {
  t.notMatch(JSON.stringify(syntax), '"default"')
  t.match(JSON.stringify(country), '"default"')
})

t.test('reads the properties of picked and joined schemas', async (t) => {
  const picked = querySyntax(Type.Pick(country, ['area']))
  const joined = querySyntax(
    Type.Intersect([Type.Pick(country, ['area']), Type.Object({ size: Type.Integer() })]),
  )
  const plain = querySyntax({ properties: { area: { type: 'number' } }, required: ['area'] })
  for (const schema of [picked, joined, plain]) {
    t.strictSame(compile(schema)({ area: '5' }), { area: 5 })
    t.equal(compile(schema)({ name: 'a' }), '')
  }
  t.strictSame(compile(joined)({ size: '5' }), { size: 5 })
})

t.test('returns a map of conditions for a map of properties', async (t) => {
  const properties = { type: { type: 'string' }, properties: { type: 'number' } } as const
  const map = querySyntax(properties, { type: { $regex: { type: 'string' } } })
  const schema = { type: 'object', properties: { ...map }, additionalProperties: false }
  const query = { type: { $regex: 'a' }, properties: '5', $limit: '1', $or: [{ type: 'b' }] }
  t.strictSame(compile(schema)(query), { ...query, properties: 5, $limit: 1 })
})

t.test('works inside another schema', async (t) => {
  t.strictSame(compile({ allOf: [syntax] })({ $or: [{ area: '5' }] }), { $or: [{ area: 5 }] })
})

t.test('takes more names at the top where it is told so', async (t) => {
  const open = querySyntax(country, {}, { additionalProperties: true, $id: 'CountryQuery' })
  t.strictSame(compile(open)({ nope: '1', area: '5' }), { nope: '1', area: 5 })
  t.equal((open as { $id?: string }).$id, 'CountryQuery')
})

t.test('lets an extension stand for what is there', async (t) => {
  const schema = querySyntax(country, {
    area: { $in: Type.Array(Type.Number(), { maxItems: 1 }) },
    $limit: Type.Integer({ maximum: 3 }),
    $nor: Type.Array(Type.Object({ name: Type.String() })),
  })
  t.equal(compile(schema)({ area: { $in: ['1', '2'] } }), '/area')
  t.equal(compile(schema)({ $limit: '4' }), '/$limit')
  t.strictSame(compile(schema)({ $nor: [{ name: 'a' }] }), { $nor: [{ name: 'a' }] })
})

t.test('takes the definitions that references lead to with it', async (t) => {
  const schema = querySyntax({
    type: 'object',
    properties: { size: { $ref: '#/$defs/size' } },
    $defs: { size: { type: 'integer' } },
  })
  t.strictSame(compile(schema)({ size: { $gt: '5' } }), { size: { $gt: 5 } })
})

/** Mistakes of the author, and what the error says. */
const MISTAKES: readonly (readonly [() => unknown, string])[] = [
  [
    () => querySyntax(country, { nope: { $regex: Type.String() } }),
    "'nope', which is not a property",
  ],
  [() => querySyntax(Type.Union([country]) as never), 'no schema of a property'],
  [() => querySyntax(Type.Intersect([country, Type.Union([country])])), 'only join schemas'],
  [() => querySyntax({ type: 'object' } as never), "needs the 'properties'"],
  [() => querySyntax({ ...country, allOf: [false] } as never), 'only join schemas'],
  [() => querySyntax({ ...country, allOf: ['x'] } as never), 'only join schemas'],
  [() => querySyntax(null as never), 'takes the schema of an object'],
  [() => querySyntax(country, { name: { $regex: 'string' as never } }), 'with their schemas'],
  [() => querySyntax(country, { $search: 'string' as never }), "a schema for '$search'"],
  [
    () => querySyntax(country, { name: { regex: Type.String() } }),
    "'regex': did you mean '$regex'",
  ],
  [() => querySyntax(country, {}, { properties: {} }), "sets 'properties' itself"],
]

for (const [make, message] of MISTAKES) {
  t.test(`refuses a mistake: ${message}`, async (t) => {
    t.throws(make, new RegExp(message.replaceAll('$', '\\$')))
  })
}
