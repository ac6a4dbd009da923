import { request as sendRequest } from 'node:http'
import { Readable } from 'node:stream'
import type { Test } from 'tap'
import t from 'tap'
import type { HookContext, Params } from '../../../src/core/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { stopTime } from '../../support/clock.ts'
import { Gate } from '../../support/gate.ts'
import { startApp } from '../../support/test-app.ts'
import { until } from '../../support/until.ts'
import { startSocketServer } from '../socketio/socket-server.ts'

const LIMIT_MS = 100

/** Opens streams, and counts those that are still open. */
class Streams {
  opened = 0
  closed = 0

  /** Whether exactly this many streams were opened, and all of them are closed. */
  readonly wereClosed = (count: number): boolean => this.opened === count && this.closed === count

  readonly close = (): void => {
    this.closed += 1
  }

  readonly node = (): Readable => {
    this.opened += 1
    return new Readable({ read: () => undefined }).once('close', this.close)
  }

  readonly web = (): ReadableStream => {
    this.opened += 1
    return new ReadableStream({ cancel: this.close })
  }

  readonly response = (): Response => new Response(this.web())
}

/** Makes a call whose method returns after the response, 503. */
async function returnLate(t: Test, open: () => object) {
  const time = stopTime(t)
  const gate = new Gate()
  const get = async () => {
    await gate.pass()
    return open()
  }
  const app = await startApp(t, { handlerTimeoutMs: LIMIT_MS, services: { reports: { get } } })
  const answered = app.request('/reports/1')
  await gate.arrivals(1)
  time.pass(2.2 * LIMIT_MS)
  t.match(await answered, { status: 503 })
  gate.open()
  return app
}

const KINDS = ['node', 'web', 'response'] as const

for (const kind of KINDS) {
  t.test(`closes a stream that is returned after the time limit: ${kind}`, async (t) => {
    const streams = new Streams()
    await returnLate(t, streams[kind])
    await until(() => streams.wereClosed(1))
  })

  t.test(`closes a stream if the call then fails: ${kind}`, async (t) => {
    const streams = new Streams()
    const service = { get: async () => streams[kind](), find: async () => streams[kind]() }
    const fail = (): void => {
      throw new Error('after')
    }
    const setStatus = ({ http }: HookContext): void => {
      http.status = 999
    }
    const app = await startApp(t, {
      plugins: [realtime()],
      services: {
        'failing-hook': service,
        status: service,
        function: [service, fail],
        events: service,
      },
      hooks: {
        'failing-hook': { after: { get: [fail] } },
        status: { after: { get: [setStatus] } },
      },
    })
    for (const [index, name] of ['failing-hook', 'status', 'function'].entries()) {
      t.match(await app.request(`/${name}/1`), { status: 500 })
      await until(() => streams.wereClosed(index + 1))
    }
    const headers = { accept: 'text/event-stream' }
    t.match(await app.request('/events', { headers }), { status: 406 })
    await until(() => streams.wereClosed(4))
  })

  t.test(`closes a stream if the client has it already: ${kind}`, async (t) => {
    const streams = new Streams()
    const setTag = ({ http }: HookContext): void => {
      http.etag = '"a"'
    }
    const app = await startApp(t, {
      services: { reports: { get: async () => streams[kind]() } },
      hooks: { reports: { after: { get: [setTag] } } },
    })
    const headers = { 'if-none-match': '"a"' }
    t.match(await app.request('/reports/1', { headers }), { status: 304 })
    await until(() => streams.wereClosed(1))
  })

  t.test(`closes a stream that cannot be sent over a socket: ${kind}`, async (t) => {
    const streams = new Streams()
    const { connect } = await startSocketServer(t, (app) => {
      app.use('reports', { get: async () => streams[kind]() })
    })
    const client = await connect()
    await t.rejects(client.call('get', 'reports', '1'), { code: 500 })
    await until(() => streams.wereClosed(1))
  })
}

t.test('an error in an unsent stream does not end the process', async (t) => {
  let hasFailed = false
  const construct = (done: (error: Error) => void): void => {
    setImmediate(() => {
      hasFailed = true
      done(new Error('There is no such file'))
    })
  }
  const app = await returnLate(t, () => new Readable({ construct, read: () => undefined }))
  await until(() => hasFailed)
  t.match(await app.request('/none'), { status: 404 })
})

t.test('logs no timeout for a call whose client has disconnected', async (t) => {
  const time = stopTime(t)
  const gate = new Gate()
  const streams = new Streams()
  let hasGone = false
  const get = async (_id: string, params: Params) => {
    const { signal } = params as Params & { signal: AbortSignal }
    signal.addEventListener('abort', () => {
      hasGone = true
    })
    await gate.pass()
    return streams.node()
  }
  const app = await startApp(t, { handlerTimeoutMs: LIMIT_MS, services: { reports: { get } } })
  const request = sendRequest(`${app.url}/reports/1`, { agent: false })
  request.on('error', () => undefined).end()
  await gate.arrivals(1)
  request.destroy()
  await until(() => hasGone)
  gate.open()
  await until(() => streams.wereClosed(1))
  time.pass(3 * LIMIT_MS)
  t.strictSame(app.logged, [])
})
