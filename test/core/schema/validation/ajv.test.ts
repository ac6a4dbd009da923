import t from 'tap'

import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { getValidator } from '../../../../src/core/schema/index.ts'
import { linkReferences } from '../../../../src/core/schema/model/references.ts'
import { compileSchema } from '../../../../src/core/schema/validation/ajv.ts'

t.test('takes schemas of the three dialects by their $schema', async (t) => {
  const pair = [{ type: 'number' }, { type: 'string' }]
  const schemas = [
    { type: 'array', prefixItems: pair },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'array', prefixItems: pair },
    { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'array', items: pair },
    { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: pair },
    { $schema: 'http://json-schema.org/draft-07/schema', type: 'array', items: pair },
  ]
  for (const schema of schemas) {
    t.equal(compileSchema(schema)([1, 'a']), true)
    t.equal(compileSchema(schema)(['a', 1]), false)
  }
  const $schema = 'http://json-schema.org/draft-04/schema#'
  t.throws(() => compileSchema({ $schema }), /Unknown \$schema '.*draft-04.*known are .*draft-07/)
})

t.test('is strict, but takes plain JSON Schema', async (t) => {
  t.throws(() => compileSchema({ type: 'string', minLenght: 3 }), /unknown keyword/)
  t.throws(() => compileSchema({ properties: { a: { type: 'string' } } }), /missing type "object"/)
  t.doesNotThrow(() => compileSchema({ type: ['string', 'null'] }))
  t.doesNotThrow(() => compileSchema({ type: 'object', allOf: [{ required: ['a'] }] }))
})

t.test('takes the annotations of OpenAPI and those of an author, in every dialect', async (t) => {
  for (const $schema of [
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ]) {
    const pet = {
      type: 'object',
      discriminator: { propertyName: 'kind' },
      externalDocs: { url: 'https://example.org' },
      properties: {
        kind: { type: 'string', example: 'cat', deprecated: true, 'x-label': 'Kind' },
        tags: { type: 'array', items: { type: 'string', 'x-acme.internal': true, xml: {} } },
      },
    }
    const validate = compileSchema({ $schema, type: 'object', properties: { pet } })
    t.equal(validate({ pet: { kind: 'dog', tags: ['a'] } }), true)
    t.equal(validate({ pet: { kind: 5 } }), false)
    t.throws(() => compileSchema({ $schema, type: 'string', exmaple: 'a' }), /unknown keyword/)
  }
})

t.test('finds a schema by its $anchor', async (t) => {
  const name = { type: 'string', $anchor: 'name' }
  const schema = {
    type: 'object',
    properties: { first: name, last: { $ref: '#name' } },
  }
  const validate = compileSchema(linkReferences(schema))
  t.equal(validate({ first: 'a', last: 'b' }), true)
  t.equal(validate({ first: 'a', last: 5 }), false)
})

t.test('takes the decimals that are a multiple, and no others', async (t) => {
  const validate = compileSchema({ type: 'number', multipleOf: 0.01 })
  const prices = Array.from({ length: 10_000 }, (_, cents) => Number((cents / 100).toFixed(2)))
  t.strictSame(
    [...prices, 1_000_000.07, -19.99, 1e21].filter((price) => !validate(price)),
    [],
  )
  t.strictSame(
    [0.075, 19.991, 0.0701].filter((price) => validate(price)),
    [],
  )
})

t.test('loads no schemas and takes no references to data (FST-17)', async (t) => {
  t.throws(() => compileSchema({ $ref: 'https://example.org/schema' }), /can't resolve reference/)
  const pattern = {
    type: 'object',
    properties: { a: { type: 'string', pattern: { $data: '1/b' } } },
  }
  t.throws(() => compileSchema(pattern), /pattern must be string/)
})

t.test('a schema in what a caller sends stays data (FST-17)', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const sent = JSON.parse('{"a":"x","$schema":"y","$ref":"#","pattern":"(a+)+$","$data":"0/a"}')
  t.equal(await getValidator(schema)(sent), sent)
})

t.test('knows the keyword of ObjectIdSchema() from its first call on', async (t) => {
  const validate = getValidator({ type: 'object', properties: { id: ObjectIdSchema() } })
  await t.rejects(validate({ id: 'zz' }), { code: 400, data: [{ instancePath: '/id' }] })
  const both = { type: 'object', properties: { id: ObjectIdSchema(), at: { date: true } } }
  t.doesNotThrow(() => compileSchema(both))
})

t.test('a property may have the name of one that every object inherits', async (t) => {
  const string = { type: 'string' }
  const team = {
    type: 'object',
    properties: { driver: { type: 'object', properties: { constructor: string } } },
  }
  const validate = compileSchema(team)
  t.equal(validate({ driver: {} }), true)
  t.equal(validate({ driver: { constructor: 'a' } }), true)
  t.equal(validate({ driver: { constructor: 5 } }), false)
  t.equal(compileSchema({ type: 'object', required: ['toString'] })({}), false)
})

t.test('parts can be closed in every dialect', async (t) => {
  const part = { type: 'object', properties: { a: { type: 'string' } } }
  for (const $schema of [
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ]) {
    const schema = { $schema, type: 'object', allOf: [part], unevaluatedProperties: false }
    t.equal(compileSchema(schema)({ a: 'b' }), true)
    t.equal(compileSchema(schema)({ a: 'b', c: 'd' }), false)
  }
})
