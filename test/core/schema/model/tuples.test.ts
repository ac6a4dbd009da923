import t from 'tap'

import { querySyntax, Type } from '../../../../src/core/schema/index.ts'
import { withPrefixItems } from '../../../../src/core/schema/model/keywords.ts'
import { createApp, openapiDocument } from '../../../../src/transport/index.ts'

const OUTSIDE = { provider: 'rest' }
const number = { type: 'number' }
const string = { type: 'string' }

const SCHEMAS = {
  'of Type': Type.Object({ point: Type.Tuple([Type.Number(), Type.String()]) }),
  'of draft-07': {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      point: { type: 'array', items: [number, string], additionalItems: false, minItems: 2 },
    },
  },
  'of 2019-09': {
    $schema: 'https://json-schema.org/draft/2019-09/schema',
    type: 'object',
    properties: {
      point: { type: 'array', items: [number, string], additionalItems: false, minItems: 2 },
    },
  },
  'of 2020-12': {
    type: 'object',
    properties: {
      point: { type: 'array', prefixItems: [number, string], items: false, minItems: 2 },
    },
  },
}

for (const [title, schema] of Object.entries(SCHEMAS)) {
  t.test(`a tuple ${title} holds in data, queries and the document`, async (t) => {
    const service = {
      find: async ({ query }: { query?: unknown }) => query,
      create: async (data: object) => data,
    }
    const app = createApp().use('places', service, { schemas: { entity: schema, create: schema } })
    await app.setup()
    const places = app.service('places')
    const data = { point: [1, 'a'] }
    t.strictSame(await places.create(data, OUTSIDE), data)
    for (const point of [[1], ['a', 'a'], [1, 'a', 2]]) {
      await t.rejects(places.create({ point }, OUTSIDE), { code: 400 })
    }
    t.strictSame(await places.find({ ...OUTSIDE, query: { point: ['1', 'a'] } }), data)
    t.strictSame(await places.find({ ...OUTSIDE, query: { point: { $in: ['1', 'a'] } } }), {
      point: { $in: [1, 'a'] },
    })
    const { components } = await openapiDocument(app, { info: { title: 'Places', version: '1' } })
    const { point } = (components['schemas'] as { Places: { properties: Record<string, object> } })
      .Places.properties
    t.strictSame(point, {
      type: 'array',
      prefixItems: [number, string],
      items: false,
      minItems: 2,
    })
  })
}

t.test('the items of a tuple of one kind are compared by it', async (t) => {
  const { properties } = querySyntax(
    Type.Object({ at: Type.Tuple([Type.Number(), Type.Number()]) }),
  ) as unknown as { properties: { at: { anyOf: [object] } } }
  t.match(properties.at.anyOf[0], { type: 'number' })
})

t.test('an empty tuple has no items', async (t) => {
  t.strictSame(withPrefixItems({ allOf: [Type.Tuple([])] }), {
    allOf: [{ type: 'array', items: false, minItems: 0 }],
  })
})
