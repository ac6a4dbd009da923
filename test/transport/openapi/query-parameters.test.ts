import t from 'tap'
import { linkReferences } from '../../../src/core/schema/model/references.ts'
import type { QueryUse } from '../../../src/core/schema/queries/described-names.ts'
import { Components } from '../../../src/transport/openapi/components.ts'
import { toQueryParameters } from '../../../src/transport/openapi/query-parameters.ts'

const STYLES: readonly [title: string, schema: object, style: object][] = [
  ['a value as it is', { type: 'number' }, {}],
  ['an object in brackets', { type: 'object' }, { style: 'deepObject', explode: true }],
  ['a list by the name again', { type: 'array' }, { style: 'form', explode: true }],
  [
    'what may be a value or operators in brackets',
    { anyOf: [{ type: 'number' }, { type: 'object' }] },
    { style: 'deepObject', explode: true },
  ],
  ['several types', { type: ['string', 'null'] }, {}],
  ['operators without a type', { allOf: [{ properties: {} }] }, { style: 'deepObject' }],
]

for (const [title, schema, style] of STYLES) {
  t.test(`a query has ${title}`, async (t) => {
    const query = { type: 'object', properties: { area: schema }, required: ['area'] }
    const parameters = toQueryParameters(
      new Components(),
      'Countries',
      linkReferences(query),
      'list',
    )
    t.match(parameters, [{ name: 'area', in: 'query', required: true, schema, ...style }])
    if (Object.keys(style).length === 0) t.notMatch(parameters, [{ style: String }])
  })
}

function listNames(schema: object | boolean | undefined, use: QueryUse): string[] {
  return toQueryParameters(
    new Components(),
    'Countries',
    schema && linkReferences(schema),
    use,
  ).map(({ name }) => name)
}

t.test('has the parameters of all parts of a schema', async (t) => {
  const query = {
    $defs: { paging: { type: 'object', properties: { $limit: { type: 'integer' } } } },
    allOf: [{ $ref: '#/$defs/paging' }, { properties: { name: { type: 'string' } } }],
    properties: { $select: { type: 'array' } },
  }
  t.strictSame(listNames(query, 'list'), ['$limit', 'name', '$select'])
})

t.test('one record is neither sorted nor counted, a new one is only selected from', async (t) => {
  const names = ['$limit', '$skip', '$sort', '$select', 'name']
  const all = [...names, '$after', '$before', '$total']
  const properties = Object.fromEntries(all.map((name) => [name, { type: 'string' }]))
  t.strictSame(listNames({ properties }, 'page'), all)
  t.strictSame(listNames({ properties }, 'list'), names)
  t.strictSame(listNames({ properties }, 'record'), ['$select', 'name'])
  t.strictSame(listNames({ properties }, 'new'), ['$select'])
})

t.test('a service without a schema has the usual parameters, a closed one has none', async (t) => {
  for (const open of [undefined, true, { type: 'object' }]) {
    t.strictSame(listNames(open, 'list'), ['$limit', '$skip', '$sort', '$select'])
  }
  t.strictSame(listNames(false, 'list'), [])
  t.strictSame(listNames({ type: 'object', additionalProperties: false }, 'list'), [])
})

t.test('a parameter that refers to a part of its query takes that along', async (t) => {
  const components = new Components()
  const query = {
    $defs: { size: { type: 'object', properties: { $gt: { type: 'number' } } } },
    properties: { area: { $ref: '#/$defs/size' } },
  }
  const [parameter] = toQueryParameters(components, 'Countries', linkReferences(query), 'list')
  t.match(parameter, {
    style: 'deepObject',
    schema: { $ref: '#/components/schemas/CountriesQueryArea' },
  })
  t.match(components.toJSON().schemas, {
    CountriesQueryArea: { $ref: '#/components/schemas/CountriesQueryAreaSize' },
    CountriesQueryAreaSize: { type: 'object' },
  })
})

t.test('forms to fill in begin with no condition, and sort by nothing', async (t) => {
  const object = { type: 'object', properties: { street: { type: 'string' } } }
  const properties = {
    $sort: { type: 'object' },
    $or: { type: 'array' },
    area: { anyOf: [{ type: 'number' }, { type: 'object' }] },
    address: { anyOf: [object, { const: null }, { type: 'null' }] },
    needed: object,
  }
  const query = { properties, required: ['needed'] }
  const parameters = toQueryParameters(new Components(), 'Countries', linkReferences(query), 'list')
  t.strictSame(Object.fromEntries(parameters.map(({ name, example }) => [name, example])), {
    $sort: {},
    $or: [],
    area: undefined,
    address: {},
    needed: undefined,
  })
})

t.test('a field may have the name of something that every object has', async (t) => {
  const names = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__']
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  const parameters = toQueryParameters(new Components(), 'Races', { properties }, 'list')
  t.strictSame(
    parameters,
    names.map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
  )
  const missing = { properties: { size: { $ref: '#/$defs/constructor' } }, $defs: {} }
  t.match(toQueryParameters(new Components(), 'Races', missing, 'list'), [{ name: 'size' }])
})
