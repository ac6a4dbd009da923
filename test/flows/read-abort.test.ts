import type { ClientRequest } from 'node:http'
import { request as sendRequest } from 'node:http'
import type { CommandStartedEvent } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'

import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { Hook, Params } from '../../src/core/index.ts'
import { stopTime } from '../support/clock.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { TestScope } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'

const POOL = 5
const CLIENTS = 100

/** A list that something is added to, and that can be waited for. */
class Log<T> {
  readonly items: T[] = []
  readonly #waiting: { readonly length: number; readonly resolve: () => void }[] = []

  add(item: T): void {
    this.items.push(item)
    for (const { length, resolve } of this.#waiting) if (this.items.length >= length) resolve()
  }

  /** Resolves when the list is so long. */
  reaches(length: number): Promise<void> {
    if (this.items.length >= length) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ length, resolve }))
  }
}

/** A database behind a line that can be made to hang, with all connections of a pool open. */
async function openDatabase(t: TestScope) {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startFaultProxy(t, embedded.url)
  const client = new MongoClient(proxy.url, {
    ...{ monitorCommands: true, minPoolSize: POOL, maxPoolSize: POOL },
  })
  t.teardown(() => {
    proxy.release()
    proxy.reset()
    return client.close()
  })
  const ready = new Log<string>()
  client.on('connectionReady', () => ready.add('ready'))
  const people = client.db('a').collection('people')
  await people.insertMany(Array.from({ length: 3 }, (_, age) => ({ age })))
  await ready.reaches(POOL)
  const commands = new Log<string>()
  const waiting = new Log<string>()
  const closed = new Log<string>()
  client.on('commandStarted', ({ commandName }: CommandStartedEvent) => commands.add(commandName))
  client.on('connectionCheckOutStarted', () => waiting.add('waiting'))
  client.on('connectionClosed', ({ reason }) => closed.add(reason))
  return { proxy, people, commands, waiting, closed }
}

function open(port: number, path: string): ClientRequest {
  const request = sendRequest({ port, host: '127.0.0.1', path })
  // Breaking it off is an error for the client, and what is wanted.
  request.on('error', () => request.destroy())
  return request.end()
}

/** Hooks that many applications have, each with a title. */
const COPIES: Readonly<Record<string, Hook[]>> = {
  'params as they come': [],
  'a copy of the params': [
    (context) => {
      context.params = { ...context.params, tenant: 'a' } as Params
    },
  ],
}

for (const [title, hooks] of Object.entries(COPIES)) {
  t.test(`clients that leave give their connections back, ${title} (ABORT-4)`, async (t) => {
    const { proxy, people, commands, waiting, closed } = await openDatabase(t)
    const failures = new Log<string | undefined>()
    const server = await startOwnServer(t, (app) => {
      app.use('people', new MongoDBService({ Model: people, paginate: { default: 2 } }))
      app.service('people').hooks({
        before: { all: hooks },
        error: { all: [({ error }) => failures.add((error as Error).message)] },
      })
    })
    proxy.hold()
    const requests = Array.from({ length: CLIENTS }, () => open(server.port, '/people'))
    await Promise.all([waiting.reaches(CLIENTS), commands.reaches(POOL)])
    for (const request of requests) request.destroy()
    await Promise.all([failures.reaches(CLIENTS), closed.reaches(POOL)])
    t.strictSame([...new Set(failures.items)], ['The client has gone'])
    t.equal(commands.items.length, POOL, 'who waited for a connection sends nothing any more')
    proxy.release()
    t.match(await server.request('/people'), { status: 200, body: { total: 3, limit: 2 } })
    const errors = server.logged.filter(({ details }) => 'err' in details)
    t.strictSame(errors, [], 'a client that leaves is no error of the server')
  })
}

t.test('a read that takes too long gives its connection back (ABORT-2)', async (t) => {
  const { proxy, people, commands, closed } = await openDatabase(t)
  const time = stopTime(t)
  const server = await startOwnServer(t, { handlerTimeoutMs: 100 }, (app) =>
    app.use('people', new MongoDBService({ Model: people })),
  )
  proxy.hold()
  const answer = server.request('/people')
  await commands.reaches(1)
  time.pass(200)
  const { status, body } = await answer
  t.match([status, body], [503, { message: 'No answer within 100 ms' }])
  await closed.reaches(1)
})

t.test('a signal that is handed on reaches each kind of read (ABORT-4)', async (t) => {
  const { proxy, people, commands } = await openDatabase(t)
  const service = new MongoDBService({ Model: people })
  const reads: ((signal: AbortSignal) => Promise<unknown>)[] = [
    (signal) => service.find({ signal }),
    (signal) => service.get('x', { signal }),
    (signal) => service.countDocuments({ signal }),
    (signal) => service.find({ docdb: { signal } }),
    (signal) => service.find({ signal, provider: 'rest' }),
  ]
  proxy.hold()
  for (const [index, read] of reads.entries()) {
    const controller = new AbortController()
    const reading = t.rejects(read(controller.signal), {
      name: 'BadRequest',
      message: 'The call was aborted',
    })
    await commands.reaches(index + 1)
    controller.abort()
    await reading
  }
  const cursor = await service.findRaw({ signal: AbortSignal.abort(new Error('gone')) })
  await t.rejects(cursor.toArray(), /gone/)
  t.equal(commands.items.length, reads.length)
})

t.test('a read that is called off before it begins sends no command', async (t) => {
  const { people, commands } = await openDatabase(t)
  const service = new MongoDBService({ Model: people })
  const signal = AbortSignal.abort()
  for (const params of [{ signal }, { signal, query: { $limit: 0 } }, { docdb: { signal } }]) {
    await t.rejects(service.find(params), { code: 400 })
    await t.rejects(service.get('x', params), { code: 400 })
  }
  t.strictSame(commands.items, [])
})

t.test('a read that is called off between two batches is no shorter list', async (t) => {
  const { people, commands } = await openDatabase(t)
  const service = new MongoDBService({ Model: people })
  const controller = new AbortController()
  const reading = t.rejects(service.find({ signal: controller.signal, docdb: { batchSize: 1 } }), {
    code: 400,
  })
  await commands.reaches(2)
  controller.abort()
  await reading
})

t.test('a write is not called off, nor are the reads that belong to it (ABORT-3)', async (t) => {
  const { people } = await openDatabase(t)
  const service = new MongoDBService({ Model: people, multi: true })
  const signal = AbortSignal.abort()
  const { _id } = await service.create({ age: 9 }, { signal })
  t.match(await service.patch(_id, { age: 10 }, { signal }), { age: 10 })
  t.match(await service.update(_id, { age: 11 }, { signal }), { age: 11 })
  t.match(await service.patch(null, { seen: true }, { signal }), { length: 4 })
  t.match(await service.remove(_id, { signal }), { age: 11 })
  t.match(await service.remove(null, { signal }), { length: 3 })
})
