import { EventEmitter } from 'node:events'
import { Registry } from 'prom-client'
import t from 'tap'
import { createApp, fastifyApp, NotFound, rest } from '../../../src/transport/index.ts'
import { prometheus } from '../../../src/transport/observing/prometheus.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { openFrames } from '../../support/event-frames.ts'
import { startOwnServer } from '../../support/own-server.ts'

const notes = {
  find: async () => [],
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
