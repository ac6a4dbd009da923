import t from 'tap'
import { Type as PlainType } from 'typebox'
import {
  Ajv,
  getDataValidator,
  getValidator,
  querySyntax,
  validateData,
  validateQuery,
} from '../../../../src/core/schema/index.ts'
import { linkReferences } from '../../../../src/core/schema/model/references.ts'
import { checkClosedParts } from '../../../../src/core/schema/validation/validator.ts'

const A = { type: 'object', properties: { a: { type: 'string' } } }
const B = { type: 'object', properties: { b: { type: 'string' } } }
const CLOSED = { additionalProperties: false }

const REFUSED: Readonly<Record<string, readonly [object, string]>> = {
  'a part that is closed': [{ allOf: [{ ...A, ...CLOSED }, B] }, 'b'],
  'parts that are closed each': [
    {
      allOf: [
        { ...A, ...CLOSED },
        { ...B, ...CLOSED },
      ],
    },
    'b',
  ],
  'the schema itself': [{ ...CLOSED, allOf: [A] }, 'a'],
  'a part of a part': [{ allOf: [{ allOf: [{ ...A, ...CLOSED }] }, B] }, 'b'],
  'a reference': [{ $defs: { A: { ...A, ...CLOSED } }, allOf: [{ $ref: '#/$defs/A' }, B] }, 'b'],
  alternatives: [{ allOf: [{ ...A, ...CLOSED }, { anyOf: [B, true] }] }, 'b'],
  'a property inside': [{ properties: { inner: { allOf: [{ ...A, ...CLOSED }, B] } } }, 'b'],
}

for (const [what, [schema, name]] of Object.entries(REFUSED)) {
  t.test(`refuses a schema in which ${what} takes away what another part names`, async (t) => {
    t.throws(() => checkClosedParts(linkReferences(schema)), {
      name: 'TypeError',
      message: `property '${name}'`,
    })
  })
}

const ACCEPTED: Readonly<Record<string, object>> = {
  'open parts, and a whole that is closed': { allOf: [A, B], unevaluatedProperties: false },
  'a closed part that names all': { allOf: [{ ...A, ...CLOSED }, { required: ['a'] }, A] },
  'names by a pattern': { allOf: [{ patternProperties: { '^b$': true }, ...A, ...CLOSED }, B] },
  'a property that is taken away on purpose': {
    ...A,
    ...CLOSED,
    allOf: [{ properties: { b: false } }],
  },
  'alternatives that are closed each': {
    anyOf: [
      { ...A, ...CLOSED },
      { ...B, ...CLOSED },
    ],
  },
  'alternatives of a closed whole': { ...A, ...CLOSED, anyOf: [{ required: ['a'] }, {}] },
  'a schema that contains itself': { ...A, allOf: [{ $ref: '#' }] },
}

for (const [what, schema] of Object.entries(ACCEPTED)) {
  t.test(`accepts ${what}`, async (t) => {
    t.doesNotThrow(() => checkClosedParts(linkReferences(schema)))
  })
}

const GENERATED = PlainType.Intersect(
  [querySyntax(PlainType.Object({ text: PlainType.String() })), PlainType.Object({}, CLOSED)],
  CLOSED,
)

const COMPILERS: Readonly<Record<string, () => unknown>> = {
  getValidator: () => getValidator(GENERATED),
  'getValidator with an own Ajv': () => getValidator(GENERATED, new Ajv()),
  getDataValidator: () => getDataValidator(GENERATED),
  validateQuery: () => validateQuery(GENERATED),
  validateData: () => validateData(GENERATED),
}

for (const [name, compile] of Object.entries(COMPILERS)) {
  t.test(`${name} tells what to write in place of a query schema that refuses all`, async (t) => {
    t.throws(compile, { name: 'TypeError', message: /Type\.Intersect\(\[…\], \{ additional/ })
  })
}
