import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { FastifyApplication, FastifyAppOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { holdTimers } from '../support/clock.ts'
import { Gate } from '../support/gate.ts'
import type { TestScope } from '../support/http.ts'
import { until } from '../support/until.ts'

/** For what is not to be ended by a time limit: a test that waited for one would never end. */
const NEVER_MS = 2 ** 31 - 1

const PROGRAM = fileURLToPath(new URL('../support/slow-server.js', import.meta.url))

interface Program {
  readonly child: ChildProcessWithoutNullStreams
  readonly port: number
  /** Everything that it has written so far. */
  output(): string
  /** Resolves when so many calls have arrived. */
  arrivals(count: number): Promise<void>
  /** Sends SIGTERM; resolves to the exit code. */
  end(): Promise<number | null>
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
    arrivals: (count) => until(() => (output.match(/^arrived/gm) ?? []).length >= count),
    async end() {
      child.kill('SIGTERM')
      const [code] = (await once(child, 'close')) as [number | null]
      return code
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

/** Opens an application in this process. */
async function listen(
  t: TestScope,
  options: FastifyAppOptions = {},
  configure: (app: FastifyApplication) => unknown = () => undefined,
): Promise<{ app: FastifyApplication; port: number; logged: object[]; gate: Gate }> {
  const app = fastifyApp(createApp(), { closeTimeoutMs: NEVER_MS, ...options }).configure(rest())
  const gate = new Gate()
  const logged: object[] = []
  const log = (details: object): unknown => logged.push(details)
  app.logger = { error: log, warn: log, info: log }
  app.use('slow', { get: async (id: string) => gate.pass({ id }) })
  configure(app)
  const { port } = (await app.listen(0)).address() as { port: number }
  // One test cuts requests off: closing rejects then, again.
  t.teardown(() => app.fastify.close())
  return { app, port, logged, gate }
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

t.test('answers 200 requests in flight after SIGTERM, and exits with 0 (SHUT-1)', async (t) => {
  const program = await startProgram(t, { closeTimeoutMs: NEVER_MS })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const answers = Array.from({ length: 200 }, (_, id) =>
    request(program.port, `/slow/${id}`, agent),
  )
  await program.arrivals(200)
  t.equal(await program.end(), 0)
  const all = await Promise.all(answers)
  const outcomes = new Set(all.map(({ status, connection }) => `${status} ${connection}`))
  t.strictSame([...outcomes], ['200 close'])
  t.match(program.output(), /torn down/)
})

t.test('new work is refused while the rest is answered (SHUT-2)', async (t) => {
  const { app, port, gate } = await listen(t)
  let requests = 0
  app.server.on('request', () => {
    requests += 1
  })
  const first = 'GET /slow/1 HTTP/1.1\r\nHost: a\r\n\r\n'
  const socket = connect({ port, host: '127.0.0.1' })
  const ended = once(socket, 'close')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.write(first)
  await gate.arrivals(1)
  const closed = app.close()
  await until(() => !app.server.listening)
  // Pipelined behind the one in flight, on a connection that is still open.
  socket.write('GET /slow/2 HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => requests >= 2)
  await t.rejects(request(port, '/slow/3'), { code: 'ECONNREFUSED' })
  gate.open()
  await Promise.all([closed, ended])
  const statuses = [...received.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)
  t.equal(statuses[0], '200')
  t.match(received, /connection: close/i)
  if (statuses.length > 1) t.match(received, /HTTP\/1.1 503[\s\S]*"code":503/)
  t.equal(gate.arrived, 1, 'the second reaches no service')
})

t.test('idle connections are closed, also those that never asked (SHUT-3)', async (t) => {
  // Nothing else would close them.
  const limits = { keepAliveTimeout: NEVER_MS, headersTimeout: 300_000, requestTimeout: 600_000 }
  const { app, port } = await listen(t, limits)
  const idle = await Promise.all(Array.from({ length: 300 }, () => openSocket(t, port, LIVE)))
  const silent = await Promise.all(Array.from({ length: 50 }, () => openSocket(t, port)))
  const partial = await openSocket(t, port)
  partial.write('GET /health/live HTTP/1.1\r\nHost: ')
  await app.close()
  await until(() => [...idle, ...silent, partial].every(({ closed }) => closed))
  t.pass('they are')
})

t.test('a request that never ends is cut off, and the log says which (SHUT-4)', async (t) => {
  const { app, port, logged, gate } = await listen(t, { closeTimeoutMs: 200 })
  const stuck = request(port, '/slow/1?access_token=secret').catch((error: unknown) => error)
  await gate.arrivals(1)
  await t.rejects(app.close(), {
    name: 'Unavailable',
    message: '1 requests in flight were cut off',
  })
  t.match(await stuck, { code: 'ECONNRESET' })
  t.match(logged, [{ requests: ['GET /slow/1?access_token=[redacted]'] }])
})

t.test('a program that had to cut something off exits with 1 (SHUT-4)', async (t) => {
  const program = await startProgram(t, { closeTimeoutMs: 200 })
  const stuck = request(program.port, '/stuck/1').catch((error: unknown) => error)
  await program.arrivals(1)
  t.equal(await program.end(), 1)
  t.match(await stuck, { code: 'ECONNRESET' })
  t.match(program.output(), /GET \/stuck\/1[\s\S]*cut off/)
})

t.test('first the requests, then teardown in reverse, then the database (SHUT-5)', async (t) => {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const client = new MongoClient(embedded.url)
  const steps: string[] = []
  const waiting = new Gate()
  const { app, port, logged } = await listen(t, {}, (app) => {
    app.fastify.addHook('onClose', async () => {
      steps.push('database')
      await client.close()
    })
    const people = new MongoDBService({ Model: client.db('a').collection('people') })
    app.use('people', people, { methods: ['create'] })
    app.service('people').hooks({ before: { create: [() => waiting.pass()] } })
    app.service('people').on('created', () => steps.push('created'))
    for (const path of ['first', 'second']) {
      app.use(path, { get: async () => ({}), teardown: async () => steps.push(path) })
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
  await waiting.arrivals(50)
  const closed = app.close()
  await until(() => !app.server.listening)
  waiting.open()
  await closed
  t.strictSame(
    steps.slice(0, 50),
    Array.from({ length: 50 }, () => 'created'),
  )
  t.strictSame(steps.slice(50), ['second', 'first', 'database'])
  t.strictSame([...new Set(await Promise.all(writes))], [201])
  t.strictSame(logged, [])
})

t.test('it is not ready some time before the port closes (SHUT-6)', async (t) => {
  const closeDelayMs = 300_001
  const timers = holdTimers(t, closeDelayMs)
  const { app, port, gate, logged } = await listen(t, { closeDelayMs })
  const closed = app.close()
  await until(() => timers.size === 1)
  t.equal((await request(port, '/health/ready')).status, 503)
  t.strictSame(logged, [], 'nobody is warned of what is meant')
  t.equal((await request(port, '/health/live')).status, 200)
  const slow = request(port, '/slow/1')
  await gate.arrivals(1)
  t.ok(app.server.listening)
  timers.fire()
  await until(() => !app.server.listening)
  await t.rejects(request(port, '/health/live'), { code: 'ECONNREFUSED' })
  gate.open()
  t.match(await slow, { status: 200, connection: 'close' })
  await closed
})
