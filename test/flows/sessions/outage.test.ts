import { createHash } from 'node:crypto'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBListService } from '../../../src/adapter/index.ts'
import { addAccounts } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { startOwnServer } from '../../support/own-server.ts'
import type { Tokens } from '../../support/session-server.ts'
import { ADA, startSessions } from '../../support/session-server.ts'

const database = await openDatabase(t)

const hash = (token: string): string => createHash('sha256').update(token).digest('base64url')

/** Opens a connection that loses what a test says. The driver tries nothing again by itself. */
async function openProxy(t: Test) {
  const proxy = await startFaultProxy(t, database.url)
  const client = new MongoClient(proxy.url, { retryReads: false, retryWrites: false })
  t.teardown(() => client.close())
  return { proxy, db: client.db(database.db.databaseName) }
}

async function startBehindProxy(t: Test, sessions: object = {}) {
  const { proxy, db } = await openProxy(t)
  const started = await startSessions(t, { ...database, db }, sessions)
  return { ...started, proxy, stored: database.db.collection('sessions') }
}

t.test('a refresh without the database is 503, and works afterwards (JWT-25)', async (t) => {
  const { logIn, refresh, proxy, stored, events } = await startBehindProxy(t)
  const { refreshToken } = await logIn()
  for (const name of ['find', 'findAndModify']) {
    proxy.loseCommand(name)
    t.equal((await refresh(refreshToken)).status, 503, name)
    t.equal((await stored.findOne())?.['tokenHash'], hash(refreshToken), 'not rotated')
  }
  proxy.loseCommand('findAndModify')
  t.equal((await refresh('nonsense')).status, 503)
  const { status, body } = await refresh(refreshToken)
  t.equal(status, 201)
  proxy.loseCommand('findAndModify')
  t.equal((await refresh(refreshToken)).status, 503, 'a repeat')
  t.match(await refresh(refreshToken), { body: { refreshToken: (body as Tokens).refreshToken } })
  t.equal(events.filter(([name]) => name !== 'login').length, 0, 'nobody is logged out')
})

t.test('a rotation whose reply was lost is not done twice (JWT-25)', async (t) => {
  const { logIn, refresh, proxy, stored } = await startBehindProxy(t)
  const { refreshToken } = await logIn()
  proxy.loseReply('findAndModify')
  t.equal((await refresh(refreshToken)).status, 503)
  const session = await stored.findOne()
  t.not(session?.['tokenHash'], hash(refreshToken), 'rotated')
  const { status, body } = await refresh(refreshToken)
  t.equal(status, 201)
  t.equal(hash((body as Tokens).refreshToken), session?.['tokenHash'])
  t.strictSame(Object.keys((await stored.findOne())?.['spent']), ['0'])
})

t.test('a session that can not be looked up is 503, and goes on', async (t) => {
  const { logIn, readNotes, proxy, server, withToken, stored } = await startBehindProxy(t, {
    checkSession: 'always',
  })
  const tokens = await logIn()
  proxy.loseCommand('find')
  t.equal(await readNotes(tokens), 503)
  t.equal(await readNotes(tokens), 200)
  const out = { method: 'DELETE', headers: withToken(tokens.accessToken) }
  proxy.loseCommand('findAndModify')
  t.equal((await server.request('/authentication', out)).status, 503)
  t.equal(await stored.countDocuments(), 1)
  t.equal((await server.request('/authentication', out)).status, 200)
  t.equal(await stored.countDocuments(), 0)
})

t.test('sessions that could not be loaded for a login are loaded for the next one', async (t) => {
  const { proxy, db } = await openProxy(t)
  await Promise.all(['users', 'sessions'].map((name) => database.empty(name)))
  let before: unknown
  const server = await startOwnServer(t, async (app) => {
    const settings = { sessions: { service: 'sessions' } }
    const { local } = addAccounts(app, { users: null, settings })
    for (const name of ['users', 'sessions']) {
      app.use(name, new MongoDBListService({ Model: db.collection(name) }) as never)
    }
    const password = await local.hashPassword(ADA.password)
    await app.service('users').create({ ...ADA, password })
    // Before the setup of the application: that would not have begun without the database.
    const logIn = () => app.service('authentication').create({ strategy: 'local', ...ADA })
    proxy.loseCommand('createIndexes')
    await t.rejects(logIn(), { code: 503, cause: { name: 'MongoNetworkError' } })
    before = await logIn()
  })
  const { refreshToken } = before as Tokens
  const data = { strategy: 'refresh', refreshToken }
  t.equal((await server.request('/authentication', { data })).status, 201)
  t.equal((await server.request('/sessions')).status, 401, 'they are guarded')
})
