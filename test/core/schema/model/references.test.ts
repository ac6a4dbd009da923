import t from 'tap'

import {
  Ajv,
  getValidator,
  querySyntax,
  Type,
  validateQuery,
} from '../../../../src/core/schema/index.ts'
import type { Keywords } from '../../../../src/core/schema/model/keywords.ts'
import {
  linkReferences,
  toRecordSchema,
  writeReferences,
} from '../../../../src/core/schema/model/references.ts'
import { compileCheck } from '../../../../src/core/schema/validation/validator.ts'
import type { JSONSchema, ServiceSchemas } from '../../../../src/core/services/service-schemas.ts'
import { createApp, openapiDocument } from '../../../../src/transport/index.ts'

const Branch = Type.Cyclic(
  { Branch: Type.Object({ size: Type.Integer(), next: Type.Optional(Type.Ref('Branch')) }) },
  'Branch',
)
const Address = Type.Object({ city: Type.String() }, { $id: 'Address' })
const OUTSIDE = { provider: 'rest' }
const METHODS = ['find', 'create', 'patch']

function use(schemas: ServiceSchemas) {
  const service = {
    find: async ({ query }: { query?: unknown }) => query,
    create: async (data: object) => data,
    patch: async (_id: unknown, data: object) => data,
  }
  return createApp().use('things', service, { schemas, methods: METHODS })
}

t.test('a record may have a part that contains itself', async (t) => {
  const Thing = Type.Object({ tree: Branch })
  const app = use({ entity: Thing, create: Thing })
  await app.setup()
  const things = app.service('things')
  const tree = { size: 1, next: { size: 2 } }
  t.strictSame(await things.create({ tree }, OUTSIDE), { tree })
  await t.rejects(things.create({ tree: { size: 1, next: { size: 'a' } } }, OUTSIDE), { code: 400 })
  await t.rejects(things.create({ tree: { size: 1, nxt: 1 } }, OUTSIDE), { code: 400 })
  t.strictSame(await things.patch(1, { tree }, OUTSIDE), { tree })
  const query = { tree: { size: '1', next: { size: '2' } } }
  t.strictSame(await things.find({ ...OUTSIDE, query }), { tree })
  await t.rejects(things.find({ ...OUTSIDE, query: { tree: { size: 'a' } } }), { code: 400 })
})

t.test('a record may contain itself', async (t) => {
  const app = use({ entity: Branch, create: Branch })
  await app.setup()
  const things = app.service('things')
  const tree = { size: 1, next: { size: 2 } }
  t.strictSame(await things.create(tree, OUTSIDE), tree)
  await t.rejects(things.create({ size: 1, nxt: 1 }, OUTSIDE), { code: 400 })
  t.strictSame(await things.patch(1, { next: { size: 2 } }, OUTSIDE), { next: { size: 2 } })
  await t.rejects(things.patch(1, { next: {} }, OUTSIDE), { code: 400 }, 'a part is whole')
  t.strictSame(await things.find({ ...OUTSIDE, query: { size: '1' } }), { size: 1 })
  await t.rejects(things.find({ ...OUTSIDE, query: { sze: '1' } }), { code: 400 })
})

t.test('a schema with an $id may stand for several fields', async (t) => {
  const copy = JSON.parse(JSON.stringify(Address))
  const Thing = Type.Object({ home: Address, work: Address, old: Type.Optional(copy) })
  const app = use({ entity: Thing, create: Thing })
  await app.setup()
  const things = app.service('things')
  const data = { home: { city: 'Rome' }, work: { city: 'Bonn' } }
  t.strictSame(await things.create(data, OUTSIDE), data)
  await t.rejects(things.create({ ...data, work: { city: 5 } }, OUTSIDE), { code: 400 })
  const query = { 'home.city': 'Rome' }
  t.strictSame(await things.find({ ...OUTSIDE, query }), query)
})

t.test('two different schemas with one $id are refused by it', async (t) => {
  const other = Type.Object({ street: Type.String() }, { $id: 'Address' })
  const Thing = Type.Object({ home: Address, work: other })
  const message =
    /'things': two different schemas have the \$id 'Address': give one of them another/
  await t.rejects(use({ entity: Thing, create: Thing }).setup(), { name: 'TypeError', message })
  t.throws(() => compileCheck(Thing), /two different schemas/)
})

t.test('the document of the interface has such schemas with no dead reference', async (t) => {
  const Thing = Type.Object({ home: Address, work: Address, tree: Branch })
  const app = use({ entity: Thing, create: Thing })
  const { components } = await openapiDocument(app, { info: { title: 'Things', version: '1' } })
  t.match(components['schemas'], {
    Things: { properties: { tree: { $ref: '#/components/schemas/ThingsBranch' } } },
    ThingsBranch: { properties: { next: { $ref: '#/components/schemas/ThingsBranch' } } },
  })
  t.notMatch(JSON.stringify(components), /"\$ref":"(?!#\/components)/)
})

const city = { type: 'string' }
const home = { type: 'object', properties: { city } }
const LEADING: Readonly<Record<string, readonly [part: object, wrong: object]>> = {
  '#': [{ home: { city: 'Rome' } }, { home: { city: 5 } }],
  '#/properties/home': [{ city: 'Rome' }, { city: 5 }],
}

for (const [$ref, [part, wrong]] of Object.entries(LEADING)) {
  t.test(`a record may refer to '${$ref}', and its queries mean the same`, async (t) => {
    const Thing = { $id: 'Thing', type: 'object', properties: { home, part: { $ref } } }
    const app = use({ entity: Thing, create: Thing })
    await app.setup()
    const things = app.service('things')
    t.strictSame(await things.create({ part }, OUTSIDE), { part })
    await t.rejects(things.create({ part: wrong }, OUTSIDE), { code: 400 })
    t.strictSame(await things.find({ ...OUTSIDE, query: { part } }), { part })
    await t.rejects(things.find({ ...OUTSIDE, query: { part: wrong } }), { code: 400 })
    await t.rejects(things.find({ ...OUTSIDE, query: { part: { $limit: 1 } } }), { code: 400 })
  })
}

t.test('a query may refer to any part of a record, and to nothing that is not there', async (t) => {
  const Thing = {
    type: 'object',
    properties: { home, list: { $ref: '#/patternProperties/a' } },
    patternProperties: { a: home },
  }
  const app = use({ entity: Thing, create: true })
  await app.setup()
  const query = { list: { city: 'Rome' } }
  t.strictSame(await app.service('things').find({ ...OUTSIDE, query }), query)
  const wrong = { list: { city: 5, town: 5 } }
  await t.rejects(app.service('things').find({ ...OUTSIDE, query: wrong }), { code: 400 })
  const Lost = { ...Thing, properties: { list: { $ref: '#/patternProperties/b' } } }
  const message = /'result' in the schemas of service 'things': .*#\/patternProperties\/b/
  await t.rejects(use({ result: Lost, create: true }).setup(), { name: 'TypeError', message })
})

t.test('a query whose parts refuse each other is found at the start', async (t) => {
  const closed = { additionalProperties: false }
  const Thing = Type.Intersect([
    Type.Object({ size: Type.Object({ width: Type.Number() }, closed) }),
    Type.Object({ size: Type.Object({ height: Type.Number() }, closed) }),
  ])
  const message = /the query of 'find'.*No value can have the property 'height'/
  await t.rejects(use({ entity: Thing, create: true }).setup(), { name: 'TypeError', message })
})

t.test('queries by hand have parts that contain themselves', async (t) => {
  const hook = validateQuery(querySyntax(Type.Object({ tree: Branch })))
  const context = { method: 'find', type: 'before', params: { query: { tree: { size: '1' } } } }
  await hook(context as never)
  t.strictSame(context.params.query, { tree: { size: 1 } })
})

const name = { $id: 'name', $anchor: 'top', type: 'string' }
const DOCUMENTS: Readonly<Record<string, readonly [schema: JSONSchema, expected: JSONSchema]>> = {
  'relative to the $id around it': [
    { $id: 'https://a.test/b/user', properties: { a: { $id: '/c', $ref: 'd' }, b: { $id: '/d' } } },
    {
      $id: 'https://a.test/b/user',
      properties: { a: { $ref: '#/$defs/d' }, b: {} },
      $defs: { d: {} },
    },
  ],
  'to an anchor': [
    { properties: { a: name, b: { $ref: 'name#top' } } },
    {
      properties: { a: { type: 'string' }, b: { $ref: '#/$defs/top' } },
      $defs: { top: { type: 'string' } },
    },
  ],
  'to a definition beside it': [
    { $defs: { 'a/b': { $id: 'c' } }, properties: { d: { $ref: 'c' } } },
    { $defs: { 'a/b': {} }, properties: { d: { $ref: '#/$defs/a~1b' } } },
  ],
  'to a definition inside of it': [
    { $defs: { e: true }, items: { $id: 'c', $defs: { e: { $ref: '#' } }, $ref: '#/$defs/e' } },
    {
      $defs: { e: true, e2: { $ref: '#/$defs/c' }, c: { $ref: '#/$defs/e2' } },
      items: { $ref: '#/$defs/e2' },
    },
  ],
  'to the whole, and out of it': [
    { $id: 'a', items: { $id: 'b', allOf: [{ $ref: 'a' }, { $ref: 'elsewhere' }] } },
    { $id: 'a', items: { allOf: [{ $ref: '#' }, { $ref: 'elsewhere' }] } },
  ],
}

for (const [title, [schema, expected]] of Object.entries(DOCUMENTS)) {
  t.test(`a reference ${title} leads to a definition`, async (t) => {
    t.strictSame(writeReferences(linkReferences(schema)), expected)
  })
}

t.test('a schema without references stays the same object', async (t) => {
  const schema = { $id: 'a', properties: { $id: { type: 'string' }, $ref: {} } }
  t.equal(linkReferences(schema), schema)
  t.equal(linkReferences(true), true)
})

t.test('a record that is only a reference has the keywords of what it refers to', async (t) => {
  const $defs = { User: { type: 'object', properties: {} } }
  const read = (schema: Keywords) =>
    writeReferences(toRecordSchema(linkReferences({ ...schema, $defs }) as Keywords))
  const record = read({ $ref: '#/$defs/User', title: 'A user' })
  t.strictSame(record, { type: 'object', properties: {}, title: 'A user', $defs })
  const more = { $ref: '#/$defs/User', required: ['name'] }
  t.strictSame(read(more), { ...more, $defs })
})

t.test('strictly read, references in a part with an $id lead to nothing outside', async (t) => {
  const part = {
    $id: 'Part',
    properties: { a: { $ref: '#/$defs/any' }, b: { $ref: '#/$defs/none' } },
  }
  const schema = {
    $defs: { none: { type: 'string' } },
    properties: { part: { ...part, $defs: { any: true } } },
  }
  const { properties, $defs } = writeReferences(linkReferences(schema, { isStrict: true })) as {
    readonly properties: { readonly part: { readonly properties: object } }
    readonly $defs: object
  }
  // The definition of the whole is another one.
  t.match(properties.part.properties, { a: { $ref: '#/$defs/part' }, b: { $ref: /Part#/ } })
  t.match($defs, { part: true, none: { type: 'string' } })
})

const refersTo = (name: string) => ({
  $ref: '#/$defs/A',
  $defs: { A: { type: 'object', properties: { [name]: { type: 'integer' } } } },
})

t.test('the queries of two records with references stand in one schema', async (t) => {
  const first = querySyntax(refersTo('x') as never)
  t.notMatch(JSON.stringify(first), 'anchor')
  const properties = { p: first, q: querySyntax(refersTo('y') as never) }
  const validate = getValidator({ type: 'object', properties }, new Ajv())
  t.strictSame(await validate({ p: { x: 1 }, q: { y: 1 } }), { p: { x: 1 }, q: { y: 1 } })
})

t.test('dependencies of draft-07 hold for the record, with names or schemas', async (t) => {
  const Thing = {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'integer' }, c: { type: 'integer' } },
    dependencies: { a: { $ref: '#/definitions/Q' }, b: ['c'] },
    definitions: { Q: { type: 'object', required: ['b'] } },
  }
  const app = use({ entity: Thing, create: Thing, patch: Thing })
  await app.setup()
  const things = app.service('things')
  const whole = { a: 1, b: 1, c: 1 }
  t.strictSame(await things.create(whole, OUTSIDE), whole)
  for (const wrong of [{ a: 1 }, { b: 1 }, { d: 1 }]) {
    await t.rejects(things.create(wrong, OUTSIDE), { code: 400 })
  }
})

t.test('a definition has its name as it is, not as a reference writes it', async (t) => {
  const part = { type: 'object', $defs: { 'b c': { type: 'string' } } }
  const schema = { properties: { part, b: { $ref: '#/properties/part/$defs/b%20c' } } }
  t.match(writeReferences(linkReferences(schema)), { $defs: { bc: { type: 'string' } } })
})
