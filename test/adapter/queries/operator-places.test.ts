import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { OperatorPlace } from '../../../src/core/checked-query.ts'
import { setCheckedQuery } from '../../../src/core/checked-query.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { Query } from '../../../src/core/params.ts'
import { querySyntax, Type } from '../../../src/core/schema/index.ts'
import { readOperatorPlaces } from '../../../src/core/schema/queries/operator-places.ts'
import { openDatabase } from '../../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)
const Model = await empty('notes')
await Model.createIndex({ title: 'text' }, { default_language: 'none' })
await Model.insertMany([
  { _id: 1, title: 'green tea', tags: [{ text: 'a' }] },
  { _id: 2, title: 'coffee', note: 'green', tags: [{ text: 'b' }] },
] as unknown as Document[])

const note = Type.Object({
  title: Type.String(),
  note: Type.Optional(Type.String()),
  tags: Type.Array(Type.Object({ text: Type.String() })),
})

const pattern = { $regex: Type.String(), $options: Type.String() }

const SCHEMA = querySyntax(note, {
  title: { ...pattern, $not: Type.Object(pattern) },
  note: { $exists: Type.Boolean(), $where: Type.String() },
  tags: { $elemMatch: Type.Object({ text: Type.Object(pattern) }) },
  $search: Type.String(),
  $nor: Type.Array(Type.Object({ note: Type.Object({ $exists: Type.Boolean() }) })),
  $where: Type.String(),
  $expr: Type.Object({ $function: Type.Object({}) }),
  $jsonSchema: Type.Object({}),
})

interface Setting {
  readonly schema?: object
  readonly options?: Partial<MongoDBOptions>
  /** What a hook after the validation makes of the query. */
  readonly change?: (query: Query) => Query
}

/** Returns what finds the ids of notes from outside, at a service with a schema for queries. */
function createFind({ schema = SCHEMA, options, change }: Setting = {}) {
  const places: OperatorPlace = readOperatorPlaces(schema)
  const service = new MongoDBService<Document>({ Model, ...options } as never)
  const app = createApp<{ notes: typeof service }>()
  app.use('notes', service)
  app.service('notes').hooks({
    before: {
      find: [
        (context) => setCheckedQuery(context, context.params.query ?? {}, places),
        (context) => {
          const { query = {} } = context.params
          context.params = { ...context.params, query: change?.(query) ?? query }
        },
      ],
    },
  })
  return async (query: Query): Promise<unknown> => {
    const params = { query, provider: 'rest', paginate: false as const }
    return (await app.service('notes').find(params)).map(({ _id }) => _id).sort()
  }
}

const named = { title: { $regex: '^GREEN', $options: 'i' } }

/** Queries with operators where the schema names them, and what they find. */
const ALLOWED: readonly (readonly [Query, readonly number[]])[] = [
  [named, [1]],
  [{ title: { $not: { $regex: 'tea' } } }, [2]],
  [{ tags: { $elemMatch: { text: { $regex: 'a' } } } }, [1]],
  [{ note: { $exists: true } }, [2]],
  [{ $or: [named, { note: { $exists: true } }] }, [1, 2]],
  [{ $or: { 0: named } }, [1]],
  [{ $and: [{ $or: [{ $and: [{ $or: [named] }] }] }] }, [1]],
  [{ $nor: [{ note: { $exists: true } }] }, [1]],
  [{ $search: 'tea' }, [1]],
  [{ $search: 'green', note: { $exists: false } }, [1]],
]

for (const [query, ids] of ALLOWED) {
  t.test(`allows ${JSON.stringify(query)}`, async (t) => {
    t.strictSame(await createFind()(query), ids)
  })
}

/** Queries with operators where the schema names none, or none that is allowed. */
const REFUSED: readonly Query[] = [
  { note: { $regex: 'a' } },
  { other: { $regex: 'a' } },
  { $regex: 'a' },
  { tags: { $regex: 'a' } },
  { 'tags.text': { $regex: 'a' } },
  { tags: { $elemMatch: { $regex: 'a' } } },
  { tags: { $elemMatch: { other: { $regex: 'a' } } } },
  { title: { $not: { $exists: true } } },
  { title: { $not: { $not: { $regex: 'a' } } } },
  { title: [{ $regex: 'a' }] },
  { title: { $in: [{ $regex: 'a' }] } },
  { title: { title: { $regex: 'a' } } },
  { title: { $eq: { $regex: 'a' } } },
  { $or: [{ note: { $regex: 'a' } }] },
  { $or: [{ $search: 'tea' }] },
  { $or: [{ $regex: 'a' }] },
  { $nor: [{ note: { $regex: 'a' } }] },
  { title: { $search: 'tea' } },
  { $text: { $search: 'tea' } },
  { $search: ['tea'] },
  { $search: { $regex: 'tea' } },
  { $search: '' },
  { $where: 'true' },
  { $or: [{ $where: 'true' }] },
  { note: { $where: 'true' } },
  { $expr: { $function: {} } },
  { $jsonSchema: {} },
]

for (const query of REFUSED) {
  t.test(`refuses ${JSON.stringify(query)}, and sends no command`, async (t) => {
    const find = createFind()
    const commands = await commandsOf(async () => {
      await t.rejects(find(query), BadRequest)
    })
    t.strictSame(commands, [])
  })
}

t.test('an operator that a later hook adds is allowed at named places only (FTH-17)', async (t) => {
  /** As a hook with a fault does it: what the caller sends becomes a condition. */
  const searchIn = (field: string) => (query: Query) => ({ [field]: { $regex: query['title'] } })
  t.strictSame(await createFind({ change: searchIn('title') })({ title: 'tea' }), [1])
  const commands = await commandsOf(async () => {
    for (const field of ['note', 'password', 'tags', 'title.x', '_id']) {
      const error = { name: 'BadRequest', message: 'Invalid query parameter $regex' }
      await t.rejects(createFind({ change: searchIn(field) })({ title: 'tea' }), error, field)
    }
    const code = createFind({ change: ({ title }) => ({ $where: title }) })
    await t.rejects(code({ title: 'true' }), BadRequest)
  })
  t.strictSame(commands, [])
})

t.test('what a hook joins to the query of the caller keeps its places (FTH-17)', async (t) => {
  const change = (query: Query) => ({ $and: [query, { title: { $ne: 'x' } }] })
  t.strictSame(await createFind({ change })(named), [1])
  await t.rejects(createFind({ change })({ note: { $regex: 'a' } }), BadRequest)
})

t.test('JSON makes no ObjectId at a named place (FTH-7)', async (t) => {
  for (const fake of [{ _bsontype: 'ObjectId' }, { toHexString: 'x' }]) {
    await t.rejects(createFind()({ title: fake }), BadRequest)
    await t.rejects(createFind()({ title: { $regex: fake } }), BadRequest)
    await t.rejects(createFind()({ tags: { $elemMatch: { text: fake } } }), BadRequest)
  }
})

t.test('a named $regex is checked as one of the option is (INJ-15)', async (t) => {
  const bad = ['(a+)+$', 'a'.repeat(129), '(', 'a\0', '\\Qa']
  const commands = await commandsOf(async () => {
    for (const $regex of bad) {
      await t.rejects(createFind()({ title: { $regex } }), { name: 'BadRequest' }, $regex)
      await t.rejects(createFind()({ $or: [{ title: { $not: { $regex } } }] }), BadRequest)
    }
    for (const title of [{ $options: 'i' }, { $regex: 'a', $options: 'x' }, { $regex: ['a'] }]) {
      await t.rejects(createFind()({ title }), BadRequest)
    }
  })
  t.strictSame(commands, [])
})

t.test('the limits hold for what a schema names', async (t) => {
  const find = createFind({ options: { limits: { depth: 2, conditions: 3, values: 2 } } })
  await t.rejects(find({ title: { $not: { $regex: { a: 1 } } } }), /levels deep/)
  await t.rejects(find({ $nor: [{ a: 1 }, { a: 1 }, { a: 1 }] }), /conditions/)
})

t.test('a named $search can not search what is hidden', async (t) => {
  const query = { $search: 'green' }
  await t.rejects(createFind({ options: { hidden: ['note'] } })(query), BadRequest)
  const indexes = [{ key: { title: 'text' as const } }]
  t.strictSame(await createFind({ options: { hidden: ['note'], indexes } })(query), [1])
  const leaking = [{ key: { title: 'text' as const, note: 'text' as const } }]
  await t.rejects(
    createFind({ options: { hidden: ['note'], indexes: leaking } })(query),
    BadRequest,
  )
})

t.test('a named $search does not stand beside a named $text', async (t) => {
  const schema = {
    properties: { $search: {}, $text: { properties: { $search: { type: 'string' } } } },
  }
  const find = createFind({ schema })
  t.strictSame(await find({ $text: { $search: 'tea' } }), [1])
  await t.rejects(
    find({ $text: { $search: 'tea' }, $search: 'tea' }),
    /cannot be combined in one query/,
  )
})

t.test('hidden fields stay so where a schema names operators for them', async (t) => {
  const find = createFind({ options: { hidden: ['title'] } })
  await t.rejects(find(named), BadRequest)
})
