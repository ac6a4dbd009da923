import t from 'tap'
import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { Type } from '../../../../src/core/schema/index.ts'
import { toWireSchema } from '../../../../src/core/schema/service/wire-schema.ts'

const ID = { type: 'string', pattern: '^[0-9a-fA-F]{24}$' }
const DATE = { type: 'string', format: 'date-time' }

t.test('ids and dates are strings, wherever they stand', async (t) => {
  const schema = Type.Object({
    _id: Type.Unsafe(ObjectIdSchema()),
    at: { date: true, description: 'When' },
    friends: Type.Array(Type.Unsafe(ObjectIdSchema())),
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

t.test('leaves what is the same over HTTP as it is', async (t) => {
  const schema = { type: 'object', properties: { date: { type: 'string' }, a: { anyOf: [] } } }
  t.strictSame(toWireSchema(schema), schema)
  t.strictSame([true, false].map(toWireSchema), [true, false])
  t.strictSame(toWireSchema({ type: 'string', date: false }), { type: 'string' })
})
