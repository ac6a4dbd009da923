import type { Test } from 'tap'
import t from 'tap'
import type { OAuthSettings } from '../../../src/auth/index.ts'
import type { AttackedApp } from '../../support/oauth/attacked-app.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import { REFUSED_EVERYWHERE, REFUSED_WITHOUT_PATH } from '../../support/oauth/redirect-tricks.ts'

const ORIGINS = ['https://app.test', 'http://localhost:3000', 'http://[::1]:3000']

/** Asserts that a start is refused, and that nobody is asked or sent anywhere. */
async function checkRefused(t: Test, app: AttackedApp, name: string, path: string) {
  app.takeTraces()
  const response = await app.send(path)
  t.equal(response.status, 401, name)
  t.strictSame(
    [response.headers.get('location'), response.headers.getSetCookie()],
    [null, []],
    name,
  )
  t.strictSame(app.takeTraces(), [], name)
}

const start = (t: Test, oauth: OAuthSettings) => startAttackedApp(t, { oauth })
const toStart = (redirect: string) => `/oauth/example?redirect=${encodeURIComponent(redirect)}`

/** A URL can't hold half of a character: that is tried without a socket. */
const isWellFormed = ([, text]: readonly [string, string]) => text.isWellFormed()
const EVERYWHERE = Object.entries(REFUSED_EVERYWHERE).filter(isWellFormed)
const WITHOUT_PATH = Object.entries(REFUSED_WITHOUT_PATH).filter(isWellFormed)

t.test('no redirect leads away from the origins (FTH-13)', async (t) => {
  const app = await start(t, { origins: ORIGINS })
  for (const [name, redirect] of [...EVERYWHERE, ...WITHOUT_PATH]) {
    await checkRefused(t, app, name, toStart(redirect))
  }
})

t.test('no redirect leads away from a page of this server (FTH-13)', async (t) => {
  const app = await start(t, { redirect: '/' })
  for (const [name, redirect] of EVERYWHERE) await checkRefused(t, app, name, toStart(redirect))
  const login = await app.begin(toStart('/attacker.test'))
  const { headers } = await app.finish(login)
  t.match(headers.get('location'), /^\/attacker\.test#access_token=/, 'one of two slashes goes')
})

/** Spellings of the parameter, each as it stands in the query. */
const SPELLINGS: Readonly<Record<string, string>> = {
  'a parameter twice': 'redirect=/notes&redirect=@attacker.test',
  'a list': 'redirect[]=@attacker.test',
  'a list by index': 'redirect[0]=/notes&redirect[1]=//attacker.test',
  'an object': 'redirect[path]=@attacker.test',
  'percent-encoded once': 'redirect=%40attacker.test',
  'percent-encoded twice': 'redirect=%2540attacker.test',
  'a name that is percent-encoded': 're%64irect=@attacker.test',
  'a plus for a space': 'redirect=/+/attacker.test',
}

t.test('no spelling of the parameter gets by (FTH-13)', async (t) => {
  const app = await start(t, { origins: ORIGINS })
  for (const [name, query] of Object.entries(SPELLINGS)) {
    await checkRefused(t, app, name, `/oauth/example?${query}`)
  }
})

/** By origin of the page, and what is appended; and what stands before the token. */
const ALLOWED: readonly (readonly [referer: string, redirect: string, separator: string])[] = [
  ['https://app.test', '', '#'],
  ['https://app.test', '/notes/1?tab=2', '#'],
  ['http://localhost:3000', '/a%2Fb', '#'],
  ['http://[::1]:3000', '/notes', '#'],
  ['https://app.test', '/#/notes', '?'],
  ['https://app.test', '/#/notes?', ''],
  ['https://app.test', '/#/notes?tab=2', '&'],
]

t.test('a redirect that is allowed is below the origin, byte for byte (FTH-13)', async (t) => {
  const app = await start(t, { origins: ORIGINS })
  for (const [referer, redirect, separator] of ALLOWED) {
    const login = await app.begin(toStart(redirect), { referer: `${referer}/login` })
    const location = (await app.finish(login)).headers.get('location') ?? ''
    t.ok(location.startsWith(`${referer}${redirect}${separator}access_token=`), location)
    t.equal(new URL(location).origin, referer)
  }
})

t.test('no redirect brings a token of its own (FTH-13)', async (t) => {
  const app = await start(t, { origins: ORIGINS })
  for (const redirect of [
    '#access_token=EVIL&',
    '/#/notes?access_token=EVIL',
    '#access%5Ftoken=E',
  ]) {
    await checkRefused(t, app, redirect, toStart(redirect))
  }
})

const REFUSED_REFERERS: readonly string[] = [
  'https://app.test.attacker.test/',
  'https://app.test@attacker.test/',
  'https://attacker.test/?https://app.test',
  'http://app.test/',
  'https://app.test:8443/',
  'https://sub.app.test/',
  'http://localhost:9999/',
  'https://localhost:3000/',
  'http://127.0.0.1:3000/',
  'null',
  '',
  'javascript:alert(1)',
  'data:text/html,x',
  '//app.test',
  'app.test',
]

t.test('a login from a page of another origin does not begin (FTH-14, FTH-15)', async (t) => {
  const app = await start(t, { origins: ORIGINS })
  for (const referer of REFUSED_REFERERS) {
    const { status, headers } = await app.send('/oauth/example', { headers: { referer } })
    t.equal(status, 401, referer)
    t.strictSame([headers.get('location'), headers.getSetCookie()], [null, []], referer)
  }
  t.strictSame(app.takeTraces(), [])
})

t.test('the origin that counts is that of the start (FTH-14)', async (t) => {
  const app = await start(t, { origins: ORIGINS })
  const login = await app.begin('/oauth/example', { referer: 'http://localhost:3000/' })
  const headers = { cookie: login.cookie, referer: 'https://app.test/', origin: 'https://x.test' }
  const response = await app.send(login.callback, { headers })
  t.match(response.headers.get('location'), /^http:\/\/localhost:3000#access_token=/)
})

t.test('production and development decide alike about local ports (FTH-15)', async (t) => {
  const { NODE_ENV: before } = process.env
  t.teardown(() => Object.assign(process.env, { NODE_ENV: before }))
  const app = await start(t, { origins: ORIGINS })
  for (const environment of ['production', 'development']) {
    process.env['NODE_ENV'] = environment
    const headers = { referer: 'http://localhost:9999/' }
    t.equal((await app.send('/oauth/example', { headers })).status, 401, environment)
  }
})

t.test('errors lead nowhere else either (FTH-13)', async (t) => {
  const app = await start(t, { redirect: 'https://app.test/home' })
  const login = await app.begin(toStart('/notes'))
  const url = new URL(login.callback)
  url.searchParams.set('error', 'access_denied')
  url.searchParams.set('error_description', '//attacker.test\r\n#access_token=forged')
  url.searchParams.set('redirect', '@attacker.test')
  const response = await app.send(url.href, { headers: { cookie: login.cookie } })
  const location = new URL(response.headers.get('location') ?? 'none:')
  t.equal(location.origin + location.pathname, 'https://app.test/home/notes')
  t.match(location.hash, /^#error=[\w%.]+$/)
  t.notMatch(location.href, 'forged')
})
