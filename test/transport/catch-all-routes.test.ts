import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastify from 'fastify'
import t from 'tap'
import type { Params, RemexOptions } from '../../src/transport/index.ts'
import { createApp, remex, rest } from '../../src/transport/index.ts'
import type { Answer, RequestOptions } from '../support/http.ts'
import { HOST, injectServer, MODES } from '../support/http.ts'
import { openApp, openHost } from '../support/own-server.ts'

const notes = {
  get: async (id: string, { route }: Params) => ({ id, route }),
  find: async ({ route }: Params) => ({ route }),
  greet: async (data: object, { route }: Params) => ({ data, route }),
}

const METHODS = { methods: ['get', 'find', 'greet'] }

/** Requests whose bodies we would refuse if something were served at their path. */
const REFUSED: readonly [what: string, options: RequestOptions][] = [
  ['another type', { method: 'POST', body: '<a/>', headers: { 'content-type': 'text/xml' } }],
  ['no type', { method: 'PUT', body: 'abc' }],
]

for (const mode of MODES) {
  t.test(`an unknown path is 404, whatever type of body is sent there, ${mode}`, async (t) => {
    const server = await injectServer(t, { services: (app) => app.use('notes', notes) }, mode)
    for (const [what, options] of REFUSED) {
      t.match(await server.request('/x/y/z', options), { status: 404, body: { code: 404 } }, what)
      t.equal((await server.request('/notes/', options)).status, 415, what)
    }
    server.app.use('late', notes)
    for (const [what, options] of REFUSED)
      t.equal((await server.request('/late/1', options)).status, 415, what)
  })
}

t.test('without a prefix the host answers unknown paths, whatever body is sent', async (t) => {
  const host = openHost(t)
  host.setNotFoundHandler((_request, reply) => reply.code(404).send(HOST.notFound))
  const seen: string[] = []
  host.addHook('preHandler', async (request) => void seen.push(request.url))
  const app = createApp().use('notes', notes, METHODS)
  await host.register(remex, { app })
  const json = { 'content-type': 'application/json' }
  for (const [what, headers, payload] of [
    ['another type', { 'content-type': 'text/xml' }, '<a/>'],
    ['a compressed body', { ...json, 'content-encoding': 'gzip' }, 'x'],
    ['bad JSON', json, '{'],
    ['deep JSON', json, '['.repeat(60) + ']'.repeat(60)],
  ] as const) {
    const answer = await host.inject({ method: 'POST', url: '/un', headers, payload })
    t.strictSame([answer.statusCode, answer.json()], [404, HOST.notFound], what)
    const ours = await host.inject({ method: 'PATCH', url: '/notes/', headers, payload })
    t.equal(ours.statusCode < 500 && ours.statusCode !== 404, true, what)
  }
  t.ok(seen.includes('/un'), 'hooks of the host run before its 404')
})

t.test('functions of an application may answer for any path, with its body', async (t) => {
  const app = openApp(t).configure(rest())
  app.use('/webhook', (request, reply) => reply.send({ body: request.body }))
  const answer = await app.fastify.inject({ method: 'POST', url: '/webhook', payload: { a: 1 } })
  t.strictSame(answer.json(), { body: { a: 1 } })
})

/** What requests are answered with that no route of Fastify's own fits. */
async function testCatchAll(t: Tap, send: Send, route: object): Promise<void> {
  const greet = { method: 'POST', headers: { 'x-service-method': 'greet' }, payload: { a: 1 } }
  t.strictSame((await send('/notes/1')).body, { id: '1', route })
  t.strictSame((await send('/notes/')).body, { route })
  t.strictSame((await send('/notes/1/')).body, { id: '1', route })
  t.equal((await send('//notes')).status, 404)
  t.equal((await send('/notes//')).status, 404)
  t.strictSame((await send('/notes', greet)).body, { data: { a: 1 }, route })
  const options = await send('/notes', { method: 'OPTIONS' })
  t.strictSame([options.status, options.allow], [204, 'GET, HEAD, POST, OPTIONS'])
  const refused = await send('/notes/1', { method: 'DELETE' })
  t.strictSame([refused.status, refused.allow], [405, 'GET, HEAD, POST, OPTIONS'])
  t.equal((await send('/nothing')).status, 404)
}

type Tap = Pick<typeof t, 'strictSame' | 'equal' | 'teardown'>
type Send = (path: string, options?: object) => Promise<Pick<Answer, 'status' | 'body'> & Allow>
interface Allow {
  readonly allow: unknown
}

function createSend(server: FastifyInstance, base: string): Send {
  return async (path, options = {}) => {
    const answer = await server.inject({ method: 'GET', url: `${base}${path}`, ...options })
    const body = answer.body === '' ? undefined : answer.json()
    return { status: answer.statusCode, body, allow: answer.headers['allow'] }
  }
}

async function testPlugin(
  t: Tap,
  host: FastifyInstance,
  prefix: string,
  base: string,
  route: object,
): Promise<void> {
  const app = createApp().use('notes', notes, METHODS)
  await host.register(remex as FastifyPluginAsync<RemexOptions>, { app, prefix })
  t.teardown(() => host.close())
  const send = createSend(host, base)
  await testCatchAll(t, send, route)
  app.use('late', notes)
  await testCatchAll(t, send, route)
  t.strictSame((await send('/late/2')).body, { id: '2', route })
}

for (const [prefix, base, route] of [
  ['/t/:tenant', '/t/acme', { tenant: 'acme' }],
  ['/t/:tenant', '/%74/a%2Fb', { tenant: 'a/b' }],
  ['/:tenant/v:version', '/acme/v2', { tenant: 'acme', version: '2' }],
  ['/api', '/%61pi', {}],
  ['/api/', '/api', {}],
  ['api/v1', '/api/v1', {}],
] as const) {
  t.test(`below the prefix '${prefix}' ${base} has every kind of request`, async (t) => {
    await testPlugin(t, fastify(), prefix, base, route)
  })
}

t.test('a prefix reads upper and lower case alike where the host does', async (t) => {
  const host = fastify({ routerOptions: { caseSensitive: false } })
  await testPlugin(t, host, '/api', '/API', {})
})

t.test('services are found as the server reads paths, at the start and later', async (t) => {
  const app = openApp(t, { caseSensitive: false, useSemicolonDelimiter: true })
  app.configure(rest())
  // The same path for this server: the first one counts.
  app.use('Notes', notes, METHODS).use('notes', { get: async () => 'second' })
  app.use(':x/ME', { find: async () => 'me' })
  const send = createSend(app.fastify, '')
  const greet = { method: 'POST', headers: { 'x-service-method': 'greet' }, payload: {} }
  for (const isLate of [false, true]) {
    if (isLate) app.use('late', notes)
    t.strictSame((await send('/NOTES/Ab')).body, { id: 'Ab', route: {} })
    t.strictSame((await send('/notes;x=1')).body, { route: {} })
    t.strictSame((await send('/notes/;x=1')).body, { route: {} })
    t.strictSame((await send('/%4EOTES;a/b', greet)).body, { data: {}, route: {} })
    t.equal((await send('/notes;x', { method: 'DELETE' })).status, 405)
    t.equal((await send('/a/me')).body, 'me')
  }
})
