import t from 'tap'
import { BadRequest } from '../../../src/core/index.ts'
import {
  redactData,
  redactErrors,
  redactLogged,
  redactText,
  redactUrl,
} from '../../../src/transport/logging/redact.ts'

const HEADER = 'eyJhbGciOiJIUzI1NiJ9'
const JWT = `${HEADER}.eyJzdWIiOiIxIn0.c2lnbmF0dXJl-_`

/** URLs, and what of them may be logged. */
const URLS: readonly [url: string, redacted: string][] = [
  ['/notes/1', '/notes/1'],
  ['/notes?zipcode=1&a=b%20c', '/notes?zipcode=1&a=b%20c'],
  [`/authentication/${JWT}`, '/authentication/[redacted]'],
  [`/authentication/${JWT.replaceAll('.', '%2e')}`, '/authentication/[redacted]'],
  [`/a/${JWT}/b?c=${JWT}&d=1`, '/a/[redacted]/b?c=[redacted]&d=1'],
  ['/authentication/eyJ.a.b', '/authentication/[redacted]'],
  [`/a/${HEADER}.a.b.c.d`, '/a/[redacted]'],
  [`/a/${HEADER}`, `/a/${HEADER}`],
  [`/s?q=acme_${'0a'.repeat(12)}_${'Zz'.repeat(25)}`, `/s?q=acme_${'0a'.repeat(12)}_[redacted]`],
  [`/a/reset.NjU.${'Ab-'.repeat(14)}c`, '/a/reset.NjU.[redacted]'],
  [
    `/a/${'Ab'.repeat(11)}.${'Ab-'.repeat(14)}c.NjU.7.${'Cd'.repeat(11)}`,
    `/a/${'Ab'.repeat(11)}.[redacted]`,
  ],
  [`/a.${'Ab-'.repeat(14)}`, `/a.${'Ab-'.repeat(14)}`],
  ['/s#access_token=hunter2', '/s'],
  ['/s?a=1#hunter2', '/s?a=1'],
  ['/s?jwt=hunter2', '/s?jwt=[redacted]'],
  ['/s?pwd=hunter2&a=1', '/s?pwd=[redacted]&a=1'],
  ['/s?passwd=hunter2', '/s?passwd=[redacted]'],
  ['/s?Passphrase=hunter2', '/s?Passphrase=[redacted]'],
  ['/s?credential=hunter2', '/s?credential=[redacted]'],
  ['/s?user[newPassword]=hun;ter%262', '/s?user[newPassword]=[redacted]'],
  ['/s;token=hunter2?a=1', '/s;token=[redacted]'],
  ['/s?a=1;token=hunter2&b=2', '/s?a=1;token=[redacted]&b=2'],
  [`/s?a=b%26access_token=${JWT}`, '/s?a=b%26access_token=[redacted]'],
  ['/s?a=b%26access_token=hunter2', '/s?a=b%26access_token=[redacted]'],
  ['/s?to=https%3A%2F%2Fx%3Fcode%3Dhunter2&b=1', '/s?to=https%3A%2F%2Fx%3Fcode%3D[redacted]&b=1'],
  ['/s?%74oken=hunter2&%zz=1', '/s?%74oken=[redacted]&%zz=1'],
  ['/s?a=b%2526token=hunter2', '/s?a=b%2526token=[redacted]'],
  ['/s?a=b%2526token%253Dhunter2&c=d', '/s?a=b%2526token%253D[redacted]&c=d'],
  ['/s?to=http://ann:hunter2@idp/x&b=1', '/s?to=http://[redacted]@idp/x&b=1'],
  ['/s?to=https://hunter2@idp', '/s?to=https://[redacted]@idp'],
  [
    '/s?to=https%3A%2F%2Fann%3Ahunter2%40idp%2Fx&b=1',
    '/s?to=https%3A%2F%2F[redacted]%40idp%2Fx&b=1',
  ],
  ['/s?to=https:%2f%2fann:hun%252fter2@idp%2fx', '/s?to=https:%2f%2f[redacted]@idp%2fx'],
  ['/s?to=a%253A%252F%252Fann%253Ahunter2%2540b', '/s?to=a%253A%252F%252F[redacted]%2540b'],
  ['http://ann:hunter2@host/path', 'http://[redacted]@host/path'],
  ['/s?to=http://host/@ann&b=c@d', '/s?to=http://host/@ann&b=c@d'],
]

for (const [url, redacted] of URLS) {
  t.test(`${url} is logged as ${redacted} (LOG-1)`, async (t) => {
    t.equal(redactUrl(url), redacted)
  })
}

const SECRET_PARAMETERS = [
  ...['pass', 'otp', 'key', 'sig', 'session', 'PASS', 'pass1', 'user_pass', 'userPass', 'x-key'],
  ...[
    'api_key',
    'apikey',
    'apiKey',
    'APIKey',
    'sessionId',
    'session_id',
    'sessionid',
    'JSESSIONID',
  ],
  ...['X-Amz-Signature', 'X-Goog-Signature', 'otp_code', 'OTPCode', 'passcode', 'pin', 'pinCode'],
  ...['sid', 'auth', 'user[pass]', 'filter.key', 'privateKey', 'access-key', 'totp', 'signature'],
]

const OPEN_PARAMETERS = [
  ...[
    'monkey',
    'passenger',
    'keyboard',
    'design',
    'compass',
    'keyword',
    'bypass',
    'signal',
    'hotkey',
  ],
  ...[
    'obsession',
    'sessions',
    'passport',
    'assign',
    'spinner',
    'opinion',
    'author',
    'mission',
    'zip',
  ],
  ...['prototype', 'status', '$limit', 'email', 'signed'],
]

t.test('parameters are secrets by their words, and not by what a word holds (LOG-1)', async (t) => {
  for (const name of SECRET_PARAMETERS) {
    t.equal(redactUrl(`/s?${name}=hunter2&a=1`), `/s?${name}=[redacted]&a=1`)
    t.strictSame(redactLogged({ a: [{ [name]: 'hunter2' }] }), { a: [{ [name]: '[redacted]' }] })
  }
  for (const name of OPEN_PARAMETERS) {
    t.equal(redactUrl(`/s?${name}=hunter2`), `/s?${name}=hunter2`)
    t.strictSame(redactLogged({ [name]: 'hunter2' }), { [name]: 'hunter2' })
  }
})

/** Messages of drivers and libraries, and what of them may be logged. */
const MESSAGES: Readonly<Record<string, string>> = {
  'connect mongodb+srv://ann:hunter2@h/db': 'connect mongodb+srv://[redacted]@h/db',
  'mongodb://ann:hun/ter#2@h1:1,h2:2/db?x=y': 'mongodb://[redacted]@h1:1,h2:2/db?x=y',
  'mongodb://ann:12%2F34@h': 'mongodb://[redacted]@h',
  'mongodb://a:hunt@er2@h': 'mongodb://[redacted]@h',
  'mongodb://h1:27017,h2:27017/?a=b@c': 'mongodb://h1:27017,h2:27017/?a=b@c',
  '"redis://:hunter2@h:1" and \'amqp://x:y@z\'':
    '"redis://[redacted]@h:1" and \'amqp://[redacted]@z\'',
  'http://[::1]:3030/a@b http://a:80/c@d': 'http://[::1]:3030/a@b http://a:80/c@d',
  'at file:///app/@x/y.js:10:5 of ann@example.org':
    'at file:///app/@x/y.js:10:5 of ann@example.org',
  'Authorization: Bearer hunter2': 'Authorization: [redacted]',
  '{"authorization":"Basic aHVudGVyMg==","a":1}': '{"authorization":[redacted],"a":1}',
  'proxy-authorization = Digest u="x"': 'proxy-authorization = [redacted]',
  'sent Bearer hunter2hunter2 to b': 'sent Bearer [redacted] to b',
  'sent basic YW5uOmh1bnRlcg== to b': 'sent basic [redacted] to b',
  'needs Basic Authentication or a bearer token': 'needs Basic Authentication or a bearer token',
  'user=ann password=hunter2 host=h': 'user=ann password=[redacted] host=h',
  'Server=h;Pwd=hunter2': 'Server=h;Pwd=[redacted]',
}

for (const [text, redacted] of Object.entries(MESSAGES)) {
  t.test(`the message ${text} is logged as ${redacted} (LOG-1)`, async (t) => {
    t.equal(redactText(text), redacted)
  })
}

t.test('what is logged loses its secrets, nothing that is logged fails (LOG-1)', async (t) => {
  const circle: Record<string, unknown> = { password: 'hunter2', a: 1, url: '/?key=hunter2' }
  circle['self'] = circle
  const odd = Object.defineProperty({}, 'a', {
    enumerable: true,
    get() {
      throw new Error('no')
    },
  })
  const values: readonly [value: unknown, logged: unknown][] = [
    ['/?sig=hunter2', '/?sig=[redacted]'],
    [['redis://:hunter2@h'], ['redis://[redacted]@h']],
    [
      { a: { b: { c: { d: { otp: 1, e: [{ pass: 'x' }] } } } } },
      { a: { b: { c: { d: { otp: '[redacted]', e: [{ pass: '[redacted]' }] } } } } },
    ],
    [
      { at: new Date(0), none: null, session: undefined },
      { at: '1970-01-01T00:00:00.000Z', none: null },
    ],
    [
      { size: 7n, token: 7n },
      { size: '7', token: '[redacted]' },
    ],
    [circle, { password: '[redacted]', a: 1, url: '/?key=[redacted]' }],
    [odd, '[unreadable]'],
    [7, 7],
    [null, null],
  ]
  for (const [value, logged] of values) t.strictSame(redactLogged(value), logged)
})

t.test('a key in the data of an error is a secret where it opens something (ERR-4)', async (t) => {
  const open = { key: 'errors.taken', messageKey: 'a', keyword: 'b', sortKey: 'c' }
  t.strictSame(redactData(open), open)
  const names = ['privateKey', 'api_key', 'encryption-key', 'pass', 'otp', 'sessionId', 'x-sig']
  for (const name of names) {
    t.strictSame(redactData({ [name]: 1 }), { [name]: '[redacted]' })
    t.strictSame(redactData({ url: '/', [name]: 'a' }), { url: '/', [name]: '[redacted]' })
  }
})

t.test('an URL is cut at 2 kB, after its secrets are gone (LOG-1)', async (t) => {
  const long = redactUrl(`/${'a'.repeat(20_000)}`)
  t.match(long, /^\/a{2047}… \(20001 characters\)$/)
  const atTheEdge = [
    `?to=http://ann:${'h'.repeat(20)}@idp`,
    `/${JWT}`,
    '?key=hunter2hunter2hunter2',
  ]
  for (const secret of atTheEdge) {
    for (let length = 2_000; length < 2_060; length += 1) {
      const url = `/${'a'.repeat(length - secret.length)}${secret}`
      t.notMatch(redactUrl(url), /h{3}|hun|eyJ/, `${secret} ${length}`)
    }
  }
  t.equal(redactUrl(`/${'a'.repeat(2_047)}`).length, 2_048)
})

t.test('takes no more than a pass over a text, whatever is in it (LOG-1)', async (t) => {
  const units = ['://', '://a:', 'a://b:c', '%3a%2f%2f', '%253a%252f%252f', '%25', '%', '@', '%40']
  units.push('authorization:', 'authorization ', 'Bearer ', 'Bearer a', ' a', '=', '&', '?a', ';a')
  units.push('eyJ', 'eyJ.', '.', '%2e', '"', "'", '\n', 'aA', 'A', '[', '_', 'basic  ', 'session')
  // With an algorithm that goes back for each of them this would take hours.
  for (const unit of units) t.type(redactText(unit.repeat(200_000)), 'string')
  for (const one of units) {
    for (const other of units) t.type(redactText(`${one}${other}`.repeat(2_000)), 'string')
  }
})

t.test('a text loses the tokens and parameters it quotes, nothing else (LOG-1)', async (t) => {
  t.equal(
    redactText(`GET /a?token=x failed: '${JWT}'`),
    "GET /a?token=[redacted] failed: '[redacted]'",
  )
  t.equal(redactText('/callback#access_token=x'), '/callback#access_token=[redacted]')
  for (const text of ['at Pool.#next; code = 1', 'a key #1 of eyJ', 'a=b', '']) {
    t.equal(redactText(text), text)
  }
})

t.test('an error below the key of a secret stays, without the secrets in it', async (t) => {
  const error = new BadRequest('A password needs 8 characters', { password: 'hunter2', least: 8 })
  const told = { ...error.toJSON(), data: { password: '[redacted]', least: 8 } }
  t.strictSame(redactData({ password: error, name: 1 }), { password: told, name: 1 })
  const message = 'The database refuses it'
  t.strictSame(redactData({ token: { message } }), { token: { message } })
  for (const other of [{ message, hash: 'x' }, { message: { $ne: '' } }, [message], { code: 1 }]) {
    t.strictSame(redactData({ token: other }), { token: '[redacted]' })
  }
})

t.test('keys of secrets lose their values, however written and how deep (ERR-4)', async (t) => {
  for (const key of [
    ...['password', 'newPassword', 'Password', 'passwordConfirmation', 'jwt', 'user_token'],
    ...['apiKey', 'clientSecret', 'Authorization', 'pwd', 'credentials'],
  ]) {
    t.strictSame(redactData({ [key]: 'hunter2', id: 1 }), { [key]: '[redacted]', id: 1 })
    t.strictSame(redactData([{ [key]: { $ne: '' } }]), [{ [key]: '[redacted]' }])
  }
  let deep: object = { password: 'hunter2' }
  for (let level = 0; level < 100; level += 1) deep = { deep }
  t.notMatch(JSON.stringify(redactData(deep)), 'hunter2')
  const user = new (class {
    password = 'hunter2'
  })()
  t.strictSame(redactData({ user }), { user: { password: '[redacted]' } })
  t.strictSame(redactData({ code: 'E1', at: new Date(0) }), {
    code: 'E1',
    at: '1970-01-01T00:00:00.000Z',
  })
})

t.test('errors keep the texts under the names of fields, and no other value (ERR-4)', async (t) => {
  const texts = { password: 'is too short', user: { newPassword: ['too short', 'too common'] } }
  t.strictSame(redactErrors(texts), texts)
  t.strictSame(
    redactErrors({ password: { kind: 'minlength', value: 'hunter2' }, age: { min: 1 } }),
    {
      password: '[redacted]',
      age: { min: 1 },
    },
  )
  t.strictSame(redactErrors([{ field: 'password', message: 'short' }]), [
    { field: 'password', message: 'short' },
  ])
})
