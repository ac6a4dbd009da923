import t from 'tap'
import type { Application } from '../../src/transport/index.ts'
import { createApp, Forbidden, fastifyApp, remex, rest } from '../../src/transport/index.ts'
import type { TestServer } from '../support/http.ts'
import { injectServer, MODES } from '../support/http.ts'
import { openHost } from '../support/own-server.ts'

/** A service that tells which method was called, and with what. */
class EchoService {
  readonly calls: unknown[] = []
  async find(): Promise<object> {
    return { called: 'find' }
  }
  async create(data: object): Promise<object> {
    return { called: 'create', data }
  }
  async ping(data: object, { query, route }: { query?: object; route?: object }): Promise<object> {
    return { called: 'ping', data, query, route }
  }
  async hidden(): Promise<object> {
    this.calls.push('hidden')
    return {}
  }
}

const METHODS = ['find', 'create', 'ping']

function addEcho(app: Application, path = 'echo'): EchoService {
  const service = new EchoService()
  app.use(path, service, { methods: METHODS })
  return service
}

function post(server: TestServer, path: string, headers: Record<string, string> = {}) {
  return server.request(path, { method: 'POST', data: { a: 1 }, headers })
}

for (const mode of MODES) {
  t.test(`${mode}: by opt-in a custom method has a path of its own`, async (t) => {
    const services = (app: Application): unknown => addEcho(app, 'users/:userId/echo')
    const server = await injectServer(t, { services, methodPaths: true }, mode)
    const { status, body } = await post(server, '/users/7/echo/ping?b=2')
    const called = { called: 'ping', data: { a: 1 }, query: { b: '2' }, route: { userId: '7' } }
    t.strictSame([status, body], [200, called])
    addEcho(server.app, 'later')
    t.match(await post(server, '/later/ping'), { status: 200, body: { called: 'ping' } })
    t.match(await post(server, '/later'), { status: 201, body: { called: 'create' } })
  })

  t.test(`${mode}: every other name there gives 405, and nothing is called`, async (t) => {
    let service: EchoService | undefined
    const services = (app: Application): unknown => (service = addEcho(app))
    const server = await injectServer(t, { services, methodPaths: true }, mode)
    const names = ['pong', 'hidden', 'create', 'find', 'constructor', '__proto__', 'setup', 'emit']
    for (const name of names) {
      const { status, headers, body } = await post(server, `/echo/${name}`)
      t.strictSame([status, headers.allow], [405, 'POST, OPTIONS'], name)
      t.match(body, { message: `Method \`${name}\` is not supported by this endpoint.` })
    }
    t.strictSame(service?.calls, [])
  })

  t.test(`${mode}: without it an id behind a POST has no meaning, as ever`, async (t) => {
    const services = (app: Application): unknown => addEcho(app)
    const server = await injectServer(t, { services }, mode)
    t.match(await post(server, '/echo/ping'), { status: 201, body: { called: 'create' } })
  })
}

t.test('the header goes before the path, and hooks run for both', async (t) => {
  const server = await injectServer(t, {
    methodPaths: true,
    services: (app) => {
      addEcho(app)
      app.service('echo').hooks({
        before: {
          ping: () => {
            throw new Forbidden('not you')
          },
        },
      })
    },
  })
  t.equal((await post(server, '/echo/ping')).status, 403)
  t.equal((await post(server, '/echo/other', { 'x-service-method': 'ping' })).status, 403)
  t.equal((await post(server, '/echo/ping', { 'x-service-method': 'other' })).status, 405)
})

t.test('a method takes the path of no service and of no route of the host', async (t) => {
  const host = openHost(t)
  const app = createApp()
  addEcho(app, 'first')
  addEcho(app, 'second')
  app.use('first/ping', { create: async () => ({ called: 'service' }) })
  host.post('/second/ping', async () => ({ called: 'route' }))
  await host.register(remex, { app, methodPaths: true })
  const call = async (url: string) =>
    (await host.inject({ method: 'POST', url, payload: {} })).json()
  t.strictSame(await call('/first/ping'), { called: 'service' })
  t.strictSame(await call('/second/ping'), { called: 'route' })
})

t.test('refuses names that can not be a path, of later services too', async (t) => {
  const service = { find: async () => [], 'a/b': async () => ({}) }
  const options = { methods: ['a/b'] }
  const message = /'a\/b' of service 'odd' can't be a path, as the option methodPaths of rest\(\)/
  const app = fastifyApp(createApp()).configure(rest({ methodPaths: true }))
  app.use('odd', service, options)
  await t.rejects(app.listen(), { name: 'TypeError', message })
  const server = await injectServer(t, { methodPaths: true })
  t.throws(() => server.app.use('odd', service, options), { name: 'TypeError', message })
  const without = await injectServer(t, { services: (plain) => plain.use('odd', service, options) })
  const called = await post(without, '/odd', { 'x-service-method': 'a/b' })
  t.equal(called.status, 200, 'by the header any name will do')
})
