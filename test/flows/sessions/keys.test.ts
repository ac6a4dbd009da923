import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { createRefreshToken, deriveTokenKeys } from '../../../src/auth/sessions/refresh-token.ts'
import { openDatabase } from '../../support/database.ts'
import type { Tokens } from '../../support/session-server.ts'
import { claimsOf, startSessions } from '../../support/session-server.ts'
import { SECRET } from '../../support/users.ts'

const database = await openDatabase(t)

t.test('a refresh does not depend on the order of strategies', async (t) => {
  for (const authStrategies of [
    ['jwt', 'local'],
    ['local', 'jwt'],
  ]) {
    const { logIn, refresh } = await startSessions(t, database, {}, { authStrategies })
    const { status, body } = await refresh((await logIn()).refreshToken)
    t.equal(status, 201, authStrategies.join())
    t.match(body, { user: { email: 'ada@example.org' } })
  }
})

t.test('no refresh token is made from a public key (JWT-14)', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = { type: 'spki', format: 'pem' } as const
  const known = publicKey.export(pem).toString()
  const old = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export(pem).toString()
  const signing = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const settings = {
    secret: [signing, old],
    jwtOptions: { issuer: 'tests', audience: 'tests', algorithm: 'ES256' },
  }
  const { logIn, refresh, readNotes } = await startSessions(t, database, {}, settings)
  const login = await logIn()
  const { sid: sessionId, sub: userId } = claimsOf(login)
  const forge = (...secrets: string[]): string =>
    createRefreshToken(
      { sessionId, userId, generation: 0 },
      deriveTokenKeys('authentication', secrets),
    ).text
  for (const key of [old, known, old.trim(), '']) t.equal((await refresh(forge(key))).status, 401)
  const { status, body } = await refresh(login.refreshToken)
  t.equal(status, 201)
  t.equal(await readNotes(body as Tokens), 200)
})

t.test('tokens of other secrets or settings are refused, of old ones work (JWT-14)', async (t) => {
  const old = 'the old secret of the tests, which is long enough'
  const secret = [SECRET, old]
  const { logIn, refresh, stored } = await startSessions(t, database, {}, { secret })
  const login = await logIn()
  const { sid: sessionId, sub: userId } = claimsOf(login)
  const forge = (configKey: string, key: string) =>
    createRefreshToken({ sessionId, userId, generation: 0 }, deriveTokenKeys(configKey, [key]))
  const strangers = [
    forge('admin', SECRET),
    forge('authentication', 'a secret of somebody else, which is long enough'),
  ]
  for (const { text } of strangers) t.equal((await refresh(text)).status, 401)
  const token = forge('authentication', old)
  await stored.updateOne({}, { $set: { tokenHash: token.hash } })
  t.equal((await refresh(token.text)).status, 201)
})

t.test('whatever is no token of a session costs the same commands (JWT-14)', async (t) => {
  const { logIn, refresh, stored } = await startSessions(t, database)
  const { accessToken, refreshToken } = await logIn()
  const over = await logIn()
  const expired = await logIn()
  await stored.deleteOne({ _id: claimsOf(over).sid })
  await stored.updateOne({ _id: claimsOf(expired).sid }, { $set: { expiresAt: new Date(0) } })
  const namesOf = async (token: unknown): Promise<string> => {
    const commands = await database.commandsOf(async () => {
      t.match(await refresh(token), {
        status: 401,
        body: { message: 'The refresh token is not valid' },
      })
    })
    return commands.map((command) => Object.keys(command)[0]).join()
  }
  const unknown: unknown[] = [
    ...[accessToken, refreshToken.slice(0, -1), `${refreshToken}.`, 'a'.repeat(1_000_000)],
    ...[[refreshToken], [[]], { text: refreshToken }, { $gt: '' }, 7, true, null, ''],
  ]
  for (const token of unknown) t.equal(await namesOf(token), 'findAndModify', typeof token)
  // Made here: the user is read, also as others see it, a rotation is tried, and the session looked up.
  const made = ['find', 'find', 'findAndModify', 'findAndModify'].join()
  t.equal(await namesOf(over.refreshToken), made)
  t.equal(await namesOf(expired.refreshToken), made)
  t.equal((await refresh(refreshToken)).status, 201)
})

t.test('tokens of two sessions do not mix, of one user or of two (JWT-25)', async (t) => {
  const { logIn, refresh, server, stored, events } = await startSessions(t, database, {
    graceMs: 0,
  })
  const bob = { email: 'bob@example.org', password: 'correct horse' }
  await server.request('/users', { data: bob })
  const login = { data: { strategy: 'local', ...bob } }
  const theirs = (await server.request('/authentication', login)).body as Tokens
  const [one, two] = [await logIn(), await logIn()]
  const all = [one, two, theirs]
  const next: Tokens[] = []
  for (const { refreshToken } of all) next.push((await refresh(refreshToken)).body as Tokens)
  t.strictSame(
    next.map((tokens) => claimsOf(tokens).sid),
    all.map((tokens) => claimsOf(tokens).sid),
  )
  const swap = (token: string, other: string, part: number): string => {
    const [parts, others] = [token.split('.'), other.split('.')]
    return parts.map((text, index) => (index === part ? others[index] : text)).join('.')
  }
  const [mine, other] = [next[0]?.refreshToken ?? '', next[2]?.refreshToken ?? '']
  for (let part = 0; part < 5; part += 1) {
    const mixed = swap(mine, other, part)
    // Both were refreshed once: that part is the same.
    if (mixed !== mine) t.equal((await refresh(mixed)).status, 401, `part ${part}`)
  }
  await stored.updateMany({}, { $set: { 'spent.0.at': new Date(0) } })
  t.equal((await refresh(one.refreshToken)).status, 401, 'a token that was used before')
  t.equal((await refresh(mine)).status, 401, 'and the one after it')
  for (const tokens of next.slice(1)) t.equal((await refresh(tokens.refreshToken)).status, 201)
  t.equal(events.filter(([name]) => name === 'reuse').length, 1)
})

t.test('a login by an access token gets no refresh token and no new time (JWT-26)', async (t) => {
  const { logIn, server, stored } = await startSessions(t, database)
  const { accessToken } = await logIn()
  const data = { strategy: 'jwt', accessToken }
  const { status, body } = await server.request('/authentication', { data })
  t.equal(status, 201)
  t.match(body, { accessToken, refreshToken: undefined })
  t.equal(await stored.countDocuments(), 1)
})
