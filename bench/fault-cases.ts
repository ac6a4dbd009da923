import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Document, MongoClientOptions } from 'mongodb'

import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'
import type { FaultProxy } from '../test/support/fault-proxy.ts'
import { startFaultProxy } from '../test/support/fault-proxy.ts'
import { failTimes, runAll, startScriptedServer } from '../test/support/scripted-server.ts'

/** What came of a fault: a time, or a number of calls. */
export interface Outcome {
  readonly measured: number
  /** The most that is allowed, `null` for information. */
  readonly most: number | null
  readonly unit: 's' | 'ms' | 'MB' | 'calls'
  /** More about what happened, for the table. */
  readonly note?: string
}

interface FaultCase {
  readonly row: string
  readonly what: string
  run(): Promise<readonly Outcome[]>
}

/** Closes all that a case opens. */
class Scope {
  readonly #closers: (() => unknown)[] = []

  teardown(close: () => unknown): void {
    this.#closers.unshift(close)
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close()
  }
}

interface Running {
  readonly proxy: FaultProxy
  /** Sends a request. Resolves to its status and the seconds that it took. */
  send(method?: string, path?: string): Promise<{ status: number; seconds: number }>
}

interface CaseOptions {
  readonly client?: MongoClientOptions
  readonly handlerTimeoutMs?: number
  /** The server behind the proxy, in the place of an embedded one. */
  readonly url?: string
}

async function start(scope: Scope, options: CaseOptions = {}): Promise<Running> {
  const { client: clientOptions = {}, handlerTimeoutMs = 30_000 } = options
  const embedded = options.url === undefined ? await startEmbeddedMongo() : null
  scope.teardown(() => embedded?.close())
  const proxy = await startFaultProxy(scope, options.url ?? embedded?.url ?? '')
  const client = await connectMongoDB(proxy.url, clientOptions)
  scope.teardown(() => client.close())
  const Model = client.db('bench').collection('notes')
  const app = fastifyApp(createApp()).configure(rest({ handlerTimeoutMs }))
  app.use('notes', new MongoDBService({ Model, paginate: { default: 1 } }))
  app.logger = { error: ignore, warn: ignore, info: ignore }
  await app.listen({ port: 0, host: '127.0.0.1' })
  scope.teardown(() => app.close())
  const { port } = app.server.address() as { port: number }
  const agent = new Agent({ keepAlive: true })
  scope.teardown(() => agent.destroy())
  const send: Running['send'] = async (method = 'GET', path = '') => {
    const from = performance.now()
    const status = await sendTo(port, agent, method, `/notes${path}`)
    return { status, seconds: (performance.now() - from) / 1000 }
  }
  // Opens the connections that later ones use.
  await Promise.all(Array.from({ length: 10 }, () => send()))
  return { proxy, send }
}

const ignore = (): void => undefined

/** Resolves to the status of an answer that has been read. */
async function sendTo(port: number, agent: Agent, method: string, path: string): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const sent = request({ host: '127.0.0.1', port, agent, method, path, headers })
  sent.end(method === 'POST' || method === 'PATCH' ? '{"n":1}' : undefined)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
  return response.statusCode ?? 0
}

/** Runs a case in a scope of its own. */
function inScope(run: (scope: Scope) => Promise<readonly Outcome[]>): FaultCase['run'] {
  return async () => {
    const scope = new Scope()
    try {
      return await run(scope)
    } finally {
      await scope.close()
    }
  }
}

const ID = '/64b7f0a1c2d3e4f5a6b7c8d9'
const METHODS = [['GET'], ['GET', ID], ['POST'], ['PATCH', ID], ['DELETE', ID]] as const

/** Sends a request of each method at once. Returns the longest time; none may be served. */
async function sendAll({ send }: Running, most: number): Promise<Outcome[]> {
  const answers = await Promise.all(METHODS.map(([method, path]) => send(method, path)))
  const wrong = answers.filter(({ status }) => status !== 503).length
  const measured = Math.max(...answers.map(({ seconds }) => seconds))
  return [
    { measured, most, unit: 's' },
    { measured: wrong, most: 0, unit: 'calls', note: ': answers that are no 503' },
  ]
}

/** Resolves to the seconds until a call is served again. */
async function untilServed({ send }: Running): Promise<number> {
  const from = performance.now()
  while ((await send()).status !== 200) await delay(20)
  return (performance.now() - from) / 1000
}

export const FAULT_CASES: readonly FaultCase[] = [
  {
    row: 'DB-3',
    what: 'the server takes commands and never answers',
    run: inScope(async (scope) => {
      const running = await start(scope)
      running.proxy.hold()
      return sendAll(running, 3.5)
    }),
  },
  {
    row: 'DB-4',
    what: 'each reply comes 2 s late, a call may take 1 s',
    run: inScope(async (scope) => {
      const running = await start(scope, { handlerTimeoutMs: 1_000 })
      running.proxy.slowDown((pass) => setTimeout(pass, 2_000))
      return sendAll(running, 1.2)
    }),
  },
  {
    row: 'DB-5',
    what: 'for 10 s all bytes are lost; time until the next call is served',
    run: inScope(async (scope) => {
      const running = await start(scope)
      running.proxy.swallow()
      const calls = running.send()
      await delay(10_000)
      await calls
      running.proxy.mend()
      return [{ measured: await untilServed(running), most: 2, unit: 's' }]
    }),
  },
  {
    row: 'DB-6',
    what: 'a find hangs, a socket may wait 1 s',
    run: inScope(async (scope) => {
      let isHanging = false
      const url = await startScriptedServer(scope, (name, command, run) =>
        isHanging && name === 'find' ? new Promise(() => undefined) : runAll(name, command, run),
      )
      const running = await start(scope, { url, client: { socketTimeoutMS: 1_000 } })
      isHanging = true
      const { seconds } = await running.send()
      return [{ measured: seconds, most: 2.5, unit: 's' }]
    }),
  },
  ...[10107, 11600, 91].map((code) => ({
    row: 'DB-9',
    what: `the primary goes (${code}) during a create`,
    run: inScope(async (scope) => {
      const error: Document = { code, errmsg: 'gone', errorLabels: ['RetryableWriteError'] }
      const url = await startScriptedServer(scope, failTimes(1, 'insert', error))
      const { send } = await start(scope, { url })
      const { status, seconds } = await send('POST')
      return [{ measured: seconds, most: 1.5, unit: 's' as const, note: `: ${status}` }]
    }),
  })),
  {
    row: 'DB-19',
    what: '200 calls/s, half of the connections break each second, for 10 s',
    run: inScope(async (scope) => {
      const { proxy, send } = await start(scope, { handlerTimeoutMs: 5_000 })
      const before = toHeap()
      const calls: Promise<number>[] = []
      let broken = 0
      for (let tick = 0; tick < 200; tick += 1) {
        if (tick % 20 === 10)
          broken += proxy.reset(({ names }, index) => names.has('find') && index % 2 === 0)
        for (const method of Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? 'POST' : 'GET'))) {
          calls.push(send(method).then(({ status }) => status))
        }
        await delay(50)
      }
      const failed = (await Promise.all(calls)).filter((status) => status >= 400).length
      const growth = (toHeap() - before) / 2 ** 20
      return [
        { measured: failed, most: broken - 1, unit: 'calls', note: `: failed of ${calls.length}` },
        { measured: growth, most: 10, unit: 'MB', note: ': growth of the heap' },
      ]
    }),
  },
]

function toHeap(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
