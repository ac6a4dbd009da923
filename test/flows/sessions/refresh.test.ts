import t from 'tap'
import { Unavailable } from '../../../src/transport/index.ts'
import { openDatabase } from '../../support/database.ts'
import { pluck } from '../../support/pluck.ts'
import type { Tokens } from '../../support/session-server.ts'
import { ADA, claimsOf, startSessions } from '../../support/session-server.ts'

const database = await openDatabase(t)

t.test('a login begins a session, which is stored without its tokens', async (t) => {
  const { logIn, stored, readNotes } = await startSessions(t, database)
  const tokens = await logIn()
  const { sid, sub, iat, exp } = claimsOf(tokens)
  t.equal(exp - iat, 600, 'ten minutes')
  const [session, ...others] = await stored.find().toArray()
  t.strictSame(others, [])
  t.match(session, { _id: sid, userId: sub, address: '127.0.0.1', spent: {} })
  t.notMatch(JSON.stringify(session), tokens.refreshToken)
  t.equal(await readNotes(tokens), 200)
  const indexes = await stored.indexes()
  const expiring = indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds === 0)
  t.strictSame(pluck(expiring, 'key'), [{ expiresAt: 1 }, { endsAt: 1 }])
})

t.test('a refresh answers a new pair, and is no login', async (t) => {
  const { logIn, refresh, readNotes, events } = await startSessions(t, database)
  const first = await logIn()
  const { status, body } = await refresh(first.refreshToken)
  const second = body as Tokens
  t.equal(status, 201)
  t.match(body, { user: { email: ADA.email }, authentication: { strategy: 'refresh' } })
  t.notMatch(JSON.stringify(body), /password/)
  t.not(second.refreshToken, first.refreshToken)
  t.equal(claimsOf(second).sid, claimsOf(first).sid)
  t.equal(await readNotes(second), 200)
  t.equal(events.filter(([name]) => name === 'login').length, 1)
})

t.test('a login has a session of its own, whatever it names (FST-13)', async (t) => {
  const { logIn, refresh, server, stored } = await startSessions(t, database)
  const known = await logIn()
  const { sid } = claimsOf(known)
  const named = { sid, _id: sid, refreshToken: known.refreshToken, payload: { sid } }
  const { status, body } = await server.request(`/authentication?sid=${sid}`, {
    data: { strategy: 'local', ...ADA, ...named },
  })
  t.equal(status, 201)
  const fresh = body as Tokens
  t.not(claimsOf(fresh).sid, sid)
  t.not(fresh.refreshToken, known.refreshToken)
  await stored.deleteMany({})
  for (const { refreshToken } of [known, fresh]) t.equal((await refresh(refreshToken)).status, 401)
  t.equal(await stored.countDocuments(), 0, 'one that has ended does not come back')
})

t.test('of 50 refreshes at once one rotates, and all get the same pair (JWT-25)', async (t) => {
  const { logIn, refresh, stored } = await startSessions(t, database)
  const { refreshToken } = await logIn()
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(refreshToken)))
  const pairs = answers.map(({ body }) => {
    const { accessToken, refreshToken } = body as Tokens
    return `${accessToken} ${refreshToken}`
  })
  t.equal(new Set(pairs).size, 1)
  const [session] = await stored.find().toArray()
  t.strictSame(Object.keys(session?.['spent']), ['0'])
})

t.test('a lost answer is repeated from any of the tokens before it', async (t) => {
  const { logIn, refresh } = await startSessions(t, database)
  const tokens = [await logIn()]
  for (let count = 0; count < 3; count += 1) {
    tokens.push((await refresh(tokens.at(-1)?.refreshToken)).body as Tokens)
  }
  const last = tokens.at(-1)?.refreshToken
  for (const { refreshToken } of tokens.slice(0, -1)) {
    t.equal(((await refresh(refreshToken)).body as Tokens).refreshToken, last)
  }
})

t.test('a token that is used later again ends its session, and says so (JWT-25)', async (t) => {
  const { logIn, refresh, stored, events, server, readNotes } = await startSessions(t, database, {
    ...{ graceMs: 0, checkSession: 'always' },
  })
  const [victim, other] = [await logIn(), await logIn()]
  const thief = (await refresh(victim.refreshToken)).body as Tokens
  t.equal(await readNotes(thief), 200, 'nothing tells them apart yet')
  await stored.updateMany({ 'spent.0': { $exists: true } }, { $set: { 'spent.0.at': new Date(0) } })
  const { status, body } = await refresh(victim.refreshToken)
  t.equal(status, 401)
  t.match(body, { message: 'The refresh token is not valid' })
  t.equal((await refresh(thief.refreshToken)).status, 401, 'that of the thief is over too')
  t.equal(await readNotes(thief), 401, 'and so is the access token of the thief')
  t.equal((await refresh(other.refreshToken)).status, 201, 'other sessions go on')
  const { sid, sub } = claimsOf(victim)
  t.strictSame(
    events.filter(([name]) => name === 'reuse'),
    [['reuse', { sid, userId: sub }]],
  )
  const reuse = server.logged.filter(({ message }) => message === 'A refresh token was used again')
  t.match(reuse, [{ details: { event: 'reuse', sid, userId: sub, address: '127.0.0.1' } }])
  t.notMatch(JSON.stringify(server.logged), victim.refreshToken)
})

t.test('a refresh in between gives a copied token no new time (JWT-25)', async (t) => {
  const { logIn, refresh, stored, events } = await startSessions(t, database)
  const first = await logIn()
  const second = (await refresh(first.refreshToken)).body as Tokens
  await stored.updateMany({}, { $set: { 'spent.0.at': new Date(0) } })
  t.equal((await refresh(second.refreshToken)).status, 201)
  const answers = await Promise.all([refresh(first.refreshToken), refresh(first.refreshToken)])
  t.strictSame(pluck(answers, 'status'), [401, 401])
  t.equal(events.filter(([name]) => name === 'reuse').length, 1, 'told once')
})

t.test('what is no refresh token of a session is refused the same (JWT-14)', async (t) => {
  const { logIn, refresh, stored, readNotes } = await startSessions(t, database)
  const tokens = await logIn()
  const { accessToken, refreshToken } = tokens
  const [sid, random, user, count, code] = refreshToken.split('.') as [
    string,
    string,
    string,
    string,
    string,
  ]
  const forged = [
    ...[undefined, null, '', 7, {}, [], [refreshToken], { $ne: null }, accessToken],
    ...[refreshToken.slice(0, -1), `${refreshToken}A`, ` ${refreshToken}`, 'a'.repeat(900_000)],
    [sid, random, code].join('.'),
    [sid, random, user, count, 'A'.repeat(code.length)].join('.'),
    ['A'.repeat(sid.length), random, user, count, code].join('.'),
    [sid, 'A'.repeat(random.length), user, count, code].join('.'),
    [sid, random, 'A'.repeat(user.length), count, code].join('.'),
    [sid, random, user, '1', code].join('.'),
  ]
  for (const one of forged) {
    const { status, body } = await refresh(one)
    t.equal(status, 401, String(one).slice(0, 30))
    t.match(body, { message: 'The refresh token is not valid' })
  }
  t.equal((await refresh(refreshToken)).status, 201, 'nobody is logged out by them')
  t.equal(await readNotes({ ...tokens, accessToken: refreshToken }), 401)
  await stored.deleteMany({})
  t.equal((await refresh(refreshToken)).status, 401, 'a session that has ended')
})

t.test('sessions end by time: without use, and in any case', async (t) => {
  const { logIn, refresh, stored } = await startSessions(t, database)
  for (const field of ['expiresAt', 'endsAt']) {
    const { refreshToken } = await logIn()
    await stored.updateMany({}, { $set: { [field]: new Date(0) } })
    t.equal((await refresh(refreshToken)).status, 401, field)
  }
})

t.test('a user who can not be read keeps the token', async (t) => {
  const { logIn, refresh, authentication } = await startSessions(t, database, { graceMs: 0 })
  const { refreshToken } = await logIn()
  let isAway = true
  authentication.app.service('users').hooks({
    before: {
      get: () => {
        if (isAway) throw new Unavailable('away')
      },
    },
  } as never)
  for (let count = 0; count < 3; count += 1) t.equal((await refresh(refreshToken)).status, 503)
  isAway = false
  t.equal((await refresh(refreshToken)).status, 201)
})

t.test('bad refreshes of an address do not lock good ones out', async (t) => {
  const { logIn, refresh } = await startSessions(
    t,
    database,
    {},
    { loginThrottle: { maxAttempts: 1 } },
  )
  const { refreshToken } = await logIn()
  const statuses = await Promise.all(Array.from({ length: 5 }, () => refresh('nonsense')))
  t.ok(statuses.some(({ status }) => status === 429))
  t.equal((await refresh(refreshToken)).status, 201)
})
