import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { MongoDBListService, transaction } from '../../../src/adapter/index.ts'
import { Unavailable } from '../../../src/transport/index.ts'
import { openDatabase } from '../../support/database.ts'
import { openFrames } from '../../support/event-frames.ts'
import { Gate } from '../../support/gate.ts'
import type { Tokens } from '../../support/session-server.ts'
import { ADA, claimsOf, startSessions } from '../../support/session-server.ts'
import { until } from '../../support/until.ts'
import { CHEAP_SCRYPT } from '../../support/users.ts'

const database = await openDatabase(t)

interface Users {
  patch(id: string, data: object): Promise<unknown>
}

interface SessionRecords {
  remove(id: string): Promise<unknown>
}

/** Starts sessions, with the two services that calls within the process change. */
async function startChanges(...args: Parameters<typeof startSessions>) {
  const started = await startSessions(...args)
  const { app } = started.authentication
  return {
    ...started,
    app,
    users: app.service('users') as never as Users,
    sessions: app.service('sessions') as never as SessionRecords,
  }
}

t.test('a password or name that is renamed away, or replaced, ends sessions', async (t) => {
  const { logIn, refresh, users, stored } = await startChanges(t, database)
  const tokens = await logIn()
  const { sub } = claimsOf(tokens)
  const session = await stored.findOneAndDelete({})
  assert.ok(session)
  const changes: [data: object, isOver: boolean][] = [
    [{ $rename: { nickname: 'alias' } }, false],
    [{ $rename: { password: 'oldPassword' } }, true],
    [{ $rename: { oldPassword: 'password' } }, true],
    [{ $rename: { email: 'oldEmail' } }, true],
    [{ $rename: { oldEmail: 'email' } }, true],
    [{ $unset: { email: '' } }, true],
  ]
  for (const [data, isOver] of changes) {
    if ((await stored.countDocuments()) === 0) await stored.insertOne(session)
    await users.patch(sub, data)
    t.equal(await stored.countDocuments(), isOver ? 0 : 1, JSON.stringify(data))
  }
  t.equal((await refresh(tokens.refreshToken)).status, 401)
})

t.test('a change of an object around the password or name ends sessions', async (t) => {
  const local = {
    ...{ usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
    ...{ entityUsernameField: 'login.email', entityPasswordField: 'login.password' },
  }
  const started = await startChanges(t, database, {}, { local })
  const { logIn, users, stored } = started
  const records = database.db.collection('users')
  const found = await records.findOne({})
  assert.ok(found)
  const { email, password, ...user } = found
  const login = { email, password }
  await records.replaceOne({}, { ...user, login, barred: false })
  const { sub } = claimsOf(await logIn())
  const [session] = await stored.find().toArray()
  assert.ok(session)
  const changes: [data: object, isOver: boolean][] = [
    [{ nickname: 'Ada' }, false],
    [{ 'login.email': email }, false],
    [{ 'login.email': 'ada@example.com' }, true],
    [{ login: { email } }, true],
    [{ login: null }, true],
    [{ $set: { login: {} } }, true],
    [{ $unset: { login: '' } }, true],
    [{ $unset: { 'login.password': '' } }, true],
    [{ $rename: { login: 'account' } }, true],
    [{ $rename: { account: 'login' } }, true],
    [{ $rename: { barred: 'isActive' } }, true],
  ]
  for (const [data, isOver] of changes) {
    await records.replaceOne({}, { ...user, login, barred: false })
    await stored.deleteMany({})
    await stored.insertOne(session)
    await users.patch(sub, data)
    t.equal(await stored.countDocuments(), isOver ? 0 : 1, JSON.stringify(data))
  }
})

t.test('sessions that could not be ended with a change end at their next refresh', async (t) => {
  const { logIn, refresh, users, app, stored } = await startChanges(t, database)
  const tokens = await logIn()
  let isAway = true
  app.service('sessions').hooks({
    before: {
      remove: () => {
        if (isAway) throw new Unavailable('away')
      },
    },
  } as never)
  const { sub } = claimsOf(tokens)
  const email = 'ada@example.com'
  await t.rejects(users.patch(sub, { email }), { code: 503 }, 'the caller learns of it')
  t.equal((await refresh(tokens.refreshToken)).status, 503, 'the session can not be ended yet')
  t.equal(await stored.countDocuments(), 1)
  isAway = false
  t.equal((await refresh(tokens.refreshToken)).status, 401)
  t.equal(await stored.countDocuments(), 0)
})

t.test('a change within a transaction ends sessions with it', async (t) => {
  const { logIn, refresh, users, app, stored } = await startChanges(t, database)
  const tokens = await logIn()
  const { sub } = claimsOf(tokens)
  const failing = transaction(app, async () => {
    await users.patch(sub, { password: 'battery staple' })
    throw new Error('taken back')
  })
  await t.rejects(failing, { message: 'taken back' })
  t.equal(await stored.countDocuments(), 1, 'nothing has changed')
  const { status, body } = await refresh(tokens.refreshToken)
  t.equal(status, 201)
  await transaction(app, () => users.patch(sub, ADA))
  t.equal(await stored.countDocuments(), 0)
  t.equal((await refresh((body as Tokens).refreshToken)).status, 401)
})

t.test('a session that changes its own password is refreshed meanwhile', async (t) => {
  const { logIn, refresh, app, server, withToken, stored } = await startChanges(t, database)
  const [own, other] = [await logIn(), await logIn()]
  const gate = new Gate()
  app.service('sessions').hooks({ before: { remove: [() => gate.pass()] } } as never)
  const change = server.request(`/users/${claimsOf(own).sub}`, {
    method: 'PATCH',
    data: { password: 'battery staple' },
    headers: withToken(own.accessToken),
  })
  await gate.arrivals(1)
  const { sid } = claimsOf(own)
  const marks = async () => (await stored.findOne({ _id: sid as never }))?.['marks']
  const before = (await stored.findOne({ _id: claimsOf(other).sid as never }))?.['marks']
  await until(async () => !isDeepStrictEqual(await marks(), before))
  t.equal((await refresh(own.refreshToken)).status, 201, 'the others have not been ended yet')
  gate.open()
  t.equal((await change).status, 200)
  t.equal((await refresh(other.refreshToken)).status, 401)
  t.equal(await stored.countDocuments(), 1)
})

t.test('a login before the commit of a transaction gets a session that ends with it', async (t) => {
  const options = { checkSession: 'always', checkCacheMs: 600_000 }
  const started = await startChanges(t, database, options)
  const { logIn, readNotes, users, app, stored, events } = started
  const { sub } = claimsOf(await logIn())
  const changes = [
    { password: 'battery staple' },
    { isActive: false },
    { email: 'ada@example.com' },
    { $set: { isActive: true } },
  ]
  for (const change of changes) {
    await users.patch(sub, { ...ADA, isActive: true })
    let tokens: Tokens | undefined
    const outside = new AsyncResource('request')
    const back = new Error('taken back')
    const run = (isKept: boolean) =>
      transaction(app, async () => {
        await users.patch(sub, change)
        // Another request, which reads the user as before.
        tokens = await outside.runInAsyncScope(logIn)
        t.equal(await readNotes(tokens), 200)
        if (!isKept) throw back
      })
    await t.rejects(run(false), back)
    t.equal(await readNotes(tokens as unknown as Tokens), 200, 'nothing has changed')
    await run(true)
    const login = tokens as unknown as Tokens
    if ('$set' in change) t.equal(await readNotes(login), 200, 'nothing that ends sessions')
    else {
      const { sid } = claimsOf(login)
      await until(() => events.some(([, end]) => (end as { sid?: string }).sid === sid))
      t.equal(await readNotes(login), 401, JSON.stringify(change))
      t.equal(await stored.countDocuments(), 0)
    }
  }
})

t.test('a session that the application removes ends its streams and its access', async (t) => {
  const options = { checkSession: 'always', checkCacheMs: 600_000 }
  const started = await startChanges(t, database, options)
  const { logIn, readNotes, sessions, events, server, withToken } = started
  const [tokens, other] = [await logIn(), await logIn()]
  const frames = await openFrames(t, `${server.url}/notes`, withToken(tokens.accessToken))
  await frames.next()
  const { sid } = claimsOf(tokens)
  await sessions.remove(sid)
  t.equal((await frames.rest()).at(-1)?.event, 'end')
  t.equal(await readNotes(tokens), 401)
  t.equal(await readNotes(other), 200)
  const out = { method: 'DELETE', headers: withToken(other.accessToken) }
  await server.request('/authentication', out)
  const ends = events.filter(([name]) => name === 'sessionEnd').map(([, end]) => end)
  t.strictSame(ends, [{ sid }, { sid: claimsOf(other).sid }], 'each is told once')
})

t.test('a session is shown to end when it ends in any case', async (t) => {
  const { logIn, server, withToken, stored } = await startSessions(t, database)
  const { accessToken } = await logIn()
  const headers = withToken(accessToken)
  const readEnd = async (): Promise<unknown> => {
    const { body } = await server.request('/sessions', { headers })
    return (body as { data: { expiresAt: string }[] }).data[0]?.expiresAt
  }
  const [session] = await stored.find().toArray()
  t.equal(await readEnd(), session?.['expiresAt'].toISOString())
  const endsAt = new Date(session?.['expiresAt'].getTime() - 1000)
  await stored.updateMany({}, { $set: { endsAt } })
  t.equal(await readEnd(), endsAt.toISOString())
})

t.test('a claim `sid` of the application gives way to the id of the session', async (t) => {
  const { logIn, authentication, refresh, stored } = await startSessions(t, database)
  Object.assign(authentication, { getPayload: async () => ({ sid: 'mine', role: 'reader' }) })
  const tokens = await logIn()
  const [session] = await stored.find().toArray()
  t.match(claimsOf(tokens), { sid: String(session?._id), role: 'reader' })
  t.equal((await refresh(tokens.refreshToken)).status, 201)
})

t.test('a service of sessions with three methods offers no others', async (t) => {
  const { logIn, refresh, authentication, server, withToken } = await startSessions(t, database)
  const { app } = authentication
  await app.unuse('sessions')
  const Model = database.db.collection('sessions')
  const methods = ['find', 'get', 'remove']
  app.use('sessions', new MongoDBListService({ Model }) as never, { methods } as never)
  const { accessToken, refreshToken } = await logIn()
  t.equal((await refresh(refreshToken)).status, 201)
  const headers = withToken(accessToken)
  const answer = await server.request('/sessions', { data: {}, headers })
  t.match(answer, { status: 405, headers: { allow: 'GET' } })
})
