import type { ClientRequest } from 'node:http'
import { request as sendRequest } from 'node:http'
import t from 'tap'
import { FileService, gridFSStorage } from '../../src/adapter/files/index.ts'
import { openDatabase } from '../support/database.ts'
import { startApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const COUNT = 1_000

const { db } = await openDatabase(t)

const count = async () =>
  Promise.all(
    ['files', 'files.files', 'files.chunks', 'files.pending'].map((name) =>
      db.collection(name).countDocuments(),
    ),
  )

/** Calls a function once the first part of a file has been taken, or the upload has ended. */
async function* note(content: AsyncIterable<Uint8Array>, tell: () => void) {
  const parts = content[Symbol.asyncIterator]()
  const { value } = await parts.next()
  try {
    yield value
  } finally {
    tell()
  }
  yield* { [Symbol.asyncIterator]: () => parts }
}

/** Long enough for 1,000 uploads on a slow machine. */
const LIMITS = { requestTimeout: 600_000, headersTimeout: 600_000 }

t.test('FILE-7: 1,000 half uploads at a time leave nothing, and the server answers', async (t) => {
  const gridFS = gridFSStorage(db, { bucketName: 'files' })
  let begun = 0
  const write = async (id: string, content: AsyncIterable<Uint8Array>): Promise<void> => {
    await gridFS.write(
      id,
      note(content, () => (begun += 1)),
    )
  }
  const Model = db.collection('files')
  const files = new FileService({ Model, storage: { ...gridFS, write } })
  const app = await startApp(t, { services: { files }, fastify: LIMITS })
  // A little more than a chunk of GridFS.
  const part = Buffer.alloc(262_144)
  const target = { port: app.port, host: '127.0.0.1', path: '/files?name=a', method: 'POST' }
  const begin = (_: unknown, index: number): ClientRequest => {
    const headers = index % 2 ? {} : { 'content-length': '1000000' }
    const request = sendRequest({ ...target, headers, agent: false })
    request.on('error', () => undefined).write(part)
    return request
  }
  const uploads: ClientRequest[] = []
  // No more at a time than a server has waiting for it.
  while (uploads.length < COUNT) {
    uploads.push(...Array.from({ length: 100 }, begin))
    await until(() => begun >= uploads.length)
  }
  for (const request of uploads) request.destroy()
  await until(async () => (await count()).join() === '0,0,0,0')
  t.match(await app.request('/files?name=a', { body: 'x' }), { status: 201 })
})
