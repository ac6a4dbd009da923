import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { FastifyApplication, FastifyAppOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp } from '../../src/transport/index.ts'
import type { ListeningServer, TestScope } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'
import { until } from '../support/until.ts'

const notes = {
  get: async (id: string) => ({ id }),
  create: async (data: object) => data,
}

function addNotes(app: FastifyApplication): void {
  app.use('notes', notes)
}

const JSON_TYPE = { 'content-type': 'application/json' }

t.test('a body beyond 1 MiB answers 413, with and without a length (RES-1)', async (t) => {
  const server = await startOwnServer(t, addNotes)
  const tooMuch = 'x'.repeat(2 ** 20)
  const { status, body } = await server.request('/notes', { data: tooMuch })
  t.match([status, body], [413, { name: 'PayloadTooLarge' }])
  const head = 'POST /notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
  const size = (tooMuch.length + 2).toString(16)
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\n"${tooMuch}"\r\n0\r\n\r\n`
  const answer = await server.raw(chunked)
  t.match(answer, /^HTTP\/1.1 413[\s\S]*"code":413/)
  t.match(answer, /connection: close/i)
  t.equal(
    (await server.request('/notes', { data: { text: 'x'.repeat(2 ** 20 - 20) } })).status,
    201,
  )
})

t.test('JSON that is nested too deep is refused, however deep it is (RES-3)', async (t) => {
  const server = await startOwnServer(t, addNotes)
  for (const depth of [51, 5_000, 170_000]) {
    for (const [open, close] of [
      ['{"a":', '}'],
      ['[', ']'],
    ] as const) {
      const body = `${open.repeat(depth - 1)}[]${close.repeat(depth - 1)}`
      const answer = await server.request('/notes', { body, headers: JSON_TYPE })
      t.match([answer.status, answer.body], [400, { message: /deeper than 50 levels/ }])
    }
  }
  const body = `${'['.repeat(50)}${']'.repeat(50)}`
  t.equal((await server.request('/notes', { body, headers: JSON_TYPE })).status, 201)
})

t.test('JSON with too many keys is refused (RES-5)', async (t) => {
  const server = await startOwnServer(t, addNotes)
  const keys = Array.from({ length: 50_000 }, (_, index) => `"${index}x":1`).join(',')
  for (const body of [`{${keys}}`, `[${'1,'.repeat(50_000)}1]`, `{"a":{${keys}}}`]) {
    const answer = await server.request('/notes', { body, headers: JSON_TYPE })
    t.match([answer.status, answer.body], [400, { message: /more than 10000 keys/ }])
  }
})

/** Limits that no request of these tests reaches; how often Node looks for those beyond them. */
const LONG: FastifyAppOptions = {
  requestTimeout: 600_000,
  headersTimeout: 300_000,
  connectionsCheckingInterval: 50,
}

/**
 * Runs with limits that every request reaches which is not done yet. Only then: on a busy machine
 * requests that are sent as a whole may reach them as well.
 */
async function withShortLimits<T>({ fastify }: ListeningServer, run: () => Promise<T>): Promise<T> {
  const { server } = fastify
  const { headersTimeout, requestTimeout } = server
  Object.assign(server, { headersTimeout: 1, requestTimeout: 2 })
  try {
    return await run()
  } finally {
    Object.assign(server, { headersTimeout, requestTimeout })
  }
}

/**
 * Sends bytes, and one more every 50 ms; resolves to what came back until the server closed the
 * connection.
 */
function drip(t: TestScope, port: number, first: string, more: string): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: '127.0.0.1' })
    t.teardown(() => socket.destroy())
    const chunks: Buffer[] = []
    const timer = setInterval(() => more !== '' && socket.write(more), 50)
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    // Writing to a connection that the server has just closed is what this is about.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearInterval(timer)
      resolve(String(Buffer.concat(chunks)))
    })
    socket.write(first)
  })
}

/** Opens a server and 200 connections that drip. */
async function startDrips(t: TestScope, first: string, more: string) {
  const server = await startOwnServer(t, addNotes, { fastify: LONG })
  let connections = 0
  server.fastify.server.on('connection', () => {
    connections += 1
  })
  const drips = Array.from({ length: 200 }, () => drip(t, server.port, first, more))
  await until(() => connections >= 200)
  return { server, drips }
}

const SLOW: Readonly<Record<string, readonly [first: string, more: string]>> = {
  'headers that drip end with 408, and nobody else waits (RES-12)': [
    'GET /notes/1 HTTP/1.1\r\nHost: a\r\nX-A: ',
    'a',
  ],
  'a body that drips ends with 408, and nobody else waits (RES-13)': [
    'POST /notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{',
    ' ',
  ],
}

for (const [title, [first, more]] of Object.entries(SLOW)) {
  t.test(title, async (t) => {
    const { server, drips } = await startDrips(t, first, more)
    t.equal((await server.request('/notes/1')).status, 200)
    for (const text of await withShortLimits(server, () => Promise.all(drips))) {
      if (!/^HTTP\/1.1 408[\s\S]*"code":408/.test(text)) t.fail(text)
    }
  })
}

t.test('limits that Node does not keep are refused (RES-14)', (t) => {
  const wrong: FastifyAppOptions[] = [
    { requestTimeout: 0 },
    { headersTimeout: 0 },
    { requestTimeout: 5_000 },
    { requestTimeout: 20_000, headersTimeout: 20_001 },
    { http: { headersTimeout: 60_000 } } as FastifyAppOptions,
  ]
  for (const options of wrong) {
    t.throws(() => fastifyApp(createApp(), options), /headersTimeout .* requestTimeout/)
  }
  const { server } = fastifyApp(createApp(), { requestTimeout: 20_000 })
  t.strictSame([server.headersTimeout, server.requestTimeout], [10_000, 20_000])
  // More than what Node has by default.
  const long = { requestTimeout: 600_000, headersTimeout: 600_000 }
  t.match(fastifyApp(createApp(), long).server, long)
  t.end()
})

t.test('connections that send nothing are closed (RES-15)', async (t) => {
  const { server, drips } = await startDrips(t, '', '')
  await withShortLimits(server, () => Promise.all(drips))
  t.equal((await server.request('/notes/1')).status, 200)
})

/** Opens a connection that asks for something and reads nothing of the answer. */
function openWithoutReading(t: TestScope, port: number, path: string): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.pause()
  socket.on('error', () => socket.destroy())
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
  t.teardown(() => socket.destroy())
  return socket
}

t.test('a client that never reads is cut off; little is kept (RES-16, FST-5, STR-1)', async (t) => {
  const chunk = Buffer.alloc(65_536)
  const chunks = 4_000
  const produced = { node: 0, web: 0 }
  const isClosed = { node: false, web: false }
  const sources: Readonly<Record<'node' | 'web', () => unknown>> = {
    node: () => {
      const stream = new PassThrough()
      const fill = (): void => {
        while (produced.node++ < chunks) if (!stream.write(chunk)) return
        stream.end()
      }
      stream.on('drain', fill).on('close', () => {
        isClosed.node = true
      })
      fill()
      return stream
    },
    web: () =>
      new ReadableStream({
        pull(controller) {
          if (produced.web++ < chunks) controller.enqueue(chunk)
          else controller.close()
        },
        cancel() {
          isClosed.web = true
        },
      }),
  }
  const server = await startOwnServer(t, { fastify: { writeTimeoutMs: 800 } }, (app) => {
    app.use('streams', { get: async (id: string) => sources[id as 'node' | 'web']() })
  })
  openWithoutReading(t, server.port, '/streams/node')
  openWithoutReading(t, server.port, '/streams/web')
  await until(() => isClosed.node && isClosed.web)
  for (const [kind, count] of Object.entries(produced)) {
    t.ok(count < chunks / 4, `${kind}: ${count} chunks of 64 kB`)
  }
  t.equal((await server.request('/host')).status, 200)
})
