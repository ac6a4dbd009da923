import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { querySyntax, Type } from '../../../../src/core/schema/index.ts'
import { compileSchema } from '../../../../src/core/schema/validation/ajv.ts'
import { isCommonSchema } from '../../../../src/core/schema/validation/common-schema.ts'
import { createRandom } from '../../../support/odd-paths.ts'

const KEYWORDS = [
  ...['type', 'title', 'format', 'pattern', 'uniqueItems', 'readOnly', 'minLength', 'maxItems'],
  ...['minimum', 'exclusiveMaximum', 'const', 'default', 'enum', 'examples', 'items', 'not'],
  ...['additionalProperties', 'allOf', 'anyOf', 'prefixItems', 'properties', '$defs', 'required'],
  ...['$id', '$ref', '$comment', 'minProperties', 'unevaluatedProperties', 'deprecated'],
]

const VALUES: readonly unknown[] = [
  ...[true, false, null, 0, 1, -1, 1.5, '', 'a', 'string', 'number', '#', '#/$defs/a', 'a#b', '%'],
  ...[[], ['a'], ['a', 'a'], ['string', 'null'], ['string', 'string'], [1], [true], [{}], {}],
  ...[{ a: true }, { a: 1 }, { a: {} }, [null], 'http://[', 'a b', '^a', '[', undefined],
]

t.test('calls no schema common that the meta-schema refuses', async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const random = createRandom(51)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const createSchema = (depth: number): Record<string, unknown> => {
    const entries = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
      const inner = depth === 0 || random() < 0.6 ? pick(VALUES) : createSchema(depth - 1)
      const value = random() < 0.2 ? [inner] : random() < 0.2 ? { a: inner } : inner
      return [pick(KEYWORDS), value]
    })
    return Object.fromEntries(entries)
  }
  let common = 0
  const wrong: unknown[] = []
  for (let count = 0; count < 20_000; count += 1) {
    const schema = createSchema(3)
    if (!isCommonSchema(schema)) continue
    common += 1
    if (ajv.validateSchema(schema) !== true) wrong.push(schema)
  }
  t.strictSame(wrong.slice(0, 3), [])
  t.ok(common > 1_000, `${common} of 20,000`)
})

t.test('calls schemas common that are made of a record and of its queries', async (t) => {
  const record = Type.Object({
    id: Type.String({ format: 'uuid' }),
    tags: Type.Array(Type.String({ minLength: 1 }), { maxItems: 3 }),
    age: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
    kind: Type.Enum(['a', 'b']),
  })
  for (const schema of [record, Type.Partial(record), querySyntax(record), true, false]) {
    t.ok(isCommonSchema(schema))
  }
})

t.test('leaves other schemas to the meta-schema', async (t) => {
  t.notOk(isCommonSchema({ type: 'object', minProperties: 1, dependentRequired: { a: ['b'] } }))
  t.notOk(isCommonSchema({ type: 'array', contains: { minLength: -1 } }))
  t.notOk(isCommonSchema({ $dynamicRef: '#a' }))
  const invalid = [
    { type: 'string', minLength: -1 },
    { type: 'object', required: [1] },
    { type: 'object', dependentRequired: { a: 'b' } },
    { type: 'object', properties: { a: { type: 'string', maxLength: 0.5 } } },
    { $schema: 'http://json-schema.org/draft-07/schema', type: 'string', minLength: -1 },
  ]
  for (const schema of invalid) {
    t.throws(() => compileSchema(schema), /schema is invalid/, JSON.stringify(schema))
  }
})
