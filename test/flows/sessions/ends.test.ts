import t from 'tap'
import { protect } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { openFrames } from '../../support/event-frames.ts'
import { pluck } from '../../support/pluck.ts'
import type { Tokens } from '../../support/session-server.ts'
import { ADA, claimsOf, startSessions } from '../../support/session-server.ts'

const database = await openDatabase(t)

t.test('a logout ends the session, all ends those of the user', async (t) => {
  const { logIn, refresh, server, withToken, stored } = await startSessions(t, database)
  const [one, two, three] = [await logIn(), await logIn(), await logIn()]
  const remove = (path: string, { accessToken }: Tokens) =>
    server.request(`/authentication${path}`, { method: 'DELETE', headers: withToken(accessToken) })
  t.equal((await remove('', one)).status, 200)
  t.equal((await refresh(one.refreshToken)).status, 401)
  t.equal((await remove('/all?keep=this', two)).status, 400)
  t.equal((await remove('/all?kept=current', two)).status, 400)
  t.equal((await remove('/all?keep=current', two)).status, 200)
  t.strictSame(
    (await stored.find().toArray()).map(({ _id }) => String(_id)),
    [claimsOf(two).sid],
  )
  t.equal((await refresh(three.refreshToken)).status, 401)
  t.equal((await remove('/all', two)).status, 200)
  t.equal(await stored.countDocuments(), 0)
})

t.test('a logout ends the session where it revokes and looks up the token as well', async (t) => {
  const settings = { revocation: true, authStrategies: ['local', 'jwt'] }
  const { logIn, refresh, server, withToken, readNotes } = await startSessions(
    t,
    database,
    { checkSession: 'always' },
    settings,
  )
  const login = await logIn()
  const { accessToken, refreshToken } = (await refresh(login.refreshToken)).body as Tokens
  const out = { method: 'DELETE', headers: withToken(accessToken) }
  t.equal((await server.request('/authentication', out)).status, 200)
  t.equal((await refresh(refreshToken)).status, 401)
  t.equal(await readNotes({ accessToken, refreshToken }), 401)
})

t.test('people see and end their own sessions, and nothing of the tokens', async (t) => {
  const { logIn, server, withToken, refresh } = await startSessions(t, database)
  const [one, two] = [await logIn(), await logIn()]
  const bob = { email: 'bob@example.org', password: 'correct horse' }
  await server.request('/users', { data: bob })
  const { body: login } = await server.request('/authentication', {
    data: { strategy: 'local', ...bob },
  })
  const headers = withToken(one.accessToken)
  const { body } = await server.request('/sessions?$sort[createdAt]=1', { headers })
  const { data } = body as { data: object[] }
  t.equal(data.length, 2)
  const names = ['_id', 'address', 'createdAt', 'current', 'expiresAt', 'usedAt', 'userAgent']
  t.strictSame(Object.keys(data[0] ?? {}).sort(), names)
  t.match(data, [
    { _id: claimsOf(one).sid, current: true },
    { _id: claimsOf(two).sid, current: false },
  ])
  const theirs = `/sessions/${claimsOf(login as Tokens).sid}`
  const mine = `/sessions/${claimsOf(two).sid}`
  const refusals: [string, object, number][] = [
    ['/sessions', {}, 401],
    [theirs, { headers }, 404],
    [theirs, { method: 'DELETE', headers }, 404],
    ['/sessions', { method: 'DELETE', headers }, 400],
    ['/sessions?tokenHash[$gte]=a', { headers }, 400],
    ['/sessions?userId=1', { headers }, 400],
    ['/sessions', { data: { userId: 'x' }, headers }, 405],
    [mine, { method: 'PATCH', data: { userId: 'x' }, headers }, 405],
    [mine, { method: 'PUT', data: { userId: 'x' }, headers }, 405],
  ]
  for (const [path, options, status] of refusals) {
    t.equal(
      (await server.request(path, options)).status,
      status,
      `${JSON.stringify(options)} ${path}`,
    )
  }
  t.match((await server.request(mine, { method: 'DELETE', headers })).body, { current: false })
  t.equal((await refresh(two.refreshToken)).status, 401)
})

t.test('what hooks of the service show of sessions is not what callers get', async (t) => {
  const { logIn, server, withToken } = await startSessions(t, database)
  server.app.service('sessions').hooks({ after: { all: [protect('tokenHash')] } } as never)
  const { accessToken } = await logIn()
  const { text } = await server.request('/sessions', { headers: withToken(accessToken) })
  t.match(text, /"current":true/)
  t.notMatch(text, /tokenHash|spent|userId|endsAt/)
  for (const accept of ['text/event-stream', 'Text/Event-Stream']) {
    const headers = { ...withToken(accessToken), accept }
    const { status, body } = await server.request('/sessions', { headers })
    t.match({ status, body }, { status: 406, body: { message: 'Sessions have no stream' } })
  }
  // A hook may put new params in the place of those of the call.
  const replaceParams = async (context: HookContext, next: () => Promise<void>): Promise<void> => {
    const { provider, headers, query, authentication } = context.params
    context.params = { provider, headers, query, authentication } as never
    await next()
  }
  server.app.hooks({ around: { find: [replaceParams] } } as never)
  const headers = { ...withToken(accessToken), accept: 'text/event-stream' }
  const { status, body } = await server.request('/sessions', { headers })
  t.match({ status, body }, { status: 406, body: { message: 'Sessions have no stream' } })
})

t.test('an access token of an ended session is refused at once where it is checked', async (t) => {
  for (const [checkSession, checkCacheMs, status] of [
    ['never', 0, 200],
    ['always', 0, 401],
    ['always', 60_000, 401],
  ] as const) {
    const { logIn, authentication, readNotes } = await startSessions(t, database, {
      checkSession,
      checkCacheMs,
    })
    const tokens = await logIn()
    t.equal(await readNotes(tokens), 200)
    await authentication.endSessions(claimsOf(tokens).sub)
    t.equal(await readNotes(tokens), status, `${checkSession} ${checkCacheMs}`)
  }
})

t.test('a changed password or name ends the other sessions of a user', async (t) => {
  const { logIn, server, withToken, refresh, authentication } = await startSessions(t, database)
  const users = authentication.app.service('users') as never as {
    patch(id: unknown, data: object): Promise<unknown>
    remove(id: unknown): Promise<unknown>
  }
  const changes: [data: object, isOver: boolean][] = [
    [{ email: ADA.email, nickname: 'Ada' }, false],
    [{ isActive: true }, false],
    [{ password: 'battery staple' }, true],
    [{ $set: { email: 'ada@example.com' } }, true],
    [{ isActive: false }, true],
    [{ $unset: { password: '' } }, true],
  ]
  for (const [data, isOver] of changes) {
    const { refreshToken, ...tokens } = await logIn()
    await users.patch(claimsOf({ refreshToken, ...tokens }).sub, data)
    t.equal((await refresh(refreshToken)).status, isOver ? 401 : 201, JSON.stringify(data))
    // The password and the name that the next login gives.
    if (isOver) await users.patch(claimsOf({ refreshToken, ...tokens }).sub, ADA)
  }
  const [mine, other] = [await logIn(), await logIn()]
  const { sub } = claimsOf(mine)
  const headers = withToken(mine.accessToken)
  await server.request(`/users/${sub}`, { method: 'PATCH', data: { password: 'new one' }, headers })
  t.equal((await refresh(other.refreshToken)).status, 401)
  t.equal(
    (await refresh(mine.refreshToken)).status,
    201,
    'the one that has made the change goes on',
  )
  await users.remove(sub)
  t.equal((await refresh(mine.refreshToken)).status, 401)
})

t.test('a login ends the session that was used longest ago where there are too many', async (t) => {
  const { logIn, refresh, server, stored, events } = await startSessions(t, database, {
    maxPerUser: 3,
  })
  const bob = { email: 'bob@example.org', password: 'correct horse' }
  await server.request('/users', { data: bob })
  await server.request('/authentication', { data: { strategy: 'local', ...bob } })
  const logins = [await logIn(), await logIn(), await logIn()]
  const times = [3, 1, 2]
  for (const [index, tokens] of logins.entries()) {
    const usedAt = new Date((times[index] ?? 0) * 1000)
    await stored.updateOne({ _id: claimsOf(tokens).sid }, { $set: { usedAt } })
  }
  const fresh = await logIn()
  t.equal(await stored.countDocuments(), 4, 'three, and the one of somebody else')
  const statuses = [...logins, fresh].map(async ({ refreshToken }) => refresh(refreshToken))
  t.strictSame(pluck(await Promise.all(statuses), 'status'), [201, 401, 201, 201])
  const ends = events.filter(([name]) => name === 'sessionEnd')
  t.match(ends[0], ['sessionEnd', { sid: claimsOf(logins[1] ?? fresh).sid }])
  const many = await Promise.all(Array.from({ length: 5 }, () => logIn()))
  t.equal(await stored.countDocuments(), 4, 'also of logins at the same time')
  t.equal(many.length, 5)
})

t.test('streams end with their session, and those of others go on', async (t) => {
  const { logIn, server, withToken } = await startSessions(t, database)
  const [one, two] = [await logIn(), await logIn()]
  const open = async ({ accessToken }: Tokens) => {
    const frames = await openFrames(t, `${server.url}/notes`, withToken(accessToken))
    await frames.next()
    return frames
  }
  const [mine, other] = [await open(one), await open(two)]
  await server.request('/authentication', { method: 'DELETE', headers: withToken(one.accessToken) })
  t.equal((await mine.rest()).at(-1)?.event, 'end')
  const note = { data: { text: 'hello' }, headers: withToken(two.accessToken) }
  await server.request('/notes', note)
  t.match(await other.next(), { event: 'created', data: { text: 'hello' } })
})

t.test('sessions of nobody are not ended, and wrong ids are refused', async (t) => {
  const { authentication, stored, logIn } = await startSessions(t, database)
  await logIn()
  for (const id of [undefined, null, '', {}]) {
    await t.rejects(authentication.endSessions(id), /takes the id of a user/)
  }
  t.equal(await stored.countDocuments(), 1)
})
