import t from 'tap'

import { Ajv, getDataValidator, getValidator, Type } from '../../../../src/core/schema/index.ts'

const POST = Type.Object(
  {
    title: Type.String(),
    tags: Type.Array(Type.String(), { default: [] }),
    author: Type.Object({ name: Type.String(), role: Type.String({ default: 'guest' }) }),
  },
  { additionalProperties: false, $id: 'Post' },
)
const VALID = { title: 'x', author: { name: 'Ann' } }

t.test('update takes what create takes', async (t) => {
  const { create, update } = getDataValidator(POST)
  const whole = { title: 'x', tags: [], author: { name: 'Ann', role: 'guest' } }
  t.strictSame(await create(structuredClone(VALID)), whole)
  t.strictSame(await update(structuredClone(VALID)), whole)
  await t.rejects(update({ title: 'x' }), {
    code: 400,
    data: [{ params: { missingProperty: 'author' } }],
  })
})

t.test('a patch has nothing required and sets no defaults', async (t) => {
  const { patch } = getDataValidator(POST)
  t.strictSame(await patch({}), {})
  t.strictSame(await patch({ title: 'y' }), { title: 'y' })
  await t.rejects(patch({ title: 1 }), {
    code: 400,
    data: [{ instancePath: '/title', keyword: 'type' }],
  })
  await t.rejects(patch({ other: 1 }), { code: 400, data: [{ keyword: 'additionalProperties' }] })
})

t.test('an object inside of a patch is a whole value', async (t) => {
  const { patch } = getDataValidator(POST)
  const data = { author: { name: 'Bob' } }
  t.strictSame(await patch(data), { author: { name: 'Bob', role: 'guest' } })
  await t.rejects(patch({ author: {} }), { code: 400, data: [{ instancePath: '/author' }] })
})

t.test('the same holds for records that are put together', async (t) => {
  const base = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }
  const other = Type.Object({ b: Type.Number({ default: 2 }) }, { minProperties: 1 })
  const onlyB = { type: 'object', required: ['b'], properties: { b: { type: 'number' } } }
  const condition = '{ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": false }'
  const schemas = [
    Type.Intersect([Type.Object({ a: Type.Number() }), other]),
    { $defs: { base }, $ref: '#/$defs/base' },
    { $defs: { base }, $ref: '#/$defs/base', type: 'object', properties: { b: { default: 1 } } },
    { type: 'object', oneOf: [base, { ...onlyB, additionalProperties: false }] },
    { ...base, ...JSON.parse(condition) },
    { ...base, dependentSchemas: { x: { required: ['a', 'b'] } } },
  ]
  for (const schema of schemas) {
    const { create, patch } = getDataValidator(schema)
    await t.rejects(create({ x: 1 }), { code: 400 }, JSON.stringify(schema))
    t.strictSame(await patch({ a: 5 }), { a: 5 })
    await t.rejects(patch({ a: 'x' }), { code: 400, data: [{ instancePath: '/a' }] })
  }
})

t.test('records inside of records are whole ones', async (t) => {
  const list = { type: 'array', items: { $ref: '#' } }
  const tree = {
    $id: 'Tree',
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'number' }, children: list },
  }
  const node = Type.Object({ id: Type.Number(), children: Type.Array(Type.Ref('Node')) })
  for (const schema of [tree, Type.Cyclic({ Node: node }, 'Node')]) {
    for (const ajv of [undefined, new Ajv()]) {
      const { create, patch } = getDataValidator(schema, ajv)
      const valid = { children: [{ id: 1, children: [] }] }
      await t.resolves(create({ id: 0, ...valid }))
      await t.resolves(patch(valid))
      const issue = { instancePath: '/children/0', params: { missingProperty: 'id' } }
      await t.rejects(patch({ children: [{ children: [] }] }), { code: 400, data: [issue] })
    }
  }
})

t.test('one Ajv takes many schemas, with and without names', async (t) => {
  const ajv = new Ajv({ useDefaults: true })
  const nameless = { type: 'object', properties: { a: { type: 'number', default: 1 } } }
  for (const schema of [POST, { ...nameless }, { ...nameless }]) {
    t.strictSame(await getDataValidator(schema, ajv).patch({}), {})
  }
  t.doesNotThrow(() => getValidator({ ...nameless, $id: 'PostPatch' }, ajv))
})

t.test('takes a schema for each method, and no others', async (t) => {
  const [create, update, patch] = ['create', 'update', 'patch'].map((name) =>
    Type.Object({ [name]: Type.Number() }),
  ) as [object, object, object]
  const all = getDataValidator({ create, update, patch })
  await t.resolves(all.create({ create: 1 }))
  await t.resolves(all.update({ update: 1 }))
  await t.rejects(all.patch({}), { code: 400, data: [{ params: { missingProperty: 'patch' } }] })
  await t.resolves(getDataValidator({ create }).patch({}))
  t.throws(() => getDataValidator({ create, remove: create }), /unknown option 'remove'/)
})
