import t from 'tap'
import { BadRequest } from '../../src/transport/index.ts'
import { ADA, BOB, startAccounts } from '../support/account-server.ts'
import { openDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await openDatabase(t)
const NEXT = 'battery staple'

t.test('an address is verified by the mail that was sent there', async (t) => {
  const { call, mailOf, mails, users, accounts } = await startAccounts(t, database)
  const token = await mailOf('requestVerification', { email: ADA.email })
  t.match(mails, [{ kind: 'verify', email: ADA.email, user: { email: ADA.email }, token }])
  t.notOk('password' in (mails[0]?.user ?? {}))
  t.not((await users.findOne({ email: ADA.email }))?.['isVerified'], true)
  t.match(await call('verifyEmail', { token }), { status: 200, body: {} })
  t.match(await users.findOne({ email: ADA.email }), { isVerified: true })
  t.match(await call('verifyEmail', { token }), { status: 400 }, 'good once')
  t.match(await call('requestVerification', { email: ADA.email }), { status: 200, body: {} })
  await accounts.teardown()
  t.equal(mails.length, 1, 'no mail for a verified address')
})

t.test('a reset sets a password, verifies the address, and ends all sessions', async (t) => {
  const { call, mailOf, mails, users, open, refresh, logIn, stored } = await startAccounts(
    t,
    database,
  )
  const [session, others] = [await open(), await open(BOB)]
  const token = await mailOf('requestReset', { email: ADA.email })
  t.match(mails, [{ kind: 'reset', email: ADA.email, token }])
  t.notMatch(JSON.stringify(await stored.find().toArray()), token)
  // With the header of a login too: the token is a proof of its own, and no session goes on.
  const data = { token, password: NEXT }
  t.match(await call('resetPassword', data, session.headers), { status: 200, body: {} })
  t.match(await users.findOne({ email: ADA.email }), { isVerified: true })
  t.equal((await logIn()).status, 401)
  t.equal((await logIn({ ...ADA, password: NEXT })).status, 201)
  t.equal(await refresh(session), 401)
  t.equal(await refresh(others), 201)
  await until(() => mails.length === 2)
  t.match(mails[1], { kind: 'passwordChanged', email: ADA.email })
  t.notOk('password' in (mails[1]?.user ?? {}))
  t.equal(await stored.countDocuments(), 0)
})

t.test('of 20 uses of a token at once one wins', async (t) => {
  const { call, mailOf, logIn } = await startAccounts(t, database)
  const token = await mailOf('requestReset', { email: ADA.email })
  const passwords = Array.from({ length: 20 }, (_, index) => `password number ${index}`)
  const answers = await Promise.all(
    passwords.map((password) => call('resetPassword', { token, password })),
  )
  const won = answers.flatMap(({ status }, index) => (status === 200 ? [index] : []))
  t.equal(won.length, 1)
  t.equal(answers.filter(({ status }) => status === 400).length, 19)
  const password = passwords[won[0] ?? 0]
  t.equal((await logIn({ ...ADA, password })).status, 201)
})

t.test('a password that hooks of the users refuse does not cost the token', async (t) => {
  const { call, mailOf, users } = await startAccounts(t, database, {
    configure(app) {
      const checkLength = ({ data }: { data: { password?: string } }) => {
        if ((data.password?.length ?? 12) < 12) throw new BadRequest('Too short')
      }
      app.service('users').hooks({
        around: {
          patch: (context: never, next: () => Promise<void>) => {
            checkLength(context)
            return next()
          },
        },
      } as never)
    },
  })
  const token = await mailOf('requestReset', { email: ADA.email })
  const refused = await call('resetPassword', { token, password: 'short' })
  t.match(refused, { status: 400, body: { message: 'Too short' } })
  t.not((await users.findOne({ email: ADA.email }))?.['isVerified'], true)
  t.match(await call('resetPassword', { token, password: NEXT }), { status: 200 })
})

t.test('a password is changed with the old one, and this session goes on', async (t) => {
  const { call, mails, open, refresh, logIn, server } = await startAccounts(t, database)
  const [mine, other] = [await open(), await open()]
  const data = { password: ADA.password, newPassword: NEXT }
  t.match(await call('changePassword', data), { status: 401 })
  const wrong = { ...data, password: 'a guess' }
  const refused = await call('changePassword', wrong, mine.headers)
  t.match(refused, { status: 400, body: { message: 'The password is wrong' } })
  t.match(server.logged.at(-1), { message: 'Login failed', details: { reason: 'wrong password' } })
  t.match(await call('changePassword', data, mine.headers), { status: 200, body: {} })
  t.equal((await logIn()).status, 401)
  t.equal((await logIn({ ...ADA, password: NEXT })).status, 201)
  t.equal(await refresh(other), 401)
  t.equal(await refresh(mine), 201)
  await until(() => mails.length === 1)
  t.match(mails, [{ kind: 'passwordChanged', email: ADA.email }])
})

t.test('wrong old passwords count as failing logins of the account', async (t) => {
  const settings = { loginThrottle: { maxAttempts: 2, maxAttemptsPerAddress: 100 } }
  const { call, open, logIn } = await startAccounts(t, database, { settings })
  const { headers } = await open()
  const guess = { password: 'a guess', newPassword: NEXT }
  for (const status of [400, 400, 429]) {
    t.equal((await call('changePassword', guess, headers)).status, status)
  }
  const right = { password: ADA.password, email: 'ada@example.com' }
  t.equal((await call('changeEmail', right, headers)).status, 429)
  t.equal((await logIn()).status, 429)
})

t.test('a new address counts when it is verified, and sessions end then', async (t) => {
  const { call, mailOf, mails, open, refresh, logIn, users } = await startAccounts(t, database)
  const session = await open()
  const email = 'ada@example.com'
  t.match(await call('changeEmail', { password: ADA.password, email }), { status: 401 })
  const wrong = { password: 'a guess', email }
  t.match(await call('changeEmail', wrong, session.headers), { status: 400 })
  const token = await mailOf('changeEmail', { password: ADA.password, email }, session.headers)
  t.match(mails, [{ kind: 'change', email, user: { email: ADA.email }, token }])
  t.equal((await logIn({ ...ADA, email })).status, 401)
  t.match(await call('verifyEmail', { token }), { status: 200, body: {} })
  t.match(await users.findOne({ email }), { isVerified: true })
  t.equal((await logIn()).status, 401)
  t.equal((await logIn({ ...ADA, email })).status, 201)
  t.equal(await refresh(session), 401)
  await until(() => mails.length === 2)
  t.match(mails[1], { kind: 'emailChanged', email: ADA.email, user: { email } })
})

t.test('whether somebody has the new address is not told', async (t) => {
  const { call, mailOf, mails, open, accounts, server, users } = await startAccounts(t, database)
  const { headers } = await open()
  const { password } = ADA
  const taken = await call('changeEmail', { password, email: BOB.email }, headers)
  await accounts.teardown()
  t.equal(mails.length, 0)
  const free = 'carl@example.org'
  const token = await mailOf('changeEmail', { password, email: free }, headers)
  const again = await call('changeEmail', { password, email: free }, headers)
  t.strictSame([taken.status, taken.text], [again.status, again.text])
  await accounts.teardown()
  const newest = mails.at(-1)?.token ?? ''
  t.match(await call('verifyEmail', { token }), { status: 400 }, 'a newer one takes its place')
  // Somebody else is faster: the index of the users decides.
  await server.request('/users', { data: { ...BOB, email: free } })
  t.match(await call('verifyEmail', { token: newest }), { status: 409 })
  t.match(await users.findOne({ email: ADA.email }), { email: ADA.email })
})

t.test('without sessions, and within the process, all works as well', async (t) => {
  const settings = { sessions: undefined, loginThrottle: { maxAttempts: 1 } }
  const { accounts, mails, users, logIn, open, call } = await startAccounts(t, database, {
    settings,
  })
  for (let count = 0; count < 3; count += 1) {
    await accounts.requestReset({ email: ADA.email })
    // One mail after the other: the token of the last one is good.
    await accounts.teardown()
  }
  t.equal(mails.length, 3, 'calls within the process are not counted')
  await accounts.resetPassword({ token: mails[2]?.token ?? '', password: NEXT })
  const ada = { ...ADA, password: NEXT }
  t.equal((await logIn(ada)).status, 201)
  const user = await users.findOne({ email: ADA.email })
  const params = { user: user as never }
  const data = { password: NEXT, newPassword: ADA.password }
  await t.rejects(accounts.changePassword(data), { code: 401 })
  await t.rejects(accounts.changePassword({ ...data, password: 'x' }, params), { code: 400 })
  t.strictSame(await accounts.changePassword(data, params), {})
  const { headers } = await open()
  t.match(await call('changePassword', { ...data, password: ADA.password }, headers), {
    status: 200,
  })
})

t.test('a user without a password, or whose hash is outdated, is served as well', async (t) => {
  const { call, mailOf, users, open, logIn } = await startAccounts(t, database)
  const { headers } = await open()
  // As those of other parameters: the login that checks the password replaces it.
  const { Passwords } = await import('../../src/auth/index.ts')
  const old = new Passwords({ cost: 2 ** 9, blockSize: 8, parallelization: 1 }, 'old ones')
  const password = await old.hash(ADA.password)
  await users.updateOne({ email: ADA.email }, { $set: { password } })
  const email = 'ada@example.com'
  const token = await mailOf('changeEmail', { password: ADA.password, email }, headers)
  t.match(await call('verifyEmail', { token }), { status: 200 })
  await users.updateOne({ email: BOB.email }, { $unset: { password: '' } })
  const reset = await mailOf('requestReset', { email: BOB.email })
  t.match(await call('resetPassword', { token: reset, password: NEXT }), { status: 200 })
  t.equal((await logIn({ ...BOB, password: NEXT })).status, 201)
})
