import t from 'tap'
import type { Params } from '../../src/transport/index.ts'
import { Forbidden } from '../../src/transport/index.ts'
import { CREDENTIALS, forge, SECRET } from '../auth/login-app.ts'
import { addEcho, bearer, logIn } from '../support/accounts.ts'
import type { Mode, TestScope } from '../support/http.ts'
import { MODES } from '../support/http.ts'
import { startApp } from '../support/test-app.ts'
import { laterTurns, until } from '../support/until.ts'

const WRONG = { ...CREDENTIALS, password: 'the wrong horse' }

type Line = Record<string, unknown>

/** A server that logs all it can into a list; in a host, whose own log is its own, the application. */
async function start(t: TestScope, mode: Mode, settings: object = {}) {
  const written: string[] = []
  const stream = { write: (line: string) => written.push(line) }
  const server = await startApp(t, {
    mode,
    ...(mode === 'standalone' ? { fastify: { logger: { level: 'trace', stream } } } : {}),
    accounts: { settings: { revocation: true, ...settings } },
    configure(app) {
      if (mode === 'plugin') {
        const write = (details: object, message?: string) =>
          written.push(JSON.stringify({ ...details, msg: message }))
        app.logger = { error: write, warn: write, info: write }
      }
      addEcho(app)
      app.use('failing', {
        async find(params: Params) {
          throw Object.assign(new Error('a fault', { cause: params.authentication }), params)
        },
        async create(data: object) {
          throw Object.assign(new Error('a fault'), { data })
        },
        async get() {
          throw new Forbidden('Not for you')
        },
      })
    },
  })
  const takeLines = () => written.splice(0).map((line) => JSON.parse(line) as Line)
  return { server, written, takeLines, users: server.users }
}

for (const mode of MODES) {
  t.test(`no line holds a password, a token or a secret, ${mode} (LOG-1)`, async (t) => {
    const { server, written, users } = await start(t, mode)
    const token = await logIn(server)
    const headers = bearer(token)
    const hash = String(users.users.get('1')?.password)
    await server.request('/authentication', { data: WRONG })
    await server.request('/echo', { headers })
    await server.request('/echo', { headers: { authorization: token } })
    await server.request(`/echo?access_token=${token}`)
    await server.request(`/nowhere?access_token=${token}`, { headers })
    await server.request('/failing', { headers })
    await server.request('/failing', { headers, data: CREDENTIALS })
    await server.request('/authentication', { data: { strategy: 'jwt', accessToken: token } })
    await server.request('/authentication', { headers, body: JSON.stringify(CREDENTIALS) })
    const broken = { 'content-type': 'application/json' }
    const body = `{"password":"${CREDENTIALS.password}"`
    await server.request('/authentication', { headers: broken, body })
    await server.request('/authentication', { method: 'DELETE', headers })
    await server.request('/authentication', { method: 'DELETE', headers })
    const log = written.join('')
    t.ok(written.length >= (mode === 'standalone' ? 12 : 5), `${written.length} lines`)
    const secrets = [CREDENTIALS.password, WRONG.password, SECRET, hash, token]
    for (const secret of [...secrets, token.split('.')[2] ?? '']) {
      t.equal(log.includes(secret), false, secret.slice(0, 12))
    }
    t.notMatch(log, /access_token=(?!\[redacted\])/)
  })
}

t.test('each login, failure and logout is one line with address and reason (LOG-3)', async (t) => {
  const { server, takeLines } = await start(t, 'standalone')
  const eventOf = async (run: () => Promise<unknown>) => {
    takeLines()
    await run()
    await new Promise(setImmediate)
    return takeLines().filter(({ event }) => event !== undefined)
  }
  let token = ''
  const login = await eventOf(async () => {
    token = await logIn(server)
  })
  t.equal(login.length, 1)
  t.match(login[0], { event: 'login', strategy: 'local', address: '127.0.0.1', user: '1' })
  const failure = await eventOf(() => server.request('/authentication', { data: WRONG }))
  t.equal(failure.length, 1)
  const { level, ...failed } = failure[0] ?? {}
  t.ok(Number(level) >= 40, 'a warning')
  t.match(failed, { event: 'login', address: '127.0.0.1', code: 401, reason: 'wrong password' })
  const method = 'DELETE'
  const headers = bearer(token)
  const logout = await eventOf(() => server.request('/authentication', { method, headers }))
  t.match(logout, [{ event: 'logout', strategy: 'jwt', address: '127.0.0.1', user: '1' }])
  const again = await eventOf(() => server.request('/authentication', { method, headers }))
  t.match(again, [{ event: 'logout', code: 401, reason: 'jwt was revoked' }], 'a token used again')
})

/** What is logged beside the line of the request, by its status. */
const EVENTS: Readonly<Record<string, readonly object[]>> = {
  401: [{ event: 'token', address: '127.0.0.1', reason: 'jwt malformed' }],
  429: [{ event: 'login', code: 429 }],
}

t.test('a login over the limit, and what is refused, is one line each (LOG-3)', async (t) => {
  const { server, takeLines } = await start(t, 'standalone', { loginThrottle: { maxAttempts: 1 } })
  await server.request('/authentication', { data: WRONG })
  const headers = bearer(await forge())
  const requests: Record<number, () => Promise<unknown>> = {
    401: () => server.request('/echo', { headers: bearer('forged') }),
    403: () => server.request('/failing/1', { headers }),
    405: () => server.request('/authentication', { headers }),
    429: () => server.request('/authentication', { data: WRONG }),
  }
  for (const [status, send] of Object.entries(requests)) {
    takeLines()
    await send()
    const lines: Line[] = []
    const isEnd = ({ statusCode }: Line) => statusCode === Number(status)
    await until(() => lines.push(...takeLines()) > 0 && lines.some(isEnd))
    await laterTurns()
    lines.push(...takeLines())
    const refusals = lines.filter(isEnd)
    t.match(refusals, [{ req: { address: '127.0.0.1', method: String } }], status)
    const events = lines.filter(({ event }) => event !== undefined)
    const expected: readonly object[] = EVENTS[status] ?? []
    t.equal(events.length, expected.length, status)
    t.match(events, expected, status)
  }
})
