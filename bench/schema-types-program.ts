// The texts of a program with many schemas, for the time that their types take.

/** Returns the files of a program with as many schemas, by their names. */
export function createSchemas(count: number): Readonly<Record<string, string>> {
  const names = Array.from({ length: count }, (_, index) => `items${index}`)
  const files = names.map((name) => [`${name}.ts`, createSchema(name)] as const)
  return Object.fromEntries([...files, ['app.ts', createUses(names)]])
}

/** The same with interfaces in place of schemas: what the records and queries cost without them. */
export function createInterfaces(count: number): Readonly<Record<string, string>> {
  const files = createSchemas(count)
  const plain = Object.entries(files).map(([name, text]) => [
    name,
    name === 'app.ts' ? text : createInterface(name.replace('.ts', '')),
  ])
  return Object.fromEntries(plain)
}

/** A schema as a team writes it, with what follows from it: data, queries, checks, a service, a hook. */
function createSchema(name: string): string {
  return `import { Ajv } from 'ajv'
import type { ObjectId } from 'mongodb'
import { ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { querySyntax, Type } from 'remex/schema'

const ajv = new Ajv({ coerceTypes: true })

export const schema = Type.Object({
  _id: ObjectIdSchema(),
  ${name}: Type.Optional(Type.String()),
  title: Type.String({ maxLength: 100 }),
  price: Type.Number({ minimum: 0 }),
  sold: Type.Boolean(),
  tags: Type.Array(Type.String()),
  size: Type.Object({ width: Type.Number(), height: Type.Number() }),
  ownerId: ObjectIdSchema(),
  state: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
  note: Type.Optional(Type.String()),
  rank: Type.Union([Type.Number(), Type.Null()]),
})
export type Item = Static<typeof schema>

export const dataSchema = Type.Pick(schema, ['title', 'price', 'tags', 'note'])
export type Data = Static<typeof dataSchema>
export const patchSchema = Type.Partial(dataSchema)
export type Patch = Static<typeof patchSchema>

export const querySchema = querySyntax(Type.Omit(schema, ['note']), {
  title: { $regex: Type.String(), $options: Type.String() },
  tags: { $all: Type.Array(Type.String()) },
  $search: Type.String(),
})
export type ItemQuery = Static<typeof querySchema>

export const isData = ajv.compile<Data>(dataSchema)
export const isPatch = ajv.compile<Patch>(patchSchema)
export const isQuery = ajv.compile<ItemQuery>(querySchema)
`
}

function createInterface(name: string): string {
  return `import type { ObjectId } from 'mongodb'
import type { RecordQuery } from 'remex/core'

export interface Item {
  _id: ObjectId
  ${name}?: string
  title: string
  price: number
  sold: boolean
  tags: string[]
  size: { width: number; height: number }
  ownerId: ObjectId
  state: 'open' | 'closed'
  note?: string
  rank: number | null
}
export type Data = Pick<Item, 'title' | 'price' | 'tags' | 'note'>
export type Patch = Partial<Data>
export type ItemQuery = RecordQuery<Omit<Item, 'note'>>

export declare function isData(value: unknown): value is Data
export declare function isPatch(value: unknown): value is Patch
export declare function isQuery(value: unknown): value is ItemQuery
`
}

function createUses(names: readonly string[]): string {
  return `import type { MongoDBParams, MongoDBService } from 'remex/mongodb'
import { createApp } from 'remex'
${names.map((name) => `import * as ${name} from './${name}.ts'`).join('\n')}

export interface Services {
${names.map((name) => `  ${name}: ${toService(name)}`).join('\n')}
}

export const app = createApp<Services>()
${names.map(createUse).join('\n')}
`
}

function toService(name: string): string {
  return `MongoDBService<${name}.Item, ${name}.Data, MongoDBParams<${name}.ItemQuery>>`
}

function createUse(name: string): string {
  return `
app.service('${name}').hooks({
  before: {
    find: [({ params }) => void params.query?.$limit],
    create: [({ data }) => void [data].flat().map(({ title }) => title)],
  },
})
export async function use_${name}(value: unknown): Promise<unknown> {
  const items = app.service('${name}')
  if (${name}.isQuery(value)) return items.find({ query: value })
  if (${name}.isData(value)) return items.create(value)
  const query = { title: { $regex: 'a' }, price: { $gt: 5 }, $or: [{ sold: true }, { rank: null }], $sort: { price: -1 as const } }
  const { data } = await items.find({ query })
  return ${name}.isPatch(value) ? items.patch(data[0]?._id ?? 'x', value) : data
}`
}
