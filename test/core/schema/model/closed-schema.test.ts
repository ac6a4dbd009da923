import t from 'tap'
import { Type } from '../../../../src/core/schema/index.ts'
import { toClosedSchema } from '../../../../src/core/schema/model/derived-schemas.ts'
import { linkReferences } from '../../../../src/core/schema/model/references.ts'
import { compileLinkedCheck } from '../../../../src/core/schema/validation/validator.ts'
import type { JSONSchema } from '../../../../src/core/services/service-schemas.ts'

interface Case {
  readonly schema: JSONSchema
  readonly valid: readonly unknown[]
  readonly invalid: readonly unknown[]
}

const text = { type: 'string' }
const named = Type.Object({ name: Type.String() })
const aged = Type.Object({ age: Type.Number() })

const CASES: Readonly<Record<string, Case>> = {
  'an object with properties': {
    schema: named,
    valid: [{ name: 'a' }],
    invalid: [{ name: 'a', role: 'admin' }],
  },
  'objects inside of objects and lists': {
    schema: Type.Object({ author: named, tags: Type.Array(named) }),
    valid: [{ author: { name: 'a' }, tags: [{ name: 'b' }] }],
    invalid: [
      { author: { name: 'a', role: 'b' }, tags: [] },
      { author: { name: 'a' }, tags: [{ name: 'b', role: 'c' }] },
    ],
  },
  'parts that are put together': {
    schema: Type.Intersect([named, aged]),
    valid: [{ name: 'a', age: 1 }],
    invalid: [{ name: 'a', age: 1, role: 'b' }],
  },
  'parts that are defined elsewhere': {
    schema: {
      $defs: { Named: named },
      allOf: [{ $ref: '#/$defs/Named' }, { type: 'object', properties: { age: text } }],
    },
    valid: [{ name: 'a', age: 'b' }],
    invalid: [{ name: 'a', role: 'b' }],
  },
  'definitions that a property refers to': {
    schema: {
      type: 'object',
      $defs: { Named: named },
      properties: { author: { $ref: '#/$defs/Named' } },
    },
    valid: [{ author: { name: 'a' } }],
    invalid: [{ author: { name: 'a', role: 'b' } }],
  },
  'parts in an older dialect': {
    schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      allOf: [named, aged],
    },
    valid: [{ name: 'a', age: 1 }],
    invalid: [{ name: 'a', age: 1, role: 'b' }],
  },
  'parts that are all defined elsewhere': {
    schema: {
      $defs: { Named: named, Aged: aged },
      allOf: [{ $ref: '#/$defs/Named' }, { $ref: '#/$defs/Aged' }],
    },
    valid: [{ name: 'a', age: 1 }],
    invalid: [{ name: 'a', age: 1, role: 'b' }],
  },
  'a definition that is a part in one place, and stands alone in another': {
    schema: {
      type: 'object',
      $defs: { Named: named },
      properties: {
        author: { $ref: '#/$defs/Named' },
        editor: { allOf: [{ $ref: '#/$defs/Named' }, aged] },
        printer: { $ref: '#/$defs/Named', properties: { age: { type: 'number' } } },
      },
    },
    valid: [
      { author: { name: 'a' }, editor: { name: 'b', age: 1 }, printer: { name: 'c', age: 1 } },
    ],
    invalid: [
      { author: { name: 'a', role: 'b' } },
      { author: { name: 'a', age: 1 } },
      { editor: { name: 'a', age: 1, role: 'b' } },
      { printer: { name: 'a', age: 1, role: 'b' } },
    ],
  },
  'parts that contain themselves, or are referred to by a name': {
    schema: {
      $defs: {
        Node: {
          $id: 'Node',
          type: 'object',
          properties: { sub: { $ref: 'Node' }, name: text },
        },
      },
      allOf: [{ $ref: 'Node' }, { type: 'object', properties: { age: { type: 'number' } } }],
    },
    valid: [{ name: 'a', age: 1, sub: { name: 'b', sub: { name: 'c' } } }],
    invalid: [
      { name: 'a', age: 1, role: 'b' },
      { sub: { name: 'b', age: 1 } },
      { sub: { sub: { role: 'b' } } },
    ],
  },
  'what depends on another property': {
    schema: {
      type: 'object',
      dependentSchemas: { name: { properties: { name: text, age: { type: 'number' } } } },
    },
    valid: [{ name: 'a', age: 1 }],
    invalid: [{ name: 'a', role: 'b' }, { age: 1 }],
  },
  'an object whose names match a pattern, and others': {
    schema: { type: 'object', properties: { name: text }, patternProperties: { '^x-': text } },
    valid: [{ name: 'a', 'x-b': 'c' }],
    invalid: [{ name: 'a', role: 'b' }, { 'x-b': 1 }],
  },
  'each alternative': {
    schema: Type.Union([named, aged]),
    valid: [{ name: 'a' }, { age: 1 }],
    invalid: [
      { name: 'a', age: 1 },
      { age: 1, role: 'b' },
    ],
  },
  'properties with conditions on them': {
    schema: {
      type: 'object',
      properties: { mail: text, phone: text },
      anyOf: [{ required: ['mail'] }, { required: ['phone'] }],
      if: { required: ['mail'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword
      then: { properties: { language: text } },
    },
    valid: [{ mail: 'a' }, { phone: 'b' }, { mail: 'a', language: 'c' }],
    invalid: [{}, { mail: 'a', role: 'b' }, { phone: 'b', language: 'c' }],
  },
  'no object that says itself what else it may have': {
    schema: Type.Object(
      {
        free: Type.Object({ a: Type.Number() }, { additionalProperties: true }),
        texts: Type.Record(Type.String(), Type.String()),
        any: { type: 'object' },
      },
      { additionalProperties: Type.Number() },
    ),
    valid: [{ free: { a: 1, b: 2 }, texts: { c: 'd' }, any: { e: 1 }, further: 5 }],
    invalid: [{ free: { a: 1 }, texts: { c: 1 }, any: {}, further: 5 }],
  },
  'no schema that says what a value is not, nor one without properties': {
    schema: {
      type: 'object',
      properties: { a: { type: ['object', 'string'], not: named, minLength: 1 } },
    },
    valid: [{ a: { name: 1, b: 2 } }, { a: 'b' }],
    invalid: [{ a: { name: 'b', role: 'c' } }, { a: '' }],
  },
}

for (const [title, { schema, valid, invalid }] of Object.entries(CASES)) {
  t.test(`closes ${title}`, async (t) => {
    const before = JSON.stringify(schema)
    const check = compileLinkedCheck(toClosedSchema(linkReferences(schema)))
    for (const value of valid) t.ok(check(value), JSON.stringify(value))
    for (const value of invalid) t.throws(() => check(value), JSON.stringify(value))
    t.equal(JSON.stringify(schema), before, 'the schema itself stays as it is')
  })
}

t.test('leaves schemas without keywords as they are', async (t) => {
  t.strictSame([true, false].map(toClosedSchema), [true, false])
})
