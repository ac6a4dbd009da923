import t from 'tap'
import { z } from 'zod'
import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { Type } from '../../../../src/core/schema/index.ts'
import { toPublicSchema, toWireSchema } from '../../../../src/core/schema/service/wire-schema.ts'
import { compileSchema } from '../../../../src/core/schema/validation/ajv.ts'

const ID = { type: 'string', pattern: '^[0-9a-fA-F]{24}$' }
const DATE = { type: 'string', format: 'date-time' }

t.test('ids and dates are strings, wherever they stand', async (t) => {
  const schema = Type.Object({
    _id: ObjectIdSchema(),
    at: { date: true, description: 'When' },
    friends: Type.Array(ObjectIdSchema()),
    or: { anyOf: [ObjectIdSchema(), { type: 'null' }] },
    query: { anyOf: [{ date: true }, { type: 'object', properties: { $gt: { date: true } } }] },
  })
  t.match(toWireSchema(schema), {
    properties: {
      _id: ID,
      at: { ...DATE, description: 'When' },
      friends: { items: ID },
      or: { anyOf: [ID, { type: 'null' }] },
      query: { anyOf: [DATE, { properties: { $gt: DATE } }] },
    },
  })
  t.notMatch(JSON.stringify(toWireSchema(schema)), /objectid|"date":true/)
})

t.test('ids and dates keep what describes them', async (t) => {
  const example = '2026-01-31T12:00:00Z'
  const described = { example, 'x-label': 'When', externalDocs: { url: 'https://example.org' } }
  t.strictSame(toWireSchema({ date: true, ...described }), { ...described, ...DATE })
})

t.test('says nullable by the type', async (t) => {
  const WITH_NULL = [
    [{ type: 'string', nullable: true }, ['string', 'null']],
    [{ type: ['string', 'number'], nullable: true }, ['string', 'number', 'null']],
    [{ type: ['string', 'null'], nullable: true }, ['string', 'null']],
    [{ type: 'string', nullable: false }, 'string'],
  ] as const
  for (const [schema, type] of WITH_NULL) {
    const validate = compileSchema(schema)
    t.strictSame(toWireSchema({ type: 'array', items: schema }), { type: 'array', items: { type } })
    t.equal(validate(null), compileSchema({ type })(null), 'as the check does')
  }
  // The check refuses null here as well.
  const level = { type: 'string', nullable: true, enum: ['low', 'high'] }
  t.strictSame(toWireSchema(level), { type: ['string', 'null'], enum: ['low', 'high'] })
  t.equal(compileSchema(level)(null), false)
})

t.test('leaves what is the same over HTTP as it is', async (t) => {
  const schema = { type: 'object', properties: { date: { type: 'string' }, a: { anyOf: [] } } }
  t.strictSame(toWireSchema(schema), schema)
  t.strictSame([toWireSchema(true), toWireSchema(false)], [true, false])
  t.strictSame(toWireSchema({ type: 'string', date: false }), { type: 'string' })
})

t.test('callers may leave out what has a default', async (t) => {
  const schema = Type.Object({
    text: Type.String(),
    done: Type.Boolean({ default: false }),
    parts: Type.Array(Type.Object({ name: Type.String({ default: '' }) })),
  })
  const { required, properties } = toPublicSchema(schema) as ReturnType<typeof Type.Object>
  t.strictSame(required, ['text', 'parts'])
  t.match(properties, { parts: { items: { required: [] } }, done: { default: false } })
})

t.test('data of another library has the JSON Schema that it gives', async (t) => {
  t.match(toPublicSchema(z.object({ text: z.string() })), {
    properties: { text: { type: 'string' } },
  })
  t.equal(toPublicSchema(z.object({ at: z.date() })), true, 'none of a Date')
  const { validate } = z.string()['~standard']
  t.equal(toPublicSchema({ '~standard': { version: 1, vendor: 'a', validate } }), true)
})
