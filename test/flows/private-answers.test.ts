import t from 'tap'
import { AuthenticationService } from '../../src/auth/index.ts'
import type { Application } from '../../src/transport/index.ts'
import { createApp, remex, Unavailable } from '../../src/transport/index.ts'
import { CREDENTIALS, SECRET } from '../auth/login-app.ts'
import { addAccounts, addEcho, bearer, logIn } from '../support/accounts.ts'
import type { Answer, Mode, RequestOptions, TestScope } from '../support/http.ts'
import { MODES } from '../support/http.ts'
import { openHost, startOwnServer } from '../support/own-server.ts'
import { startApp } from '../support/test-app.ts'

type Row = readonly [status: number, path: string, options?: RequestOptions]

const JSON_TYPE = { 'content-type': 'application/json' }
const LARGE = { data: { text: 'x'.repeat(2_000_000) } }
const BROKEN = { body: '{"strategy":', headers: JSON_TYPE }
const DEEP = { body: `${'['.repeat(100)}${']'.repeat(100)}`, headers: JSON_TYPE }
const PLAIN = { body: 'strategy=local', headers: { 'content-type': 'text/plain' } }
const PACKED = { data: {}, headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }
const WRONG = { ...CREDENTIALS, password: 'wrong horse' }
const NO_JSON = { ...JSON_TYPE, accept: 'image/png' }
const CUSTOM = { ...JSON_TYPE, 'x-service-method': 'sudo' }

/** The same request by several methods. */
function byAll(status: number, path: string, ...methods: string[]): Row[] {
  return methods.map((method) => [status, path, { method }])
}

/** Requests to the authentication service, without credentials in their headers. */
const LOGINS: readonly Row[] = [
  [201, '/authentication', { data: CREDENTIALS }],
  [401, '/authentication', { data: WRONG }],
  [401, '/authentication', { method: 'POST' }],
  [401, '/authentication', { method: 'DELETE' }],
  [401, '/authentication/token', { method: 'DELETE' }],
  [400, '/authentication', BROKEN],
  [400, '/authentication', DEEP],
  [413, '/authentication', LARGE],
  [415, '/authentication', PLAIN],
  [415, '/authentication', PACKED],
  [406, '/authentication', { data: CREDENTIALS, headers: NO_JSON }],
  [405, '/authentication', { data: CREDENTIALS, headers: CUSTOM }],
  [400, `/authentication?a=${'x'.repeat(13_000)}`, { data: CREDENTIALS }],
  ...byAll(405, '/authentication', 'GET', 'HEAD', 'PUT', 'PATCH'),
  ...byAll(405, '/authentication/1', 'GET', 'HEAD', 'PUT', 'PATCH'),
  ...byAll(204, '/authentication', 'OPTIONS'),
  ...byAll(204, '/authentication/1', 'OPTIONS'),
  ...byAll(404, '/authentication/a/b/c', 'GET', 'POST', 'OPTIONS', 'DELETE'),
  [400, '/authentication/a/b', BROKEN],
  ...byAll(404, '//authentication//', 'GET'),
  ...byAll(405, '/%61uthentication', 'GET'),
  ...byAll(404, '/%61uthentication//b/c', 'GET'),
]

/** Requests with credentials, to services that have nothing to do with logins. */
const CALLS: readonly Row[] = [
  [200, '/open'],
  [201, '/open', { data: {} }],
  [204, '/nothing'],
  [500, '/failing'],
  [503, '/away'],
  ...byAll(404, '/nowhere', 'GET', 'POST', 'OPTIONS'),
  [404, '/open/1/2/3'],
  ...byAll(405, '/open', 'PUT', 'PATCH', 'DELETE'),
  ...byAll(204, '/open', 'OPTIONS'),
  [406, '/open', { headers: { accept: 'image/png' } }],
  [405, '/open', { data: {}, headers: CUSTOM }],
  [400, '/open', BROKEN],
  [413, '/open', LARGE],
  [415, '/open', PLAIN],
  [415, '/open', PACKED],
  [400, '/nowhere', BROKEN],
]

function addServices(app: Application): void {
  addEcho(app)
  app.use('nothing', { find: async () => null })
  app.use('failing', { find: () => Promise.reject(new Error('a fault')) })
  app.use('away', { find: () => Promise.reject(new Unavailable('away')) })
}

/** A server with a user who can log in. */
const start = (t: TestScope, mode: Mode) =>
  startApp(t, { mode, accounts: { settings: { loginThrottle: false } }, configure: addServices })

/** How an answer may be kept: as said to caches. */
function cachingOf({ headers }: Answer): unknown[] {
  return [headers['cache-control'], headers['vary']]
}

const KEPT_BY_NOBODY = ['no-store', /^(accept, )?authorization(, accept)?$/]

for (const mode of MODES) {
  t.test(`no cache keeps any answer of a login, ${mode} (HTTP-12)`, async (t) => {
    const server = await start(t, mode)
    for (const [status, path, options = {}] of LOGINS) {
      const answer = await server.request(path, options)
      const title = `${answer.method} ${path} ${status} ${answer.text.slice(0, 80)}`
      t.equal(answer.status, status, title)
      t.match(cachingOf(answer), KEPT_BY_NOBODY, title)
    }
  })

  t.test(`no cache keeps any answer to credentials, ${mode} (HTTP-12)`, async (t) => {
    const server = await start(t, mode)
    const token = await logIn(server)
    for (const [status, path, options = {}] of CALLS) {
      const tokens: [path: string, headers: object][] = [
        [path, bearer(token)],
        [path, { authorization: 'Basic eDp5' }],
        [`${path}?access_token=${token}`, {}],
      ]
      for (const [target, headers] of tokens) {
        const sent = { ...options, headers: { ...options.headers, ...headers } }
        const answer = await server.request(target, sent)
        const title = `${answer.method} ${target.slice(0, 30)} ${JSON.stringify(headers)}`
        t.equal(answer.status, status, title)
        t.match(cachingOf(answer), KEPT_BY_NOBODY, title)
      }
    }
  })

  t.test(`answers to nobody in particular may be kept, ${mode}`, async (t) => {
    const server = await start(t, mode)
    for (const [status, path, options = {}] of CALLS) {
      const headers = { ...options.headers, cookie: 'theme=dark' }
      const answer = await server.request(path, { ...options, headers })
      const title = `${answer.method} ${path}`
      t.equal(answer.status, status, title)
      t.equal(answer.headers['cache-control'], undefined, title)
    }
    for (const path of ['/authentications', '/open/authentication', '/xauthentication']) {
      const { headers } = await server.request(path)
      t.equal(headers['cache-control'], undefined, path)
    }
  })
}

t.test('nor answers to paths that can not be decoded (HTTP-12)', async (t) => {
  const server = await start(t, 'standalone')
  const paths = ['/authentication/%zz', '/authentication%zz', '/%zz', '/open/%e0%a4%a', '/a%2']
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const answer = await server.request(path, { method })
      t.equal(answer.status, 400, `${method} ${path}`)
      t.match(cachingOf(answer), KEPT_BY_NOBODY, `${method} ${path}`)
    }
  }
})

t.test('nor answers to requests that are refused before they are read (HTTP-12)', async (t) => {
  const server = await start(t, 'standalone')
  const requests = [
    'GET /authentication HTTP/1.1\r\nHost: a\r\nHost: b\r\n',
    'POST /authentication HTTP/1.1\r\nHost: a\r\nExpect: x\r\n',
    'PROPFIND /authentication HTTP/1.1\r\nHost: a\r\n',
    'GET /nowhere HTTP/1.1\r\nHost: a\r\nHost: b\r\nAuthorization: Bearer x\r\n',
    `GET /open HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n${'A: b\r\n'.repeat(120)}`,
  ]
  for (const request of requests) {
    const answer = await server.raw(`${request}Connection: close\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 4\d\d /, request)
    t.match(answer, /^cache-control: no-store\r$/im, request)
  }
})

t.test('nor what functions before a login answer by themselves (HTTP-12)', async (t) => {
  const server = await startOwnServer(t, (app) => {
    const service = new AuthenticationService(app, 'authentication', {
      secret: SECRET,
      entity: null,
    })
    app.use('guarded', (_request, reply) => reply.code(429).send({}), service)
    app.use('limited', (_request, reply) => reply.code(429).send({}), { find: async () => [] })
  })
  const ownErrorBody = true
  const login = await server.request('/guarded', { data: CREDENTIALS, ownErrorBody })
  t.match([login.status, ...cachingOf(login)], [429, ...KEPT_BY_NOBODY])
  const headers = bearer('any')
  const call = await server.request('/limited', { headers, ownErrorBody })
  t.match([call.status, ...cachingOf(call)], [429, ...KEPT_BY_NOBODY])
  const open = await server.request('/limited', { ownErrorBody })
  t.equal(open.headers['cache-control'], undefined)
})

t.test('nor what a host answers below a login of a plugin without prefix (HTTP-12)', async (t) => {
  const app = createApp()
  addAccounts(app)
  addServices(app)
  const host = openHost(t)
  await host.register(remex, { app })
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    const { statusCode, headers } = await host.inject({ method, url: '/authentication/a/b' })
    t.equal(statusCode, 404)
    t.equal(headers['cache-control'], 'no-store', method)
    const other = await host.inject({ method, url: '/nowhere', headers: bearer('any') })
    t.equal(other.headers['cache-control'], undefined, 'elsewhere it is the business of the host')
  }
})
