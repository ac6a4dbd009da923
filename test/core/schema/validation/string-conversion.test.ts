import fc from 'fast-check'
import t from 'tap'
import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { Ajv, DateSchema, Type } from '../../../../src/core/schema/index.ts'
import { SchemaModel } from '../../../../src/core/schema/model/places.ts'
import { linkReferences } from '../../../../src/core/schema/model/references.ts'
import { createStringConversion } from '../../../../src/core/schema/validation/string-conversion.ts'
import type { JSONSchema } from '../../../../src/core/services/service-schemas.ts'

/** Returns what becomes of the data. */
function convert(schema: JSONSchema, data: object): object {
  createStringConversion(new SchemaModel(linkReferences(schema)))(data)
  return data
}

function convertValue(schema: JSONSchema, value: unknown): unknown {
  const data = { value }
  convert({ type: 'object', properties: { value: schema } }, data)
  return data.value
}

const TEXTS = [
  ...['', ' 1 ', '0x10', '1e3', 'Infinity', 'NaN', 'null', '1e999', '01', '+1', '.5', '5.', '1_0'],
  ...['TRUE', 'yes', 'true', 'false', '1', '0', '-0', '1.5', '1e-7', '9007199254740993'],
]

/** What becomes of {@link TEXTS} by the type that a schema asks for; all others stay strings. */
const CONVERTED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  number: { '1e3': 1000, '1': 1, '0': 0, '-0': -0, '1.5': 1.5, '1e-7': 1e-7 },
  // That 1.5 is no integer is for the validation to say.
  integer: { '1e3': 1000, '1': 1, '0': 0, '-0': -0, '1.5': 1.5, '1e-7': 1e-7 },
  boolean: { true: true, false: false },
  null: { '': null },
  string: {},
  object: {},
  array: {},
}

for (const [type, converted] of Object.entries(CONVERTED)) {
  t.test(`makes of strings what is plainly of the type ${type}`, async (t) => {
    for (const text of TEXTS) {
      const expected = Object.hasOwn(converted, text) ? converted[text] : text
      t.strictSame(convertValue({ type }, text), expected, `'${text}'`)
    }
  })
}

t.test('an empty string is null where that is a value, and an empty string is none', (t) => {
  const NULL = { type: 'null' }
  const cases: readonly (readonly [title: string, schema: JSONSchema, isNull: boolean])[] = [
    ['a list of types', { type: ['integer', 'null'] }, true],
    ['an alternative', { anyOf: [{ type: 'boolean' }, NULL] }, true],
    ['a constant', { anyOf: [{ const: null }, { type: 'number' }] }, true],
    ['a date', { anyOf: [DateSchema(), NULL] }, true],
    ['an id', { anyOf: [ObjectIdSchema(), NULL] }, true],
    ['named values', { enum: ['a', 'b', null] }, true],
    ['named strings beside it', { anyOf: [{ type: 'string', enum: ['a'] }, NULL] }, true],
    ['an object', { anyOf: [{ type: 'object' }, NULL] }, true],
    ['strings', { type: ['string', 'null'] }, false],
    ['strings beside it', { anyOf: [NULL, { type: 'string' }] }, false],
    ['strings that are never empty', { anyOf: [NULL, { type: 'string', minLength: 1 }] }, false],
    ['an empty string that is named', { enum: ['', null] }, false],
    ['any value', { anyOf: [NULL, {}] }, false],
    ['any value, by true', { anyOf: [NULL, true] }, false],
    ['no null', { type: 'number' }, false],
    ['no null among the values', { type: ['number', 'null'], enum: [1, 2] }, false],
  ]
  for (const [title, schema, isNull] of cases) {
    t.equal(convertValue(schema, ''), isNull ? null : '', title)
    t.equal(convertValue(schema, 'null'), 'null', `${title}: no other string`)
  }
  t.end()
})

t.test('what Ajv makes of the same strings is why it does not convert them', async (t) => {
  const coerce = (type: string, value: unknown) => {
    const data = { value }
    const schema = { type: 'object', properties: { value: { type } } }
    return new Ajv({ coerceTypes: true }).compile(schema)(data) ? data.value : 'refused'
  }
  t.equal(coerce('number', '1e999'), Number.POSITIVE_INFINITY)
  t.equal(coerce('integer', 'Infinity'), Number.POSITIVE_INFINITY)
  t.equal(coerce('number', '0x10'), 16)
  t.equal(coerce('number', ' 1 '), 1)
  t.equal(coerce('number', null), 0)
  t.equal(coerce('boolean', null), false)
  t.equal(coerce('integer', '9007199254740993'), 9007199254740992)
})

t.test('reads each number as it was written, and none that is not finite', async (t) => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      t.equal(convertValue({ type: 'number' }, String(number)), Number(String(number)))
    }),
  )
  fc.assert(
    fc.property(fc.string(), (text) => {
      const value = convertValue({ type: 'number' }, text)
      return typeof value === 'string' || Number.isFinite(value)
    }),
  )
})

t.test('leaves whole numbers of more digits than a number has as they are', async (t) => {
  t.equal(convertValue({ type: 'integer' }, '9007199254740991'), Number.MAX_SAFE_INTEGER)
  t.equal(convertValue({ type: 'number' }, '100000000000000000000'), 1e20)
  t.equal(convertValue({ type: 'number' }, '100000000000000000001'), '100000000000000000001')
  t.equal(convertValue({ type: 'integer' }, '9007199254740993'), '9007199254740993')
})

t.test('leaves what is no string as it is', async (t) => {
  for (const value of [null, true, 1, undefined, new Date(0)]) {
    for (const type of Object.keys(CONVERTED)) t.equal(convertValue({ type }, value), value)
  }
})

t.test('of alternatives, takes the first one that takes the string', async (t) => {
  const [number, string] = [{ type: 'number' }, { type: 'string' }]
  t.equal(convertValue({ anyOf: [number, string] }, '5'), 5)
  t.equal(convertValue({ anyOf: [number, string] }, '0x5'), '0x5')
  t.equal(convertValue({ anyOf: [string, number] }, '5'), '5')
  t.equal(convertValue({ oneOf: [{ type: 'boolean' }, number] }, '5'), 5)
  t.equal(convertValue({ type: ['null', 'number'] }, '5'), 5)
  t.equal(convertValue(Type.Union([Type.Literal(1), Type.Literal('2')]), '2'), '2')
  t.equal(convertValue(Type.Union([Type.Literal(1), Type.Literal('2')]), '1'), 1)
  t.equal(convertValue({ enum: ['a', 1, true] }, '1'), 1)
  t.equal(convertValue({ enum: ['a', 1, true] }, 'a'), 'a')
  t.equal(convertValue({ const: true }, 'true'), true)
})

t.test('reaches every place that a schema speaks of', async (t) => {
  const number = { type: 'number' }
  const schema = {
    $defs: { deep: { properties: { n: number, more: { $ref: '#/$defs/deep' } } } },
    properties: {
      list: { items: number },
      pair: { prefixItems: [number, { type: 'boolean' }], items: { type: 'string' } },
      deep: { $ref: '#/$defs/deep' },
      other: { additionalProperties: number, properties: { text: { type: 'string' } } },
      named: { patternProperties: { '^n/': number }, additionalProperties: { type: 'boolean' } },
    },
    allOf: [
      { properties: { one: number } },
      JSON.parse('{ "if": true, "then": { "properties": { "two": { "type": "number" } } } }'),
    ],
  }
  const data = {
    list: ['1', 'x'],
    pair: ['1', 'true', '2'],
    deep: { n: '1', more: { n: '2', more: { n: '3' } } },
    other: { a: '1', text: '1' },
    named: { 'n/a': '1', a: 'true' },
    one: '1',
    two: '2',
    unknown: '3',
  }
  t.strictSame(convert(schema, data), {
    list: [1, 'x'],
    pair: [1, true, '2'],
    deep: { n: 1, more: { n: 2, more: { n: 3 } } },
    other: { a: 1, text: '1' },
    named: { 'n/a': 1, a: true },
    one: 1,
    two: 2,
    unknown: '3',
  })
})

t.test('follows the references of TypeBox, and lists of older dialects', async (t) => {
  const node = Type.Object({ id: Type.Number(), children: Type.Array(Type.Ref('Node')) })
  const tree = { id: '1', children: [{ id: '2', children: [] }] }
  const expected = { id: 1, children: [{ id: 2, children: [] }] }
  t.strictSame(convert(Type.Cyclic({ Node: node }, 'Node'), tree), expected)
  const pair = { items: [{ type: 'number' }], additionalItems: { type: 'boolean' } }
  t.strictSame(convertValue(pair, ['1', 'true', '1']), [1, true, '1'])
})

t.test('changes no prototype', async (t) => {
  const data = JSON.parse('{"__proto__":"1","constructor":"1","a":{"__proto__":{"b":"1"}}}')
  convert({ additionalProperties: { type: 'number' }, properties: { a: { properties: {} } } }, data)
  t.equal(Object.getPrototypeOf(data), Object.prototype)
  t.strictSame(Object.entries(data).slice(0, 2), [
    ['__proto__', 1],
    ['constructor', 1],
  ])
  t.equal(Object.getPrototypeOf(data.a), Object.prototype)
})

t.test('remembers nothing of the names that callers send', async (t) => {
  const convertAll = createStringConversion(
    new SchemaModel({ patternProperties: { '^a': { type: 'number' } } }),
  )
  convertAll({ a: '1', b: '1' })
  const remembered: unknown[] = []
  const { set } = Map.prototype
  Map.prototype.set = function (key, value) {
    remembered.push(key)
    return set.call(this, key, value)
  }
  for (let index = 0; index < 50; index += 1) convertAll({ [`a${index}`]: '1', [`b${index}`]: '1' })
  Map.prototype.set = set
  t.strictSame(remembered, [])
})

t.test('a schema that contains itself is read once, however deep the data are', async (t) => {
  let reads = 0
  const node = {
    type: 'object',
    properties: { left: { $ref: '#' }, right: { $ref: '#' }, size: { type: 'number' } },
    get patternProperties() {
      reads += 1
      return undefined
    },
  }
  const run = createStringConversion(new SchemaModel(linkReferences(node)))
  run({ left: { left: {}, right: {}, size: '1' }, right: { left: {}, right: {} } })
  const before = reads
  const data = { left: { right: { right: { left: { size: '5' } } } } }
  run(data)
  t.equal(data.left.right.right.left.size, 5)
  t.equal(reads, before)
})
