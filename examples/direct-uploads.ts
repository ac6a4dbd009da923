// Files that clients send to S3 and get from there, while services keep their records and decide who may do so.
// `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner`, then
// `npx tsx node_modules/remex/examples/direct-uploads.ts`. Reads S3_BUCKET, the variables of the AWS SDK such as
// AWS_REGION, S3_ENDPOINT for other services than AWS, PORT (3030), HOST (127.0.0.1) and MONGODB_URL (an embedded database
// by default).
import { fileURLToPath } from 'node:url'
import type { S3ClientConfig } from '@aws-sdk/client-s3'
import type { Db } from 'mongodb'
import type { FastifyApplication, HookContext } from 'remex'
import { createApp, Forbidden, fastifyApp, rest } from 'remex'
import { createClient } from 'remex/client'
import { files } from 'remex/client/files'
import { startEmbeddedMongo } from 'remex/embedded'
import type { FileRecord } from 'remex/files'
import { FileService } from 'remex/files'
import { s3Storage } from 'remex/files/s3'
import { connectMongoDB } from 'remex/mongodb'

type Services = { recordings: FileService<FileRecord> }

/** Returns the application. */
export function createArchive(
  db: Db,
  bucket: string,
  client: S3ClientConfig,
): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  const recordings = new FileService<FileRecord>({
    Model: db.collection<FileRecord>('recordings'),
    maxBytes: 2_000_000_000,
    types: ['audio/*', 'video/*'],
    storage: s3Storage({ bucket, client, redirect: true }),
  })
  app.use('recordings', recordings, {
    methods: ['find', 'get', 'create', 'remove', 'createUpload'],
  })
  app.service('recordings').hooks({ before: { createUpload: [isInOffice], create: [isInOffice] } })
  return app
}

/** Lets callers who know the word upload. Your application has logins instead. */
function isInOffice({ params }: HookContext): void {
  if (params.headers?.['x-word'] !== 'open sesame') throw new Forbidden('What is the word?')
}

/** Sends a recording and gets it back. */
export async function record(baseURL: string, content: Blob): Promise<Blob> {
  const client = createClient<Services>({ baseURL, headers: { 'x-word': 'open sesame' } })
  client.configure(files())
  const recording = new File([content], 'meeting.mp3', { type: 'audio/mpeg' })
  const { _id } = await client.service('recordings').upload(recording, {}, { direct: true })
  return client.service('recordings').download(String(_id))
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const { S3_BUCKET = 'recordings', S3_ENDPOINT } = process.env
  const mongo = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const client = S3_ENDPOINT === undefined ? {} : { endpoint: S3_ENDPOINT, forcePathStyle: true }
  const app = createArchive(mongo.db('remex_recordings'), S3_BUCKET, client)
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}/recordings`
  console.log(`Try

  curl ${url} -H 'x-word: open sesame' -H 'x-service-method: createUpload' \\
    -H 'content-type: application/json' -d '{"size":<bytes>,"type":"audio/mpeg"}'
  curl '<url>' -X PUT -H 'content-type: audio/mpeg' --data-binary @meeting.mp3
  curl '${url}?name=meeting.mp3&$upload=<token>' -H 'x-word: open sesame' -X POST
  curl ${url}/<_id>/content -L -o copy.mp3

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
