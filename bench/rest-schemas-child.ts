import type { AddressInfo } from 'node:net'
import { ObjectId } from 'bson'
import fastify from 'fastify'
import { createApp, fastifyApp, rest } from 'remex'
import { ObjectIdSchema } from 'remex/mongodb'
import { DateSchema, querySyntax, Type } from 'remex/schema'
import { answerParent } from './child-answers.ts'
import { parseBrackets } from './rest-picoquery.ts'
import { RECORD } from './rest-plain.ts'
import type { NewRecord } from './rest-records.ts'
import { toNewRecord } from './rest-records.ts'

// Runs one server of the benchmark `rest-schemas`. Its records are as a database gives them, with ids and
// dates that are objects: what it takes to write them as JSON is where schemas pay.

/** The servers that are compared. */
export type SchemasKind = 'plain' | 'remex' | 'remex with schemas'

type StoredRecord = Omit<NewRecord, 'createdAt'> & { _id: ObjectId; createdAt: Date }

const RECORDS = Array.from({ length: 10 }, (_, index): StoredRecord => {
  const { createdAt, ...record } = toNewRecord(index)
  return { _id: ObjectId.createFromTime(index), ...record, createdAt: new Date(createdAt) }
})

/** What `find` returns, of any server. */
function findStored(): { total: number; limit: number; skip: number; data: StoredRecord[] } {
  return { total: 100, limit: 10, skip: 0, data: RECORDS }
}

/** What `get` returns, of any server. */
const STORED = RECORDS[7] as StoredRecord

/** What `create` stores and returns, of any server: a date is stored as one, or no query would find it. */
function toStored(data: NewRecord): StoredRecord {
  return { _id: STORED._id, ...data, createdAt: new Date(data.createdAt) }
}

const Text = Type.String()

const StoredSchema = Type.Object({
  _id: ObjectIdSchema(),
  name: Text,
  email: Text,
  age: Type.Integer(),
  active: Type.Boolean(),
  address: Type.Object({ street: Text, city: Text, zip: Text }),
  tags: Type.Array(Text),
  createdAt: DateSchema(),
})

async function startRemex(hasSchemas: boolean): Promise<number> {
  const app = fastifyApp(createApp())
  app.configure(rest())
  const service = {
    find: async () => findStored(),
    get: async () => STORED,
    create: async (data: NewRecord) => toStored(data),
  }
  const create = Type.Omit(StoredSchema, ['_id'])
  const schemas = { entity: StoredSchema, create, query: querySyntax(StoredSchema) }
  app.use('records', service, hasSchemas ? { schemas } : {})
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  return (server.address() as AddressInfo).port
}

/** Plain Fastify with response schemas, and the fastest parser that reads brackets. */
async function startPlain(): Promise<number> {
  const server = fastify({ routerOptions: { querystringParser: parseBrackets } })
  const { id: _id, createdAt: _createdAt, ...properties } = RECORD.properties
  const text = { type: 'string' }
  const record = {
    type: 'object',
    properties: { _id: text, ...properties, createdAt: { ...text, format: 'date-time' } },
  }
  const count = { type: 'integer' }
  const data = { type: 'array', items: record }
  const page = { type: 'object', properties: { total: count, limit: count, skip: count, data } }
  server.get('/records', { schema: { response: { 200: page } } }, async () => findStored())
  server.get('/records/:id', { schema: { response: { 200: record } } }, async () => STORED)
  server.post<{ Body: NewRecord }>('/records', async ({ body }, reply) =>
    reply.code(201).send(toStored(body)),
  )
  await server.listen({ port: 0, host: '127.0.0.1' })
  return (server.server.address() as AddressInfo).port
}

const STARTS: Readonly<Record<SchemasKind, () => Promise<number>>> = {
  plain: startPlain,
  remex: () => startRemex(false),
  'remex with schemas': () => startRemex(true),
}

const start = STARTS[process.argv[2] as SchemasKind]
await answerParent(async () => ({ records: await start() }))
