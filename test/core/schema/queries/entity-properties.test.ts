import { Ajv } from 'ajv'
import t from 'tap'
import { getValidator, querySyntax, Type } from '../../../../src/core/schema/index.ts'
import { readEntity } from '../../../../src/core/schema/queries/entity-properties.ts'

const pathsOf = (schema: object): string[] => [...readEntity('test', schema).properties.keys()]

/** Returns what validates a query and converts its strings. */
const convert = (schema: object) =>
  getValidator(schema, new Ajv({ coerceTypes: true, addUsedSchema: false }))

const Place = Type.Object({
  city: Type.String(),
  zip: Type.Integer(),
  at: Type.Array(Type.Number()),
})
const Pet = Type.Object({
  name: Type.String(),
  owner: Type.Object({
    nick: Type.String(),
    tags: Type.Array(Type.Object({ n: Type.Integer() })),
    geo: Type.Optional(Place),
  }),
})

t.test('names the properties of objects inside of objects and lists by their paths', async (t) => {
  const ofPlace = ['city', 'zip', 'at'].map((name) => `owner.geo.${name}`)
  const ofOwner = ['owner.nick', 'owner.tags', 'owner.geo']
  t.strictSame(pathsOf(Pet), ['name', 'owner', ...ofOwner, 'owner.tags.n', ...ofPlace])
  t.strictSame(pathsOf(Pet.properties), pathsOf(Pet))
})

/** Schemas of a property `x` that has a field `x.a.b`. */
const AROUND: Readonly<Record<string, object>> = {
  'a nullable object': Type.Union([
    Type.Object({ a: Type.Object({ b: Type.Integer() }) }),
    Type.Null(),
  ]),
  alternatives: Type.Union([
    Type.Object({ kind: Type.Literal('a'), a: Type.Object({ b: Type.Integer() }) }),
    Type.Object({ kind: Type.Literal('c'), c: Type.String() }),
  ]),
  'joined objects': Type.Intersect([
    Type.Object({ a: Type.Object({ b: Type.Integer() }) }),
    Type.Object({ c: Type.String() }),
  ]),
  'a list of alternatives': Type.Array(
    Type.Union([Type.String(), Type.Object({ a: Type.Object({ b: Type.Integer() }) })]),
  ),
  'a nullable list': Type.Union([
    Type.Null(),
    Type.Array(Type.Object({ a: Type.Object({ b: Type.Integer() }) })),
  ]),
  'a tuple': Type.Tuple([Type.String(), Type.Object({ a: Type.Object({ b: Type.Integer() }) })]),
  'an object in an alternative of an object': Type.Object({
    a: Type.Union([Type.Null(), Type.Object({ b: Type.Integer() })]),
  }),
  oneOf: { oneOf: [{ type: 'string' }, Type.Object({ a: Type.Object({ b: Type.Integer() }) })] },
}

for (const [name, x] of Object.entries(AROUND)) {
  t.test(`reads the fields of ${name}`, async (t) => {
    const schema = Type.Object({ x: Type.Unsafe(x) })
    t.ok(pathsOf(schema).includes('x.a.b'))
    const validate = convert(querySyntax(schema))
    t.strictSame(await validate({ 'x.a.b': '5' }), { 'x.a.b': 5 })
    t.strictSame(await validate({ $or: [{ 'x.a.b': { $gt: '5' } }] }), {
      $or: [{ 'x.a.b': { $gt: 5 } }],
    })
    t.strictSame(await validate({ $sort: { 'x.a.b': '1' }, $select: ['x.a.b'] }), {
      $sort: { 'x.a.b': 1 },
      $select: ['x.a.b'],
    })
    for (const path of ['x.a.nope', 'x.b', 'x.a.b.c', 'x.__proto__', 'x..b']) {
      await t.rejects(validate({ [path]: '5' }), { code: 400 })
    }
  })
}

t.test('takes any type that a field has in one of several alternatives', async (t) => {
  const x = Type.Union([Type.Object({ a: Type.Integer() }), Type.Object({ a: Type.Boolean() })])
  const validate = convert(querySyntax(Type.Object({ x })))
  t.strictSame(await validate({ 'x.a': '5' }), { 'x.a': 5 })
  t.strictSame(await validate({ 'x.a': 'true' }), { 'x.a': true })
  await t.rejects(validate({ 'x.a': 'yes' }), { code: 400 })
})

t.test('extends the conditions on a field by its path', async (t) => {
  const validate = convert(querySyntax(Pet, { 'owner.geo.city': { $regex: Type.String() } }))
  await t.resolves(validate({ 'owner.geo.city': { $regex: 'a' } }))
  await t.rejects(validate({ 'owner.nick': { $regex: 'a' } }), { code: 400 })
})

t.test('reads at most four names where a schema contains itself', async (t) => {
  const node = {
    type: 'object',
    properties: { n: { type: 'integer' }, next: { $ref: '#' } },
    additionalProperties: false,
  }
  const names = [[], ['next'], ['next', 'next'], ['next', 'next', 'next']]
  const paths = names.flatMap((outer) => ['n', 'next'].map((name) => [...outer, name].join('.')))
  t.strictSame(pathsOf(node), paths)
})

t.test('leaves out deeper fields of a schema that has too many unless it names them', async (t) => {
  const inner = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`f${n}`, Type.String()]))
  const outer = Array.from({ length: 10 }, (_, n) => [`o${n}`, Type.Object(inner)] as const)
  const schema = Type.Object({ x: Type.Object(Object.fromEntries(outer)) })
  t.equal(pathsOf(schema).length, 11)
  t.equal(pathsOf(Type.Object(Object.fromEntries(outer))).length, 110, 'as before')
  const named = Type.Object({ ...schema.properties, 'x.o0.f1': Type.Integer() })
  t.equal(pathsOf(named).length, 12)
  t.match(readEntity('test', named).properties.get('x.o0.f1'), { schema: { type: 'integer' } })
})

t.test('leaves out the fields of alternatives where a list of them has too many', async (t) => {
  const kinds = Array.from({ length: 30 }, (_, kind) => {
    const fields = Array.from({ length: 9 }, (_, n) => [`f${kind}_${n}`, Type.String()])
    return Type.Object({ kind: Type.Literal(kind), ...Object.fromEntries(fields) })
  })
  const owner = Type.Object({ name: Type.Object({ last: Type.String() }) })
  const schema = Type.Object({ blocks: Type.Array(Type.Union(kinds)), owner })
  t.strictSame(pathsOf(schema), ['blocks', 'owner', 'owner.name', 'owner.name.last'])
  const few = Type.Object({ blocks: Type.Array(Type.Union(kinds.slice(0, 9))), owner })
  t.equal(pathsOf(few).length, 86)
})
