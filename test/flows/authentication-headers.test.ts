import t from 'tap'
import type { HookContext, Params } from '../../src/transport/index.ts'
import { compress } from '../../src/transport/index.ts'
import { CREDENTIALS } from '../auth/login-app.ts'
import { addEcho, bearer, logIn, refusalOf } from '../support/accounts.ts'
import type { Answer, TestScope } from '../support/http.ts'
import { MODES } from '../support/http.ts'
import type { TestAppOptions } from '../support/test-app.ts'
import { startApp } from '../support/test-app.ts'

const ADA = { id: 1, email: CREDENTIALS.email }
const LONG = 'long enough to be compressed '.repeat(200)

/** Services that fail and answer much, beside those of the accounts. */
function start(t: TestScope, options: TestAppOptions = {}) {
  const { services = {}, ...others } = options
  const fail = () => Promise.reject(new Error('a fault'))
  return startApp(t, {
    accounts: {},
    services: {
      long: { find: async () => ({ text: LONG }) },
      failing: { find: fail },
      ...services,
    },
    configure: (app) => addEcho(app),
    ...others,
  })
}

/** How an answer may be kept: as said to caches. */
function cachingOf({ headers }: Answer): unknown[] {
  return [headers['cache-control'], headers['vary']]
}

for (const mode of MODES) {
  t.test(`no cache keeps what is for one caller, ${mode} (HTTP-12)`, async (t) => {
    const server = await start(t, { mode })
    const headers = bearer(await logIn(server))
    const wrong = { ...CREDENTIALS, password: 'wrong horse' }
    const answers: Record<string, Answer> = {
      login: await server.request('/authentication', { data: CREDENTIALS }),
      'failed login': await server.request('/authentication', { data: wrong }),
      'empty login': await server.request('/authentication', { method: 'POST' }),
      'not offered': await server.request('/authentication', { headers }),
      'not there': await server.request('/nowhere', { headers }),
      'with token': await server.request('/echo', { headers }),
      'open with token': await server.request('/open', { headers }),
      'forged token': await server.request('/echo', { headers: bearer('forged') }),
      'fault with token': await server.request('/failing', { headers }),
      logout: await server.request('/authentication', { method: 'DELETE', headers }),
      'no logout': await server.request('/authentication', { method: 'DELETE' }),
    }
    for (const [title, answer] of Object.entries(answers)) {
      t.match(cachingOf(answer), ['no-store', /^authorization(, accept)?$/], title)
    }
    t.strictSame(cachingOf(await server.request('/open')), [undefined, undefined])
  })

  t.test(`every answer has its type, and no server, ${mode} (HTTP-12)`, async (t) => {
    const server = await start(t, { mode })
    const headers = bearer(await logIn(server))
    const paths = ['/authentication', '/echo', '/open', '/failing', '/nowhere', '/authentication/x']
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
        for (const sent of [headers, {}]) {
          const answer = await server.request(path, { method, headers: sent })
          t.equal(answer.headers['x-content-type-options'], 'nosniff', `${method} ${path}`)
          t.match(answer.headers['content-type'] ?? 'json; charset=utf-8', /json; charset=utf-8/)
          t.notOk(answer.headers['server'] ?? answer.headers['x-powered-by'], path)
        }
      }
    }
  })

  t.test(`a token in a link counts for nothing by default, ${mode} (AUTH-9)`, async (t) => {
    const server = await start(t, { mode })
    const token = await logIn(server)
    const answer = await server.request(`/echo?access_token=${token}`)
    t.strictSame(refusalOf(answer), [401, 'Not authenticated'])
    t.equal(answer.text.includes(token), false)
    const open = await server.request(`/open?access_token=x`)
    t.match(open.body, { query: { access_token: 'x' }, authentication: undefined })
  })

  t.test(`where links may carry a token, it goes no further, ${mode} (AUTH-9)`, async (t) => {
    const server = await start(t, { mode, authentication: { queryToken: true } })
    const token = await logIn(server)
    const answer = await server.request(`/echo?a=1&access_token=${token}`)
    t.match(answer.body, { query: { a: '1' }, user: { email: ADA.email } })
    t.notMatch(answer.body, { query: { access_token: String } })
    const { headers } = answer
    t.match(headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    const odd = ['access_token=forged', 'access_token[]=x', 'access_token[a]=x', 'access_token=']
    for (const query of odd) {
      const refused = await server.request(`/echo?${query}`)
      t.equal(refused.status, 401, query)
      t.match(refused.headers, {
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      const open = await server.request(`/open?${query}`)
      t.strictSame((open.body as { query: object }).query, {}, query)
      t.equal(open.headers['cache-control'], 'no-store', query)
    }
    const both = { headers: bearer(token) }
    const headerCounts = await server.request('/echo?access_token=forged', both)
    t.match(headerCounts.body, { user: { email: ADA.email } }, 'the header comes first')
    t.equal((await server.request('/echo?access_token=forged')).status, 401)
  })
}

t.test('the token of a link is not logged, nor repeated in an error (AUTH-9)', async (t) => {
  const lines: string[] = []
  const logger = { level: 'trace', stream: { write: (line: string) => lines.push(line) } }
  const server = await start(t, { authentication: { queryToken: true }, fastify: { logger } })
  const token = await logIn(server)
  for (const path of ['/echo', '/open/1', '/nowhere', '/failing', '/authentication']) {
    const { text } = await server.request(`${path}?access_token=${token}&b=2`)
    t.equal(text.includes(`access_token=${token.slice(0, 9)}`), false, path)
  }
  const log = lines.join('')
  t.equal(log.includes(token), false)
  t.match(log, /access_token=\[redacted\]/)
})

t.test('no answer with a secret is compressed (BRC-1)', async (t) => {
  const server = await start(t, { plugins: [compress({ threshold: 10 })] })
  const accepts = { 'accept-encoding': 'gzip' }
  const headers = { ...bearer(await logIn(server)), ...accepts }
  const encodingOf = async (path: string, options: RequestInit) =>
    (await fetch(`${server.url}${path}`, options)).headers.get('content-encoding')
  const post = (data: object) => ({
    method: 'POST',
    headers: { ...accepts, 'content-type': 'application/json' },
    body: JSON.stringify(data),
  })
  t.equal(await encodingOf('/long', { headers: accepts }), 'gzip', 'there is compression')
  t.equal(await encodingOf('/long', { headers }), null)
  t.equal(await encodingOf('/authentication', post(CREDENTIALS)), null)
  t.equal(await encodingOf('/authentication', post({ ...CREDENTIALS, password: LONG })), null)
  t.equal(await encodingOf('/authentication', { method: 'DELETE', headers }), null)
})

t.test('what hooks say about caches counts for answers with a token too', async (t) => {
  const keep = async ({ http }: HookContext): Promise<void> => {
    http.headers = { 'Cache-Control': 'private, max-age=60', Vary: 'x-tenant' }
  }
  const server = await start(t, {
    services: { kept: { find: async (_params: Params) => [] } },
    hooks: { kept: { after: { find: [keep] } } },
  })
  const answer = await server.request('/kept', { headers: bearer('any') })
  t.equal(answer.headers['cache-control'], 'private, max-age=60')
})
