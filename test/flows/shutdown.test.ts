import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import type { ClientHttp2Session } from 'node:http2'
import { connect as connectHttp2 } from 'node:http2'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { FastifyApplication, FastifyAppOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { createCertificate } from '../support/certificate.ts'
import type { TestScope } from '../support/http.ts'

const PROGRAM = fileURLToPath(new URL('../support/slow-server.js', import.meta.url))

interface Program {
  readonly child: ChildProcessWithoutNullStreams
  readonly port: number
  /** Everything that it has written so far. */
  output(): string
  /** Sends SIGTERM; resolves to the exit code and the time that it took. */
  end(): Promise<{ code: number | null; ms: number }>
}

/** Starts the slow server in a process of its own. */
async function startProgram(t: TestScope, options: object): Promise<Program> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)])
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => {
      output += text
    })
  }
  await once(child.stdout, 'data')
  return {
    child,
    port: Number.parseInt(output, 10),
    output: () => output,
    async end() {
      const from = performance.now()
      child.kill('SIGTERM')
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, ms: performance.now() - from }
    },
  }
}

interface Answer {
  readonly status: number
  readonly connection: string | undefined
  readonly text: string
}

function request(port: number, path: string, agent: Agent | false = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = get({ port, path, agent, host: '127.0.0.1' })
    sent.on('error', reject).on('response', async (response) => {
      const text = Buffer.concat(await response.toArray()).toString()
      resolve({ status: response.statusCode ?? 0, connection: response.headers.connection, text })
    })
  })
}

const slow = { get: async (id: string) => delay(Number(id), { id }) }

/** Opens an application in this process. */
async function listen(
  t: TestScope,
  options: FastifyAppOptions = {},
  configure: (app: FastifyApplication) => unknown = () => undefined,
): Promise<{ app: FastifyApplication; port: number; logged: object[] }> {
  const app = fastifyApp(createApp(), options).configure(rest())
  const logged: object[] = []
  const log = (details: object): unknown => logged.push(details)
  app.logger = { error: log, warn: log, info: log }
  app.use('slow', slow)
  configure(app)
  const { port } = (await app.listen(0)).address() as { port: number }
  // One test cuts requests off: closing rejects then, again.
  t.teardown(() => app.fastify.close())
  return { app, port, logged }
}

/** Opens a connection that stays open; resolves to it once it has sent something, if there is any. */
async function openSocket(t: TestScope, port: number, bytes = ''): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  socket.on('error', () => socket.destroy())
  await once(socket, 'connect')
  if (bytes !== '') {
    socket.write(bytes)
    await once(socket, 'data')
  }
  return socket
}

const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'

t.test('SHUT-1: answers 200 requests in flight after SIGTERM, and exits with 0', async (t) => {
  const program = await startProgram(t, { slowMs: 1_000 })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const answers = Array.from({ length: 200 }, (_, id) =>
    request(program.port, `/slow/${id}`, agent),
  )
  await delay(500)
  const { code, ms } = await program.end()
  t.equal(code, 0)
  t.ok(ms <= 3_000, `${ms} ms`)
  const all = await Promise.all(answers)
  const outcomes = new Set(all.map(({ status, connection }) => `${status} ${connection}`))
  t.strictSame([...outcomes], ['200 close'])
  t.match(program.output(), /torn down/)
})

t.test('SHUT-2: new work is refused while the rest is answered', async (t) => {
  const { app, port } = await listen(t)
  const first = 'GET /slow/300 HTTP/1.1\r\nHost: a\r\n\r\n'
  const socket = connect({ port, host: '127.0.0.1' })
  const ended = once(socket, 'close')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.write(first)
  await delay(50)
  const closed = app.close()
  await delay(50)
  // Pipelined behind the one in flight, on a connection that is still open.
  socket.write('GET /slow/1 HTTP/1.1\r\nHost: a\r\n\r\n')
  await t.rejects(request(port, '/slow/1'), { code: 'ECONNREFUSED' })
  await Promise.all([closed, ended])
  const statuses = [...received.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)
  t.equal(statuses[0], '200')
  t.match(received, /connection: close/i)
  if (statuses.length > 1) t.match(received, /HTTP\/1.1 503[\s\S]*"code":503/)
})

t.test('SHUT-3: idle connections are closed at once, also those that never asked', async (t) => {
  const { app, port } = await listen(t)
  const idle = await Promise.all(Array.from({ length: 300 }, () => openSocket(t, port, LIVE)))
  const silent = await Promise.all(Array.from({ length: 50 }, () => openSocket(t, port)))
  const partial = await openSocket(t, port)
  partial.write('GET /health/live HTTP/1.1\r\nHost: ')
  await delay(20)
  const from = performance.now()
  await app.close()
  t.ok(performance.now() - from < 1_000)
  await delay(50)
  t.ok([...idle, ...silent, partial].every(({ destroyed, closed }) => destroyed || closed))
})

t.test('SHUT-4: a request that never ends is cut off, and the log says which', async (t) => {
  const { app, port, logged } = await listen(t, { closeTimeoutMs: 200 }, (app) =>
    app.use('stuck', { get: () => new Promise(() => undefined) }),
  )
  const stuck = request(port, '/stuck/1?access_token=secret').catch((error: unknown) => error)
  await delay(50)
  const from = performance.now()
  await t.rejects(app.close(), {
    name: 'Unavailable',
    message: '1 requests in flight were cut off',
  })
  t.ok(performance.now() - from < 1_500)
  t.match(await stuck, { code: 'ECONNRESET' })
  t.match(logged, [{ requests: ['GET /stuck/1?access_token=[redacted]'] }])
})

t.test('SHUT-4: a program that had to cut something off exits with 1', async (t) => {
  const program = await startProgram(t, { slowMs: 1, closeTimeoutMs: 200 })
  const stuck = request(program.port, '/stuck/1').catch((error: unknown) => error)
  await delay(100)
  const { code } = await program.end()
  t.equal(code, 1)
  t.match(await stuck, { code: 'ECONNRESET' })
  t.match(program.output(), /GET \/stuck\/1[\s\S]*cut off/)
})

t.test(
  'SHUT-5: first the requests, then teardown in reverse order, then the database',
  async (t) => {
    const embedded = await startEmbeddedMongo()
    t.teardown(() => embedded.close())
    const client = new MongoClient(embedded.url)
    const steps: string[] = []
    let waiting = 0
    const wait = (): Promise<void> => {
      waiting += 1
      return delay(200)
    }
    const { app, port, logged } = await listen(t, {}, (app) => {
      app.fastify.addHook('onClose', async () => {
        steps.push('database')
        await client.close()
      })
      const people = new MongoDBService({ Model: client.db('a').collection('people') })
      app.use('people', people)
      app.service('people').hooks({ before: { create: [wait] } })
      app.service('people').on('created', () => steps.push('created'))
      for (const path of ['first', 'second']) {
        app.use(path, { ...slow, teardown: async () => steps.push(path) })
      }
    })
    const writes = Array.from({ length: 50 }, async (_, index) => {
      const response = await fetch(`http://127.0.0.1:${port}/people`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ index }),
      })
      return response.status
    })
    while (waiting < 50) await delay(5)
    await app.close()
    t.strictSame(
      steps.slice(0, 50),
      Array.from({ length: 50 }, () => 'created'),
    )
    t.strictSame(steps.slice(50), ['second', 'first', 'database'])
    t.strictSame([...new Set(await Promise.all(writes))], [201])
    t.strictSame(logged, [])
  },
)

t.test('SHUT-6: it is not ready some time before the port closes', async (t) => {
  const { app, port } = await listen(t, { closeDelayMs: 300 })
  const closed = app.close()
  await delay(50)
  t.equal((await request(port, '/health/ready')).status, 503)
  t.equal((await request(port, '/health/live')).status, 200)
  t.match(await request(port, '/slow/1'), { status: 200, connection: 'close' })
  const late = request(port, '/slow/400')
  await closed
  t.equal((await late).status, 200)
  await t.rejects(request(port, '/health/live'), { code: 'ECONNREFUSED' })
})

/** Opens a session of HTTP/2 that stays open, after one request. */
async function openSession(
  t: TestScope & { equal(found: unknown, wanted: unknown): unknown },
  url: string,
): Promise<ClientHttp2Session> {
  const session = connectHttp2(url, { rejectUnauthorized: false })
  t.teardown(() => session.destroy())
  session.on('error', () => session.destroy())
  t.equal(await requestStream(session, '/slow/1'), '{"id":"1"}')
  return session
}

/** Resolves to the body, `undefined` where the stream was cut off. */
async function requestStream(
  session: ClientHttp2Session,
  path: string,
): Promise<string | undefined> {
  const stream = session.request({ ':path': path })
  return stream.toArray().then(
    (chunks) => (chunks.length > 0 ? Buffer.concat(chunks).toString() : undefined),
    () => undefined,
  )
}

for (const protocol of ['http', 'https'] as const) {
  const name = protocol === 'http' ? 'HTTP/2' : 'HTTP/2 with TLS'
  t.test(
    `SHUT-3: idle sessions are closed at once, busy ones when they are done, ${name}`,
    async (t) => {
      const https = protocol === 'https' ? await createCertificate(t) : undefined
      if (https === null) {
        t.pass('needs openssl')
        return
      }
      const options = { http2: true, ...(https && { https }) } as FastifyAppOptions
      const { app, port, logged } = await listen(t, options)
      const url = `${protocol}://127.0.0.1:${port}`
      const [idle, busy] = [await openSession(t, url), await openSession(t, url)]
      const idleClosed = once(idle, 'close')
      const answer = requestStream(busy, '/slow/400')
      await delay(50)
      const from = performance.now()
      const closed = app.close()
      await idleClosed
      t.ok(performance.now() - from < 300)
      t.equal(await answer, '{"id":"400"}')
      await closed
      t.ok(performance.now() - from < 3_000)
      t.strictSame(logged, [])
    },
  )

  t.test(
    `SHUT-4: a stream that never ends is cut off, and the log says which, ${name}`,
    async (t) => {
      const https = protocol === 'https' ? await createCertificate(t) : undefined
      if (https === null) {
        t.pass('needs openssl')
        return
      }
      const options = { http2: true, closeTimeoutMs: 300, ...(https && { https }) }
      const { app, port, logged } = await listen(t, options as FastifyAppOptions, (app) =>
        app.use('stuck', { get: () => new Promise(() => undefined) }),
      )
      const session = await openSession(t, `${protocol}://127.0.0.1:${port}`)
      const streams = ['/stuck/1?token=secret', '/stuck/2'].map((path) =>
        requestStream(session, path),
      )
      await delay(50)
      await t.rejects(app.close(), { message: '2 requests in flight were cut off' })
      t.strictSame(await Promise.all(streams), [undefined, undefined])
      t.strictSame(logged, [{ requests: ['GET /stuck/1?token=[redacted]', 'GET /stuck/2'] }])
    },
  )
}
