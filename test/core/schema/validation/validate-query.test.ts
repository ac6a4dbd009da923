import t from 'tap'

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
