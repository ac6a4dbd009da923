import t from 'tap'
import type { OAuthSettings } from '../../../src/auth/index.ts'
import type { AttackedApp } from '../../support/oauth/attacked-app.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const EVIL = 'https://attacker.test/'

/** Logs somebody in at the provider `other`; resolves to the access token. */
async function logIn(app: AttackedApp, sub: string): Promise<string> {
  app.other.account = { sub }
  const response = await app.finish(await app.begin('/oauth/other'))
  return tokenOf(app, response)
}

function tokenOf(app: AttackedApp, { headers }: Response): string {
  const { hash } = new URL(headers.get('location') ?? '/', app.origin)
  return new URLSearchParams(hash.slice(1)).get('access_token') ?? ''
}

/** Whether a login goes on at the provider, with a flow in the browser. */
function hasBegun(app: AttackedApp, { headers }: Response): boolean {
  const stored = headers.getSetCookie().filter((cookie) => !cookie.includes('Max-Age=0'))
  return stored.length > 0 || (headers.get('location') ?? '').startsWith(app.provider.origin)
}

/** Headers of a link on a page, as browsers send them; by whether the login may be linked. */
const PAGES: readonly (readonly [name: string, headers: Record<string, string>, isOwn: boolean])[] =
  [
    ['a foreign page', { 'sec-fetch-site': 'cross-site', referer: EVIL }, false],
    ['a foreign page without a referrer', { 'sec-fetch-site': 'cross-site' }, false],
    [
      'a neighbouring host',
      { 'sec-fetch-site': 'same-site', referer: 'https://x.app.test/' },
      false,
    ],
    ['a neighbouring host without a referrer', { 'sec-fetch-site': 'same-site' }, false],
    ['a foreign page in an old browser', { referer: EVIL }, false],
    ['a sandbox', { 'sec-fetch-site': 'cross-site', referer: 'null' }, false],
    ['a page of this server', { 'sec-fetch-site': 'same-origin' }, true],
    ['the address bar, or a link in a mail', { 'sec-fetch-site': 'none' }, false],
    ['no browser', {}, true],
    [
      'the page after the login',
      { 'sec-fetch-site': 'cross-site', referer: 'https://app.test/' },
      true,
    ],
    ['a browser that hides where it comes from', { accept: 'text/html,*/*;q=0.8' }, false],
    ['a foreign script', { origin: 'https://attacker.test' }, false],
  ]

const OWN = 'https://app.test'

/** Headers of a form on a page; by whether the login may be linked. */
const FORMS: typeof PAGES = [
  ['a foreign page without a referrer', { origin: 'https://attacker.test' }, false],
  ['a foreign page with no-referrer, or a sandbox', { origin: 'null' }, false],
  ['a sandbox on a page of ours', { origin: 'null', referer: `${OWN}/` }, false],
  ['two headers that differ', { origin: 'https://attacker.test', referer: `${OWN}/` }, false],
  ['two that differ the other way', { origin: OWN, referer: EVIL }, false],
  ['an origin of no browser', { origin: '' }, false],
  ['another scheme', { origin: 'http://app.test' }, false],
  ['another port', { origin: `${OWN}:8443` }, false],
  ['another host, by a dot', { origin: `${OWN}.` }, false],
  ['a spelling of no browser', { origin: 'HTTPS://app.test' }, false],
  ['the usual port, which browsers leave out', { origin: `${OWN}:443` }, false],
  ['a path', { origin: `${OWN}/` }, false],
  ['two origins', { origin: `${OWN}, https://attacker.test` }, false],
  ['a user name', { origin: 'https://app.test@attacker.test' }, false],
  [
    'a foreign page that would be ours',
    { origin: 'https://attacker.test', 'sec-fetch-site': 'same-origin' },
    false,
  ],
  [
    'a page of a neighbour',
    { origin: 'https://x.app.test', 'sec-fetch-site': 'same-site', referer: `${OWN}/` },
    false,
  ],
  ['a browser that tells nothing', { accept: 'text/html,*/*;q=0.8' }, false],
  ['the page after the login', { origin: OWN }, true],
  [
    'the page after the login in a new browser',
    { origin: OWN, 'sec-fetch-site': 'cross-site', referer: `${OWN}/` },
    true,
  ],
  [
    'a page of this server with no-referrer',
    { origin: 'null', 'sec-fetch-site': 'same-origin' },
    true,
  ],
  ['no browser', {}, true],
]

const SETTINGS: Readonly<Record<string, OAuthSettings>> = {
  'a page': { redirect: 'https://app.test/home' },
  origins: { origins: ['https://app.test'] },
}

for (const [kind, oauth] of Object.entries(SETTINGS)) {
  t.test(`with ${kind}, no foreign page links its visitor to its account (OAU-1)`, async (t) => {
    const app = await startAttackedApp(t, { oauth })
    const attacker = await logIn(app, 'attacker')
    app.takeTraces()
    for (const [name, headers, isOwn] of PAGES) {
      const response = await app.send(`/oauth/example?feathers_token=${attacker}`, { headers })
      t.equal(hasBegun(app, response), isOwn, name)
    }
  })
}

for (const [kind, oauth] of Object.entries(SETTINGS)) {
  t.test(`with ${kind}, no form of a foreign page links either (OAU-1)`, async (t) => {
    const app = await startAttackedApp(t, { oauth })
    const attacker = await logIn(app, 'attacker')
    const body = `feathers_token=${attacker}`
    app.takeTraces()
    for (const [name, headers, isOwn] of FORMS) {
      const request = { method: 'POST', headers: { ...FORM, ...headers }, body }
      t.equal(hasBegun(app, await app.send('/oauth/example', request)), isOwn, name)
    }
  })
}

t.test('a page of this server is known by the address that browsers have (OAU-1)', async (t) => {
  const redirect_uri = 'https://api.test/oauth/example/callback'
  const app = await startAttackedApp(t, { section: { redirect_uri } })
  const { _id } = (await app.app.service('users').create({})) as { _id: unknown }
  const token = await app.authentication.createAccessToken({}, { subject: String(_id) })
  const body = `feathers_token=${token}`
  for (const origin of ['https://api.test', app.origin]) {
    const headers = { ...FORM, origin, referer: `${origin}/me` }
    const response = await app.send('/oauth/example', { method: 'POST', headers, body })
    t.ok(hasBegun(app, response), origin)
  }
})

t.test('a link by a header is one by a token, and needs no page (OAU-1)', async (t) => {
  const app = await startAttackedApp(t)
  const token = await logIn(app, 'ann')
  const headers = { authorization: `Bearer ${token}` }
  const { status, headers: answered } = await app.send('/oauth/example', {
    method: 'POST',
    headers,
  })
  t.equal(status, 303)
  const [cookie = ''] = answered.getSetCookie()
  const callback = (await app.send(answered.get('location') ?? '')).headers.get('location') ?? ''
  const response = await app.finish({
    setCookie: cookie,
    cookie,
    callback,
    page: new URL(callback),
  })
  t.match(await app.getMe(tokenOf(app, response)), {
    body: { user: { otherId: 'ann', exampleId: 'ann' } },
  })
})

/** Tokens that link nothing, by the status: the page is told of those that may have expired. */
const WRONG_TOKENS: Readonly<Record<string, number>> = {
  'feathers_token=x': 303,
  'feathers_token=e30.e30.e30': 303,
  'feathers_token[]=x': 401,
  'feathers_token[accessToken]=x': 401,
  'feathers_token=x&feathers_token=y': 401,
}

t.test('a token that is none begins no login (OAU-1)', async (t) => {
  const app = await startAttackedApp(t)
  for (const [query, expected] of Object.entries(WRONG_TOKENS)) {
    const { status, headers } = await app.send(`/oauth/example?${query}`)
    t.equal(status, expected, query)
    if (status === 303) t.match(headers.get('location'), /#error=/)
  }
  t.strictSame(app.takeTraces(), [])
})

t.test('a login of the attacker ends in no browser but its own (OAU-1)', async (t) => {
  const app = await startAttackedApp(t)
  const [attacker, victim] = [await app.begin(), await app.begin()]
  app.takeTraces()
  const own = await app.send(attacker.callback, { headers: { cookie: victim.cookie } })
  t.equal(own.status, 401, 'with a login of its own, the victim does not end that of the attacker')
  const without = await app.send(attacker.callback, { headers: { 'sec-fetch-site': 'cross-site' } })
  t.equal(without.status, 401, 'nor without one')
  // A neighbouring host can set a cookie for its domain, which comes beside that of the victim.
  const cookie = `${attacker.cookie}; ${victim.cookie}`
  t.equal((await app.send(attacker.callback, { headers: { cookie } })).status, 401)
  t.strictSame(app.takeTraces(), [])
})

t.test('an account of a provider that is linked already is not taken over (OAU-1)', async (t) => {
  const app = await startAttackedApp(t)
  app.provider.account = { sub: 'victim' }
  await app.finish(await app.begin())
  const attacker = await logIn(app, 'attacker')
  const login = await app.begin(`/oauth/example?feathers_token=${attacker}`)
  const { headers } = await app.finish(login)
  t.match(headers.get('location'), /#error=This%20example%20account%20belongs/)
  t.match(await app.getMe(attacker), { body: { user: { otherId: 'attacker' } } })
  const { body } = await app.getMe(attacker)
  t.notOk(JSON.stringify(body).includes('victim'))
})

t.test('a form of a foreign page starts a login, and nothing more (CSRF-1, FST-3)', async (t) => {
  const app = await startAttackedApp(t)
  const headers = { ...FORM, 'sec-fetch-site': 'cross-site', referer: EVIL }
  for (const [body, expected] of [
    ['feathers_token=x', 401],
    ['redirect_uri=https://attacker.test', 400],
    ['scope=admin', 400],
  ] as const) {
    const { status } = await app.send('/oauth/example', { method: 'POST', headers, body })
    t.equal(status, expected, body)
  }
  t.strictSame(app.takeTraces(), [])
})

t.test('no header and no parameter turns a GET into another method (CSRF-3)', async (t) => {
  const app = await startAttackedApp(t)
  const before = await app.begin()
  app.takeTraces()
  for (const name of ['create', 'remove', 'patch', 'update', 'setup']) {
    const headers = { 'x-service-method': name, 'x-http-method-override': 'DELETE' }
    const { status } = await app.send(`/oauth/example/callback?_method=${name}`, { headers })
    t.equal(status, 401, name)
  }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    t.equal((await app.send('/oauth/example', { method })).status, 405, method)
    t.equal((await app.send(before.callback, { method })).status, 405, method)
  }
  t.strictSame(app.takeTraces(), [])
})
