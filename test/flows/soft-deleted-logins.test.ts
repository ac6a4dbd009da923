import t from 'tap'
import { limitTo, softDelete } from '../../src/adapter/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import { ADA, startAccounts } from '../support/account-server.ts'
import { startKeys } from '../support/api-key-server.ts'
import { openDatabase } from '../support/database.ts'
import { pluck } from '../support/pluck.ts'
import { claimsOf, startSessions } from '../support/session-server.ts'
import { laterTurns } from '../support/until.ts'

const database = await openDatabase(t)

interface Removable {
  remove(id: unknown, params?: object): Promise<unknown>
}

/** Adds a hook to all methods of a service. */
const addHook = (app: object, name: string, hook: object): void => {
  const service = (app as FastifyApplication).service(name) as { hooks(map: object): unknown }
  service.hooks({ before: { all: [hook] } })
}

/** Has callers reach the records with their own id as `userId`. */
const limitToOwn = () =>
  limitTo<{ userId: string }>(({ authentication }) => {
    return { userId: String((authentication?.payload as { sub?: unknown } | undefined)?.sub) }
  })

t.test('a removed key of a service with softDelete() is invalid, and does not count', async (t) => {
  const section = { maxPerUser: 2 }
  const { server, ada, createKey, readNotes, stored } = await startKeys(t, database, { section })
  addHook(server.app, 'api-keys', softDelete())
  const remove = (id: string) =>
    server.request(`/api-keys/${id}`, { method: 'DELETE', headers: ada.headers })
  const [removed, kept] = [await createKey(), await createKey()]
  t.equal((await remove(removed._id)).status, 200)
  t.strictSame([await readNotes(removed.key), await readNotes(kept.key)], [401, 200])
  t.equal(await stored.countDocuments(), 2, 'its record is marked')
  const next = await createKey()
  t.equal(await readNotes(next.key), 200, 'it has the place of the removed one')
  t.match(await createKey(), { code: 409 }, 'no more than two')
  const keys = server.app.service('api-keys') as unknown as Removable
  await keys.remove(null, { query: { userId: ada.id }, adapter: { multi: ['remove'] } })
  t.strictSame([await readNotes(kept.key), await readNotes(next.key)], [401, 401])
})

t.test('limitTo() on the services of keys and sessions changes nothing for owners', async (t) => {
  const settings = { sessions: { service: 'sessions' } }
  const { server, ada, createKey, readNotes, signUp } = await startKeys(t, database, { settings })
  for (const name of ['api-keys', 'sessions']) addHook(server.app, name, limitToOwn())
  const { key, _id } = await createKey()
  const bob = await signUp('bob@example.org')
  const send = async (path: string, headers: Record<string, string>, method = 'GET') =>
    (await server.request(path, { headers, method })).status
  t.equal(await readNotes(key), 200)
  t.strictSame(
    [await send(`/api-keys/${_id}`, bob.headers), await send(`/api-keys/${_id}`, ada.headers)],
    [404, 200],
  )
  t.strictSame([await send('/sessions', ada.headers), await send('/sessions', {})], [200, 401])
  t.equal(await send(`/api-keys/${_id}`, ada.headers, 'DELETE'), 200)
  t.equal(await readNotes(key), 401)
})

t.test('a session of a service with softDelete() has ended when it is removed', async (t) => {
  const sessions = { checkSession: 'always', maxPerUser: 3 }
  const { authentication, logIn, refresh, readNotes, server, withToken, stored } =
    await startSessions(t, database, sessions, {}, (app) => addHook(app, 'sessions', softDelete()))
  const isOver = async (given: Awaited<ReturnType<typeof logIn>>) => {
    const statuses = [await readNotes(given), (await refresh(given.refreshToken)).status]
    t.strictSame(statuses, [401, 401])
  }
  const send = (path: string, { accessToken }: { readonly accessToken: string }) =>
    server.request(path, { method: 'DELETE', headers: withToken(accessToken) })
  const [first, second, third] = [await logIn(), await logIn(), await logIn()]
  await send('/authentication', first)
  await isOver(first)
  await send(`/sessions/${claimsOf(second).sid}`, third)
  await isOver(second)
  const [fourth, fifth] = [await logIn(), await logIn()]
  t.equal(await readNotes(third), 200, 'removed ones do not count')
  const last = await logIn()
  await isOver(third)
  await authentication.endSessions(claimsOf(last).sub)
  for (const one of [fourth, fifth, last]) await isOver(one)
  t.equal(await stored.countDocuments(), 6)
})

t.test('a user of a service with softDelete() is gone for keys and tokens', async (t) => {
  const settings = { sessions: { service: 'sessions' } }
  const { server, ada, createKey, readNotes } = await startKeys(t, database, { settings })
  addHook(server.app, 'users', softDelete())
  const { key } = await createKey()
  await (server.app.service('users') as unknown as Removable).remove(ada.id)
  t.equal(await readNotes(key), 401)
  t.equal((await server.request('/api-keys', { headers: ada.headers })).status, 401)
  const { refreshToken } = ada.login as { refreshToken: string }
  const logIns = [
    { strategy: 'local', email: 'ada@example.org', password: 'correct horse' },
    { strategy: 'refresh', refreshToken },
  ]
  for (const data of logIns) {
    t.equal((await server.request('/authentication', { data })).status, 401, data.strategy)
  }
  const stored = await database.db.collection('users').countDocuments()
  t.equal(stored, 1, 'its record is marked')
})

t.test('a user of a service with softDelete() gets no emails, its tokens are void', async (t) => {
  const { server, call, mailOf, mails, open, users } = await startAccounts(t, database, {
    configure: (app) => addHook(app, 'users', softDelete()),
  })
  const reset = await mailOf('requestReset', { email: ADA.email })
  const verify = await mailOf('requestVerification', { email: ADA.email })
  const { headers } = await open()
  const record = await users.findOne({ email: ADA.email })
  await (server.app.service('users') as unknown as Removable).remove(record?._id)
  const count = mails.length
  const calls = [
    await call('requestReset', { email: ADA.email }),
    await call('requestVerification', { email: ADA.email }),
    await call('resetPassword', { token: reset, password: 'another horse' }),
    await call('verifyEmail', { token: verify }),
    await call('changePassword', { password: ADA.password, newPassword: 'another' }, headers),
    await call('changeEmail', { password: ADA.password, email: 'new@example.org' }, headers),
  ]
  t.strictSame(pluck(calls, 'status'), [200, 200, 400, 400, 401, 401])
  await laterTurns()
  t.equal(mails.length, count)
})
