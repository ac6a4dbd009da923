import { randomBytes } from 'node:crypto'
import t from 'tap'
import { seal, unseal } from '../../../src/core/secrets/sealing.ts'

const KEY = randomBytes(32)
const DATA = Buffer.from('a secret text')
const BOUND = Buffer.from('cursors of notes')

t.test('opens what was sealed by the same key for the same purpose', async (t) => {
  const sealed = seal(DATA, KEY, BOUND)
  t.strictSame(unseal(sealed, KEY, BOUND), DATA)
  t.equal(unseal(sealed, randomBytes(32), BOUND), null)
  t.equal(unseal(sealed, KEY, Buffer.from('cursors of users')), null)
  t.notSame(seal(DATA, KEY, BOUND).nonce, sealed.nonce, 'no two are the same')
})

t.test('opens nothing that was changed or cut, in any part', async (t) => {
  const sealed = seal(DATA, KEY, BOUND)
  for (const part of ['nonce', 'text', 'tag'] as const) {
    const bytes = sealed[part]
    for (const index of bytes.keys()) {
      const changed = Uint8Array.from(bytes, (byte, place) => (place === index ? byte ^ 1 : byte))
      t.equal(unseal({ ...sealed, [part]: changed }, KEY, BOUND), null, `${part} ${index}`)
      const cut = bytes.subarray(0, index)
      t.equal(unseal({ ...sealed, [part]: cut }, KEY, BOUND), null, `${part} of ${index} bytes`)
    }
  }
})
