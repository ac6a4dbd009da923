import type { User as ManagedUser } from 'feathers-authentication-management'
import {
  AuthenticationManagementService,
  addVerification,
  removeVerification,
} from 'feathers-authentication-management'
import { disallow, iff, isProvider, preventChanges } from 'feathers-hooks-common'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import { hashPassword, protect } from '../../src/auth/index.ts'
import { rest } from '../../src/transport/index.ts'
import { addAccounts } from '../support/accounts.ts'
import { openDatabase } from '../support/database.ts'
import { openApp } from '../support/own-server.ts'

const database = await openDatabase(t)

/** A server with users in the database, and what their notifier was called with. */
async function start() {
  const app = openApp(t).configure(rest())
  const notes: { type: string; user: ManagedUser }[] = []
  addAccounts(app, {
    users: null,
    settings: {
      // The package compares passwords by bcryptjs.
      local: { usernameField: 'email', passwordField: 'password', hash: 'bcrypt' },
      sessions: { service: 'sessions' },
    },
  })
  app.use('users', new MongoDBService({ Model: await database.empty('users'), multi: true }))
  app.use('sessions', new MongoDBService({ Model: await database.empty('sessions') }))
  const options = {
    notifier: async (type: string, user: ManagedUser) => notes.push({ type, user }),
    sanitizeUserForClient: (user: ManagedUser) => ({ email: user.email }),
  }
  app.use('auth-management', new AuthenticationManagementService(app, options as object))
  app.service('users').hooks({
    before: {
      find: [disallow('external')],
      create: [hashPassword('password'), addVerification('auth-management')],
      patch: iff(
        isProvider('external'),
        preventChanges(true, 'isVerified', 'resetToken', 'password'),
      ),
    },
    after: { all: [removeVerification(), protect('password')] },
  })
  const { port } = (await app.listen()).address() as { port: number }
  return {
    app,
    notes,
    async post(path: string, data: object) {
      const answer = await fetch(`http://127.0.0.1:${port}/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(data),
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    },
  }
}

const email = 'ada@example.org'

t.test('feathers-authentication-management: sign up, verify, reset, log in', async (t) => {
  const { app, notes, post } = await start()
  const manage = (action: string, value: unknown) => post('auth-management', { action, value })
  const login = (password: string) => post('authentication', { strategy: 'local', email, password })

  const created = await post('users', { email, password: 'first password' })
  t.match(created, { status: 201, body: { email, isVerified: false } })
  t.notOk('password' in created.body || 'verifyToken' in created.body)
  t.match(await login('first password'), { status: 201 })

  t.match(await manage('resendVerifySignup', { email }), { status: 201, body: { email } })
  t.match(notes, [{ type: 'resendVerifySignup' }])
  const wrong = await manage('verifySignupLong', `${notes[0]?.user.verifyToken}x`)
  t.match(wrong, { status: 400, body: { errors: { $className: 'badParams' } } })
  t.match(await manage('verifySignupLong', notes[0]?.user.verifyToken), { status: 201 })
  t.match(await app.service('users').find(), [{ isVerified: true }])

  t.match(await manage('sendResetPwd', { email }), { status: 201 })
  t.equal(notes.at(-1)?.type, 'sendResetPwd')
  const token = notes.at(-1)?.user.resetToken
  const reset = await manage('resetPwdLong', { token, password: 'second password' })
  t.match(reset, { status: 201, body: { email } })
  t.match(await login('first password'), { status: 401 })
  t.match(await login('second password'), { status: 201, body: { user: { email } } })

  const change = { user: { email }, oldPassword: 'second password', password: 'third password' }
  t.match(await manage('passwordChange', change), { status: 201 })
  t.match(await login('third password'), { status: 201 })
  t.match(await manage('checkUnique', { email }), { status: 400 })
})

t.test('feathers-authentication-management: an address is changed, and sessions end', async (t) => {
  const { notes, post } = await start()
  const manage = (action: string, value: unknown) => post('auth-management', { action, value })
  const login = async (password: string, name = email) =>
    (await post('authentication', { strategy: 'local', email: name, password })).body
  const refresh = async ({ refreshToken }: Record<string, unknown>) =>
    (await post('authentication', { strategy: 'refresh', refreshToken })).status

  await post('users', { email, password: 'first password' })
  const first = await login('first password')
  const change = { user: { email }, oldPassword: 'first password', password: 'second password' }
  t.match(await manage('passwordChange', change), { status: 201 })
  t.equal(await refresh(first), 401)
  const second = await login('second password')
  const moved = 'ada@example.com'
  const value = { user: { email }, password: 'second password', changes: { email: moved } }
  t.match(await manage('identityChange', value), { status: 201 })
  t.equal(await refresh(second), 201, 'not verified yet')
  t.match(await manage('verifySignupLong', notes.at(-1)?.user.verifyToken), { status: 201 })
  t.ok((await login('second password', moved))['accessToken'])
  t.equal(await refresh(second), 401)

  // What stands in docs/guides/accounts.md of it.
  t.match(await manage('sendResetPwd', { email: 'nobody@example.org' }), { status: 400 })
  const guess = { ...change, user: { email: moved }, oldPassword: 'a guess' }
  for (let count = 0; count < 15; count += 1) {
    t.equal((await manage('passwordChange', guess)).status, 400)
  }
})
