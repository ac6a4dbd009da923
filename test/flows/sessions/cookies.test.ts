import t from 'tap'
import type { HookContext } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { setEnvironment } from '../../support/environment.ts'
import { openFrames } from '../../support/event-frames.ts'
import { ADA, startSessions } from '../../support/session-server.ts'
import { until } from '../../support/until.ts'

const database = await openDatabase(t)

/** The host of a page, as a proxy that ends TLS hands it on. */
const HOST = { host: 'app.example.org' }
const SAME_ORIGIN = { ...HOST, 'sec-fetch-site': 'same-origin' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Starts a server with cookies, and a browser that keeps them. */
async function startBrowser(t: Parameters<typeof startSessions>[0], sessions: object, more = {}) {
  const started = await startSessions(t, database, sessions, more)
  const jar = new Map<string, string>()
  const set: string[] = []
  const send = async (path: string, options: Parameters<typeof started.server.request>[1] = {}) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = { ...SAME_ORIGIN, ...(cookie === '' ? {} : { cookie }), ...options.headers }
    const answer = await started.server.request(path, { ...options, headers: sent })
    for (const header of answer.headers['set-cookie'] ?? []) {
      set.push(header)
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
      if (header.includes('Max-Age=0;')) jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  const logIn = () => send('/authentication', { data: { strategy: 'local', ...ADA } })
  const refresh = (headers = {}) =>
    send('/authentication', { data: { strategy: 'refresh' }, headers })
  const logOut = (headers = {}) => send('/authentication', { method: 'DELETE', headers })
  return { ...started, jar, set, send, logIn, refresh, logOut }
}

t.test('a refresh token is in a cookie that no script reads, in no body (CSRF-2)', async (t) => {
  const { logIn, refresh, logOut, jar, set, stored, withToken, server } = await startBrowser(t, {
    cookie: true,
  })
  const login = await logIn()
  t.equal(login.status, 201)
  t.match(login.body, { accessToken: String, user: { email: ADA.email } })
  t.notHas(login.body, { refreshToken: String })
  t.match(set, [
    /^__Host-authentication-refresh=[^;]+; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  ])
  t.equal(login.headers['cache-control'], 'no-store')
  const first = jar.get('__Host-authentication-refresh')
  t.notMatch(login.text, first)
  const next = await refresh()
  t.equal(next.status, 201)
  t.not(jar.get('__Host-authentication-refresh'), first)
  const { accessToken } = next.body as { accessToken: string }
  const notes = await server.request('/notes', { headers: withToken(accessToken) })
  t.equal(notes.status, 200)
  // The access token may have expired: the cookie ends the session as well.
  t.equal((await logOut()).status, 200)
  t.equal(jar.size, 0)
  t.equal(await stored.countDocuments(), 0)
  t.equal((await refresh()).status, 401)
})

t.test('cookies only write for pages of this origin and of `origins`', async (t) => {
  const origin = 'https://front.example.org'
  const { logIn, refresh, logOut, send, stored } = await startBrowser(t, {
    ...{ cookie: 'all', origins: [origin] },
  })
  await logIn()
  const FOREIGN: Readonly<Record<string, Record<string, string>>> = {
    'a program that is no browser': { 'sec-fetch-site': '' },
    'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    'a subdomain': { 'sec-fetch-site': 'same-site', origin: 'https://x.front.example.org' },
    'an origin that begins alike': { 'sec-fetch-site': 'cross-site', origin: `${origin}.evil` },
    'a page without an origin': { 'sec-fetch-site': 'cross-site', origin: 'null' },
    'the same host without TLS': {
      'sec-fetch-site': 'same-site',
      origin: 'http://front.example.org',
    },
    'an address that was typed': { 'sec-fetch-site': 'none' },
    'a neighbour of another port': { 'sec-fetch-site': '', origin: 'http://app.example.org:81' },
    'a page without TLS': { 'sec-fetch-site': 'same-origin', origin: 'http://app.example.org' },
  }
  for (const [name, headers] of Object.entries(FOREIGN)) {
    t.equal((await refresh(headers)).status, 403, `a refresh of ${name} (CSRF-1)`)
    t.equal((await logOut(headers)).status, 403, `a logout of ${name} (CSRF-1)`)
    const note = { data: { text: 'hello' }, headers }
    t.equal((await send('/notes', note)).status, 403, `a write of ${name} (CSRF-1)`)
    const form = { method: 'POST', body: 'text=hello', headers: { ...FORM, ...headers } }
    t.equal((await send('/notes', form)).status, 403, `a form of ${name} (FST-3)`)
    // Other sites can send it, and browsers do not show them the answer.
    t.equal((await send('/notes', { headers })).status, 200)
  }
  const plain = { method: 'POST', body: '{"text":"hello"}' }
  const text = { ...plain, headers: { 'content-type': 'text/plain' } }
  t.equal((await send('/notes', text)).status, 415, 'text (FST-3)')
  const allowed = { origin, 'sec-fetch-site': 'same-site' }
  t.equal((await send('/notes', { data: { text: 'hello' }, headers: allowed })).status, 201)
  t.equal((await send('/notes', { data: { text: 'hello' } })).status, 201)
  t.equal((await refresh(allowed)).status, 201)
  t.equal(await stored.countDocuments(), 1)
  t.equal((await logOut(allowed)).status, 200)
  t.equal(await stored.countDocuments(), 0)
})

t.test('with both tokens in cookies no body has one', async (t) => {
  const { logIn, refresh, send, set, jar } = await startBrowser(t, { cookie: 'all' })
  for (const { body, text } of [await logIn(), await refresh()]) {
    t.match(body, { user: { email: ADA.email }, authentication: { payload: { sid: String } } })
    t.notMatch(text, /accessToken|refreshToken/)
    for (const token of jar.values()) t.notOk(text.includes(token))
  }
  t.match(
    set[1],
    /^__Host-authentication-access=.*; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  )
  const { body } = await send('/sessions')
  t.match(body, { data: [{ current: true }] })
  const out = await send('/authentication', { method: 'DELETE' })
  t.equal(out.status, 200)
  t.notMatch(out.text, /accessToken/)
  t.equal(jar.size, 0)
  t.equal((await send('/notes')).status, 401)
})

t.test('a logout forgets the cookies, whatever its query says', async (t) => {
  const { logIn, send, jar, stored } = await startBrowser(t, { cookie: 'all' })
  await logIn()
  t.equal((await send('/authentication?keep=current', { method: 'DELETE' })).status, 200)
  t.equal(await stored.countDocuments(), 0)
  t.equal(jar.size, 0)
})

t.test('a login of another site is refused, one of a program is not (CSRF-1)', async (t) => {
  const { send, server } = await startBrowser(t, { cookie: true })
  const data = { strategy: 'local', ...ADA }
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  t.match(await send('/authentication', { data, headers: evil }), { status: 403 })
  const body = new URLSearchParams(data).toString()
  const form = { method: 'POST', body, headers: { ...FORM, ...evil } }
  t.match(await send('/authentication', form), { status: 403 })
  const { status, headers } = await server.request('/authentication', { data })
  t.equal(status, 201)
  t.equal(headers['set-cookie']?.length, 1)
})

t.test('a login in a browser ends the session that this browser had (FST-13)', async (t) => {
  const { logIn, jar, stored, refresh } = await startBrowser(t, { cookie: true })
  await logIn()
  const planted = new Map(jar)
  await logIn()
  t.equal(await stored.countDocuments(), 1)
  for (const [name, value] of planted) jar.set(name, value)
  t.equal((await refresh()).status, 401)
})

t.test('another cookie of the name, set by another host, counts as none (FST-14)', async (t) => {
  const { logIn, refresh, jar, send } = await startBrowser(t, {
    ...{ cookie: 'all', cookiePath: '/authentication' },
  })
  await logIn()
  t.strictSame([...jar.keys()], ['__Secure-authentication-refresh', '__Host-authentication-access'])
  const cookie = [...jar]
    .flatMap(([name, value]) => [`${name}=other`, `${name}=${value}`])
    .join('; ')
  t.equal((await refresh({ cookie })).status, 401)
  t.equal((await send('/notes', { headers: { cookie } })).status, 401)
  t.equal((await refresh()).status, 201)
})

t.test('a refresh without a cookie says so, and one in the body is not read', async (t) => {
  const { refresh, send, logIn, jar, server } = await startBrowser(
    t,
    { cookie: true },
    { loginThrottle: { maxAttempts: 2 } },
  )
  for (let visit = 0; visit < 5; visit += 1) t.equal((await refresh()).status, 401)
  t.strictSame(server.logged, [], 'guests are no failing logins')
  await logIn()
  const refreshToken = jar.get('__Host-authentication-refresh')
  const data = { strategy: 'refresh', refreshToken }
  t.match(await send('/authentication', { data }), { status: 400, body: { message: /cookie/ } })
  jar.set('__Host-authentication-refresh', '%00')
  t.equal((await refresh()).status, 401)
})

t.test('bearer tokens take no notice of cookies, and go before them', async (t) => {
  const { logIn, send, withToken } = await startBrowser(t, { cookie: 'all' })
  await logIn()
  t.equal((await send('/notes')).status, 200)
  t.equal((await send('/notes', { headers: withToken('not a token') })).status, 401)
  const plain = await startBrowser(t, {})
  const { body } = await plain.logIn()
  t.match(body, { accessToken: String, refreshToken: String })
  t.equal(plain.jar.size, 0)
  const headers = { cookie: '__Host-authentication-access=x' }
  t.equal((await plain.send('/notes', { headers })).status, 401)
})

t.test('a page of this origin is known by `Origin` where browsers send just that', async (t) => {
  const { send } = await startBrowser(t, { cookie: 'all' })
  const own = { host: '127.0.0.1:3030', origin: 'http://127.0.0.1:3030', 'sec-fetch-site': '' }
  const data = { strategy: 'local', ...ADA }
  t.equal((await send('/authentication', { data, headers: own })).status, 201)
  t.equal((await send('/notes', { data: { text: 'hello' }, headers: own })).status, 201)
  const other = { ...own, origin: 'http://127.0.0.1:3031' }
  t.match(await send('/notes', { data: { text: 'hello' }, headers: other }), {
    status: 403,
    body: { message: /not of 'http:\/\/127.0.0.1:3031'/ },
  })
  const near = { ...own, host: '192.168.0.7', origin: 'http://192.168.0.7' }
  t.match(await send('/authentication', { data, headers: near }), {
    status: 403,
    body: { message: /need HTTPS or localhost/ },
  })
})

t.test('for a developer on this computer, cookies work without TLS', async (t) => {
  setEnvironment(t, 'development')
  const { set, jar, refresh, server, send } = await startBrowser(t, { cookie: true })
  const local = { host: '127.0.0.1:3030' }
  const data = { strategy: 'local', ...ADA }
  await send('/authentication', { data, headers: local })
  t.match(set, [/^authentication-refresh=[^;]+; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Lax$/])
  t.equal((await refresh(local)).status, 201)
  const told = server.logged.filter(({ message }) => message?.includes('Secure'))
  t.equal(told.length, 1)
  // A proxy may hand on requests of the world to this name.
  jar.clear()
  await send('/authentication', { data, headers: { ...local, 'x-forwarded-for': '192.0.2.1' } })
  t.match(set.at(-1), /^__Host-/)
  for (const environment of ['production', 'test', '', undefined]) {
    setEnvironment(t, environment)
    jar.clear()
    await send('/authentication', { data, headers: local })
    t.match(set.at(-1), /^__Host-/, String(environment))
  }
})

t.test('a proxy that adds no header brings no cookie without the prefix', async (t) => {
  setEnvironment(t, undefined)
  const { logIn, jar, server } = await startBrowser(t, { cookie: 'all' })
  await logIn()
  const token = (kind: string) => jar.get(`__Host-authentication-${kind}`)
  // As nginx asks by default. A neighbouring host has set the cookies.
  const headers = { host: '127.0.0.1:3030', 'sec-fetch-site': 'same-origin' }
  const read = { ...headers, cookie: `authentication-access=${token('access')}` }
  t.equal((await server.request('/notes', { headers: read })).status, 401)
  const renewal = { ...headers, cookie: `authentication-refresh=${token('refresh')}` }
  const data = { strategy: 'refresh' }
  t.equal((await server.request('/authentication', { data, headers: renewal })).status, 401)
})

t.test('cookies without the prefix count for a developer on this computer alone', async (t) => {
  setEnvironment(t, 'development')
  const { logIn, jar, server } = await startBrowser(t, { cookie: true })
  await logIn()
  const cookie = `authentication-refresh=${jar.get('__Host-authentication-refresh')}`
  const refresh = (headers: Record<string, string>) =>
    server.request('/authentication', {
      data: { strategy: 'refresh' },
      headers: { 'sec-fetch-site': 'same-origin', cookie, ...headers },
    })
  const local = { host: 'localhost:3030' }
  t.equal((await refresh(HOST)).status, 401)
  t.equal((await refresh({ ...local, 'x-forwarded-for': '192.0.2.1' })).status, 401)
  t.equal((await refresh({ ...local, origin: 'https://app.example.org' })).status, 401)
  const { status, headers } = await refresh({ ...local, origin: 'http://localhost:3030' })
  t.equal(status, 201)
  t.match(headers['set-cookie'], [/^authentication-refresh=/])
})

t.test('a cookie whose name has one byte more is another cookie', async (t) => {
  const { logIn, jar, server } = await startBrowser(t, { cookie: true })
  await logIn()
  const name = '__Host-authentication-refresh'
  const body = JSON.stringify({ strategy: 'refresh' })
  const refresh = async (cookie: Buffer): Promise<string> => {
    const head = [
      'POST /authentication HTTP/1.1',
      'Host: app.example.org\r\nSec-Fetch-Site: same-origin\r\nConnection: close',
      `Content-Type: application/json\r\nContent-Length: ${body.length}`,
      'Cookie: a=b; ',
    ].join('\r\n')
    const bytes = [Buffer.from(head), cookie, Buffer.from(`\r\n\r\n${body}`)]
    return (await server.raw(Buffer.concat(bytes))).slice(9, 12)
  }
  const value = Buffer.from(`=${jar.get(name)}`)
  const accepted: string[] = []
  for (let byte = 0; byte < 256; byte += 1) {
    const more = Buffer.from([byte])
    const hex = more.toString('hex')
    const before = await refresh(Buffer.concat([more, Buffer.from(name), value]))
    const after = await refresh(Buffer.concat([Buffer.from(name), more, value]))
    if (before === '201') accepted.push(`before: ${hex}`)
    if (after === '201') accepted.push(`after: ${hex}`)
  }
  // No name of a cookie begins with these three: browsers strip two of them, and end the cookie before at the third.
  t.strictSame(accepted, ['before: 09', 'before: 20', 'before: 3b'])
})

t.test('the next login takes the place of a cookie with another name', async (t) => {
  setEnvironment(t, 'development')
  const { send, jar, refresh, set } = await startBrowser(t, { cookie: 'all' })
  const data = { strategy: 'local', ...ADA }
  const local = { host: 'localhost:3030' }
  // As a proxy of the developer hands it on, and then without that.
  await send('/authentication', { data, headers: { ...local, origin: 'https://localhost' } })
  t.match([...jar.keys()], [/^__Host-/, /^__Host-/])
  await send('/authentication', { data, headers: local })
  t.strictSame([...jar.keys()], ['authentication-refresh', 'authentication-access'])
  t.match(set[3], /^__Host-authentication-refresh=; Max-Age=0; Path=\/; HttpOnly; Secure;/)
  t.equal((await refresh(local)).status, 201)
  t.equal((await send('/notes', { headers: local })).status, 200)
})

t.test('a hook that refuses a login after it sends no cookie', async (t) => {
  const { logIn, set, server } = await startBrowser(t, { cookie: 'all' })
  const seen: unknown[] = []
  server.app.service('authentication').hooks({
    after: {
      create: (context: { result: object }) => {
        seen.push(Object.keys(context.result))
        throw new Error('not today')
      },
    },
  } as never)
  t.equal((await logIn()).status, 500)
  t.strictSame(set, [])
  t.equal(seen.length, 1)
})

t.test('a stream is opened by the cookie, and ends with the session', async (t) => {
  const { logIn, logOut, jar, server, send } = await startBrowser(t, { cookie: 'all' })
  await logIn()
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const frames = await openFrames(t, `${server.url}/notes`, { ...SAME_ORIGIN, cookie })
  t.match(await frames.next(), { data: [] })
  await send('/notes', { data: { text: 'hello' } })
  t.match(await frames.next(), { data: { text: 'hello' } })
  await logOut()
  await until(() => frames.hasEnded)
  t.equal((await send('/notes')).status, 401)
})

t.test('a hook that moves tokens is told so, and no body has one', async (t) => {
  const MOVES: Readonly<Record<string, (context: HookContext) => unknown>> = {
    'an envelope': (context) => void Object.assign(context, { result: { data: context.result } }),
    'another body': (context) => void Object.assign(context, { dispatch: [context.result] }),
    'a body of its own form': (context) => {
      const { result } = context
      context.dispatch = { toJSON: () => result }
    },
  }
  for (const [name, move] of Object.entries(MOVES)) {
    const { logIn, server } = await startBrowser(t, { cookie: 'all' })
    server.app.service('authentication').hooks({ after: { create: [move] } } as never)
    const { status, text } = await logIn()
    t.equal(status, 500, name)
    t.notMatch(text, /Token"/)
    t.match(server.logged.at(-1)?.details, { err: { message: /moved a token/ } })
  }
})

t.test('a logout ends the session of the cookie as well as that of the token', async (t) => {
  const { logIn, send, stored, server, withToken, jar } = await startBrowser(t, { cookie: true })
  const other = await server.request('/authentication', { data: { strategy: 'local', ...ADA } })
  await logIn()
  t.equal(await stored.countDocuments(), 2)
  const headers = withToken((other.body as { accessToken: string }).accessToken)
  t.equal((await send('/authentication', { method: 'DELETE', headers })).status, 200)
  t.equal(await stored.countDocuments(), 0)
  t.equal(jar.size, 0)
})

t.test('a token that no cookie can hold leaves no session', async (t) => {
  const { logIn, stored, set, authentication } = await startBrowser(t, { cookie: 'all' })
  authentication.getPayload = async () => ({ text: 'a'.repeat(4000) })
  t.equal((await logIn()).status, 500)
  t.equal(await stored.countDocuments(), 0)
  t.strictSame(set, [])
})

t.test('settings of cookies that can not be meant are refused at the start', async (t) => {
  const ROWS: [object, RegExp][] = [
    [{ cookie: 'yes' }, /'sessions.cookie' must be true, false or 'all'/],
    [{ origins: ['https://a.example'] }, /'authentication.sessions.origins' needs/],
    [{ cookiePath: '/api' }, /'authentication.sessions.cookiePath' needs/],
    [{ cookie: true, origins: ['*'] }, /a list of origins/],
    [{ cookie: true, origins: ['https://a.example/'] }, /a list of origins/],
    [{ cookie: true, origins: 'https://a.example' }, /a list of origins/],
    [{ cookie: true, cookiePath: 'api' }, /a path/],
    [{ cookie: true, cookiePath: '/a; Domain=example.org' }, /a path/],
  ]
  for (const [sessions, message] of ROWS) {
    await t.rejects(startSessions(t, database, sessions), { message }, JSON.stringify(sessions))
  }
})
