import t from 'tap'
import {
  createRefreshToken,
  createSessionId,
  openSuccessor,
  readRefreshToken,
  sealSuccessor,
  toTokenId,
} from '../../../src/auth/sessions/refresh-token.ts'

const [SECRET, OTHER] = [
  'a secret of 32 bytes for the tests',
  'another secret of 32 bytes, as long',
]

t.test('a token is read by the secret that has made it, and by none other', async (t) => {
  const sid = createSessionId()
  const token = createRefreshToken(sid, [SECRET, OTHER])
  t.equal(token.sessionId, sid)
  t.strictSame(readRefreshToken(token.text, [OTHER, SECRET]), token)
  t.equal(readRefreshToken(token.text, [OTHER]), null)
  t.not(createRefreshToken(sid, [SECRET]).text, token.text)
  t.not(createSessionId(), sid)
})

t.test('no changed character leaves a token valid', async (t) => {
  const { text } = createRefreshToken(createSessionId(), [SECRET])
  for (const index of text.split('').keys()) {
    const other = text[index] === 'A' ? 'B' : 'A'
    const changed = `${text.slice(0, index)}${other}${text.slice(index + 1)}`
    if (readRefreshToken(changed, [SECRET]) !== null) t.fail(`character ${index}`)
  }
  t.equal(readRefreshToken(text.toUpperCase(), [SECRET]), null)
  for (const odd of [null, 1, {}, [text], '', `${text}\n`])
    t.equal(readRefreshToken(odd, [SECRET]), null)
})

t.test('a successor opens by the token before it alone', async (t) => {
  const create = () => createRefreshToken(createSessionId(), [SECRET])
  const [one, two, three] = [create(), create(), create()]
  const sealed = sealSuccessor(two, one)
  t.notMatch(sealed, two.text)
  t.equal(openSuccessor(sealed, one)?.text, two.text)
  t.equal(openSuccessor(sealed, three), null)
  t.equal(openSuccessor('', one), null)
  t.not(toTokenId(one), toTokenId(two))
  t.equal(toTokenId(one), toTokenId({ ...one }))
})
