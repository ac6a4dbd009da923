import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'
import type { Socket } from 'node:net'
import type { Test } from 'tap'
import t from 'tap'
import type { FileStorage } from '../../src/adapter/files/index.ts'
import { FileService, gridFSStorage } from '../../src/adapter/files/index.ts'
import { stopTime } from '../support/clock.ts'
import { openDatabase } from '../support/database.ts'
import { Gate } from '../support/gate.ts'
import { startApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const LIMIT_MS = 100

const { db } = await openDatabase(t)

const NAMES = ['files', 'files.files', 'files.chunks', 'files.pending']

const count = async () => Promise.all(NAMES.map((name) => db.collection(name).countDocuments()))

/** Starts a service of files whose calls have a time limit. */
async function start(t: Test, change: (storage: FileStorage) => Partial<FileStorage> = () => ({})) {
  await Promise.all(NAMES.map((name) => db.collection(name).deleteMany({})))
  const gridFS = gridFSStorage(db, { bucketName: 'files' })
  let taken = 0
  async function* watch(content: AsyncIterable<Uint8Array>) {
    for await (const part of content) {
      taken += part.length
      yield part
    }
  }
  const storage = {
    ...gridFS,
    ...change(gridFS),
    write: (id: string, content: AsyncIterable<Uint8Array>) =>
      ({ ...gridFS, ...change(gridFS) }).write(id, watch(content)),
  }
  const files = new FileService({ Model: db.collection('files'), storage, forms: true })
  const app = await startApp(t, {
    services: { files },
    handlerTimeoutMs: LIMIT_MS,
  })
  const begin = (headers: Record<string, string> = {}, path = '/files?name=a') => {
    const target = { port: app.port, host: '127.0.0.1', path, method: 'POST', headers }
    const request = sendRequest({ ...target, agent: false })
    const answered = once(request, 'response').then(([response]) => response.resume().statusCode)
    answered.catch(() => undefined)
    return { request, answered }
  }
  return { app, files, begin, taken: () => taken }
}

t.test('FILE-10: the time limit of a call begins when its file has arrived', async (t) => {
  const time = stopTime(t)
  const { begin, taken } = await start(t)
  const { request, answered } = begin()
  request.write(Buffer.alloc(70_000))
  await until(() => taken() === 70_000)
  time.pass(10 * LIMIT_MS)
  request.write(Buffer.alloc(70_000))
  await until(() => taken() === 140_000)
  time.pass(10 * LIMIT_MS)
  request.end('end')
  t.equal(await answered, 201)
  t.strictSame(await count(), [1, 1, 1, 0])
})

t.test('FILE-10: a storage that is slow, but takes something, has its time', async (t) => {
  const time = stopTime(t)
  const gates = Array.from({ length: 4 }, () => new Gate())
  let parts = 0
  const { begin } = await start(t, () => ({
    write: async (_id, content) => {
      for await (const _part of content) await gates[parts++]?.pass()
    },
  }))
  const { request, answered } = begin()
  for (const gate of gates) {
    request.write(Buffer.alloc(65_536))
    await gate.arrivals(1)
    // Less than the limit for each, more than it for all.
    time.pass(0.8 * LIMIT_MS)
    gate.open()
  }
  request.end()
  t.equal(await answered, 201)
})

t.test(
  'FILE-10: a direct upload has its time as long as the storage sends its bytes',
  async (t) => {
    for (const stops of [false, true]) {
      const time = stopTime(t)
      const gates = Array.from({ length: 4 }, () => new Gate())
      const { app, files } = await start(t, () => ({
        requestUpload: async () => ({ url: 'https://storage.example', headers: {} }),
        takeUpload: async () => true,
        async *read() {
          for (const gate of gates) {
            yield Buffer.alloc(10_000)
            await gate.pass()
          }
        },
        remove: async () => undefined,
      }))
      const { token } = await files.createUpload({ size: 40_000, type: 'text/plain' })
      const answered = app.request(`/files?name=a&$upload=${token}`, { method: 'POST' })
      for (const gate of stops ? gates.slice(0, 1) : gates) {
        await gate.arrivals(1)
        time.pass((stops ? 2.2 : 0.8) * LIMIT_MS)
        gate.open()
      }
      t.match(await answered, { status: stops ? 503 : 201 })
      await until(async () => (await count())[3] === 0)
      t.equal((await count())[0], stops ? 0 : 1)
    }
  },
)

const FORM = 'multipart/form-data; boundary=b'
const HEAD = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'

for (const [kind, path, headers, head] of [
  ['file', '/files?name=a', {}, ''],
  ['form', '/files', { 'content-type': FORM }, HEAD],
] as const) {
  t.test(`FILE-7: a storage that stops is 503, and nothing stays: ${kind}`, async (t) => {
    const time = stopTime(t)
    const gate = new Gate()
    const { app, begin } = await start(t, (gridFS) => ({
      write: (id, content) =>
        gridFS.write(
          id,
          (async function* () {
            for await (const part of content) {
              yield part
              await gate.pass()
            }
          })(),
        ),
    }))
    const opened = once(app.fastify.server, 'connection')
    const { request, answered } = begin(headers, path)
    request.on('error', () => undefined)
    request.write(head)
    // More than the server and the connection hold.
    request.write(Buffer.alloc(8_000_000))
    await gate.arrivals(1)
    const [socket] = (await opened) as [Socket]
    const { incoming } = (socket as unknown as { parser: { incoming: IncomingMessage } }).parser
    await until(() => incoming.readableLength > 0)
    time.pass(4 * LIMIT_MS)
    t.equal(await answered, 503)
    t.equal((await count())[3], 1, 'the call goes on')
    gate.open()
    request.destroy()
    await until(async () => (await count()).join() === '0,0,0,0')
  })
}
