import { EventEmitter } from 'node:events'
import { Registry } from 'prom-client'
import t from 'tap'
import { convert, errorFromJSON } from '../../../src/core/errors/index.ts'
import { Conflict, createApp, fastifyApp, NotFound, rest } from '../../../src/transport/index.ts'
import { prometheus } from '../../../src/transport/observing/prometheus.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { openFrames } from '../../support/event-frames.ts'
import { startOwnServer } from '../../support/own-server.ts'

const notes = {
  find: async () => [],
  ping: async () => null,
  get: async (id: string) => {
    if (id === 'none') throw new NotFound('secret')
    return { id }
  },
}

t.test('calls, streams and waits for connections are counted', async (t) => {
  const client = new EventEmitter()
  const server = await startOwnServer(t, (app) => {
    app.configure(realtime())
    app.configure(prometheus({ clients: [client] }))
    app.use('notes', notes as never)
  })
  for (const id of ['1', '2', 'none']) await server.request(`/notes/${id}`)
  await server.app.service('notes').get('3')
  client.emit('connectionCheckedOut', { durationMS: 50 })
  const stream = await openFrames(t, `${server.url}/notes`)
  await stream.next()
  const { status, headers, text } = await server.request('/metrics')
  t.equal(status, 200)
  t.match(headers['content-type'], /^text\/plain/)
  const call = 'remex_call_duration_seconds_count{service="notes",method="get"'
  t.ok(text.includes(`${call},provider="rest",outcome="success"} 2`))
  t.ok(text.includes(`${call},provider="rest",outcome="NotFound"} 1`))
  t.ok(text.includes(`${call},provider="internal",outcome="success"} 1`))
  t.match(text, /\nremex_open_streams 1\n/)
  t.match(text, /remex_mongodb_pool_wait_seconds_sum 0\.05\n/)
  t.notMatch(text, /secret/)
})

t.test('labels are names of classes, whatever an error is called', async (t) => {
  class OutOfStock extends Conflict {}
  const hostile = class extends NotFound {
    static override readonly name: string = 'a"} 1\nforged{b="'
  }
  const server = await startOwnServer(t, (app) => {
    app.configure(prometheus())
    const get = async (id: string) => {
      if (id === 'stock') throw new OutOfStock('none')
      if (id === 'hostile') throw new hostile('none')
      if (id === 'json') throw errorFromJSON({ name: 'FromElsewhere', code: 404 })
      if (id === 'convert') throw convert({ name: 'NotFound', constructor: { name: 'Own' } })
      throw Object.assign(new NotFound('none'), { name: id, constructor: { name: id } })
    }
    app.use('notes', { get } as never)
  })
  for (let index = 0; index < 20; index += 1) await server.request(`/notes/name-${index}`)
  for (const id of ['stock', 'hostile', 'json', 'convert']) await server.request(`/notes/${id}`)
  const { text } = await server.request('/metrics')
  const outcomes = [...text.matchAll(/seconds_count\{.*outcome="(.*)"\} (\d+)/g)]
  t.strictSame(
    outcomes.map(([, outcome, count]) => [outcome, count]),
    [
      ['NotFound', '22'],
      ['OutOfStock', '1'],
      ['ServiceError', '1'],
    ],
  )
})

t.test('no path, method or header of a request makes a label', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.configure(prometheus())
    app.use('users/:userId/notes', notes as never, { methods: ['find', 'get', 'ping'] } as never)
  })
  for (const [index, path] of [
    '/users/1/notes',
    '/users/2/notes/3',
    '/nowhere',
    '/users/%',
  ].entries()) {
    const headers = { 'x-service-method': `odd-${index}`, 'x-request-id': `id-${index}` }
    await server.request(path, { headers })
    await server.request(path, { method: 'POST', headers, data: {} })
    await server.request(path, { method: 'REPORT', headers })
  }
  const { text } = await server.request('/metrics')
  const labels = [...text.matchAll(/seconds_count\{(.*)\}/g)].map(([, found]) => found)
  t.strictSame(labels.sort(), [
    'service="users/:userId/notes",method="find",provider="rest",outcome="success"',
    'service="users/:userId/notes",method="get",provider="rest",outcome="success"',
  ])
})

t.test('what was counted is let go with the server', async (t) => {
  const client = new EventEmitter()
  const registry = new Registry()
  const app = fastifyApp(createApp())
  app.configure(rest())
  app.configure(prometheus({ clients: [client], registry, path: '/numbers' }))
  await app.fastify.ready()
  t.equal((await app.fastify.inject('/numbers')).statusCode, 200)
  t.equal(client.listenerCount('connectionCheckedOut'), 1)
  await app.close()
  t.equal(client.listenerCount('connectionCheckedOut'), 0)
})

t.test('options that are not known are refused', async (t) => {
  t.throws(() => createApp().configure(prometheus()), /has no server/)
  t.throws(() => prometheus({ url: '/a' } as never), /unknown option 'url'/)
  t.throws(() => prometheus({ path: 'a' }), /'path' must be a path/)
  t.throws(() => prometheus({ registry: {} as never }), /'registry' must be a Registry/)
})
