import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import t from 'tap'
import { openDatabase } from '../../support/database.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { Gate } from '../../support/gate.ts'
import { ADA } from '../../support/session-server.ts'
import { SECRET } from '../../support/users.ts'
import type { Pair } from '../sessions-random/login.ts'
import type { Server } from '../sessions-random/server.ts'
import { startServer } from '../sessions-random/server.ts'

// Four processes are started, and each of them takes its time.
t.setTimeout(600_000)

const HOUR = 3_600_000
const USER = { ...ADA, password: 'correct horse battery' }

const { db, url, empty } = await openDatabase(t)
const sessions = db.collection('sessions')

/** Starts a process, which is killed at the end of the test. */
async function start(t: Test, options: object = {}): Promise<Server> {
  const children: ChildProcess[] = []
  t.teardown(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  return startServer({ url, name: db.databaseName, secret: SECRET, ...options }, children)
}

async function logIn(server: Server): Promise<Pair> {
  await server.send('POST', '/users', { data: USER })
  const data = { strategy: 'local', ...USER }
  return (await server.send('POST', '/authentication', { data }))?.body as Pair
}

const refresh = (server: Server, refreshToken: string) =>
  server.send('POST', '/authentication', { data: { strategy: 'refresh', refreshToken } })

const hash = (token: string): string => createHash('sha256').update(token).digest('base64url')

t.beforeEach(async () => {
  for (const name of ['users', 'sessions']) await empty(name)
})

t.test('a process that dies between rotation and answer costs no login (JWT-25)', async (t) => {
  const proxy = await startFaultProxy(t, url)
  const [dying, other] = [await start(t, { url: proxy.url }), await start(t)]
  const { refreshToken } = await logIn(dying)
  const gate = new Gate()
  // The database has carried it out: its answer is not passed on.
  proxy.slowDown((pass, name) => (name === 'findAndModify' ? void gate.pass() : pass()))
  const lost = refresh(dying, refreshToken)
  await gate.arrivals(1)
  const [{ tokenHash } = { tokenHash: '' }] = await sessions.find().toArray()
  t.not(tokenHash, hash(refreshToken), 'rotated')
  await dying.kill()
  t.equal(await lost, null)
  const answer = await refresh(other, refreshToken)
  t.equal(answer?.status, 201)
  const next = answer?.body as Pair
  t.equal(hash(next.refreshToken), tokenHash, 'the one that the dead process has made')
  t.match(await refresh(other, refreshToken), { body: { refreshToken: next.refreshToken } })
  t.equal((await refresh(other, next.refreshToken))?.status, 201)
})

t.test('repeats and thefts are told apart where clocks of processes differ (JWT-25)', async (t) => {
  // By more than the time for repeats, which is an hour in these processes.
  const [ahead, behind] = [
    await start(t, { skewMs: 2 * HOUR }),
    await start(t, { skewMs: -2 * HOUR }),
  ]
  for (const [one, two] of [
    [ahead, behind],
    [behind, ahead],
  ] as const) {
    const first = await logIn(one)
    const second = (await refresh(two, first.refreshToken))?.body as Pair
    for (const server of [one, two]) {
      const { accessToken, refreshToken } = second
      t.match(await refresh(server, first.refreshToken), { body: { accessToken, refreshToken } })
    }
    const third = (await refresh(one, second.refreshToken))?.body as Pair
    t.match(await refresh(two, second.refreshToken), { body: { refreshToken: third.refreshToken } })
    await sessions.updateMany({}, { $set: { 'spent.1.at': new Date(0) } })
    t.equal((await refresh(two, second.refreshToken))?.status, 401, 'used long ago')
    t.equal((await refresh(one, third.refreshToken))?.status, 401)
  }
})
