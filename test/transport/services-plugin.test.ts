import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import t from 'tap'
import { createApp, fastifyApp, remex, rest } from '../../src/transport/index.ts'
import { HOST, injectServer, MODES, PREFIX, startServer } from '../support/http.ts'
import { openApp, openHost } from '../support/own-server.ts'
import { TodoService } from '../support/todo-service.ts'

t.test('leaves the routes, the error handler, the 404 and parsers of its host', async (t) => {
  const server = await injectServer(t, 'plugin', {
    services: (app) => app.use('todo', new TodoService()),
    server: (host) =>
      host.post('/host', async (request) => ({ body: request.body, query: request.query })),
  })
  const host = server.fastify
  t.strictSame((await host.inject(HOST.route)).json(), HOST.answer)
  const failed = await host.inject(HOST.failing)
  t.strictSame([failed.statusCode, failed.json()], [500, HOST.error])
  t.strictSame((await host.inject('/todo')).json(), HOST.notFound)
  const plain = await host.inject({
    ...{ method: 'POST', url: '/host?a[b]=1', payload: 'hi' },
    headers: { 'content-type': 'text/plain' },
  })
  t.strictSame(plain.json(), { body: 'hi', query: { 'a[b]': '1' } })
  const empty = await host.inject({
    ...{ method: 'POST', url: '/host', payload: '' },
    headers: { 'content-type': 'application/json' },
  })
  t.strictSame(empty.json(), HOST.error)
})

t.test('answers the prefix itself, with and without a slash', async (t) => {
  const server = await injectServer(t, 'plugin', {
    services: (app) => app.use('/', new TodoService()),
  })
  for (const path of ['', '/', '?a=1', '/?a=1'])
    t.equal((await server.request(path)).status, 200, path)
  const none = await injectServer(t, 'plugin', {})
  for (const path of ['', '/'])
    t.match(await none.request(path), { status: 404, body: { code: 404 } })
})

t.test('without a prefix unknown paths are left to the host', async (t) => {
  const host = openHost(t)
  host.setNotFoundHandler((_request, reply) => reply.code(404).send(HOST.notFound))
  host.get('/host/:name', async () => HOST.answer)
  host.register(remex, { app: createApp().use('todo', new TodoService()) })
  t.equal((await host.inject('/todo/1')).statusCode, 200)
  t.strictSame((await host.inject('/host/x')).json(), HOST.answer)
  t.strictSame((await host.inject('/nothing')).json(), HOST.notFound)
  const response = await host.inject({ method: 'DELETE', url: '/host/x' })
  t.strictSame(response.json(), HOST.notFound)
})

t.test('several applications live beside each other in one host', async (t) => {
  const host = openHost(t)
  for (const name of ['a', 'b']) {
    const app = createApp().use(name, { find: async () => [name] })
    host.register(remex, { app, prefix: `/${name}-api` })
  }
  t.strictSame((await host.inject('/a-api/a')).json(), ['a'])
  t.strictSame((await host.inject('/b-api/b')).json(), ['b'])
  t.equal((await host.inject('/a-api/b')).statusCode, 404)
})

t.test('a placeholder that the prefix has too is refused, at the start and later', async (t) => {
  const host = openHost(t)
  const app = createApp()
  await host.register(remex, { app, prefix: '/t/:id' })
  const service = { find: async () => [] }
  t.throws(() => app.use('notes/:id/tags', service), /':id' .* '\/t\/:id\/notes\/:id\/tags'/)
  const other = openHost(t)
  await t.rejects(async () => other.register(remex, { app, prefix: '/t/:id' }), /':id' .* twice/)
})

t.test('two applications below one prefix are refused, as rest() twice is', async (t) => {
  const message = /already: call rest\(\) once, give a plugin a prefix of its own/
  for (const prefix of ['', '/api']) {
    const host = fastify()
    t.teardown(() => host.close().catch(() => undefined))
    await host.register(remex, { app: createApp(), prefix })
    await t.rejects(async () => host.register(remex, { app: createApp(), prefix }), { message })
  }
  const app = openApp(t).configure(rest())
  t.throws(() => app.configure(rest()), /rest\(\) is configured already/)
  await app.fastify.register(remex, { app: createApp(), prefix: '/other' })
  const both = fastifyApp(createApp()).configure(rest())
  both.fastify.register(remex, { app: createApp() })
  await t.rejects(both.listen(0), { message })
})

t.test('an application outlives its server, and no longer tells it of services', async (t) => {
  const app = createApp()
  const told: string[] = []
  const { observe } = app
  app.observe = (observer) => {
    return observe.call(app, (change, path, entry) => {
      told.push(path)
      observer(change, path, entry)
    })
  }
  const host = fastify()
  await host.register(remex, { app })
  await host.ready()
  app.use('early', new TodoService())
  await host.close()
  app.use('late', new TodoService())
  const count = (wanted: string): number => told.filter((path) => path === wanted).length
  t.equal(
    count('early') - count('late'),
    1,
    'one watcher, that of logins, belongs to the application',
  )
})

t.test('hooks of the host see the requests for services, and its decorations stay', async (t) => {
  const urls: string[] = []
  const server = await injectServer(t, 'plugin', {
    services: (app) => app.use('todo', new TodoService()),
    server: (host) => host.addHook('onResponse', async (request) => void urls.push(request.url)),
  })
  await server.request('/todo/1')
  t.ok(urls.includes(`${PREFIX}/todo/1`))
})

for (const mode of MODES) {
  t.test(`sets services up before the first request, and down on close, ${mode}`, async (t) => {
    const steps: string[] = []
    const server = await startServer(t, mode, {
      services(app) {
        for (const path of ['one', 'two']) {
          app.use(path, {
            find: async () => steps,
            setup: async () => {
              await new Promise(setImmediate)
              steps.push(`setup ${path}`)
            },
            teardown: async () => void steps.push(`teardown ${path}`),
          })
        }
      },
    })
    t.strictSame((await server.request('/one')).body, ['setup one', 'setup two'])
    await server.app.unuse('one')
    t.strictSame(steps, ['setup one', 'setup two', 'teardown one'])
    t.teardown(() => undefined)
  })

  t.test(`a setup that fails rejects and leaves nothing open, ${mode}`, async (t) => {
    const steps: string[] = []
    const start = startServer(t, mode, {
      services: (app) =>
        app
          .use('one', {
            setup: async () => void steps.push('up'),
            teardown: async () => void steps.push('down'),
          })
          .use('two', { setup: async () => Promise.reject(new Error('no database')) }),
    })
    await t.rejects(start, { message: 'no database' })
    t.strictSame(steps, ['up', 'down'])
  })
}

t.test('close tears the services down, once', async (t) => {
  const steps: string[] = []
  const app = fastifyApp(createApp()).configure(rest())
  app.use('one', { find: async () => [], teardown: async () => void steps.push('down') })
  await app.listen({ port: 0 })
  await app.close()
  await app.close()
  t.strictSame(steps, ['down'])
})

t.test('listen rejects when the port is taken', async (t) => {
  const first = openApp(t).configure(rest())
  await first.listen({ port: 0 })
  const { port } = first.server.address() as { port: number }
  const second = openApp(t).configure(rest())
  await t.rejects(second.listen(port), { code: 'EADDRINUSE' })
  t.equal(second.server.listening, false)
})

t.test('fastifyApp returns a plain server without an application, refuses else', async (t) => {
  const plain = fastifyApp()
  t.teardown(() => plain.close())
  t.type(plain.route, 'function')
  t.equal('service' in plain, false)
  for (const wrong of [null, {}, 'app', () => 1]) {
    t.throws(() => fastifyApp(wrong as never), TypeError, String(wrong))
  }
})

t.test('fastifyApp takes a server that exists, with its routes', async (t) => {
  const server = fastify()
  server.get('/own', async () => ({ own: true }))
  const app = openApp(t, server).configure(rest())
  app.use('todo', new TodoService())
  t.equal(app.fastify, server)
  t.strictSame((await server.inject('/own')).json(), { own: true })
  t.equal((await server.inject('/todo/1')).statusCode, 200)
})

t.test('serves a host that speaks HTTP/2', async (t) => {
  const app = createApp()
  app.use('todo', new TodoService())
  const host = openHost(t, { http2: true })
  host.register(remex, { app, prefix: PREFIX })
  await host.listen({ port: 0 })
  const { port } = host.server.address() as AddressInfo
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => session.close())
  const send = async (method: string, path: string, data?: object): Promise<unknown[]> => {
    const headers = data === undefined ? {} : { 'content-type': 'application/json' }
    const target = `${PREFIX}${path}`
    const stream = session.request({ ...headers, ':method': method, ':path': target })
    stream.end(data && JSON.stringify(data))
    const [head, body] = await Promise.all([
      once(stream, 'response') as Promise<[Record<string, unknown>]>,
      stream.toArray(),
    ])
    const text = Buffer.concat(body).toString()
    return [head[0][':status'], text === '' ? null : JSON.parse(text)]
  }
  t.match(await send('GET', '/todo/dishes'), [200, { id: 'dishes' }])
  t.match(await send('POST', '/todo', { description: 'wash' }), [201, { description: 'wash' }])
  t.match(await send('GET', '/nothing'), [404, { name: 'NotFound' }])
  t.match(await send('HEAD', '/todo/dishes'), [200, null])
  t.match(await send('OPTIONS', '/todo'), [204, null])
})
