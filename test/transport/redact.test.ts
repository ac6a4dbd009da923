import t from 'tap'

import { redactData, redactErrors, redactText, redactUrl } from '../../src/transport/redact.ts'

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
]

for (const [url, redacted] of URLS) {
  t.test(`LOG-1: ${url} is logged as ${redacted}`, async (t) => {
    t.equal(redactUrl(url), redacted)
  })
}

t.test(
  'LOG-1: a text loses the tokens and parameters that it quotes, and nothing else',
  async (t) => {
    t.equal(
      redactText(`GET /a?token=x failed: '${JWT}'`),
      "GET /a?token=[redacted] failed: '[redacted]'",
    )
    t.equal(redactText('/callback#access_token=x'), '/callback#access_token=[redacted]')
    for (const text of ['at Pool.#next; code = 1', 'a key #1 of eyJ', 'a=b', '']) {
      t.equal(redactText(text), text)
    }
  },
)

t.test(
  'ERR-4: keys of secrets lose their values, however they are written and how deep',
  async (t) => {
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
  },
)

t.test('ERR-4: errors keep the texts under the names of fields, and no other value', async (t) => {
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
