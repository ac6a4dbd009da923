import type { Test } from 'tap'
import t from 'tap'
import type { AccountMethod } from '../support/account-server.ts'
import { ACCOUNT_METHODS, ADA, BOB, startAccounts } from '../support/account-server.ts'
import { holdTimers } from '../support/clock.ts'
import { openDatabase } from '../support/database.ts'
import { Gate } from '../support/gate.ts'
import { laterTurns, until } from '../support/until.ts'

const database = await openDatabase(t)
const NEXT = 'battery staple'

t.test('a token of a mail is good for its purpose, and for nothing else (JWT-14)', async (t) => {
  const { call, mailOf, open, server, refresh } = await startAccounts(t, database)
  const { headers, refreshToken } = await open()
  const access = headers.authorization.slice('Bearer '.length)
  const change = { password: ADA.password, email: 'ada@example.com' }
  const tokens = {
    verify: await mailOf('requestVerification', { email: ADA.email }),
    reset: await mailOf('requestReset', { email: ADA.email }),
    change: await mailOf('changeEmail', change, headers),
  }
  const uses: [AccountMethod, object][] = [
    ...[tokens.verify, tokens.change, access, refreshToken].map(
      (token): [AccountMethod, object] => ['resetPassword', { token, password: NEXT }],
    ),
    ...[tokens.reset, access, refreshToken].map((token): [AccountMethod, object] => [
      'verifyEmail',
      { token },
    ]),
    // The purpose is a part of what is hashed.
    ['resetPassword', { token: tokens.verify.replace('verify', 'reset'), password: NEXT }],
    ['verifyEmail', { token: tokens.reset.replace('reset', 'verify') }],
    ['verifyEmail', { token: tokens.verify.replace('verify', 'change') }],
  ]
  for (const [method, data] of uses) t.equal((await call(method, data)).status, 400)
  for (const token of Object.values(tokens)) {
    const bearer = { authorization: `Bearer ${token}` }
    const data = { password: ADA.password, newPassword: NEXT }
    t.equal((await call('changePassword', data, bearer)).status, 401)
    t.equal(await refresh({ refreshToken: token }), 401)
    const login = { strategy: 'jwt', accessToken: token }
    t.equal((await server.request('/authentication', { data: login })).status, 401)
  }
  t.equal((await call('resetPassword', { token: tokens.reset, password: NEXT })).status, 200)
})

t.test('tokens that were cut, changed, expired or made for others are refused alike', async (t) => {
  const { call, mailOf, stored, users } = await startAccounts(t, database)
  const token = await mailOf('requestReset', { email: ADA.email })
  const [purpose, user = '', random = ''] = token.split('.')
  const bob = await users.findOne({ email: BOB.email })
  const other = Buffer.from(String(bob?._id)).toString('base64url')
  const wrong = [
    ...[token.slice(0, -1), `${token}A`, ` ${token}`, token.toUpperCase(), 'nonsense'],
    ...[`${purpose}.${other}.${random}`, `${purpose}..${random}`, `${purpose}.${user}.`],
    [purpose, user, 'A'.repeat(random.length)].join('.'),
    [purpose, Buffer.from('{"$ne":null}').toString('base64url'), random].join('.'),
  ]
  const messages = new Set<unknown>()
  const use = async (one: unknown): Promise<void> => {
    const { status, body } = await call('resetPassword', { token: one, password: NEXT })
    t.equal(status, 400, String(one).slice(0, 40))
    messages.add((body as { message: string }).message)
  }
  for (const one of wrong) await use(one)
  const expiresAt = (await stored.findOne({}))?.['expiresAt']
  await stored.updateMany({}, { $set: { expiresAt: new Date(0) } })
  await use(token)
  await stored.updateMany({}, { $set: { expiresAt } })
  await users.deleteOne({ email: ADA.email })
  await use(token)
  t.strictSame([...messages], ['The token is not valid any more: ask for a new one'])
})

t.test('tokens live for an hour, or as long as an option says', async (t) => {
  for (const [options, seconds] of [
    [{}, 3600],
    [{ expiresIn: '10m' }, 600],
  ] as const) {
    const { mailOf, stored } = await startAccounts(t, database, { options })
    const before = new Date()
    await mailOf('requestReset', { email: ADA.email })
    const after = new Date()
    const expiresAt = (await stored.findOne({}))?.['expiresAt']
    t.ok(expiresAt >= new Date(before.getTime() + seconds * 1000))
    t.ok(expiresAt <= new Date(after.getTime() + seconds * 1000))
  }
})

t.test('a newer token, another password or another address makes a token void', async (t) => {
  const { call, mailOf, open, accounts, mails, users } = await startAccounts(t, database)
  const { headers } = await open()
  const older = await mailOf('requestReset', { email: ADA.email })
  const reset = await mailOf('requestReset', { email: ADA.email })
  const refuse = async (token: string, why: string) => {
    t.equal((await call('resetPassword', { token, password: NEXT })).status, 400, why)
  }
  await refuse(older, 'a newer one')
  const change = { password: ADA.password, email: 'eve@example.org' }
  const takeover = await mailOf('changeEmail', change, headers)
  const data = { password: ADA.password, newPassword: NEXT }
  t.equal((await call('changePassword', data, headers)).status, 200)
  await accounts.teardown()
  await refuse(reset, 'another password')
  t.equal((await call('verifyEmail', { token: takeover })).status, 400, 'another password')
  t.equal(mails.at(-1)?.kind, 'passwordChanged')
  const verification = await mailOf('requestVerification', { email: ADA.email })
  const late = await mailOf('requestReset', { email: ADA.email })
  await users.updateOne({ email: ADA.email }, { $set: { email: 'ada@example.com' } })
  await refuse(late, 'another address')
  t.equal((await call('verifyEmail', { token: verification })).status, 400, 'another address')
})

t.test('what is no string of an allowed length is refused, as is what is unknown', async (t) => {
  const { call, open, mails, server } = await startAccounts(t, database)
  const { headers } = await open()
  const bad = [undefined, null, 7, true, [], {}, [ADA.email], { $ne: null }, '']
  const complete: Record<AccountMethod, Record<string, string>> = {
    requestVerification: { email: ADA.email },
    verifyEmail: { token: 'x' },
    requestReset: { email: ADA.email },
    resetPassword: { token: 'x', password: NEXT },
    changePassword: { password: ADA.password, newPassword: NEXT },
    changeEmail: { password: ADA.password, email: 'ada@example.com' },
  }
  for (const method of ACCOUNT_METHODS) {
    const data = complete[method]
    for (const name of Object.keys(data)) {
      for (const value of [...bad, 'a'.repeat(2000)]) {
        const { status, text } = await call(method, { ...data, [name]: value }, headers)
        t.equal(status, 400, `${method} ${name} ${JSON.stringify(value)?.slice(0, 30)} ${text}`)
      }
      const { status } = await call(method, { ...data, [name]: 'a'.repeat(1_100_000) }, headers)
      t.equal(status, 413)
    }
    for (const value of [[data], 'text', { ...data, isVerified: true }, { ...data, _id: '1' }]) {
      t.equal((await call(method, value, headers)).status, 400, JSON.stringify(value))
    }
    const queried = await server.request('/accounts?$limit=1', {
      data,
      headers: { 'x-service-method': method, ...headers },
    })
    t.equal(queried.status, 400, 'a query')
  }
  const addresses = ['ada', 'a@b\r\nBcc: c@d', 'a@b, c@d', '<a@b>', '@', 'a@']
  for (const email of [...addresses, 'ada\uff20evil.example@corp.org', 'a@b\uff0cc.org']) {
    const data = { password: ADA.password, email }
    t.equal((await call('changeEmail', data, headers)).status, 400, email)
  }
  t.equal(mails.length, 0)
})

t.test('only the methods that are listed can be called from outside', async (t) => {
  const { call, server } = await startAccounts(t, database)
  for (const name of ['setup', 'teardown', 'constructor', 'find', 'create', '_use']) {
    t.equal((await call(name as AccountMethod, {})).status, 405, name)
  }
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    t.equal((await server.request('/accounts', { method })).status, 405, method)
  }
})

t.test('passwords may have any characters, as those of logins', async (t) => {
  const { call, mailOf, logIn } = await startAccounts(t, database)
  for (const password of ['пароль 🐎', 'e\u0301te', '\u00e9te', ' \u0000 ']) {
    const token = await mailOf('requestReset', { email: ADA.email })
    t.equal((await call('resetPassword', { token, password })).status, 200)
    t.equal((await logIn({ ...ADA, password })).status, 201)
    t.equal(
      (await logIn({ ...ADA, password: password.normalize('NFKC').trim() })).status === 201,
      password === password.normalize('NFKC').trim(),
    )
  }
})

t.test('a request is answered the same, and before anybody is looked for (AUTH-1)', async (t) => {
  const gate = new Gate()
  const { call, mails } = await startAccounts(t, database, {
    configure: (app) =>
      app.service('users').hooks({ before: { find: [() => gate.pass()] } } as never),
  })
  for (const method of ['requestReset', 'requestVerification'] as const) {
    const known = await call(method, { email: ADA.email })
    const unknown = await call(method, { email: 'nobody@example.org' })
    t.equal(mails.length, 0)
    t.match(known, { status: 200, body: {} })
    const { date: _date, 'x-request-id': _id, ...headers } = known.headers
    t.match(unknown.headers, headers)
    t.strictSame([unknown.status, unknown.text], [known.status, known.text])
  }
  await gate.arrivals(4)
  gate.open()
  await until(() => mails.length >= 2)
})

t.test('a mail that fails or hangs changes no answer, and its token is not logged', async (t) => {
  const gate = new Gate()
  const sent: string[] = []
  const { call, server, accounts } = await startAccounts(t, database, {
    options: {
      async notify({ kind, token = '' }) {
        sent.push(token)
        if (kind === 'verify') await gate.pass()
        throw Object.assign(new Error(`550 https://app.example/#${token}`), { mail: token })
      },
    },
  })
  t.match(await call('requestReset', { email: ADA.email }), { status: 200, body: {} })
  await accounts.teardown()
  const [{ message, details } = {}] = server.logged.slice(-1)
  t.equal(message, 'An account email could not be sent')
  t.match(details, { kind: 'reset', err: { message: /550 https.*\[token\]/ } })
  t.match(await call('requestVerification', { email: ADA.email }), { status: 200, body: {} })
  await gate.arrivals(1)
  const timers = holdTimers(t, 5000)
  let hasEnded = false
  const end = accounts.teardown().then(() => {
    hasEnded = true
  })
  await laterTurns()
  t.notOk(hasEnded)
  timers.fire()
  await end
  gate.open()
  await accounts.teardown()
  t.equal(sent.length, 2)
  for (const token of sent) {
    for (const { message, details } of server.logged) {
      const { err } = details as { err?: Error }
      t.notOk(`${message} ${JSON.stringify(details)} ${err?.stack}`.includes(token))
    }
  }
})

t.test('no line of the log has a token or a password', async (t) => {
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const { call, mailOf, open, server } = await startAccounts(t, database, {
    server: { fastify: { logger: { level: 'trace', stream } } },
  })
  const { headers } = await open()
  const reset = await mailOf('requestReset', { email: ADA.email })
  await call('resetPassword', { token: reset, password: NEXT })
  await call('resetPassword', { token: reset, password: NEXT })
  const change = { password: NEXT, email: 'ada@example.com' }
  const changed = await mailOf('changeEmail', change, headers)
  await call('changePassword', { password: 'a wild guess', newPassword: NEXT }, headers)
  await call('verifyEmail', { token: changed })
  t.ok(lines.length > 5)
  const all = `${lines.join('')} ${JSON.stringify(server.logged)}`
  t.match(all, /Password reset/)
  t.match(all, /Address changed/)
  for (const secret of [reset, changed, NEXT, ADA.password, 'a wild guess', ADA.email]) {
    t.notOk(all.includes(secret), secret)
  }
})

t.test('requests and wrong tokens are limited, whoever is asked for (AUTH-1)', async (t) => {
  const settings = { loginThrottle: { maxAttempts: 2, maxAttemptsPerAddress: 5 } }
  const { call, mails, accounts, logIn } = await startAccounts(t, database, { settings })
  for (const email of [ADA.email, 'nobody@example.org']) {
    const statuses: number[] = []
    for (let count = 0; count < 3; count += 1) {
      const { status, headers } = await call('requestReset', { email: count ? email : ` ${email}` })
      statuses.push(status)
      if (status === 429) t.ok(headers['retry-after'])
    }
    t.strictSame(statuses, [200, 200, 429], email)
  }
  await accounts.teardown()
  t.equal(mails.length, 1)
  const guess = { token: 'nonsense', password: NEXT }
  t.equal((await call('resetPassword', guess)).status, 400)
  t.equal((await call('resetPassword', guess)).status, 429, 'of the address')
  t.equal((await logIn()).status, 429, 'with logins')
})

/** Has users found by a collation, and each request come from an address of its own. */
const startWithCollation = async (t: Test) => {
  const started = await startAccounts(t, database, {
    settings: { loginThrottle: { maxAttempts: 3, maxAttemptsPerAddress: 100 } },
    server: { fastify: { trustProxy: '127.0.0.1' } },
    configure(app) {
      const collate = ({ params }: { params: object }) =>
        void Object.assign(params, { collation: { locale: 'en', strength: 1 } })
      app.service('users').hooks({ before: { find: [collate] } } as never)
    },
  })
  let count = 0
  const callFromAnywhere = (method: AccountMethod, data: object, headers: object = {}) => {
    count += 1
    return started.call(method, data, { ...headers, 'x-forwarded-for': `10.0.0.${count}` })
  }
  return { ...started, callFromAnywhere }
}

t.test('a mailbox gets no more emails than allowed, however its address is spelled', async (t) => {
  const { callFromAnywhere, accounts, mails, server } = await startWithCollation(t)
  const spellings = [
    'ada',
    'adá',
    'àda',
    'âda',
    'adã',
    'ädä',
    'ada\u200b',
    'ada\u200d',
    '\ufeffada',
  ]
  for (const method of ['requestReset', 'requestVerification'] as const) {
    const before = mails.length
    for (const name of spellings) {
      const { status, text } = await callFromAnywhere(method, { email: `${name}@example.org` })
      t.strictSame([status, text], [200, '{}'], `${name} is answered as any other`)
    }
    await accounts.teardown()
    t.equal(mails.length - before, 3, method)
  }
  t.strictSame([...new Set(mails.map(({ email }) => email))], [ADA.email])
  const lines = server.logged.filter(({ message }) => message?.startsWith('Too many requests'))
  t.equal(lines.length, 2 * (spellings.length - 3))
})

t.test('a caller sends no more emails to new addresses than allowed', async (t) => {
  const { callFromAnywhere, accounts, mails, open } = await startWithCollation(t)
  const { headers } = await open()
  const statuses: number[] = []
  for (let count = 0; count < 5; count += 1) {
    const data = { password: ADA.password, email: `victim+${count}@example.org` }
    statuses.push((await callFromAnywhere('changeEmail', data, headers)).status)
  }
  await accounts.teardown()
  t.strictSame(statuses, [200, 200, 200, 429, 429])
  t.equal(mails.length, 3)
})

t.test('a stored address that could be read as another one gets no email', async (t) => {
  const { call, mails, server, users, accounts } = await startAccounts(t, database)
  const email = 'victim@example.org\uff0cada@example.org'
  await users.updateOne({ email: ADA.email }, { $set: { email } })
  for (const method of ['requestReset', 'requestVerification'] as const) {
    t.equal((await call(method, { email })).status, 200)
  }
  await accounts.teardown()
  t.equal(mails.length, 0)
  const errors = server.logged.filter(({ message }) => message?.includes('could not be sent'))
  t.equal(errors.length, 2)
})

t.test('a service of users that would store the password as it is is found out', async (t) => {
  const { call, mailOf, server } = await startAccounts(t, database, {
    configure(app) {
      const unhash = (context: { params: object; data: object }) => {
        context.data = { ...context.data, password: NEXT }
      }
      app.service('users').hooks({ before: { patch: [unhash] } } as never)
    },
  })
  const token = await mailOf('requestReset', { email: ADA.email })
  t.match(await call('resetPassword', { token, password: NEXT }), { status: 500 })
  t.match(
    JSON.stringify(server.logged.map(({ details }) => String((details as { err?: Error }).err))),
    /hashPassword\('password'\)/,
  )
})
