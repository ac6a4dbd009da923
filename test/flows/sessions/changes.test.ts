import assert from 'node:assert/strict'
import t from 'tap'
import { MongoDBListService, transaction } from '../../../src/adapter/index.ts'
import { Unavailable } from '../../../src/transport/index.ts'
import { holdTimers } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { openFrames } from '../../support/event-frames.ts'
import { ADA, claimsOf, startSessions } from '../../support/session-server.ts'
import { until } from '../../support/until.ts'

const database = await openDatabase(t)

/** How long after a change the logins that were under way are ended. */
const LOGIN_MS = 10_000

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
