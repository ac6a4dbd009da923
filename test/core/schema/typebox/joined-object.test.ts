import t from 'tap'

import {
  Ajv,
  getValidator,
  querySyntax,
  Type,
  validateQuery,
} from '../../../../src/core/schema/index.ts'

const MESSAGE = Type.Object(
  { _id: Type.String(), text: Type.String(), size: Type.Number() },
  { $id: 'Message', additionalProperties: false },
)

/** As generators of Feathers write it. */
const QUERY = Type.Intersect(
  [
    querySyntax(Type.Pick(MESSAGE, ['text', 'size'])),
    Type.Object({ archived: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
  ],
  { additionalProperties: false },
)

const INVALID = { message: 'validation failed' }

t.test('a generated query schema takes the syntax, properties and those beside them', async (t) => {
  const ajv = new Ajv({ coerceTypes: true })
  const query = { $limit: '5', size: { $gt: '3' }, $sort: { size: '-1' }, archived: 'true' }
  const converted = { $limit: 5, size: { $gt: 3 }, $sort: { size: -1 }, archived: true }
  t.strictSame(await getValidator(QUERY, ajv)(query), converted)
  for (const refused of [{ nope: 1 }, { text: { $regex: 'a' } }, { _id: 'a' }]) {
    await t.rejects(getValidator(QUERY)(refused), INVALID)
  }
})

t.test('the hook converts by it, too', async (t) => {
  const context = {
    method: 'find',
    type: 'before' as const,
    params: { query: { archived: 'false', $select: 'text' } },
  }
  await validateQuery(QUERY)(context)
  t.strictSame(context.params.query, { archived: false, $select: ['text'] })
})

t.test('is one closed object of closed ones, with all they require and no ids', async (t) => {
  const more = Type.Object(
    { text: Type.Optional(Type.String({ maxLength: 3 })), by: Type.Optional(Type.String()) },
    { $id: 'More', additionalProperties: false },
  )
  const joined = Type.Intersect([MESSAGE, more], { $id: 'Both', additionalProperties: false })
  t.match(joined, { $id: 'Both', required: ['_id', 'text', 'size'], additionalProperties: false })
  const validate = getValidator(joined)
  const record = { _id: 'a', text: 'abc', size: 1, by: 'ann' }
  t.strictSame(await validate({ ...record }), record)
  await t.rejects(validate({ ...record, text: 'abcd' }), INVALID, 'of both descriptions')
  await t.rejects(validate({ ...record, more: 1 }), INVALID)
  t.strictSame(Object.keys(Type.Omit(joined, ['size']).properties), ['_id', 'text', 'by'])
})

t.test('joins what has been joined before', async (t) => {
  const inner = Type.Intersect([
    Type.Object({ a: Type.String() }),
    Type.Object({ b: Type.String() }),
  ])
  const outer = Type.Intersect([inner, Type.Object({ c: Type.String() })], {
    additionalProperties: false,
  })
  t.strictSame(await getValidator(outer)({ a: '', b: '', c: '' }), { a: '', b: '', c: '' })
})

t.test('is that of TypeBox without the option, and for what is no plain object', async (t) => {
  const open = Type.Object({ a: Type.String() })
  t.strictSame(
    { ...Type.Intersect([open, open], { title: 'Both' }) },
    { allOf: [open, open], title: 'Both' },
  )
  const words = Type.Record(Type.String(), Type.String())
  t.match(Type.Intersect([open, words], { additionalProperties: false }), { allOf: [open, words] })
})
