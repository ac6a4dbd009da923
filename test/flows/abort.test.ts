import type { ClientRequest } from 'node:http'
import { request as sendRequest } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { Params } from '../../src/transport/index.ts'
import { MODES, startServer } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'
import { startSlowProxy } from '../support/slow-proxy.ts'

type CallParams = Params & { readonly signal: AbortSignal }

/** Sends a request that the test will break off. */
function open(port: number, method: string, path: string, data?: object): ClientRequest {
  const body = data === undefined ? undefined : JSON.stringify(data)
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const request = sendRequest({ port, host: '127.0.0.1', method, path, headers })
  // Breaking it off is an error for the client, and what is wanted.
  request.on('error', () => request.destroy())
  return request.end(body)
}

for (const mode of MODES) {
  t.test(
    `ABORT-2: a call that takes too long answers 503 and is told to stop, ${mode}`,
    async (t) => {
      const seen: unknown[] = []
      const server = await startServer(t, mode, {
        handlerTimeoutMs: 300,
        services(app) {
          app.use('slow', {
            get: async (id: string, params: Params) => {
              const { signal } = params as CallParams
              signal.addEventListener('abort', () => seen.push((signal.reason as Error).name))
              await delay(900)
              return { id }
            },
            find: async (params: Params) => {
              await delay(400)
              seen.push((params as CallParams).signal.aborted)
            },
          })
        },
      })
      const from = performance.now()
      const { status, body, headers } = await server.request('/slow/1')
      const ms = performance.now() - from
      t.match([status, body], [503, { name: 'Unavailable', message: 'No answer within 300 ms' }])
      t.equal(headers['retry-after'], '1')
      t.ok(ms >= 290 && ms < 800, `${ms} ms`)
      t.strictSame(seen, ['Unavailable'])
      await delay(700)
      t.equal(server.logged.length, 1, 'the late result is discarded without a word')
      t.equal((await server.request('/slow')).status, 503)
      await delay(200)
      t.strictSame(seen, ['Unavailable', true], 'who asks late hears it too')
    },
  )

  t.test(`ABORT-2: a call that fails after its time is answered once, ${mode}`, async (t) => {
    const server = await startServer(t, mode, {
      handlerTimeoutMs: 50,
      services: (app) =>
        app.use('late', { get: () => delay(300).then(() => Promise.reject(new Error('late'))) }),
    })
    t.equal((await server.request('/late/1')).status, 503)
    await delay(400)
    t.equal(server.logged.length, 1)
  })

  t.test(
    `a client that leaves aborts the signal of a call, and only of its own, ${mode}`,
    async (t) => {
      const signals = new Map<string, AbortSignal>()
      const server = await startServer(t, mode, {
        services(app) {
          const keep = async (id: string, params: Params): Promise<object> => {
            signals.set(id, (params as CallParams).signal)
            return delay(250, { id })
          }
          app.use('kept', {
            get: keep,
            create: async (data: { id: string }, params: Params) => keep(data.id, params),
          })
        },
      })
      const leaving = [
        open(server.port, 'GET', `${server.prefix}/kept/get`),
        open(server.port, 'POST', `${server.prefix}/kept`, { id: 'post' }),
      ]
      const staying = [
        server.request('/kept/staying'),
        server.request('/kept', { data: { id: 'staying post' } }),
      ]
      await delay(100)
      t.strictSame(
        [...signals.values()].map(({ aborted }) => aborted),
        [false, false, false, false],
        'the end of a body aborts nothing',
      )
      for (const request of leaving) request.destroy()
      await delay(50)
      t.equal(signals.get('get')?.aborted, true)
      t.equal(signals.get('post')?.aborted, true)
      t.match(signals.get('post')?.reason, { message: 'The client has gone' })
      t.strictSame(
        (await Promise.all(staying)).map(({ status }) => status),
        [200, 201],
      )
      await delay(20)
      t.equal(signals.get('staying')?.aborted, false)
      t.equal(signals.get('staying post')?.aborted, false)
      t.strictSame(server.logged, [], 'a client that leaves is no error of the server')
    },
  )
}

t.test('ABORT-3: a write on the wire is never called off; its outcome decides', async (t) => {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startSlowProxy(t, Number(new URL(embedded.url).port))
  const client = new MongoClient(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`, {
    monitorCommands: true,
  })
  t.teardown(() => client.close())
  await client.connect()
  const outcomes: string[] = []
  client.on('commandSucceeded', ({ commandName }) => outcomes.push(commandName))
  const people = client.db('a').collection<{ _id: number; name: string }>('people')
  await people.insertMany([1, 2, 3].map((_id) => ({ _id, name: 'old' })))
  const done: string[] = []
  const server = await startOwnServer(
    t,
    (app) => {
      app.use('people', new MongoDBService({ Model: people, allowClientId: true }))
      const service = app.service('people')
      service.hooks({
        before: {
          all: [(context) => void (context.params as CallParams).signal.aborted],
        },
        after: { all: [({ method }) => void done.push(`after ${method}`)] },
      })
      for (const event of ['created', 'patched', 'removed']) {
        service.on(event, () => done.push(event))
      }
    },
    { handlerTimeoutMs: 150 },
  )
  proxy.delayMs = 250
  outcomes.length = 0
  const leaving = open(server.port, 'POST', '/people', { _id: 9, name: 'new' })
  await delay(80)
  leaving.destroy()
  // The time limit calls off the answer to the second, and not the write behind it.
  const late = await server.request('/people', { data: { _id: 10, name: 'new' } })
  t.equal(late.status, 503)
  await delay(500)
  proxy.delayMs = 0
  t.strictSame(done, ['after create', 'created', 'after create', 'created'])
  t.strictSame(outcomes, ['insert', 'insert'])
  t.equal(await people.countDocuments({ name: 'new' }), 2)
})

t.test('ABORT-4: handed on, the signal reaches the calls inside a call', async (t) => {
  const aborted: string[] = []
  const server = await startOwnServer(t, (app) => {
    const listen = (name: string, params: Params): void => {
      const { signal } = params as CallParams
      signal.addEventListener('abort', () => aborted.push(name))
    }
    app.use('inner', {
      get: async (_id: string, params: Params) => {
        listen('inner', params)
        await delay(400)
        return {}
      },
    })
    app.use('outer', {
      get: async (id: string, params: Params) => {
        const { signal } = params as CallParams
        listen('outer', params)
        await app.service('inner').get(id, { signal } as Params)
        return {}
      },
    })
    app.use('direct', {
      get: async (id: string, params: Params) => app.service('inner').get(id, params),
    })
  })
  const requests = ['/outer/1', '/direct/1'].map((path) => open(server.port, 'GET', path))
  await delay(100)
  for (const request of requests) request.destroy()
  await delay(100)
  t.strictSame(aborted.sort(), ['inner', 'inner', 'outer'])
})

/** Sends a piece every 20 ms, and fails at the given one. */
async function* sendPieces(failsAt: number, onEnd: () => unknown): AsyncGenerator<string> {
  try {
    for (let piece = 0; piece < 50; piece += 1) {
      if (piece === failsAt) throw new Error('the cursor is gone')
      yield `piece ${piece}\n`
      await delay(20)
    }
  } finally {
    onEnd()
  }
}

t.test('STR-2: a stream that fails breaks the answer off, and is logged', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.use('pieces', { find: async () => Readable.from(sendPieces(3, () => undefined)) })
  })
  const response = await fetch(`${server.url}/pieces`)
  t.equal(response.status, 200)
  await t.rejects(response.text(), TypeError)
  await delay(20)
  t.match(server.logged, [{ message: 'An answer broke off', details: { err: Error } }])
})

t.test('STR-3: a client that leaves in the middle ends the stream within a second', async (t) => {
  let endedAt = 0
  const server = await startOwnServer(t, (app) => {
    const end = (): unknown => {
      endedAt = performance.now()
      return endedAt
    }
    app.use('pieces', { find: async () => Readable.from(sendPieces(-1, end)) })
  })
  const request = open(server.port, 'GET', '/pieces')
  await delay(100)
  const leftAt = performance.now()
  request.destroy()
  while (endedAt === 0 && performance.now() - leftAt < 1_000) await delay(10)
  t.ok(endedAt > 0)
  t.strictSame(server.logged, [])
})
