import t from 'tap'
import {
  deriveKey,
  hashToKey,
  listSecrets,
  SECRET_OPTION,
} from '../../../src/core/secrets/secret.ts'

t.test('a secret has at least 32 bytes, in however many characters', async (t) => {
  const rows: [value: unknown, isValid: boolean][] = [
    ['a'.repeat(31), false],
    ['a'.repeat(32), true],
    ['ü'.repeat(16), true],
    [['a'.repeat(32)], false],
    [undefined, false],
  ]
  for (const [value, isValid] of rows) t.equal(SECRET_OPTION.isValid(value), isValid, `${value}`)
})

t.test('lists what only this server knows, and no public key', async (t) => {
  const toPem = (name: string): string => `-----BEGIN ${name}-----\nAAAA\n-----END ${name}-----\n`
  const secrets = ['one secret', 'another', toPem('PRIVATE KEY'), toPem('EC PRIVATE KEY')]
  const others = [toPem('PUBLIC KEY'), toPem('RSA PUBLIC KEY'), toPem('CERTIFICATE'), '', null, 7]
  t.strictSame(listSecrets([...secrets, ...others]), secrets)
  t.strictSame(listSecrets('one secret'), ['one secret'])
  for (const other of [...others, undefined]) t.strictSame(listSecrets(other), [], `${other}`)
})

t.test('derives another key for each purpose and each secret, and always the same', async (t) => {
  for (const derive of [deriveKey, hashToKey]) {
    const keys = [
      derive('one', 'secret'),
      derive('other', 'secret'),
      derive('one', 'another'),
      derive('one', 'secret'),
    ].map((key) => Buffer.from(key).toString('hex'))
    t.equal(new Set(keys).size, 3)
    t.equal(keys[3], keys[0])
    t.equal(keys[0]?.length, 64)
  }
})

t.test('derives the keys of earlier versions: tokens and cursors stay valid', async (t) => {
  const toHex = (key: Uint8Array): string => Buffer.from(key).toString('hex').slice(0, 16)
  t.equal(toHex(deriveKey('oauth-flow', 'a secret of the server')), '3655ad7f8fb02a80')
  t.equal(toHex(hashToKey('page-cursor', 'a secret of the server')), '574a4413217b72e1')
})
