import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import fastify from 'fastify'
import { createApp, fastifyApp, rest } from 'remex'
import { MongoDBService } from 'remex/mongodb'
import { answerParent } from './child-answers.ts'
import { openPassedCollection } from './database.ts'

// A server of `bench/streams`: by Remex, or the same by hand.

const Model = await openPassedCollection()
const anywhere = { port: 0, host: '127.0.0.1' }

async function startRemex(): Promise<number> {
  const app = fastifyApp(createApp())
  app.configure(rest())
  const limits = { stream: Number.POSITIVE_INFINITY, timeMs: Number.POSITIVE_INFINITY }
  app.use('records', new MongoDBService({ Model, limits }))
  return ((await app.listen(anywhere)).address() as AddressInfo).port
}

async function startPlain(): Promise<number> {
  const server = fastify()
  server.get('/records', async (_request, reply) => {
    const cursor = Model.find({}, { batchSize: 500 })
    reply.raw.once('close', () => cursor.close())
    async function* toLines(): AsyncGenerator<string> {
      for await (const record of cursor) yield `${JSON.stringify(record)}\n`
    }
    reply.header('content-type', 'application/x-ndjson; charset=utf-8')
    return reply.send(Readable.from(toLines()))
  })
  await server.listen(anywhere)
  return (server.server.address() as AddressInfo).port
}

await answerParent(async () => ({
  records: await (process.argv[2] === 'remex' ? startRemex() : startPlain()),
}))
