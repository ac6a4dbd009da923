import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import fastify from 'fastify'
import { GridFSBucket, ObjectId } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import { FileService } from 'remex/files'
import { answerParent } from './child-answers.ts'
import { openPassedCollection } from './database.ts'

// A server of `bench/files`: by Remex, or the same by hand, on the stream of the driver.

const Model = await openPassedCollection()
const anywhere = { port: 0, host: '127.0.0.1' }

async function startRemex(): Promise<number> {
  const app = fastifyApp(createApp())
  app.configure(rest())
  app.use('files', new FileService({ Model, maxBytes: Number.MAX_SAFE_INTEGER }))
  return ((await app.listen(anywhere)).address() as AddressInfo).port
}

async function startPlain(): Promise<number> {
  const server = fastify()
  const bucket = new GridFSBucket(Model.db, { bucketName: Model.collectionName })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  server.post('/files', async (request, reply) => {
    const _id = new ObjectId()
    const hash = createHash('sha256')
    let size = 0
    await pipeline(
      request.body as IncomingMessage,
      async function* look(content: AsyncIterable<Buffer>) {
        for await (const part of content) {
          size += part.length
          hash.update(part)
          yield part
        }
      },
      bucket.openUploadStreamWithId(_id, String(_id)),
    )
    const { name } = request.query as { name: string }
    const type = request.headers['content-type']
    const record = { _id, name, type, size, hash: hash.digest('hex') }
    await Model.insertOne(record)
    reply.code(201)
    return record
  })
  server.get('/files/:id/content', async (request, reply) => {
    const _id = new ObjectId((request.params as { id: string }).id)
    const { type, size } = (await Model.findOne({ _id })) as unknown as Record<string, string>
    reply.header('content-type', type).header('content-length', size)
    return reply.send(bucket.openDownloadStream(_id))
  })
  await server.listen(anywhere)
  return (server.server.address() as AddressInfo).port
}

await answerParent(async () => ({
  records: await (process.argv[2] === 'remex' ? startRemex() : startPlain()),
}))
