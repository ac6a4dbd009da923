import t from 'tap'
import type { Query } from '../../../../src/core/params.ts'
import { Type } from '../../../../src/core/schema/index.ts'
import type { ServiceSchemas } from '../../../../src/core/services/service-schemas.ts'
import { createApp, fastifyApp } from '../../../../src/transport/index.ts'

const entity = Type.Object({ id: Type.Number(), name: Type.String() })
const data = Type.Object({ name: Type.String() })
const patch = Type.Partial(data)

const service = {
  async get(id: unknown) {
    return { id, name: 'Ann' }
  },
  async create(item: unknown) {
    return item
  },
  async update(_id: unknown, item: unknown) {
    return item
  },
  async patch(_id: unknown, item: unknown) {
    return item
  },
}

function add(schemas: ServiceSchemas, methods?: readonly string[]) {
  const app = fastifyApp(createApp())
  app.use('users', service, methods === undefined ? { schemas } : { methods, schemas })
  return app
}

/** Schemas that say something that nothing would come of, the methods, and what the error says. */
const UNUSED: readonly (readonly [ServiceSchemas, readonly string[], RegExp])[] = [
  [{ entity, create: data }, ['get'], /'create' is for a method that external callers cannot call/],
  [{ entity, create: data, update: data }, ['create'], /'update' is for a method/],
  [{ entity, create: data, patch: data }, ['create'], /'patch' is for a method/],
  [{ entity, create: data, patch }, ['patch'], /'create' is for a method/],
]

for (const [schemas, methods, message] of UNUSED) {
  const names = Object.keys(schemas).join(', ')
  t.test(`refuses ${names} where callers may call ${methods}`, async (t) => {
    t.throws(() => add(schemas, methods), { name: 'TypeError', message })
  })
}

t.test('takes the schema of create where that of another method follows from it', async (t) => {
  for (const method of ['update', 'patch']) await add({ entity, create: data }, [method]).setup()
  t.pass('no schema was refused')
})

t.test('says of which schema no query follows', async (t) => {
  for (const record of [Type.String(), { type: 'object' }]) {
    await t.rejects(add({ entity: record, create: data }).setup(), {
      name: 'TypeError',
      message: /no query follows from a record without 'properties': name the 'query'/,
    })
  }
})

t.test('an asynchronous JSON Schema is refused when the service starts', async (t) => {
  const create = { $async: true, ...data }
  await t.rejects(add({ entity, create }).setup(), {
    name: 'TypeError',
    message: /the data of 'create' .*: A JSON Schema with \$async needs a custom Ajv/,
  })
})

t.test('a result that no query follows from is read when the service starts, too', async (t) => {
  const properties = { name: { $ref: '#/$defs/Name' } }
  for (const [result, message] of [
    [
      { type: 'object', properties },
      /'result' in the schemas of service 'users'.*: can't resolve reference/,
    ],
    [
      { type: 'object', propertys: {} },
      /'result' in the schemas of service 'users'.*: .*unknown keyword: "propertys"/,
    ],
  ] as const) {
    await t.rejects(add({ query: true, create: data, result }).setup(), {
      name: 'TypeError',
      message,
    })
  }
})

t.test('a query follows from a record that refers to its own properties', async (t) => {
  const author = { type: 'object', $anchor: 'author', properties: { name: { type: 'string' } } }
  for (const $ref of ['#author', '#/properties/author']) {
    const record = { type: 'object', properties: { author, reader: { $ref } } }
    const app = add({ entity: record, create: data })
    const call = (query: Query): Promise<unknown> =>
      app.service('users').create({ name: 'a' }, { provider: 'rest', query })
    await call({ reader: { name: 'a' } })
    for (const reader of [{ age: 'a' }, { name: {} }]) {
      await t.rejects(call({ reader }), { code: 400 }, $ref)
    }
  }
})

t.test('a query follows from a record with an $anchor', async (t) => {
  const Name = { type: 'string', $anchor: 'name' }
  for (const [first, $defs] of [
    [{ $ref: '#name' }, { Name }],
    [Name, {}],
  ] as const) {
    const record = { type: 'object', $defs, properties: { first } }
    const app = add({ entity: record, create: data })
    const call = (name: unknown): Promise<unknown> =>
      app.service('users').create({ name: 'a' }, { provider: 'rest', query: { first: name } })
    await call('a')
    await t.rejects(call({ $gt: {} }), { code: 400 })
  }
})
