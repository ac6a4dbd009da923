import type { ClientRequest } from 'node:http'
import { request as sendRequest } from 'node:http'
import t from 'tap'
import { FileService } from '../../src/adapter/files/index.ts'
import { openDatabase } from '../support/database.ts'
import { startApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const COUNT = 1_000

const { db } = await openDatabase(t)
const chunks = db.collection('files.chunks')

const count = async () =>
  Promise.all(
    ['files', 'files.files', 'files.chunks', 'files.pending'].map((name) =>
      db.collection(name).countDocuments(),
    ),
  )

t.test('FILE-7: 1,000 half uploads at a time leave nothing, and the server answers', async (t) => {
  const app = await startApp(t, {
    services: { files: new FileService({ Model: db.collection('files') }) },
  })
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
    await until(async () => (await chunks.countDocuments()) >= uploads.length)
  }
  t.strictSame(await count(), [0, 0, COUNT, COUNT])
  for (const request of uploads) request.destroy()
  await until(async () => (await count()).join() === '0,0,0,0')
  t.match(await app.request('/files?name=a', { body: 'x' }), { status: 201 })
})
