import { once } from 'node:events'
import { request as sendRequest } from 'node:http'
import t from 'tap'
import { FileService } from '../../src/adapter/files/index.ts'
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

t.test('FILE-7: 1,000 half uploads at a time leave nothing, and the server answers', async (t) => {
  const app = await startApp(t, {
    services: { files: new FileService({ Model: db.collection('files') }) },
  })
  // A little more than a chunk of GridFS.
  const part = Buffer.alloc(262_144)
  const uploads = Array.from({ length: COUNT }, (_, index) => {
    const headers = index % 2 ? {} : { 'content-length': '1000000' }
    const target = { port: app.port, host: '127.0.0.1', path: '/files?name=a' }
    const request = sendRequest({ ...target, method: 'POST', headers, agent: false })
    request.on('error', () => undefined).write(part)
    return request
  })
  await until(async () => (await db.collection('files.chunks').countDocuments()) === COUNT)
  t.strictSame(await count(), [0, 0, COUNT, COUNT])
  const closed = uploads.map((request) => once(request, 'close'))
  for (const request of uploads) request.destroy()
  await Promise.all(closed)
  await until(async () => (await count()).join() === '0,0,0,0')
  t.match(await app.request('/files?name=a', { body: 'x' }), { status: 201 })
})
