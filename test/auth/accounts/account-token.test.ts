import t from 'tap'
import {
  AccountTokens,
  createAccountToken,
  markPassword,
  readAccountToken,
} from '../../../src/auth/accounts/account-token.ts'
import { openDatabase } from '../../support/database.ts'

const { db, empty } = await openDatabase(t)

/** An empty store, and its collection. */
async function open() {
  await empty('accountTokens')
  const collection = db.collection('accountTokens')
  const fields = { email: 'a@b.c', newEmail: null, passwordMark: null }
  const inOneHour = new Date('2999-01-01T00:00:00Z')
  return { tokens: new AccountTokens(collection), collection, fields, inOneHour }
}

t.test('a token has 256 random bits, its purpose and its user', (t) => {
  const token = createAccountToken('reset', '507f1f77bcf86cd799439011')
  const [purpose, , random = ''] = token.text.split('.')
  t.equal(purpose, 'reset')
  t.equal(Buffer.from(random, 'base64url').length, 32)
  t.strictSame(readAccountToken(token.text), token)
  t.match(token.text, /^[\w.-]+$/, 'it needs no encoding in URLs')
  t.not(createAccountToken('reset', '1').text, createAccountToken('reset', '1').text)
  t.end()
})

t.test('what has not the form of a token is none', (t) => {
  const { text } = createAccountToken('verify', 'ä')
  t.equal(readAccountToken(text)?.userId, 'ä')
  const wrong = ['', 'verify', text.slice(0, -1), `${text}A`, ` ${text}`, `${text}\n`]
  const others = [text.replace('verify', 'login'), text.replace(/\.[^.]*\./, '..'), `x${text}`]
  for (const one of [...wrong, ...others]) t.equal(readAccountToken(one), null, one)
  t.end()
})

t.test('what is stored is no token, and each is taken once', async (t) => {
  const { tokens, collection, fields, inOneHour } = await open()
  const token = createAccountToken('reset', '1')
  await tokens.add(token, 'users', { ...fields, expiresAt: inOneHour })
  const [stored] = await collection.find().toArray()
  const random = token.text.split('.')[2] ?? ''
  t.notMatch(JSON.stringify(stored), new RegExp(random))
  const taken = await Promise.all(Array.from({ length: 20 }, () => tokens.take(token, 'users')))
  t.equal(taken.filter((one) => one !== null).length, 1)
})

t.test('a token is of one service of users, one user and one purpose', async (t) => {
  const { tokens, fields, inOneHour } = await open()
  const token = createAccountToken('reset', '1')
  await tokens.add(token, 'users', { ...fields, expiresAt: inOneHour })
  t.equal(await tokens.take(token, 'admins'), null)
  t.equal(await tokens.take({ ...token, userId: '2' }, 'users'), null)
  t.equal(await tokens.take({ ...token, purpose: 'verify' }, 'users'), null)
  t.equal(await tokens.take(createAccountToken('reset', '1'), 'users'), null)
  t.match(await tokens.take(token, 'users'), { email: 'a@b.c' })
})

t.test('a newer token takes the place of one, which is not given back then', async (t) => {
  const { tokens, fields, inOneHour } = await open()
  const [first, second] = [createAccountToken('reset', '1'), createAccountToken('reset', '1')]
  const all = { ...fields, expiresAt: inOneHour }
  await tokens.add(first, 'users', all)
  const taken = await tokens.take(first, 'users')
  if (taken === null) throw new Error('It was not stored')
  await tokens.putBack(taken)
  t.ok(await tokens.take(first, 'users'))
  await tokens.add(second, 'users', all)
  await tokens.putBack(taken)
  t.equal(await tokens.take(first, 'users'), null)
  t.ok(await tokens.take(second, 'users'))
})

t.test('an expired token is not taken, and the database forgets it', async (t) => {
  const { tokens, collection, fields } = await open()
  await tokens.createIndex()
  const token = createAccountToken('reset', '1')
  await tokens.add(token, 'users', { ...fields, expiresAt: new Date(0) })
  t.equal(await tokens.take(token, 'users'), null)
  const indexes = await collection.indexes()
  t.match(indexes[1], { key: { expiresAt: 1 }, expireAfterSeconds: 0 })
})

t.test('the mark of a password tells it from others, and from none', (t) => {
  t.equal(markPassword('a'), markPassword('a'))
  t.not(markPassword('a'), markPassword('b'))
  t.equal(markPassword(null), markPassword(undefined))
  t.notMatch(markPassword('a hash'), /a hash/)
  t.end()
})

t.test('a database that fails is told as such', async (t) => {
  const fail = async () => {
    throw new Error('away')
  }
  const { fields, inOneHour } = await open()
  const tokens = new AccountTokens({ createIndex: fail, updateOne: fail, findOneAndDelete: fail })
  const token = createAccountToken('reset', '1')
  await t.rejects(tokens.take(token, 'users'), { code: 503 })
  await t.rejects(tokens.add(token, 'users', { ...fields, expiresAt: inOneHour }), { code: 503 })
})
