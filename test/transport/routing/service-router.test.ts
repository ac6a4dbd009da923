import t from 'tap'

import type { Application, Params } from '../../../src/transport/index.ts'
import { createApp } from '../../../src/transport/index.ts'
import { ServiceRouter, toPatterns } from '../../../src/transport/routing/service-router.ts'
import type { TestServer } from '../../support/http.ts'
import { injectServer, MODES, startServer } from '../../support/http.ts'

const PATHS = [
  ':tenant',
  'users',
  'users/me',
  'users/:userId/posts',
  'users/:userId/posts/:postId/likes',
]

/** What a path addresses, when the services at {@link PATHS} are registered in this order. */
const MATCHES: readonly [path: string, service: string, id: string | null, route: object][] = [
  ['/users', 'users', null, {}],
  ['/users/', 'users', null, {}],
  ['/users/1', 'users', '1', {}],
  ['/users/1/', 'users', '1', {}],
  ['/users/me', 'users/me', null, {}],
  ['/users/me/posts', 'users/me', 'posts', {}],
  ['/users/me/posts/7', 'users/:userId/posts', '7', { userId: 'me' }],
  ['/users/1/posts', 'users/:userId/posts', null, { userId: '1' }],
  ['/users/1/posts/2', 'users/:userId/posts', '2', { userId: '1' }],
  ['/users/1/posts/2/likes/3', PATHS[4] as string, '3', { userId: '1', postId: '2' }],
  ['/foo', ':tenant', null, { tenant: 'foo' }],
  ['/foo/1', ':tenant', '1', { tenant: 'foo' }],
  ['/Users', ':tenant', null, { tenant: 'Users' }],
  ['/constructor', ':tenant', null, { tenant: 'constructor' }],
  ['/__proto__/toString', ':tenant', 'toString', { tenant: '__proto__' }],
  ['/users/a%20b', 'users', 'a b', {}],
  ['/users/a%2Fb', 'users', 'a/b', {}],
  ['/users/a%252Fb', 'users', 'a%2Fb', {}],
  ['/users/%E2%98%83/posts', 'users/:userId/posts', null, { userId: '☃' }],
  ['/users/a+b', 'users', 'a+b', {}],
  ['/users/..%2f..%2fetc', 'users', '../../etc', {}],
  [`/users/${'x'.repeat(5_000)}`, 'users', 'x'.repeat(5_000), {}],
]

/** Paths that nothing is served at; one with a slash too many is another path to guards. */
const MISSES = [
  '/',
  '/foo/1/2',
  '/users/1/2',
  '/users//posts',
  '/users//1',
  '/users/1/posts/2/3',
  '/users//',
  '/users/1//',
  '/users///',
]

/** Paths with slashes too many that only a real request line can hold. */
const LINES = ['//users', '//users//', '///users/1//', '//']

function addServices(app: Application, paths: readonly string[] = PATHS): void {
  for (const path of paths) {
    app.use(path, {
      find: async ({ route }: Params) => ({ path, id: null, route }),
      get: async (id: string, { route }: Params) => ({ path, id, route }),
    })
  }
}

t.test('finds the service, the id and the route values', async (t) => {
  const app = createApp()
  addServices(app)
  const router = new ServiceRouter(app)
  for (const [path, service, id, route] of MATCHES) {
    const match = router.find(path)
    t.strictSame([match?.entry.path, match?.id, match?.route], [service, id, route], path)
  }
  const others = ['/users/%ZZ', '/users/%E0%A4%A', '', '*', 'users', '*users', 'http://a//users']
  for (const path of [...MISSES, ...LINES, ...others]) t.equal(router.find(path), null, path)
})

async function testMatches(t: Tap, server: TestServer): Promise<void> {
  for (const [path, service, id, route] of MATCHES) {
    const { status, body } = await server.request(path)
    t.strictSame([status, body], [200, { path: service, id, route }], path.slice(0, 50))
  }
  for (const path of [...MISSES, ...LINES]) {
    t.match(await server.request(path), { status: 404, body: { name: 'NotFound' } }, path)
  }
}

type Tap = Pick<typeof t, 'strictSame' | 'match'>

for (const mode of MODES) {
  t.test(`routes of services that were there at the start match alike, ${mode}`, async (t) => {
    await testMatches(t, await startServer(t, mode, { services: (app) => addServices(app) }))
  })

  t.test(`services that came after the start match alike, ${mode}`, async (t) => {
    const server = await startServer(t, mode)
    addServices(server.app)
    await testMatches(t, server)
  })

  t.test(`services of both kinds match alike, ${mode}`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => addServices(app, PATHS.slice(0, 2)),
    })
    addServices(server.app, PATHS.slice(2))
    await testMatches(t, server)
  })
}

t.test('a path that can not be decoded answers 400', async (t) => {
  const server = await injectServer(t, { services: (app) => addServices(app) })
  for (const path of ['/users/%ZZ', '/users/%E0%A4%A', '/%', '/users/1/posts/%C3']) {
    const { status, body } = await server.request(path)
    t.strictSame([status, (body as { name: string }).name], [400, 'BadRequest'], path)
  }
})

t.test('the root service takes what no literal path does', async (t) => {
  const server = await injectServer(t, { services: (app) => addServices(app, ['/', 'users']) })
  for (const [path, service, id] of [
    ['/', '/', null],
    ['/7', '/', '7'],
    ['/users', 'users', null],
    ['/users/7', 'users', '7'],
    ['/constructor', '/', 'constructor'],
  ] as const) {
    t.strictSame((await server.request(path)).body, { path: service, id, route: {} }, path)
  }
  t.equal((await server.request('/7/8')).status, 404)
})

t.test('a method that the nearest service lacks is not looked for in another one', async (t) => {
  const patched: unknown[] = []
  const service = {
    get: async (id: string) => ({ id }),
    patch: async (id: string) => patched.push(id),
    create: async () => patched.push('created'),
    remove: async (id: string) => patched.push(id),
  }
  for (const isLate of [false, true]) {
    const addAll = (app: Application): void => {
      app.use('users', service)
      app.use('users/me', { find: async () => ({ me: true }), get: async (id: string) => ({ id }) })
      app.use(':tenant/me/:part', {
        find: async () => ({}),
        patch: async () => patched.push('part'),
      })
    }
    const server = await injectServer(t, isLate ? {} : { services: addAll })
    if (isLate) addAll(server.app)
    for (const [method, path] of [
      ['PATCH', '/users/me'],
      ['DELETE', '/users/me'],
      ['POST', '/users/me'],
      ['PATCH', '/users/me/7'],
    ] as const) {
      const { status, headers } = await server.request(path, { method, data: {} })
      t.strictSame([status, headers.allow], [405, 'GET, HEAD, OPTIONS'], `${method} ${path}`)
    }
  }
  t.strictSame(patched, [])
})

t.test('of two services with the same shape the first one counts, for every method', async (t) => {
  for (const isLate of [false, true]) {
    const addAll = (app: Application): void => {
      app.use('users', { get: async (id: string) => ({ users: id }) })
      app.use('users/:name', {
        find: async () => ({ name: true }),
        create: async () => ({ name: true }),
        get: async (id: string, { route }: Params) => ({ id, route }),
      })
    }
    const server = await injectServer(t, isLate ? {} : { services: addAll })
    if (isLate) addAll(server.app)
    t.strictSame((await server.request('/users/a')).body, { users: 'a' })
    t.equal((await server.request('/users/a', { data: {} })).status, 405)
    t.strictSame((await server.request('/users/a/b')).body, { id: 'b', route: { name: 'a' } })
  }
})

t.test('routeParams of the registration are below the values of the URL', async (t) => {
  const services = (app: Application): void => {
    const service = { find: async ({ route }: Params) => route }
    app.use('a/:x', service, { routeParams: { x: 'default', y: 'kept' } })
  }
  const server = await injectServer(t, { services })
  t.strictSame((await server.request('/a/1')).body, { x: '1', y: 'kept' })
  server.app.use('late', { find: async () => ({}) })
  t.strictSame((await server.request('/a/1')).body, { x: '1', y: 'kept' })
})

t.test('routeParams may have values of any kind, as in Feathers', async (t) => {
  const routeParams = { level: 1, tags: ['a'], own: { deep: true } }
  const services = (app: Application): void => {
    const service = { find: async ({ route }: Params) => route }
    app.use('plain', service, { routeParams }).use('named/:x', service, { routeParams })
  }
  const server = await injectServer(t, { services })
  t.strictSame((await server.request('/plain')).body, routeParams)
  t.strictSame((await server.request('/named/1')).body, { ...routeParams, x: '1' })
})

t.test('unuse gives 404, and the path is free again', async (t) => {
  const server = await injectServer(t, { services: (app) => addServices(app, ['users', 'a']) })
  await server.app.unuse('users')
  for (const path of ['/users', '/users/1']) t.equal((await server.request(path)).status, 404, path)
  t.equal((await server.request('/a/1')).status, 200)
  addServices(server.app, ['users'])
  t.equal((await server.request('/users/1')).status, 200)
})

t.test('refuses a service path that routers would read as a pattern', async (t) => {
  for (const path of ['users/:a-:b', 'users/*', 'a(b)', ':id?', 'a b', 'a#b', ':1', 'a//b']) {
    t.throws(() => toPatterns(path), TypeError, path)
  }
  for (const path of ['users/:id/notes/:id', 'users/:__id/notes', ':__proto__']) {
    t.throws(() => toPatterns(path), { message: /^The placeholder ':\w+' in the path '\// }, path)
  }
  t.throws(() => toPatterns('notes/:id/tags', '/t/:id'), { message: /':id' .* appears twice/ })
  t.strictSame(toPatterns('users/:userId'), ['/users/:userId', '/users/:userId/:__id'])
  t.strictSame(toPatterns('/'), ['/', '/:__id'])
})
