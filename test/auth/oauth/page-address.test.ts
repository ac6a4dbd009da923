import authenticationClient, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import t from 'tap'
import { addOutcome, checkOrigin, joinPageAddress } from '../../../src/auth/oauth/page-address.ts'
import { checkAppOrigins } from '../../../src/auth/oauth/settings/oauth-settings.ts'
import { authentication, createClient } from '../../../src/client/index.ts'
import { growthOf, LINEAR_GROWTH } from '../../support/growth.ts'
import { REFUSED_EVERYWHERE, REFUSED_WITHOUT_PATH } from '../../support/oauth/redirect-tricks.ts'

const BASES = {
  'an origin': 'https://app.test',
  'an origin with a slash': 'https://app.test/',
  'a port': 'http://app.test:3000',
  'a path': 'https://app.test/home',
  'a path with a slash': 'https://app.test/home/',
  'a route behind #': 'https://app.test/#/login',
  'a route behind #, and a path': 'https://app.test/home#/login',
  'a query': 'https://app.test/home?lang=en',
  IPv4: 'http://127.0.0.1:3000',
  IPv6: 'http://[::1]:3000',
  'a host that is no ASCII': 'https://xn--bcher-kva.example',
  'the root of this server': '/',
  'a path of this server': '/home',
  'a path of this server with a slash': '/home/',
} as const

const WITHOUT_PATH = ['an origin', 'a port', 'IPv4', 'IPv6', 'a host that is no ASCII'] as const

/** The address that a browser opens, from a page of this server. */
const toTarget = (address: string): URL => new URL(address, 'https://server.test/oauth/x/callback')

for (const [name, base] of Object.entries(BASES)) {
  t.test(`no redirect leads away from ${name} (FTH-13)`, async (t) => {
    for (const [trick, path] of Object.entries(REFUSED_EVERYWHERE)) {
      t.throws(() => joinPageAddress(base, path), { code: 401 }, trick)
    }
  })
}

for (const name of WITHOUT_PATH) {
  t.test(`no redirect changes the host of ${name} (FTH-13)`, async (t) => {
    for (const [trick, path] of Object.entries(REFUSED_WITHOUT_PATH)) {
      const message = 'Invalid redirect path.'
      t.throws(() => joinPageAddress(BASES[name], path), { code: 401, message }, trick)
    }
  })
}

/** By base and what the caller appends. */
const ALLOWED: readonly (readonly [base: keyof typeof BASES, path: string])[] = [
  ['an origin', ''],
  ['an origin', '/'],
  ['an origin', '/notes'],
  ['an origin', '/notes/1?tab=2'],
  ['an origin', '?tab=2'],
  ['an origin', '#top'],
  ['an origin', '/a;b=1/c'],
  ['an origin', '/a%2Fb'],
  ['an origin', '/a%20b'],
  ['an origin', '/%F0%9F%98%80/é'],
  ['an origin', '/...'],
  ['an origin', '/.well-known'],
  ['an origin', '/a..b'],
  ['an origin', '/next?to=https://other.test/'],
  ['an origin', '/#https://other.test/'],
  ['an origin', '/user@example.com'],
  ['an origin with a slash', 'notes'],
  ['an origin with a slash', '/notes'],
  ['a port', '/notes'],
  ['a path', '/notes'],
  ['a path', '?tab=2'],
  ['a path with a slash', 'notes'],
  ['a route behind #', '/notes'],
  ['a route behind #', '?tab=2'],
  ['a route behind #', '?'],
  ['a route behind #, and a path', '/notes'],
  ['a query', '&tab=2'],
  ['IPv4', '/notes'],
  ['IPv6', '/notes'],
  ['a host that is no ASCII', '/notes'],
  ['the root of this server', 'notes'],
  ['the root of this server', '/notes'],
  ['a path of this server', '/notes'],
  ['a path of this server with a slash', 'notes'],
  ['an origin', `/${'long/'.repeat(400)}`],
]

t.test('a redirect that is allowed is below the base, byte for byte (FTH-13)', async (t) => {
  for (const [name, path] of ALLOWED) {
    const base = BASES[name]
    const outcome = { accessToken: 'a.b-c_d' }
    const address = addOutcome(joinPageAddress(base, path), outcome, 'github')
    const joined = base.endsWith('/') ? base + path.replace(/^\//, '') : base + path
    t.ok(address.startsWith(joined), `${base} ${path}`)
    t.equal(toTarget(address).origin, toTarget(base).origin)
    t.ok(toTarget(address).pathname.startsWith(toTarget(base).pathname), address)
    t.match(toTarget(address).hash, /[#?&]access_token=a\.b-c_d$/, 'in the fragment')
    t.notMatch(toTarget(address).search, 'access_token')
  }
})

t.test('the outcome of a login can not write anything else into the address (OAU-6)', async (t) => {
  const text = 'a&access_token=b#c?d e+f%20\r\n<script>"'
  const address = addOutcome('https://app.test/x', { message: text }, 'github')
  t.match(address, /^https:\/\/app\.test\/x#error=[\w%.*-]+$/)
  t.equal(new URLSearchParams(new URL(address).hash.slice(1)).get('error'), text)
})

const ORIGINS = ['https://app.test', 'http://localhost:3000', 'http://[::1]:3000'] as const

const REFUSED_REFERERS: readonly unknown[] = [
  'https://app.test.attacker.test/',
  'https://app.test@attacker.test/',
  'https://attacker.test/https://app.test',
  'https://attacker.test#https://app.test',
  'https://attackerapp.test/',
  'https://sub.app.test/',
  'https://app.tes',
  'https://app.test.',
  'http://app.test',
  'https://app.test:8443',
  'https://аpp.test',
  'ftp://app.test',
  'null',
  '',
  ' ',
  'app.test',
  '//app.test',
  '/',
  'javascript:alert(1)',
  'data:text/html,https://app.test',
  'about:blank',
  'file:///etc/passwd',
  null,
  ['https://app.test'],
  { origin: 'https://app.test' },
]

/** What the address ends in, by base and path; the token takes the place of `TOKEN`. */
const ENDS: readonly (readonly [base: keyof typeof BASES, path: string, end: string])[] = [
  ['an origin', '', 'app.test#access_token=TOKEN'],
  ['an origin', '/notes?tab=2', '/notes?tab=2#access_token=TOKEN'],
  ['an origin', '#', '#?access_token=TOKEN'],
  ['an origin', '#top', '#top?access_token=TOKEN'],
  ['an origin', '#/notes', '#/notes?access_token=TOKEN'],
  ['an origin', '#/notes?', '#/notes?access_token=TOKEN'],
  ['an origin', '#/notes?tab?', '#/notes?tab?&access_token=TOKEN'],
  ['an origin', '#tab=2?', '#tab=2?&access_token=TOKEN'],
  ['an origin', '#/notes?tab=2', '#/notes?tab=2&access_token=TOKEN'],
  ['an origin', '#tab=2', '#tab=2&access_token=TOKEN'],
  ['an origin', '#tab&all', '#tab&all&access_token=TOKEN'],
  ['an origin', '#/notes#top', '#/notes#top?access_token=TOKEN'],
  ['a route behind #', '', '#/login?access_token=TOKEN'],
  ['a route behind #', '/notes', '#/login/notes?access_token=TOKEN'],
  ['a route behind #', '?', '#/login?access_token=TOKEN'],
  ['a route behind #', '?next=x', '#/login?next=x&access_token=TOKEN'],
  ['a route behind #', '/a=b', '#/login/a=b&access_token=TOKEN'],
  ['a query', '#/notes', '?lang=en#/notes?access_token=TOKEN'],
]

t.test('both clients find the token behind any redirect', async (t) => {
  const official = feathers().configure(
    authenticationClient.default({ storage: new MemoryStorage() }),
  )
  const own = createClient().configure(authentication())
  for (const [name, path, end] of ENDS) {
    const address = addOutcome(
      joinPageAddress(BASES[name], path),
      { accessToken: 'a.b-c_d' },
      'github',
    )
    t.ok(address.endsWith(end.replace('TOKEN', 'a.b-c_d')), address)
    for (const { authentication: reader } of [official, own]) {
      const location = { hash: new URL(address).hash }
      t.equal(await reader.getFromLocation(location as never), 'a.b-c_d', address)
      t.notMatch(location.hash, 'access_token')
    }
  }
})

/** Redirects that a page might take for the outcome of the login, in place of the genuine one. */
const OUTCOMES: readonly string[] = [
  '#access_token=EVIL&',
  '#access_token=EVIL',
  '#/notes?access_token=EVIL',
  '#a=b&access_token=EVIL&',
  '#?ACCESS_TOKEN=EVIL',
  '#my_access_token=EVIL',
  '#access%5Ftoken=EVIL',
  '#access_token%3DEVIL',
  '#access_token%253DEVIL',
  '#%2561ccess_token=EVIL',
  '#%%36%31ccess_token=EVIL',
  '#error=Call%20EVIL',
  '#/notes?error=Call%20EVIL',
  '#code=EVIL&strategy=example&',
  '#/?strategy=other',
  '#a;code=EVIL',
]

t.test('no redirect brings an outcome of its own (FTH-13)', async (t) => {
  for (const path of OUTCOMES) {
    const refused = { code: 401, message: 'Invalid redirect path.' }
    for (const name of ['an origin', 'a path with a slash', 'a query'] as const) {
      t.throws(() => joinPageAddress(BASES[name], path), refused, `${name} ${path}`)
    }
    const behind = `?${path.slice(1)}`
    t.throws(() => joinPageAddress(BASES['a route behind #'], behind), refused, behind)
  }
  t.throws(() => joinPageAddress('/#/access_', 'token=EVIL'), { code: 401 }, 'half of a name')
  for (const path of ['#/zipcode=1', '#/?promo-code=1', '#/errors', '#access_token', '?code=5']) {
    t.equal(joinPageAddress('/', path), `/${path}`)
  }
})

t.test('the log says what is wrong with a redirect', async (t) => {
  const cause = { reason: 'the redirect holds a backslash' }
  t.throws(() => joinPageAddress('/', '/a\\b'), { cause })
})

t.test('an origin is allowed by being equal, and by nothing else (FTH-14)', async (t) => {
  for (const referer of REFUSED_REFERERS) {
    t.throws(() => checkOrigin(referer, ORIGINS, false), { code: 401 }, String(referer))
    t.throws(() => checkOrigin(referer, ORIGINS, true), { code: 401 }, String(referer))
  }
  for (const referer of [
    'https://app.test',
    'https://APP.test:443/x?y#z',
    'https://user:pw@app.test/',
  ]) {
    t.equal(checkOrigin(referer, ORIGINS, false), 'https://app.test')
  }
  t.equal(checkOrigin(undefined, ORIGINS, false), 'https://app.test', 'the browser says nothing')
})

t.test('another port of this computer is another origin, unless it is said (FTH-15)', async (t) => {
  const others = ['http://localhost:9999', 'http://[::1]:9999']
  for (const referer of others) {
    t.throws(() => checkOrigin(referer, ORIGINS, false), { code: 401 })
    t.equal(checkOrigin(referer, ORIGINS, true), referer)
  }
  for (const referer of [
    'https://localhost:3000',
    'http://127.0.0.1:3000',
    'http://127.0.0.2:3000',
    'http://localhost.attacker.test:3000',
    'http://app.test',
    'https://app.test:9999',
  ]) {
    t.throws(() => checkOrigin(referer, ORIGINS, true), { code: 401 }, referer)
  }
})

t.test('an entry of the settings that is no origin allows none (FTH-14)', async (t) => {
  for (const entry of ['*', '', 'localhost:9999', '//localhost:9999', 'http://localhost:9999/']) {
    for (const allowsPorts of [true, false]) {
      if (allowsPorts && entry.startsWith('http:')) continue
      for (const referer of ['http://localhost:9999', undefined]) {
        t.throws(() => checkOrigin(referer, [entry], allowsPorts), { code: 401 }, entry)
      }
    }
    t.throws(() => checkAppOrigins(['https://app.test', entry]), {
      name: 'TypeError',
      message: /'origins' must be a list of origins as 'https:\/\/host:port'/,
    })
    t.equal(checkOrigin(undefined, [entry, 'https://app.test'], false), 'https://app.test')
  }
  for (const value of [[], 'https://app.test', null, {}, [null], [undefined], ['null']]) {
    t.throws(() => checkAppOrigins(value), TypeError, JSON.stringify(value))
  }
  t.throws(() => checkOrigin(undefined, [], false), { code: 401 })
  checkAppOrigins(undefined)
  checkAppOrigins(ORIGINS)
})

const GROWING: Readonly<Record<string, (length: number) => string>> = {
  slashes: (length) => `/${'/'.repeat(length)}`,
  dots: (length) => `/${'.'.repeat(length)}`,
  'encoded dots': (length) => `/${'%2e'.repeat(length)}`,
  'segments that are dots': (length) => `/${'.../'.repeat(length)}`,
  percents: (length) => `/${'%'.repeat(length)}`,
  'encoded percents in a fragment': (length) => `#${'%25'.repeat(length)}`,
  'names in a fragment': (length) => `#${'code'.repeat(length)}`,
  fragments: (length) => '#'.repeat(length),
  'question marks': (length) => `/${'?'.repeat(length)}`,
}

function isAllowed(path: string): boolean {
  try {
    return joinPageAddress('https://app.test/home', path) !== ''
  } catch {
    return false
  }
}

t.test('a long redirect costs as much as its length (FTH-13)', async (t) => {
  for (const [name, create] of Object.entries(GROWING)) {
    const prepare = (length: number) => {
      const path = create(length)
      return () => isAllowed(path)
    }
    t.ok((await growthOf(prepare, 20_000)) < LINEAR_GROWTH, name)
  }
})
