import t from 'tap'
import {
  createRefreshToken,
  createSessionId,
  deriveTokenKeys,
  openSuccessor,
  readRefreshToken,
  sealSuccessor,
  toTokenId,
} from '../../../src/auth/sessions/refresh-token.ts'

const [FIRST, SECOND] = [
  'a secret of 32 bytes for the tests',
  'another secret of 32 bytes, as long',
]

const SECRET = deriveTokenKeys('authentication', [FIRST, SECOND])
const OTHER = deriveTokenKeys('authentication', [SECOND])
const create = (userId = 'ada') =>
  createRefreshToken({ sessionId: createSessionId(), userId, generation: 7 }, SECRET)

t.test('a token is read by the secret that has made it, and by none other', async (t) => {
  for (const userId of ['ada', '', 'ä b.c']) {
    const token = create(userId)
    t.strictSame(readRefreshToken(token.text, SECRET), token)
    t.equal(token.userId, userId)
    t.equal(readRefreshToken(token.text, OTHER), null)
    const admin = deriveTokenKeys('admin', [FIRST, SECOND])
    t.equal(readRefreshToken(token.text, admin), null, 'of another authentication service')
    t.not(createRefreshToken(token, SECRET).text, token.text)
  }
  const old = createRefreshToken({ ...create(), generation: 0 }, OTHER)
  t.strictSame(readRefreshToken(old.text, SECRET), old, 'by any secret of the list')
})

t.test('no changed character leaves a token valid', async (t) => {
  const { text } = create()
  for (const index of text.split('').keys()) {
    const other = text[index] === 'A' ? 'B' : 'A'
    const changed = `${text.slice(0, index)}${other}${text.slice(index + 1)}`
    if (readRefreshToken(changed, SECRET) !== null) t.fail(`character ${index}`)
  }
  t.equal(readRefreshToken(text.toUpperCase(), SECRET), null)
  for (const odd of [null, 1, {}, [text], '', `${text}\n`])
    t.equal(readRefreshToken(odd, SECRET), null)
})

t.test('a successor opens by the token before it alone', async (t) => {
  const [one, two, three] = [create(), create(), create()]
  const sealed = sealSuccessor(two, one, 60)
  t.notMatch(sealed, two.text)
  t.equal(openSuccessor(sealed, one)?.text, two.text)
  t.equal(openSuccessor(sealed, three), null)
  t.equal(openSuccessor('', one), null)
  t.not(toTokenId(one), toTokenId(two))
  t.equal(toTokenId(one), toTokenId({ ...one }))
})
