import type { Test } from 'tap'
import t from 'tap'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import type { LocalAnswer, ReceivedRequest } from '../../support/oauth/local-server.ts'
import { startLocalServer } from '../../support/oauth/local-server.ts'

const NOW = 1_700_000_000_000

/** Serves `/set`, `/go` and `/form` in every folder, and says what any other path has received. */
const ANSWERS: Readonly<Record<string, (request: ReceivedRequest) => LocalAnswer>> = {
  '/set': ({ query }) => ({ headers: { 'set-cookie': query.get('cookie') ?? '' } }),
  '/go': ({ query }) => ({
    status: Number(query.get('status') ?? 302),
    headers: {
      location: query.get('to') ?? '/',
      ...(query.has('policy') && { 'referrer-policy': query.get('policy') ?? '' }),
    },
  }),
  '/loop': () => ({ status: 302, headers: { location: '/loop' } }),
  '/form': ({ query }) => ({ body: query.get('html') ?? '' }),
}

const echo = ({ method, path, query, headers, body }: ReceivedRequest): LocalAnswer => ({
  body: {
    method,
    target: path + (query.size > 0 ? `?${query}` : ''),
    body,
    cookie: headers.cookie,
    referer: headers.referer,
    origin: headers.origin,
    site: headers['sec-fetch-site'],
    host: headers['x-forwarded-host'],
    proto: headers['x-forwarded-proto'],
  },
})

const answerOf = ({ path }: ReceivedRequest) => ANSWERS[path.slice(path.lastIndexOf('/'))] ?? echo

async function start(t: Test) {
  const server = await startLocalServer((request) => answerOf(request)(request))
  t.teardown(() => server.close())
  const { origin } = server
  const clock = { now: NOW }
  const proxies = Object.fromEntries(HOSTS.map((host) => [host, origin]))
  const browser = new CookieBrowser({ now: () => clock.now, proxies })
  const at = (path: string, values: Record<string, string> = {}, base = origin) =>
    `${base}${path}?${new URLSearchParams(values)}`
  return {
    origin,
    /** The same server, on another site of the loopback interface. */
    elsewhere: origin.replace('127.0.0.1', 'localhost'),
    clock,
    browser,
    at,
    set: (cookie: string, base?: string) => browser.open(at('/set', { cookie }, base)),
  }
}

const HOSTS = ['https://app.test', 'http://app.test', 'https://www.app.test', 'https://evil.test']

const read = ({ text }: { text: string }) => JSON.parse(text)

t.test('keeps a cookie for its host, its path and its time', async (t) => {
  const { browser, set, origin, elsewhere, clock } = await start(t)
  await set('a=1; Path=/in; Max-Age=60; HttpOnly')
  await set('b=2')
  t.equal(read(await browser.open(`${origin}/in/side`)).cookie, 'a=1; b=2')
  for (const path of ['/inside', '/', '/IN/']) {
    t.equal(read(await browser.open(origin + path)).cookie, 'b=2', path)
  }
  t.equal(read(await browser.open(`${elsewhere}/in`)).cookie, undefined, 'another host')
  t.equal(browser.scriptCookies(`${origin}/in`), 'b=2', 'scripts do not see HttpOnly')
  clock.now += 60_000
  t.equal(read(await browser.open(`${origin}/in`)).cookie, 'b=2', 'it has expired')
})

t.test('takes the folder of the URL for the path of a cookie that names none', async (t) => {
  const { browser, origin, at } = await start(t)
  await browser.open(at('/in/set', { cookie: 'a=1' }))
  await browser.open(at('/set', { cookie: 'b=2; Path=relative; SameSite=Other' }))
  t.strictSame(
    browser.cookies.map(({ path, hostOnly, sameSite }) => [path, hostOnly, sameSite]),
    [
      ['/in', true, 'Lax'],
      ['/', true, 'Lax'],
    ],
  )
  t.equal(read(await browser.open(`${origin}/in/x`)).cookie, 'a=1; b=2')
  t.equal(read(await browser.open(`${origin}/x`)).cookie, 'b=2')
})

t.test('replaces a cookie of the same name and path, and deletes expired ones', async (t) => {
  const { browser, set, origin } = await start(t)
  await set('a=1; Path=/')
  await set('a=2; Path=/')
  t.equal(read(await browser.open(`${origin}/`)).cookie, 'a=2')
  await set('a=3; Path=/in')
  t.equal(read(await browser.open(`${origin}/in`)).cookie, 'a=3; a=2', 'the longest path first')
  await set('a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT')
  t.equal(read(await browser.open(`${origin}/in`)).cookie, 'a=3')
  await set('a=; Path=/in; Max-Age=0; Expires=Fri, 01 Jan 2100 00:00:00 GMT')
  t.strictSame(browser.cookies, [], 'Max-Age goes before Expires')
})

t.test('refuses the cookies that browsers refuse, and says why', async (t) => {
  const { browser, set } = await start(t)
  const refused: [string, string, RegExp][] = [
    ['http://app.test', 'a=1; Secure', /Secure/],
    ['https://app.test', 'a=1; SameSite=None', /SameSite=None/],
    ['https://app.test', 'a=1; Domain=evil.test', /Domain/],
    ['https://app.test', 'a=1; Domain=www.app.test', /Domain/],
    ['https://app.test', 'a=1; Domain=test', /Domain/],
    ['https://app.test', '__Secure-a=1', /__Secure-/],
    ['https://app.test', '__Host-a=1; Path=/', /__Host-/],
    ['https://app.test', '__Host-a=1; Secure; Path=/in', /__Host-/],
    ['https://app.test', '__Host-a=1; Secure; Path=/; Domain=app.test', /__Host-/],
    ['https://app.test', '__hOST-a=1; Path=/', /__Host-/],
    ['https://app.test', `a=${'x'.repeat(4096)}; Path=/`, /4096/],
    ['https://app.test', '=1', /name/],
  ]
  for (const [base, cookie, reason] of refused) {
    await set(cookie, base)
    t.match(browser.refused.at(-1), { reason }, `${base} ${cookie.slice(0, 60)}`)
  }
  t.equal(browser.refused.length, refused.length)
  t.strictSame(browser.cookies, [])
})

t.test('keeps prefixed and Secure cookies of https and of the loopback interface', async (t) => {
  const { browser, set, origin, elsewhere } = await start(t)
  const cookies = ['__Host-a=1; Secure; Path=/', '__Secure-b=2; Secure', 'c=3; Secure']
  for (const base of ['https://app.test', origin, elsewhere]) {
    for (const cookie of cookies) await set(cookie, base)
    t.equal(read(await browser.open(`${base}/`)).cookie, '__Host-a=1; __Secure-b=2; c=3', base)
  }
  t.equal(read(await browser.open('http://app.test/')).cookie, undefined, 'not without TLS')
  await set('c=of the insecure page', 'http://app.test')
  t.match(browser.refused, [{ reason: 'a Secure cookie has its name' }])
})

t.test('sends a cookie with a Domain to the hosts below it', async (t) => {
  const { browser, set } = await start(t)
  await set('a=1; Domain=.App.test', 'https://www.app.test')
  await set('b=2', 'https://www.app.test')
  t.equal(read(await browser.open('https://app.test/')).cookie, 'a=1')
  t.equal(read(await browser.open('https://www.app.test/')).cookie, 'a=1; b=2')
  t.equal(read(await browser.open('https://evil.test/')).cookie, undefined)
})

t.test('sends from another site only what SameSite lets through', async (t) => {
  const { browser, set, origin } = await start(t)
  for (const site of ['Strict', 'Lax', 'None; Secure']) await set(`${site[0]}=1; SameSite=${site}`)
  await set('unsaid=1')
  const everything = 'S=1; L=1; N=1; unsaid=1'
  const cases: [string | undefined, 'GET' | 'POST', string, string][] = [
    [undefined, 'GET', everything, 'none'],
    [origin, 'POST', everything, 'same-origin'],
    ['http://127.0.0.1:9', 'POST', everything, 'same-site'],
    ['http://localhost:9', 'GET', 'L=1; N=1; unsaid=1', 'cross-site'],
    ['http://localhost:9', 'POST', 'N=1', 'cross-site'],
    ['https://127.0.0.1:9', 'POST', 'N=1', 'cross-site'],
  ]
  for (const [from, method, cookie, site] of cases) {
    const form = `<form method="${method}" action="${origin}/to"></form>`
    const answer = await (from === undefined
      ? browser.open(`${origin}/to`)
      : browser.submit(pageAt(`${from}/`, form)))
    const received = read(answer)
    t.strictSame(
      [received.method, received.cookie, received.site],
      [method, cookie, site],
      `${method} from ${from}`,
    )
  }
})

t.test('follows redirects over hosts, keeps the fragment, stops where it is told', async (t) => {
  const { browser, origin, elsewhere, at } = await start(t)
  const last = at('/go', { to: '/end#access_token=1' }, elsewhere)
  const page = await browser.follow(at('/go', { to: last }))
  t.equal(page.url, `${elsewhere}/end#access_token=1`)
  const inherited = await browser.follow(`${at('/go', { to: '/end' })}#kept`)
  t.equal(inherited.url, `${origin}/end#kept`, 'a location without a fragment keeps the old one')
  const stopped = await browser.follow(at('/go', { to: 'https://no.test/#a' }), {
    stopAt: ({ hostname }) => hostname === 'no.test',
  })
  t.equal(stopped.status, 302)
  t.equal(stopped.location, 'https://no.test/#a')
  t.equal((await browser.open(at('/go', { to: '/x' }))).location, `${origin}/x`)
  t.match(await browser.open(at('/go', { status: '200' })), { location: null })
})

t.test('gives up after twenty redirects', async (t) => {
  const { browser, origin } = await start(t)
  await t.rejects(browser.follow(`${origin}/loop`), /More than 20 redirects/)
})

t.test('repeats a form after 307 and 308, and asks with GET after the others', async (t) => {
  const { browser, origin, at } = await start(t)
  for (const status of ['301', '302', '303', '307', '308']) {
    const form = `<form method=post action="/go?status=${status}&amp;to=/to"><input name=a value=1></form>`
    const answer = read(await browser.submit(await browser.open(at('/form', { html: form }))))
    const repeated = status > '306'
    t.strictSame([answer.method, answer.body], repeated ? ['POST', 'a=1'] : ['GET', ''], status)
    t.equal(answer.origin, repeated ? origin : undefined)
  }
})

t.test('sends the Referer that the policy of the page and of redirects lets through', async (t) => {
  const { browser, origin, elsewhere, at } = await start(t)
  const page = `${origin}/page?q=1#part`
  const cases: [string, string | undefined][] = [
    [`${origin}/to`, `${origin}/page?q=1`],
    [`${elsewhere}/to`, `${origin}/`],
    ['http://app.test/to', undefined],
    [at('/go', { to: `${elsewhere}/to` }), `${origin}/`],
    [at('/go', { to: `${origin}/to`, policy: 'no-referrer' }), undefined],
    [at('/go', { to: `${origin}/to`, policy: 'no-referrer, origin, new-one' }), `${origin}/`],
    [at('/go', { to: `${elsewhere}/to`, policy: 'same-origin' }), undefined],
    [at('/go', { to: `${elsewhere}/to`, policy: 'unsafe-url' }), `${origin}/page?q=1`],
  ]
  for (const [url, referer] of cases) {
    t.equal(read(await browser.follow(url, { referer: page })).referer, referer, url)
  }
  t.equal(read(await browser.follow(`${origin}/to`)).referer, undefined, 'a typed address')
})

t.test('fills in and submits the first form of a page', async (t) => {
  const { browser, origin, at } = await start(t)
  const html = `<title>x</title>
    <form action="/to?old=1" method="post">
      <input type="hidden" name="state" value="&quot;a&amp;b&#39;&#x41;"/>
      <input name='account'><input type=checkbox name=terms><input type=checkbox checked name=news>
      <input name="off" value="1" disabled><input value="no name">
      <button name="action" value="accept">Yes</button><button name="action" value="refuse">No</button>
    </form><form action="/second"></form>`
  const page = await browser.open(at('/form', { html }))
  const bare = read(await browser.submit(page))
  t.match(bare, { method: 'POST', target: '/to?old=1', origin, referer: page.url })
  const sent = (body: string) =>
    [...new URLSearchParams(body)].map(([key, value]) => `${key}=${value}`)
  t.strictSame(sent(bare.body), ['state="a&b\'A', 'account=', 'news=on'])
  const given = { account: 'ann', terms: 'on', action: 'refuse' }
  const filled = read(await browser.submit(page, given))
  t.strictSame(sent(filled.body).slice(1), ['account=ann', 'terms=on', 'news=on', 'action=refuse'])
  await t.rejects(browser.submit(page, { acount: 'ann' }), /no field for: acount/)
  await t.rejects(browser.submit(page, { action: 'other' }), /no field for: action/)
})

t.test('submits a form by GET, and to its own page when it names no other', async (t) => {
  const { browser, origin } = await start(t)
  const page = pageAt(`${origin}/here?old=1#part`, '<form><input name=q value=1></form>')
  const answer = read(await browser.submit(page, { q: 'a b' }))
  t.strictSame([answer.method, answer.target], ['GET', '/here?q=a+b'])
  await t.rejects(browser.submit(pageAt(origin, '<p>no form')), /no form/)
  const upload = '<form enctype="multipart/form-data"></form>'
  await t.rejects(browser.submit(pageAt(origin, upload)), /multipart/)
})

t.test('goes through a proxy with the names that the user sees', async (t) => {
  const { browser, set } = await start(t)
  await set('a=1; Secure', 'https://app.test')
  const answer = read(await browser.open('https://app.test/in', { referer: 'https://app.test/' }))
  t.match(answer, { host: 'app.test', proto: 'https', cookie: 'a=1', site: 'same-origin' })
  t.equal(answer.referer, 'https://app.test/')
})

function pageAt(url: string, text: string) {
  return { url, status: 200, headers: new Headers(), text, location: null }
}
