import { connect } from 'node:net'
import t from 'tap'
import { openDatabase } from '../../support/database.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import type { JourneyOptions } from './journey.ts'
import { AT_CALLBACK, fillForms, logIn, startJourney, tokenOf, userOf } from './journey.ts'

const database = await openDatabase(t)

interface Mounting extends JourneyOptions {
  /** Where the services are, below the origin. */
  readonly path: string
}

const MOUNTINGS: Readonly<Record<string, Mounting>> = {
  'below the prefix of a plugin': { prefix: '/api/v1', path: '/api/v1/oauth/example' },
  'below a prefix of their own': {
    oauth: { redirect: '/home', defaults: { prefix: '/logins' } },
    path: '/logins/example',
  },
  'of an application within another': { mount: '/inner', path: '/inner/oauth/example' },
  'below all of these': {
    mount: '/inner',
    prefix: '/api/v1',
    oauth: { redirect: '/home', defaults: { prefix: '/our/logins' } },
    path: '/api/v1/inner/our/logins/example',
  },
}

for (const [name, { path, ...options }] of Object.entries(MOUNTINGS)) {
  t.test(`logs somebody in by services ${name}`, async (t) => {
    const { app, browser, start, startOther } = await startJourney(t, database, options)
    t.equal(start, app.origin + path)
    const begun = await browser.open(start)
    t.match(begun.headers.get('set-cookie'), `; Path=${path}/callback; HttpOnly`)
    const token = tokenOf(await logIn(browser, start, 'ann'))
    t.match(await userOf(app, token), { exampleId: 'ann' })
    const linked = await logIn(browser, `${startOther}?feathers_token=${token}`, 'ann')
    t.equal(linked.location?.split('#')[0], `${app.origin}/home`)
    t.match(await userOf(app, tokenOf(linked)), { exampleId: 'ann', otherId: 'ann' })
  })
}

/** Returns the first line of the answer to a request as HTTP/1.0 allows it. */
async function sendWithoutHost(origin: string, path: string): Promise<string> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname).end(`GET ${path} HTTP/1.0\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk
  return answer.split('\r\n')[0] ?? ''
}

const OUTSIDE = 'https://app.test'

t.test('logs somebody in behind a proxy that is trusted, with TLS outside', async (t) => {
  const { app, start } = await startJourney(t, database, {
    prefix: '/api',
    server: { trustProxy: true },
    redirectUris: [`${OUTSIDE}/api/oauth/example/callback`],
  })
  const browser = new CookieBrowser({ proxies: { [OUTSIDE]: app.origin } })
  const outside = start.replace(app.origin, OUTSIDE)
  const begun = await browser.open(outside)
  t.match(
    begun.headers.get('set-cookie'),
    /^__Secure-remex-oauth-example=[\w.-]+; Max-Age=600; Path=\/api\/oauth\/example\/callback; HttpOnly; Secure; SameSite=Lax$/,
  )
  const page = await logIn(browser, outside, 'ann')
  t.match(page.location, /^https:\/\/app\.test\/home#access_token=/)
  t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' })
  t.same(browser.refused, [])
})

t.test('takes no word of a proxy that is not trusted', async (t) => {
  const { app, start } = await startJourney(t, database)
  const browser = new CookieBrowser({ proxies: { 'https://evil.test': app.origin } })
  const { location } = await browser.open(start.replace(app.origin, 'https://evil.test'))
  const asked = new URL(location ?? 'none:').searchParams
  t.notMatch(asked.get('redirect_uri'), /evil/)
})

t.test('begins no login where the address of this server is not known', async (t) => {
  const defaults = [{}, { origin: OUTSIDE }]
  for (const one of defaults) {
    const { app } = await startJourney(t, database, {
      oauth: { redirect: '/home', defaults: one },
      server: { trustProxy: true },
    })
    const requests: readonly Readonly<Record<string, string>>[] = [
      { 'x-forwarded-proto': 'javascript' },
      { 'x-forwarded-proto': 'ftp' },
      { 'x-forwarded-proto': '', 'x-forwarded-host': 'a b' },
      { 'x-forwarded-host': 'app.test/evil' },
      { 'x-forwarded-host': 'app.test@evil.test' },
    ]
    for (const headers of requests) {
      for (const path of ['/oauth/example', '/oauth/example?redirect=/notes']) {
        const response = await fetch(app.origin + path, { headers, redirect: 'manual' })
        t.equal(response.status, 400, JSON.stringify(headers))
        t.match(await response.json(), { message: /^The address of this server is not known/ })
        t.strictSame(response.headers.getSetCookie(), [])
      }
    }
    t.strictSame(await sendWithoutHost(app.origin, '/oauth/example'), 'HTTP/1.1 400 Bad Request')
  }
})

t.test('logs somebody in at the origin of the settings, whatever a proxy says', async (t) => {
  const { app, start } = await startJourney(t, database, {
    oauth: { redirect: '/home', defaults: { origin: OUTSIDE } },
    redirectUris: [`${OUTSIDE}/oauth/example/callback`],
  })
  const browser = new CookieBrowser({ proxies: { [OUTSIDE]: app.origin } })
  const outside = start.replace(app.origin, OUTSIDE)
  const begun = await browser.open(outside)
  t.match(begun.headers.get('set-cookie'), /^__Secure-remex-oauth-example=/)
  t.match(await userOf(app, tokenOf(await logIn(browser, outside, 'ann'))), { exampleId: 'ann' })
})

const SHOP = `${OUTSIDE}/shop/oauth/example/callback`

const BELOW_A_PATH: Readonly<Record<string, JourneyOptions>> = {
  'the URL of the callback': { section: { redirect_uri: SHOP } },
  'an origin with that part': {
    oauth: { redirect: '/home', defaults: { origin: `${OUTSIDE}/shop` } },
  },
}

for (const [setting, options] of Object.entries(BELOW_A_PATH)) {
  t.test(`logs somebody in behind a proxy that cuts a path off, by ${setting}`, async (t) => {
    const { app, browser, start } = await startJourney(t, database, {
      ...options,
      redirectUris: [SHOP],
    })
    const begun = await browser.open(start)
    const [cookie = ''] = begun.headers.getSetCookie()
    t.match(cookie, /^__Secure-.*; Path=\/shop\/oauth\/example\/callback; /)
    const opened = browser.follow(begun.location ?? '', AT_CALLBACK)
    const { location } = await fillForms(browser, opened, 'ann', AT_CALLBACK)
    t.ok(location?.startsWith(SHOP))
    const within = location?.replace(`${OUTSIDE}/shop`, app.origin) ?? ''
    const headers = { cookie: cookie.split(';')[0] ?? '' }
    const ended = await fetch(within, { headers, redirect: 'manual' })
    t.match(ended.headers.get('location'), /^\/home#access_token=/)
    t.match(ended.headers.get('set-cookie'), /Max-Age=0; Path=\/shop\/oauth\/example\/callback; /)
  })
}
