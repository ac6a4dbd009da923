import { createRequire } from 'node:module'
import { PassThrough, Readable } from 'node:stream'
import feathersPackage from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import type { BatchClientOptions } from 'feathers-batch'
import { BatchService } from 'feathers-batch'
import blobService from 'feathers-blob'
import type Mailer from 'feathers-mailer'
import t from 'tap'

import { protect } from '../../src/auth/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { Application, FastifyApplication } from '../../src/transport/index.ts'
import { createApp, NotFound } from '../../src/transport/index.ts'
import { startServer } from '../support/http.ts'
import { until } from '../support/until.ts'
import { startSocketServer } from '../transport/socketio/socket-server.ts'

// Packages of CommonJS whose types are those of a module with a default export, or that have none.
const require = createRequire(import.meta.url)
const { batchClient } = require('feathers-batch/client') as {
  batchClient(options: BatchClientOptions): (app: object) => void
}
const mailer = require('feathers-mailer') as typeof Mailer.default
const { core } = require('feathers-sync') as { core(app: object): void }

t.test('feathers-mailer: a service that sends mails', async (t) => {
  const { request, app } = await startServer(t, 'standalone', {
    services: (app) => {
      const transport = { jsonTransport: true }
      app.use('mailer', mailer(transport as object, { from: 'us@example.org' } as object))
    },
  })
  const mail = { to: 'ada@example.org', subject: 'Welcome', text: 'Hello' }
  t.match(await request('/mailer', { method: 'POST', data: mail }), {
    status: 201,
    body: { envelope: { from: 'us@example.org', to: ['ada@example.org'] } },
  })
  t.match(await app.service('mailer').create(mail), { message: /"subject":"Welcome"/ })
})

/** Blobs in memory, in the form of `abstract-blob-store`. */
function createBlobs() {
  const blobs = new Map<string, Buffer>()
  return {
    createReadStream: ({ key }: { key: string }) => {
      const blob = blobs.get(key)
      return blob === undefined
        ? new PassThrough().destroy(new NotFound(key))
        : Readable.from([blob])
    },
    createWriteStream: ({ key }: { key: string }, done: (error: null) => void) => {
      const chunks: Buffer[] = []
      return new PassThrough()
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          blobs.set(key, Buffer.concat(chunks))
          done(null)
        })
    },
    remove: ({ key }: { key: string }, done: (error: null) => void) => {
      blobs.delete(key)
      done(null)
    },
  }
}

t.test('feathers-blob: a service that keeps blobs', async (t) => {
  const { request } = await startServer(t, 'standalone', {
    services: (app) => app.use('blobs', blobService({ Model: createBlobs() as never })),
  })
  const data = { uri: 'data:text/plain;base64,aGVsbG8=', id: 'hello.txt' }
  const created = await request('/blobs', { method: 'POST', data })
  t.match(created, { status: 201, body: { id: 'hello.txt', size: 5 } })
  t.match(await request('/blobs/hello.txt'), { status: 200, body: { uri: data.uri, size: 5 } })
  t.match(await request('/blobs/hello.txt', { method: 'DELETE' }), { status: 200 })
  t.match(await request('/blobs/hello.txt'), { status: 404 })
})

const WORDS = ['one', 'two']

function addWords(app: Application): void {
  app.use('words', {
    find: async () => WORDS,
    get: async (id) => {
      if (WORDS[Number(id)] === undefined) throw new NotFound(`No word ${id}`)
      return { word: WORDS[Number(id)] }
    },
    create: async (data) => data,
  })
}

t.test('feathers-batch: many calls in one request, from both kinds of clients', async (t) => {
  const { request, url } = await startServer(t, 'standalone', {
    services: (app) => {
      addWords(app)
      app.use('batch', new BatchService(app as FastifyApplication))
    },
  })
  const calls = [
    ['get', 'words', 1],
    ['get', 'words', 7],
    ['find', 'nowhere'],
    ['_get', 'words', 1],
  ]
  t.match((await request('/batch', { method: 'POST', data: { calls } })).body, [
    { status: 'fulfilled', value: { word: 'two' } },
    { status: 'rejected', reason: { code: 404, className: 'not-found' } },
    { status: 'rejected', reason: { code: 404 } },
    { status: 'rejected', reason: { code: 400 } },
  ])

  const own = createClient({ baseURL: url })
  const official = feathersPackage.feathers().configure(restClient.default(url).fetch(fetch))
  for (const client of [own, official as unknown as typeof own]) {
    const paths: string[] = []
    client.service('batch').hooks({ before: { create: ({ path }) => void paths.push(path) } })
    client.configure(batchClient({ batchService: 'batch' }))
    const words = client.service('words')
    const results = await Promise.allSettled([words.get(0), words.create({ a: 1 }), words.get(9)])
    t.match(results, [{ value: { word: 'one' } }, { value: { a: 1 } }, { reason: { code: 404 } }])
    t.strictSame(paths, ['batch'])
  }
})

/** Returns a plug-in that connects applications, as the package has adapters written for other queues than its own. */
function createQueue(subscribers: ((data: string) => void)[]) {
  return (app: Application): void => {
    app.configure(core)
    Object.assign(app, { sync: { serialize: JSON.stringify, deserialize: JSON.parse } })
    app.on('sync-out', (data: string) => subscribers.map((notify) => notify(data)))
    subscribers.push((data) => app.emit('sync-in', data))
  }
}

t.test('feathers-sync: events of one application are heard in another', async (t) => {
  const subscribers: ((data: string) => void)[] = []
  const queue = createQueue(subscribers)
  const heard: unknown[] = []
  const apps = ['a', 'b'].map((name) => {
    const app = createApp().configure(queue)
    app.use('words', { create: async (data) => data }, { events: ['spoken'] })
    for (const event of ['created', 'spoken']) {
      app.service('words').on(event, (data: unknown) => void heard.push([name, event, data]))
    }
    return app
  })
  await apps[0]?.service('words').create({ text: 'hi' })
  apps[1]?.service('words').emit('spoken', 'aloud')
  t.strictSame(heard, [
    ['a', 'created', { text: 'hi' }],
    ['b', 'created', { text: 'hi' }],
    ['a', 'spoken', 'aloud'],
    ['b', 'spoken', 'aloud'],
  ])
})

t.test('feathers-sync: what one process writes, another publishes over Socket.IO', async (t) => {
  const subscribers: ((data: string) => void)[] = []
  const start = async () => {
    const { app, connect } = await startSocketServer(t, (app) => {
      createQueue(subscribers)(app as unknown as Application)
      app.use('words', { create: async (data: object) => ({ ...data, secret: 'x' }) })
      app.service('words').hooks({ after: { all: [protect('secret')] } })
      app.on('connection', (connection: object) => app.channel('all').join(connection))
      app.service('words').publish(() => app.channel('all'))
    })
    const client = await connect()
    return { app, client, heard: client.collect('words created') }
  }
  const [one, other] = [await start(), await start()]
  await one.app.service('words').create({ text: 'hi' })
  await until(() => one.heard.length > 0 && other.heard.length > 0)
  t.strictSame([one.heard, other.heard], [[{ text: 'hi' }], [{ text: 'hi' }]])
})
