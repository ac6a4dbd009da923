import t from 'tap'
import { linkReferences } from '../../../../src/core/schema/model/references.ts'
import { createResultForm } from '../../../../src/core/schema/service/result-form.ts'
import type { JSONSchema } from '../../../../src/core/services/service-schemas.ts'

interface Case {
  readonly schema: JSONSchema
  readonly value: unknown
  /** What is sent. Default: the value. */
  readonly sent?: unknown
}

const text = { type: 'string' }
const named = { type: 'object', required: ['name'], properties: { name: text } }
const aged = { type: 'object', properties: { age: { type: 'integer' } } }
const secret = { password: 'p' }

class ZonedDate extends Date {
  override toISOString(): string {
    return `${super.toISOString().slice(0, -1)}+00:00`
  }
}

class ShortDate extends Date {
  override toJSON(): string {
    return String(this.getUTCFullYear())
  }
}

const CASES: Readonly<Record<string, Case>> = {
  'fields that are named, and no others': {
    schema: named,
    value: { name: 'a', ...secret },
    sent: { name: 'a' },
  },
  'records that lack a field': { schema: named, value: {} },
  'no field whose schema is false, also where others are open': {
    schema: { type: 'object', properties: { password: false, name: text } },
    value: { name: 'a', ...secret },
    sent: { name: 'a' },
  },
  'no field whose schema is false, after one that nothing names': {
    schema: { type: 'object', properties: { password: false }, additionalProperties: text },
    value: { first: 'a', ...secret, last: 'b' },
    sent: { first: 'a', last: 'b' },
  },
  'no field whose pattern has the schema false': {
    schema: { type: 'object', patternProperties: { '^pass': false, '^n': text } },
    value: { name: 'a', ...secret },
    sent: { name: 'a' },
  },
  'null for every type': {
    schema: { type: 'object', properties: { a: text, b: aged, c: { type: 'array', items: text } } },
    value: { a: null, b: null, c: null },
  },
  'fractions for integers': { schema: aged, value: { age: 1.5 } },
  'no defaults and constants that a record lacks': {
    schema: { type: 'object', properties: { a: { ...text, default: 'b' }, c: { const: 'd' } } },
    value: { c: 'e' },
  },
  'records in records and lists': {
    schema: { type: 'object', properties: { one: named, many: { type: 'array', items: named } } },
    value: { one: { name: 'a', ...secret }, many: [{ name: 'b', ...secret }, null] },
    sent: { one: { name: 'a' }, many: [{ name: 'b' }, null] },
  },
  'the fields of all parts': {
    schema: { allOf: [named, aged], properties: { on: { type: 'boolean' } } },
    value: { name: 'a', age: 1, on: false, ...secret },
    sent: { name: 'a', age: 1, on: false },
  },
  'the fields of all alternatives': {
    schema: { type: 'object', properties: { who: { anyOf: [named, aged, { type: 'null' }] } } },
    value: { who: { name: 'a', age: 1, ...secret } },
    sent: { who: { name: 'a', age: 1 } },
  },
  'an id where a record may stand': {
    schema: { type: 'object', properties: { who: { anyOf: [text, named] } } },
    value: { who: 'a' },
  },
  'a record where an id may stand': {
    schema: { type: 'object', properties: { who: { oneOf: [text, named] } } },
    value: { who: { name: 'a', ...secret } },
    sent: { who: { name: 'a' } },
  },
  'what several types may be': {
    schema: { type: 'object', properties: { a: { type: ['string', 'number'] }, b: {} } },
    value: { a: 5, b: { c: [1, 'd', null] } },
  },
  'other fields where the schema says so': {
    schema: { ...named, additionalProperties: { type: 'number' } },
    value: { name: 'a', b: 1 },
  },
  'all fields where the schema says so': {
    schema: { ...named, additionalProperties: true },
    value: { name: 'a', b: { c: [1] } },
  },
  'fields whose names match a pattern': {
    schema: { type: 'object', patternProperties: { '^x-': text } },
    value: { 'x-a': 'b', ...secret },
    sent: { 'x-a': 'b' },
  },
  'no fields where there are none': {
    schema: { type: 'object', properties: { a: { type: 'object', additionalProperties: false } } },
    value: { a: secret },
    sent: { a: {} },
  },
  'trees of records': {
    schema: {
      $defs: {
        Node: {
          type: 'object',
          properties: { name: text, nodes: { type: 'array', items: { $ref: '#/$defs/Node' } } },
        },
      },
      $ref: '#/$defs/Node',
    },
    value: { name: 'a', nodes: [{ name: 'b', nodes: [], ...secret }], ...secret },
    sent: { name: 'a', nodes: [{ name: 'b', nodes: [] }] },
  },
  'parts that are defined elsewhere': {
    schema: { definitions: { Named: named }, allOf: [{ $ref: '#/definitions/Named' }, aged] },
    value: { name: 'a', age: 1, ...secret },
    sent: { name: 'a', age: 1 },
  },
  'fields with any name': {
    schema: {
      type: 'object',
      properties: { 'a"]+(b)\n\u2028': text, "c'`${d}\\": named, proto: text, 1: text },
    },
    value: { 'a"]+(b)\n\u2028': 'x', "c'`${d}\\": { name: 'a' }, 1: 'y', ...secret },
    sent: { 'a"]+(b)\n\u2028': 'x', "c'`${d}\\": { name: 'a' }, 1: 'y' },
  },
  'fields that every object inherits, where a record has them': {
    schema: { type: 'object', properties: { valueOf: named, toString: text, a: text } },
    value: { valueOf: { name: 'a', ...secret }, a: 'b' },
    sent: { valueOf: { name: 'a' }, a: 'b' },
  },
  'anything by a schema without keywords': { schema: true, value: { a: [1] } },
  'the JSON of a class': {
    schema: named,
    value: { toJSON: () => ({ name: 'a', ...secret }) },
    sent: { name: 'a' },
  },
  'dates and ids as strings': {
    schema: { type: 'object', properties: { at: { ...text, format: 'date-time' }, id: text } },
    value: { at: new Date(0), id: { toString: () => 'abc', toJSON: () => 'abc' } },
    sent: { at: '1970-01-01T00:00:00.000Z', id: 'abc' },
  },
  'a date whose class writes it in its own way': {
    schema: { type: 'object', properties: { at: text } },
    value: { at: new ShortDate(0) },
    sent: { at: '1970' },
  },
  'a date whose class has a zone': {
    schema: { type: 'object', properties: { at: text } },
    value: { at: new ZonedDate(0) },
    sent: { at: '1970-01-01T00:00:00.000+00:00' },
  },
  'null for an invalid date, as JSON has it': {
    schema: { type: 'object', properties: { at: text } },
    value: { at: new Date(Number.NaN) },
    sent: { at: null },
  },
}

const options = { onOtherType: () => undefined, onLeftOut: () => undefined }

for (const [title, { schema, value, sent = value }] of Object.entries(CASES)) {
  t.test(`picks ${title}`, async (t) => {
    const form = createResultForm(linkReferences(schema))
    for (const asJSON of [true, false]) {
      const picked = form.pick(value, '', { ...options, asJSON })
      t.strictSame(JSON.parse(JSON.stringify(picked)), sent)
    }
  })
}

t.test('picks dates as strings for JSON, and as they are for others', async (t) => {
  const form = createResultForm({ type: 'object', properties: { at: text } })
  const record = { at: new Date(0) }
  t.strictSame(form.pick(record, '', { ...options, asJSON: false }), record)
  t.strictSame(form.pick(record, '', { ...options, asJSON: true }), {
    at: '1970-01-01T00:00:00.000Z',
  })
})

t.test('refuses a reference that leads nowhere', async (t) => {
  t.throws(() => createResultForm({ properties: { a: { $ref: '#/$defs/none' } } }), {
    message: "The reference '#/$defs/none' leads nowhere",
  })
})
