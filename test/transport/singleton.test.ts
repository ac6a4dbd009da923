import t from 'tap'
import type { Application, HookContext } from '../../src/transport/index.ts'
import { createApp } from '../../src/transport/index.ts'
import { injectServer, MODES } from '../support/http.ts'

/** One record, which tells how it was called. */
class ProfileService {
  async find(): Promise<object> {
    return { called: 'find' }
  }
  async get(): Promise<object> {
    return { called: 'get' }
  }
  async create(): Promise<object> {
    return { called: 'create' }
  }
  async update(id: unknown): Promise<object> {
    return { called: 'update', id }
  }
  async remove(id: unknown): Promise<object> {
    return { called: 'remove', id }
  }
  async ping(): Promise<object> {
    return { called: 'ping' }
  }
}

const METHODS = ['find', 'create', 'update', 'remove', 'ping']

for (const mode of MODES) {
  t.test(`${mode}: a singleton is called without an id, and nothing is behind it`, async (t) => {
    const services = (app: Application): void => {
      app.use('me', new ProfileService(), { singleton: true, methods: METHODS })
      // Less specific, so that it gets nothing of what is below `me`.
      app.use(':place/:thing', new ProfileService())
    }
    const server = await injectServer(t, { services }, mode)
    const send = async (method: string, path: string): Promise<unknown> => {
      const { status, body } = await server.request(path, { method })
      return status < 300 ? body : status
    }
    t.strictSame(await send('GET', '/me'), { called: 'find' })
    t.strictSame(await send('PUT', '/me'), { called: 'update', id: null })
    t.strictSame(await send('DELETE', '/me'), { called: 'remove', id: null })
    t.strictSame(await send('DELETE', '/me/'), { called: 'remove', id: null })
    t.strictSame(await send('POST', '/me'), { called: 'create' })
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'POST', 'OPTIONS']) {
      t.equal(await send(method, '/me/7'), 404, method)
    }
    t.equal(await send('POST', '/me/ping'), 404)
    t.equal(await send('PATCH', '/me'), 405)
    const { headers } = await server.request('/me', { method: 'OPTIONS' })
    t.equal(headers.allow, 'GET, HEAD, POST, PUT, DELETE, OPTIONS')
    server.app.use('late', new ProfileService(), { singleton: true, methods: METHODS })
    t.strictSame(await send('PUT', '/late'), { called: 'update', id: null })
    t.equal(await send('PUT', '/late/7'), 404)
  })

  t.test(`${mode}: custom methods of a singleton may have paths of their own`, async (t) => {
    const services = (app: Application): unknown =>
      app.use('me', new ProfileService(), { singleton: true, methods: METHODS })
    const server = await injectServer(t, { services, methodPaths: true }, mode)
    const post = await server.request('/me/ping', { method: 'POST' })
    t.strictSame(post.body, { called: 'ping' })
    for (const method of ['GET', 'PUT', 'DELETE']) {
      t.equal((await server.request('/me/ping', { method })).status, 405, method)
    }
    t.equal((await server.request('/me/find', { method: 'POST' })).status, 405)
  })
}

t.test('a hook of a singleton may say which record is meant', async (t) => {
  const server = await injectServer(t, {
    services: (app) => {
      app.use('me', new ProfileService(), { singleton: true, methods: METHODS })
      const toOwnId = (context: HookContext): void => {
        context.id = 'own'
      }
      app.service('me').hooks({ before: { update: [toOwnId], remove: [toOwnId] } })
    },
  })
  for (const [method, called] of [
    ['PUT', 'update'],
    ['DELETE', 'remove'],
  ] as const) {
    t.strictSame((await server.request('/me', { method })).body, { called, id: 'own' })
  }
})

t.test('a singleton has no get', async (t) => {
  const app = createApp()
  t.throws(
    () => app.use('me', new ProfileService(), { singleton: true, methods: ['get'] }),
    new TypeError(
      "app.use('me'): a singleton has no ids: 'find' returns its record, and 'methods' must not list 'get'",
    ),
  )
  app.use('me', new ProfileService(), { singleton: true })
  t.strictSame(app.entries.get('me')?.options.methods, ['find', 'create', 'update', 'remove'])
})

t.test('singleton is true or false', async (t) => {
  t.throws(() => createApp().use('me', new ProfileService(), { singleton: 1 } as never), TypeError)
})
