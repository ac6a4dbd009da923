import t from 'tap'

import { queryProperties, queryProperty, Type } from '../../../../src/core/schema/index.ts'
import { pluck } from '../../../support/pluck.ts'

t.test('describes a value or operators', async (t) => {
  const number = { type: 'number' }
  const list = { type: 'array', items: number }
  const one = ['$eq', '$ne', '$gt', '$gte', '$ge', '$lt', '$lte', '$le'].map((name) => [
    name,
    number,
  ])
  t.same(queryProperty(Type.Number({ default: 1 }), { $mod: Type.Array(Type.Number()) }), {
    anyOf: [
      number,
      {
        type: 'object',
        properties: { ...Object.fromEntries(one), $in: list, $nin: list, $mod: list },
        additionalProperties: false,
      },
    ],
  })
})

t.test('is optional in the schema of an object', async (t) => {
  const schema = Type.Object({ name: queryProperty(Type.String()) })
  t.notOk('required' in schema)
})

t.test('takes null where a property may be null or is optional', async (t) => {
  const takesNull = (schema: object) => JSON.stringify(queryProperty(schema)).includes('null')
  t.notOk(takesNull(Type.String()))
  t.ok(takesNull(Type.Optional(Type.String())))
  t.ok(takesNull({ type: ['string', 'null'] }))
  t.ok(takesNull({ enum: ['a', null] }))
  t.ok(takesNull(Type.Union([Type.String(), Type.Null()])))
  t.match(queryProperty({ type: 'string', nullable: true }), { anyOf: [{ const: null }] })
})

t.test('closes objects as values, so that none has operators in it', async (t) => {
  const { anyOf } = queryProperty(Type.Object({ name: Type.String() })) as unknown as {
    anyOf: { additionalProperties: unknown; properties: object }[]
  }
  t.strictSame(pluck(anyOf, 'additionalProperties'), [false, false])
  t.ok('$eq' in (anyOf[0]?.properties ?? {}))
})

t.test('describes the conditions on all properties of an object', async (t) => {
  const entity = Type.Object({ name: Type.String(), at: Type.Object({ x: Type.Number() }) })
  const schema = queryProperties(entity, { name: { $regex: Type.String() } })
  t.match(schema, { type: 'object', additionalProperties: false })
  t.strictSame(Object.keys((schema as unknown as { properties: object }).properties), [
    ...['name', 'at', 'at.x'],
  ])
  t.strictSame(Object.keys(queryProperties({ name: { type: 'string' } })), ['name'])
  t.throws(() => queryProperties(entity, { $search: Type.String() }), /no '\$search'/)
})
