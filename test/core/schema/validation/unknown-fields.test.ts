import { ObjectId } from 'mongodb'
import t from 'tap'
import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { DateSchema, Type } from '../../../../src/core/schema/index.ts'
import { toClosedSchema } from '../../../../src/core/schema/model/derived-schemas.ts'
import { SchemaModel } from '../../../../src/core/schema/model/places.ts'
import { linkReferences } from '../../../../src/core/schema/model/references.ts'
import { createFieldDrop } from '../../../../src/core/schema/validation/unknown-fields.ts'
import type { JSONSchema } from '../../../../src/core/services/service-schemas.ts'

const Point = Type.Object({ x: Type.Number(), y: Type.Number() })
const Round = Type.Object({ kind: Type.Literal('round'), center: Point, radius: Type.Number() })
const Line = Type.Object({ kind: Type.Literal('line'), ends: Type.Array(Point) })
const Tree = Type.Cyclic(
  { Tree: Type.Object({ name: Type.String(), parts: Type.Array(Type.Ref('Tree')) }) },
  'Tree',
)

const x = 1
const y = 2
const z = 3

const CASES: Readonly<Record<string, readonly [schema: JSONSchema, data: unknown, left: unknown]>> =
  {
    'of the top': [Point, { x, y, z }, { x, y }],
    'of nothing': [Type.Object({}), { x }, {}],
    'of objects and lists inside': [
      Type.Object({ at: Point, all: Type.Array(Point) }),
      { at: { x, z }, all: [{ y, z }, { x }], z },
      { at: { x }, all: [{ y }, { x }] },
    ],
    'of what is closed by its author': [
      Type.Object({ x: Type.Number() }, { additionalProperties: false }),
      { x, z },
      { x },
    ],
    'of what is put together': [
      Type.Intersect([Type.Object({ x: Type.Number() }), Type.Object({ y: Type.Number() })]),
      { x, y, z },
      { x, y },
    ],
    'of all alternatives alone': [
      Type.Object({ shape: Type.Union([Round, Line, Type.Null()]) }),
      { shape: { kind: 'round', center: { x, y, z }, radius: 1, ends: [{ z }], color: 'red' } },
      { shape: { kind: 'round', center: { x, y }, radius: 1, ends: [{}] } },
    ],
    'beside dates and ids': [
      Type.Object({
        at: Type.Union([DateSchema(), ObjectIdSchema(), Point]),
      }),
      { at: { x, z } },
      { at: { x } },
    ],
    'of what contains itself': [
      Tree,
      { name: 'a', parts: [{ name: 'b', parts: [{ z }], z }] },
      { name: 'a', parts: [{ name: 'b', parts: [{}] }] },
    ],
    'of names without a pattern': [
      Type.Unsafe({ type: 'object', patternProperties: { '^x': { type: 'number' } } }),
      { x1: 1, z },
      { x1: 1 },
    ],
    'by inherited names': [Point, JSON.parse('{"x":1,"toString":1,"__proto__":{"y":2}}'), { x }],
    'below open objects': [
      Type.Object({ at: Point }, { additionalProperties: true }),
      { at: { x, z }, z },
      { at: { x }, z },
    ],
  }

for (const [title, [schema, data, left]] of Object.entries(CASES)) {
  t.test(`leaves out the fields ${title}`, async (t) => {
    const before = structuredClone(data)
    t.strictSame(
      createFieldDrop(new SchemaModel(toClosedSchema(linkReferences(schema))))(data),
      left,
    )
    t.strictSame(data, before, 'what a caller holds stays as it is')
  })
}

/** Schemas that say themselves that there may be more. */
const KEPT: Readonly<Record<string, readonly [schema: JSONSchema, data: unknown]>> = {
  'any data': [true, { x, z }],
  'any object': [Type.Unsafe({ type: 'object' }), { x, z }],
  'a map': [Type.Record(Type.String(), Point), { a: { x }, b: { y } }],
  'further fields': [Type.Object({ x: Type.Number() }, { additionalProperties: true }), { x, z }],
  'a choice with any object': [
    Type.Union([Round, Type.Unsafe({ type: 'object' })]),
    { center: { z } },
  ],
  'a field that is false on purpose': [Type.Unsafe({ properties: { x: false } }), { x }],
}

for (const [title, [schema, data]] of Object.entries(KEPT)) {
  t.test(`keeps all of ${title}`, async (t) => {
    t.equal(createFieldDrop(new SchemaModel(toClosedSchema(linkReferences(schema))))(data), data)
  })
}

t.test('leaves dates and ids in data as they are', async (t) => {
  const id = new ObjectId()
  const data = { id, at: new Date() }
  const schema = Type.Object({ id: ObjectIdSchema(), at: DateSchema() })
  t.equal(createFieldDrop(new SchemaModel(toClosedSchema(linkReferences(schema))))(data), data)
})
