import t from 'tap'
import type { Params } from '../../src/transport/index.ts'
import { createApp } from '../../src/transport/index.ts'
import { Gate } from '../support/gate.ts'
import type { TestServer } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

/** A service that tells who it is, and what it was called with. */
function named(name: string): object {
  return {
    find: async ({ route }: Params) => ({ name, method: 'find', route }),
    get: async (id: string, { route }: Params) => ({ name, id, route }),
    create: async (data: object) => ({ name, data }),
    greet: async () => ({ name, method: 'greet' }),
  }
}

const METHODS = { methods: ['find', 'get', 'create', 'greet'] }

async function whoAnswers(server: TestServer, path: string): Promise<unknown> {
  const { status, body } = await server.request(path)
  return status === 200 ? (body as { name?: string }).name : status
}

for (const mode of MODES) {
  t.test(`a service that is added after the start is served, ${mode}`, async (t) => {
    const server = await startServer(t, mode)
    server.app.use('late', named('late'), METHODS)
    server.app.use(':tenant/late', named('nested'), METHODS)
    t.match((await server.request('/late/1')).body, { name: 'late', id: '1' })
    t.match((await server.request('/late', { data: { a: 1 } })).status, 201)
    const custom = { data: {}, headers: { 'x-service-method': 'greet' } }
    t.match((await server.request('/late', custom)).body, { method: 'greet' })
    t.match((await server.request('/acme/late')).body, {
      name: 'nested',
      route: { tenant: 'acme' },
    })
    const options = await server.request('/late', { method: 'OPTIONS' })
    t.equal(options.headers.allow, 'GET, HEAD, POST, OPTIONS')
    t.equal((await server.request('/late/1', { method: 'DELETE' })).status, 405)
    t.equal((await server.request('/late/1', { method: 'HEAD' })).status, 200)
  })

  t.test(`the precedence is that of services known at the start, ${mode}`, async (t) => {
    const server = await startServer(t, mode, {
      services(app) {
        app.use(':tenant', named('tenant')).use('users/:userId/posts', named('posts'))
      },
    })
    t.equal(await whoAnswers(server, '/users'), 'tenant')
    t.equal(await whoAnswers(server, '/users/me'), 'tenant')
    server.app.use('users', named('users')).use('users/me', named('me'))
    t.equal(await whoAnswers(server, '/users'), 'users')
    t.equal(await whoAnswers(server, '/users/me'), 'me')
    t.equal(await whoAnswers(server, '/users/7'), 'users')
    t.equal(await whoAnswers(server, '/users/7/posts'), 'posts')
    t.equal(await whoAnswers(server, '/others'), 'tenant')
    server.app.use(':place', named('same shape, too late'))
    t.equal(await whoAnswers(server, '/others'), 'tenant')
  })

  t.test(`a service that is removed answers 404, and can come again, ${mode}`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => app.use('early', named('early')).use('users/me', named('me')),
    })
    server.app.use('users', named('users'))
    await server.app.unuse('early')
    await server.app.unuse('users/me')
    t.equal(await whoAnswers(server, '/early'), 404)
    t.equal(await whoAnswers(server, '/users/me'), 'users')
    server.app.use('early', named('again'))
    t.equal(await whoAnswers(server, '/early'), 'again')
  })

  t.test(`calls in flight end when their service is removed, ${mode}`, async (t) => {
    const gate = new Gate()
    const slow = { get: async (id: string) => gate.pass({ id }) }
    const server = await startServer(t, mode, { services: (app) => app.use('slow', slow) })
    const answer = server.request('/slow/1')
    await gate.arrivals(1)
    await server.app.unuse('slow')
    gate.open()
    t.match(await answer, { status: 200, body: { id: '1' } })
  })

  t.test(`setup of a late service runs at once, its teardown when it goes, ${mode}`, async (t) => {
    const steps: string[] = []
    const server = await startServer(t, mode)
    server.app.use('late', {
      ...named('late'),
      setup: async (_app: unknown, path: string) => steps.push(`setup ${path}`),
      teardown: async (_app: unknown, path: string) => steps.push(`teardown ${path}`),
    })
    t.equal(await whoAnswers(server, '/late'), 'late')
    t.strictSame(steps, ['setup late'])
    await server.app.unuse('late')
    t.strictSame(steps, ['setup late', 'teardown late'])
  })

  t.test(`a path that no URL can have is refused and harms no other, ${mode}`, async (t) => {
    const server = await startServer(t, mode)
    t.throws(() => server.app.use('a*b', named('star')), /literal or one ':placeholder'/)
    t.throws(() => server.app.use(':a/b/:a', named('twice')), /':a' .* appears twice/)
    server.app.use('late', named('late'))
    t.equal(await whoAnswers(server, '/late'), 'late')
  })
}

t.test('a service that another one adds in its setup is served', async (t) => {
  const server = await startServer(t, 'standalone', {
    services(app) {
      const setup = async (): Promise<void> => void app.use('inner', named('inner'))
      app.use('outer', { ...named('outer'), setup })
    },
  })
  t.equal(await whoAnswers(server, '/inner'), 'inner')
})

t.test('an application is mounted after the start, below a path', async (t) => {
  const subApp = createApp().use('users', named('users')).use('/', named('root'))
  const server = await startServer(t, 'standalone')
  server.app.use('/api', subApp)
  t.equal(await whoAnswers(server, '/api/users'), 'users')
  t.equal(await whoAnswers(server, '/api'), 'root')
  t.equal(await whoAnswers(server, '/users'), 404)
})

t.test('absolute targets and long ids reach late services, doubled slashes do not', async (t) => {
  const server = await startServer(t, 'standalone')
  server.app.use('late', named('late'))
  const absolute =
    'GET http://a.test/late/1?x=1 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
  t.match(await server.raw(absolute), /^HTTP\/1.1 200[\s\S]*"id":"1"/)
  t.equal(await whoAnswers(server, '/late/1/'), 'late')
  for (const path of ['//late/1', '/late//1', '/late/1//', '/late//', '//late'])
    t.equal(await whoAnswers(server, path), 404, path)
  const id = 'x'.repeat(5_000)
  t.match((await server.request(`/late/${id}`)).body, { id })
})
