import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Test } from 'tap'
import t from 'tap'
import type { FileStorage } from '../../src/adapter/files/index.ts'
import { FileService, gridFSStorage } from '../../src/adapter/files/index.ts'
import type { HookContext, NextFunction } from '../../src/core/index.ts'
import { createApp, remex } from '../../src/transport/index.ts'
import { stopTime } from '../support/clock.ts'
import { openDatabase } from '../support/database.ts'
import { Gate } from '../support/gate.ts'
import { openHost } from '../support/own-server.ts'
import type { TestAppOptions } from '../support/test-app.ts'
import { startApp } from '../support/test-app.ts'
import { laterTurns, until } from '../support/until.ts'

const LIMIT_MS = 100

const { db } = await openDatabase(t)

const NAMES = ['files', 'files.files', 'files.chunks', 'files.pending']

const count = async () => Promise.all(NAMES.map((name) => db.collection(name).countDocuments()))

/** Starts a service of files whose calls have a time limit. */
async function start(
  t: Test,
  change: (storage: FileStorage) => Partial<FileStorage> = () => ({}),
  others: TestAppOptions = {},
) {
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
  const app = await startApp(t, { services: { files }, handlerTimeoutMs: LIMIT_MS, ...others })
  const begin = (headers: Record<string, string> = {}, path = '/files?name=a') => {
    const target = { port: app.port, host: '127.0.0.1', path, method: 'POST', headers }
    const request = sendRequest({ ...target, agent: false })
    const answered = once(request, 'response').then(([response]) => response.resume().statusCode)
    answered.catch(() => undefined)
    return { request, answered }
  }
  return { app, files, begin, taken: () => taken }
}

t.test('FILE-10: an upload that waits for its client does not time out', async (t) => {
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

t.test('FILE-10: an upload does not time out while its storage makes progress', async (t) => {
  const time = stopTime(t)
  const gates = Array.from({ length: 4 }, () => new Gate())
  let parts = 0
  const { app, begin } = await start(t, () => ({
    write: async (_id, content) => {
      for await (const _part of content) await gates[parts++]?.pass()
    },
  }))
  const opened = once(app.fastify.server, 'connection')
  const { request, answered } = begin()
  // More than the server and the connection hold.
  request.end(Buffer.alloc(8_000_000))
  const [socket] = (await opened) as [Socket]
  const { parser } = socket as unknown as { parser: { incoming: IncomingMessage } }
  for (const gate of gates) {
    await gate.arrivals(1)
    await until(() => parser.incoming.readableLength > 0)
    // Less than the limit for each, more than it for all.
    time.pass(0.8 * LIMIT_MS)
    gate.open()
  }
  t.equal(await answered, 201)
})

t.test('FILE-10: a direct upload times out only if its storage stalls', async (t) => {
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
})

const FORM = 'multipart/form-data; boundary=b'
const HEAD = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'

for (const [kind, path, headers, head] of [
  ['file', '/files?name=a', {}, ''],
  ['form', '/files', { 'content-type': FORM }, HEAD],
] as const) {
  t.test(
    `FILE-7: returns 503 if the storage stalls, and leaves nothing behind: ${kind}`,
    async (t) => {
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
    },
  )
}

t.test('FILE-7: stores nothing if hooks exceed the time limit', async (t) => {
  for (const [headers, path, head] of [
    [{}, '/files?name=a', ''],
    [{ 'content-type': FORM }, '/files', HEAD],
  ] as const) {
    const time = stopTime(t)
    const [late, done] = [new Gate(), new Gate()]
    const around = async (_context: HookContext, next: NextFunction): Promise<void> => {
      await late.pass()
      await next().finally(() => done.pass())
    }
    const hooks = { files: { around: { create: [around] } } }
    const { begin } = await start(t, undefined, { hooks })
    const { request, answered } = begin(headers, path)
    request.on('error', () => undefined)
    request.write(head)
    request.write(Buffer.alloc(50_000))
    await late.arrivals(1)
    time.pass(2.2 * LIMIT_MS)
    t.equal(await answered, 503)
    request.destroy()
    late.open()
    await done.arrivals(1)
    t.strictSame(await count(), [0, 0, 0, 0])
    done.open()
  }
})

t.test(
  'reads the rest of the body after the storage fails, even if it leaves the content open',
  async (t) => {
    const { app } = await start(t, () => ({
      write: async (_id, content) => {
        await content[Symbol.asyncIterator]().next()
        throw new Error('The disk is full')
      },
    }))
    const body = 'x'.repeat(1_000_000)
    const head = `POST /files?name=a HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`
    const next = 'GET /files HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    t.match(await app.raw(head + body + next), /^HTTP\/1.1 500[\s\S]*HTTP\/1.1 200 OK/)
    t.strictSame(await count(), [0, 0, 0, 0])
  },
)

t.test('opens no file for a download that has timed out', async (t) => {
  const time = stopTime(t)
  const gate = new Gate()
  let reads = 0
  const { app } = await start(t, () => ({
    link: async () => gate.pass(null) as never,
    read: () => {
      reads += 1
      return [] as never
    },
  }))
  const { body } = await app.request('/files?name=a', { body: 'x' })
  const answered = app.request(`/files/${(body as { _id: string })._id}/content`)
  await gate.arrivals(1)
  time.pass(2.2 * LIMIT_MS)
  t.match(await answered, { status: 503 })
  gate.open()
  await laterTurns()
  t.equal(reads, 0)
})

/** Starts a service of files over HTTP/2, and opens a connection. */
async function startHTTP2(t: Test, storage: FileStorage, hooks: object = {}) {
  await Promise.all(NAMES.map((name) => db.collection(name).deleteMany({})))
  const files = new FileService({ Model: db.collection('files'), storage })
  const host = openHost(t, { http2: true })
  const requests: IncomingMessage[] = []
  host.addHook('onRequest', async ({ raw }) => void requests.push(raw))
  const app = createApp().use('files', files)
  app.service('files').hooks(hooks as never)
  const log = (): void => undefined
  app.logger = { error: log, warn: log, info: log }
  host.register(remex, { app: app as never, handlerTimeoutMs: LIMIT_MS })
  await host.listen({ port: 0, host: '127.0.0.1' })
  const session = connect(`http://127.0.0.1:${(host.server.address() as AddressInfo).port}`)
  t.teardown(() => session.close())
  const begin = () => {
    const upload = session.request({ ':method': 'POST', ':path': '/files?name=a' })
    const answered = once(upload, 'response').then(([headers]) => headers[':status'])
    answered.catch(() => undefined)
    return { upload: upload.on('error', () => undefined).resume(), answered }
  }
  return { begin, requests }
}

t.test('over HTTP/2, each upload on a connection has its own time limit', async (t) => {
  const time = stopTime(t)
  const gate = new Gate()
  const gridFS = gridFSStorage(db, { bucketName: 'files' })
  let taken = 0
  const write = (id: string, content: AsyncIterable<Uint8Array>) =>
    gridFS.write(
      id,
      (async function* () {
        for await (const part of content) {
          taken += part.length
          yield part
          if (Buffer.from(part).includes('stop')) await gate.pass()
        }
      })(),
    )
  const { begin, requests } = await startHTTP2(t, { ...gridFS, write })
  const [stopped, gone, whole] = [begin(), begin(), begin()]
  const uploads = [stopped, gone, whole]
  for (const { upload } of uploads) upload.write(Buffer.alloc(2_000))
  await until(() => taken === 6_000)
  time.pass(10 * LIMIT_MS)
  for (const { upload } of uploads) upload.write(Buffer.alloc(2_000))
  await until(() => taken === 12_000)
  gone.upload.destroy(new Error('gone'))
  stopped.upload.write('stop')
  await gate.arrivals(1)
  stopped.upload.write('more')
  await until(() => (requests[0]?.readableLength ?? 0) > 0)
  time.pass(10 * LIMIT_MS)
  t.equal(await stopped.answered, 503)
  whole.upload.end('3')
  t.equal(await whole.answered, 201)
  gate.open()
  stopped.upload.end()
  await until(async () => (await count()).join() === '2,2,2,0')
})

t.test('over HTTP/2, an upload times out if its last part is not stored', async (t) => {
  const time = stopTime(t)
  const gate = new Gate()
  const write = async (_id: string, content: AsyncIterable<Uint8Array>) => {
    for await (const _part of content) await gate.pass()
  }
  const gridFS = gridFSStorage(db, { bucketName: 'files' })
  const { begin, requests } = await startHTTP2(t, { ...gridFS, write })
  const { upload, answered } = begin()
  upload.write(Buffer.alloc(2_000))
  await gate.arrivals(1)
  upload.end()
  const { stream } = requests[0] as unknown as { stream: Readable }
  await until(() => stream.readableEnded)
  time.pass(10 * LIMIT_MS)
  t.equal(await answered, 503)
  gate.open()
  await until(async () => (await count())[3] === 0)
})

t.test(
  'over HTTP/2, an upload that is too late, or whose client has gone, is not stored',
  async (t) => {
    for (const hasGone of [false, true]) {
      const time = stopTime(t)
      const [late, done] = [new Gate(), new Gate()]
      const around = async (_context: HookContext, next: NextFunction): Promise<void> => {
        await late.pass()
        await next().finally(() => done.pass())
      }
      const gridFS = gridFSStorage(db, { bucketName: 'files' })
      const { begin, requests } = await startHTTP2(t, gridFS, { around: { create: [around] } })
      const { upload, answered } = begin()
      upload.write(Buffer.alloc(2_000))
      await late.arrivals(1)
      const { stream } = requests[0] as unknown as { stream: Readable }
      if (hasGone) {
        upload.close(8)
        await until(() => stream.destroyed)
      } else {
        time.pass(10 * LIMIT_MS)
        t.equal(await answered, 503)
      }
      late.open()
      await done.arrivals(1)
      t.strictSame(await count(), [0, 0, 0, 0])
      done.open()
      upload.destroy()
    }
  },
)
