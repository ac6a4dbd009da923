import { ObjectId } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import type { Entity } from '../../../src/auth/index.ts'
import { LocalStrategy } from '../../../src/auth/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import type { Tokens } from '../../support/session-server.ts'
import { ADA, claimsOf, startSessions } from '../../support/session-server.ts'
import { CHEAP_SCRYPT, SECRET } from '../../support/users.ts'

const database = await openDatabase(t)
const stored = database.db.collection('users')

/** Changes of a user, and whether the sessions of before end. */
const CHANGES: readonly [change: object, isOver: boolean][] = [
  [{ $set: { nickname: 'Ada' } }, false],
  [{ $set: { isActive: true } }, false],
  [{ $set: { password: 'another hash' } }, true],
  [{ $unset: { password: '' } }, true],
  [{ $set: { email: 'ada@example.com' } }, true],
  [{ $unset: { email: '' } }, true],
  [{ $set: { isActive: false } }, true],
  [{ $set: { isActive: null } }, true],
]

const WHOLE = { isActive: true, nickname: 'ada' }

/** Starts sessions, with a user whose state is put back by `reset`. */
async function start(t: Test, ...args: [sessions?: object, settings?: object]) {
  const started = await startSessions(t, database, ...args)
  const user = await stored.findOneAndUpdate({}, { $set: WHOLE }, { returnDocument: 'after' })
  const before = user ?? { _id: new ObjectId() }
  const reset = async (): Promise<void> => {
    await started.stored.deleteMany({})
    await stored.replaceOne({ _id: before._id }, before, { upsert: true })
  }
  return { ...started, user: before as Entity & { _id: ObjectId }, reset }
}

/** Waits at a gate after the password was checked, as a second factor does. */
class SlowLocal extends LocalStrategy {
  gate: Gate | null = null

  override async comparePassword(...args: Parameters<LocalStrategy['comparePassword']>) {
    const entity = await super.comparePassword(...args)
    await this.gate?.pass()
    return entity
  }
}

t.test('a login under way is refused where its user has changed since the proof', async (t) => {
  const { server, authentication, reset, refresh, ...started } = await start(t)
  const slow = new SlowLocal()
  authentication.register('local', slow)
  for (const [change, isOver] of CHANGES) {
    await reset()
    slow.gate = new Gate()
    const login = server.request('/authentication', { data: { strategy: 'local', ...ADA } })
    await slow.gate.arrivals(1)
    // As another process does, whatever its clock says, or one that dies before it ends the sessions.
    await stored.updateOne({}, change)
    slow.gate.open()
    const { status, body } = await login
    t.equal(status, isOver ? 401 : 201, JSON.stringify(change))
    t.equal(await started.stored.countDocuments(), isOver ? 0 : 1)
    if (!isOver) t.equal((await refresh((body as Tokens).refreshToken)).status, 201)
  }
  await reset()
  slow.gate = new Gate()
  const login = server.request('/authentication', { data: { strategy: 'local', ...ADA } })
  await slow.gate.arrivals(1)
  await stored.deleteMany({})
  slow.gate.open()
  t.equal((await login).status, 404, 'a user who was removed')
  t.equal(await started.stored.countDocuments(), 0)
})

t.test('a session ends at its refresh when its user changed and nobody ended it', async (t) => {
  const { logIn, refresh, reset, events, ...started } = await start(t)
  for (const [change, isOver] of CHANGES) {
    await reset()
    const { refreshToken } = await logIn()
    const next = ((await refresh(refreshToken)).body as Tokens).refreshToken
    events.length = 0
    await stored.updateOne({}, change)
    t.equal((await refresh(refreshToken)).status, isOver ? 401 : 201, 'a repeat')
    t.equal((await refresh(next)).status, isOver ? 401 : 201, JSON.stringify(change))
    t.equal(await started.stored.countDocuments(), isOver ? 0 : 1)
    t.equal(events.filter(([name]) => name === 'sessionEnd').length, isOver ? 1 : 0)
    t.equal(events.filter(([name]) => name === 'reuse').length, 0)
  }
})

t.test('a user who is removed and comes back, with the same id, has new sessions', async (t) => {
  const { logIn, refresh, user, server } = await start(t)
  const { refreshToken } = await logIn()
  await stored.deleteMany({})
  await server.request('/users', { data: ADA })
  t.equal((await refresh(refreshToken)).status, 401)
  const other = await logIn()
  const { _id, ...fields } = (await stored.findOne()) as Entity
  await stored.deleteMany({})
  await stored.insertOne({ ...fields, _id: _id as ObjectId, password: user['password'] })
  t.equal((await refresh(other.refreshToken)).status, 401)
})

t.test('sessions of a barred user go on where they began so', async (t) => {
  const { logIn, refresh, reset, user } = await start(t)
  Object.assign(user, { isActive: false })
  await reset()
  const { refreshToken } = await logIn()
  const second = (await refresh(refreshToken)).body as Tokens
  await stored.updateOne({}, { $set: { isActive: true } })
  const third = await refresh(second.refreshToken)
  t.equal(third.status, 201)
  await stored.updateOne({}, { $set: { isActive: false } })
  t.equal((await refresh((third.body as Tokens).refreshToken)).status, 401, 'active meanwhile')
})

t.test('a session without marks gets them at its refresh, unless its user is barred', async (t) => {
  const { logIn, refresh, reset, ...started } = await start(t)
  const { refreshToken } = await logIn()
  const [{ marks } = { marks: {} }] = await started.stored.find().toArray()
  t.equal(Object.keys(marks).length, 3)
  t.notOk(JSON.stringify(marks).includes(String((await stored.findOne())?.['password'])))
  await started.stored.updateOne({}, { $unset: { marks: '' } })
  const { status, body } = await refresh(refreshToken)
  t.equal(status, 201)
  t.match(await started.stored.findOne(), { marks })
  await started.stored.updateOne({}, { $unset: { marks: '' } })
  await stored.updateOne({}, { $set: { isActive: false } })
  t.equal((await refresh((body as Tokens).refreshToken)).status, 401)
})

t.test('a new hash of the same password ends no session, nor login at the same time', async (t) => {
  for (const before of [CHEAP_SCRYPT, { hash: 'bcrypt' }] as const) {
    const { logIn, refresh, authentication, user, reset } = await start(t)
    const { app } = authentication
    const settings = app.get('authentication') as { local: object }
    const setHash = (local: object): void => {
      app.set('authentication', { ...settings, local: { ...settings.local, ...local } })
      authentication.register('local', new LocalStrategy())
    }
    setHash('hash' in before ? { ...before, scrypt: {} } : { scrypt: before })
    const password = await (authentication.getStrategy('local') as LocalStrategy).hashPassword(
      ADA.password,
    )
    Object.assign(user, { password })
    await reset()
    const session = await logIn()
    t.equal((await stored.findOne())?.['password'], password)
    setHash({ hash: 'scrypt', scrypt: { ...CHEAP_SCRYPT, cost: 2 ** 11 } })
    const logins = await Promise.all([logIn(), logIn(), logIn()])
    t.not((await stored.findOne())?.['password'], password)
    for (const { refreshToken } of [session, ...logins]) {
      const { status, body } = await refresh(refreshToken)
      t.equal(status, 201)
      t.equal((await refresh((body as Tokens).refreshToken)).status, 201)
    }
    const late = await logIn()
    await stored.updateOne({}, { $set: { password } })
    t.equal((await refresh(late.refreshToken)).status, 401, 'the other way round it is another one')
  }
})

t.test('sessions go on when the secret is changed and the old one is kept', async (t) => {
  const { logIn, refresh, authentication } = await start(t)
  const { app } = authentication
  const settings = app.get('authentication') as object
  const [tokens, changed] = [await logIn(), await logIn()]
  app.set('authentication', { ...settings, secret: ['n'.repeat(32), SECRET] })
  const { status, body } = await refresh(tokens.refreshToken)
  t.equal(status, 201)
  app.set('authentication', { ...settings, secret: 'n'.repeat(32) })
  t.equal((await refresh((body as Tokens).refreshToken)).status, 201)
  app.set('authentication', { ...settings, secret: ['n'.repeat(32), SECRET] })
  await stored.updateOne({}, { $set: { password: 'another hash' } })
  t.equal((await refresh(changed.refreshToken)).status, 401)
})

t.test('the session that changes its user goes on, if it was good before', async (t) => {
  const { logIn, refresh, server, withToken, reset } = await start(t)
  const change = async ({ accessToken, ...tokens }: Tokens, data: object): Promise<number> => {
    const path = `/users/${claimsOf({ accessToken, ...tokens }).sub}`
    const headers = withToken(accessToken)
    t.equal((await server.request(path, { method: 'PATCH', data, headers })).status, 200)
    return (await refresh(tokens.refreshToken)).status
  }
  for (const data of [{ password: 'new one' }, { email: 'ada@example.com' }, { isActive: false }]) {
    await reset()
    t.equal(await change(await logIn(), data), 201, JSON.stringify(data))
  }
  await reset()
  const tokens = await logIn()
  await stored.updateOne({}, { $set: { isActive: false } })
  t.equal(await change(tokens, { email: 'ada@example.com' }), 401, 'a user who was barred')
})
