import t from 'tap'

import type { OperatorPlace } from '../../../../src/core/checked-query.ts'
import { querySyntax, Type } from '../../../../src/core/schema/index.ts'
import { linkReferences } from '../../../../src/core/schema/model/references.ts'
import { readOperatorPlaces } from '../../../../src/core/schema/queries/operator-places.ts'

const any = { type: 'string' }
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

/** Whether a schema names something, by the way to it; `[]` stands for the items of a list. */
function names(schema: object | boolean, ...way: string[]): boolean {
  let place: OperatorPlace | undefined = readOperatorPlaces(
    linkReferences(schema, { isStrict: true }),
  )
  for (const name of way) place = name === '[]' ? place?.items : place?.names.get(name)
  return place !== undefined
}

const regex = object({ $regex: any })

/** Schemas that name `$regex` for `name`. */
const NAMED: Readonly<Record<string, object>> = {
  properties: object({ name: regex }),
  allOf: { allOf: [object({}), object({ name: { allOf: [regex] } })] },
  anyOf: object({ name: { anyOf: [any, regex] } }),
  oneOf: object({ name: { oneOf: [any, regex] } }),
  'a reference': object({ name: { $ref: '#/$defs/a~1b' } }, { $defs: { 'a/b': regex } }),
  'a reference in percent': object({ name: { $ref: '#/$defs/a%25' } }, { $defs: { 'a%': regex } }),
  'a schema of true': object({ name: object({ $regex: true }) }),
  'a reference in a part with a name': object(
    { name: { $id: 'x', $ref: '#/$defs/a', $defs: { a: regex } } },
    { $defs: { a: any } },
  ),
  'parts that join': { allOf: [object({ name: any }), object({ name: regex })] },
}

for (const [title, schema] of Object.entries(NAMED)) {
  t.test(`reads what is named by ${title}`, async (t) => {
    t.ok(names(schema, 'name', '$regex'))
    t.notOk(names(schema, '$regex'))
    t.notOk(names(schema, 'name', '$options'))
    t.notOk(names(schema, 'title', '$regex'))
  })
}

/** Schemas that name no `$regex` for `name`. */
const UNNAMED: Readonly<Record<string, object | boolean>> = {
  true: true,
  'no keywords': {},
  additionalProperties: object({}, { additionalProperties: true }),
  'a schema for additional ones': object({ name: { additionalProperties: any } }),
  patternProperties: object({ name: { patternProperties: { '^\\$': any } } }),
  'what is refused': object({ name: object({ $regex: false }) }),
  'a condition': object({ name: { if: regex, else: regex, not: regex } }),
  'a reference out of the schema': object({ name: { $ref: 'other#/x' } }),
  'a reference to nothing': object({ name: { $ref: '#/$defs/none' } }, { $defs: {} }),
  'a reference to what is inherited': object({ name: { $ref: '#/constructor' } }),
  'a reference past the name of a part': object(
    { name: { $id: 'x', $ref: '#/$defs/a' } },
    { $defs: { a: regex } },
  ),
  'a reference that is none': object({ name: { $ref: 5 } }),
  'definitions alone': object({ name: any }, { $defs: { name: regex } }),
  'a list of properties': { properties: [{ name: regex }] },
}

for (const [title, schema] of Object.entries(UNNAMED)) {
  t.test(`reads nothing from ${title}`, async (t) => {
    t.notOk(names(schema, 'name', '$regex'))
  })
}

t.test('reads what is in lists, and in operators', async (t) => {
  const schema = object({
    $or: { type: 'array', items: object({ name: regex }) },
    $and: { prefixItems: [object({ name: regex })] },
    $nor: { items: [object({ name: regex })] },
    list: object({ $elemMatch: object({ text: object({ $not: regex }) }) }),
  })
  for (const name of ['$or', '$and', '$nor']) t.ok(names(schema, name, '[]', 'name', '$regex'))
  t.ok(names(schema, 'list', '$elemMatch', 'text', '$not', '$regex'))
  t.notOk(names(schema, 'list', '$elemMatch', 'text', '$regex'))
  t.notOk(names(schema, '$or', 'name', '$regex'))
})

t.test('ends for schemas that contain themselves', async (t) => {
  const conditions = object({ name: regex, $or: { items: { $ref: '#/$defs/conditions' } } })
  const schema = { $ref: '#/$defs/conditions', $defs: { conditions } }
  t.ok(names(schema, '$or', '[]', '$or', '[]', '$or', '[]', 'name', '$regex'))
  const circle: Record<string, unknown> = { $ref: '#', properties: { name: regex } }
  circle['allOf'] = [circle, { $ref: '#' }]
  t.ok(names(circle, 'name', '$regex'))
  const growing = object({ a: { allOf: [{ $ref: '#' }, { $ref: '#/properties/b' }] }, b: regex })
  t.ok(names(growing, 'a', 'a', '$regex'))
})

t.test('reads the extensions of the query syntax', async (t) => {
  const schema = querySyntax(Type.Object({ name: Type.String(), area: Type.Number() }), {
    name: { $regex: Type.String() },
    $search: Type.String(),
  })
  t.ok(names(schema, 'name', '$regex'))
  t.ok(names(schema, '$search'))
  t.ok(names(schema, '$or', '[]', '$and', '[]', 'name', '$regex'))
  t.notOk(names(schema, 'area', '$regex'))
  t.notOk(names(schema, '$or', '[]', '$search'))
})
