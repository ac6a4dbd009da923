import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { createApp, fastifyApp, rest } from 'remex'
import { MongoDBService } from 'remex/mongodb'
import { answerParent } from './child-answers.ts'
import { openPassedCollection } from './database.ts'
import { KEYSET_SORT, toBehind, toPage, toPlainKey } from './plain-cursor.ts'
import { RECORD } from './rest-plain.ts'

// A server of `bench/pages`: by Remex, or the same by hand. The cursors are encrypted by BENCH_SECRET.

const { BENCH_SECRET: secret = '' } = process.env
const Model = await openPassedCollection()
const anywhere = { port: 0, host: '127.0.0.1' }

async function startRemex(): Promise<number> {
  const app = fastifyApp(createApp())
  app.configure(rest())
  app.use('people', new MongoDBService({ Model, paginate: { default: 10, secret } }))
  return ((await app.listen(anywhere)).address() as AddressInfo).port
}

const STRING = { type: 'string' }
const INTEGER = { type: 'integer' }
const { id, ...fields } = RECORD.properties

const SCHEMA = {
  querystring: { type: 'object', properties: { limit: INTEGER, after: STRING } },
  response: {
    200: {
      type: 'object',
      properties: {
        limit: INTEGER,
        data: { type: 'array', items: { type: 'object', properties: { _id: id, ...fields } } },
        hasNext: { type: 'boolean' },
        nextCursor: { type: ['string', 'null'] },
      },
    },
  },
}

async function startPlain(): Promise<number> {
  const key = toPlainKey(secret)
  const server = fastify()
  server.get<{ Querystring: { limit: number; after: string } }>(
    '/people',
    { schema: SCHEMA },
    async ({ query: { limit, after } }) => {
      const options = { sort: KEYSET_SORT, limit: limit + 1 }
      return toPage(await Model.find({ $or: toBehind(after, key) }, options).toArray(), limit, key)
    },
  )
  await server.listen(anywhere)
  return (server.server.address() as AddressInfo).port
}

await answerParent(async () => ({
  records: await (process.argv[2] === 'remex' ? startRemex() : startPlain()),
}))
