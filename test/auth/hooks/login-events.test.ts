import { createHash } from 'node:crypto'
import t from 'tap'
import type { HookContext } from '../../../src/core/index.ts'
import { Forbidden } from '../../../src/core/index.ts'
import { CREDENTIALS, external, forge, SECRET, startLoginApp } from '../login-app.ts'

const silent = () => undefined
const toHash = (text: string) => createHash('sha256').update(text).digest('hex')

t.test('a hook that refuses a login has it told as a failure, and nothing else', async (t) => {
  const { app, log } = await startLoginApp()
  const service = app.service('authentication')
  const refuse = () => {
    throw new Forbidden('The second factor is missing')
  }
  service.hooks({ after: { create: [refuse] } })
  app.on('login', () => t.fail('told of a login'))
  const connection = {}
  await t.rejects(service.create(CREDENTIALS, external({ connection })), { code: 403 })
  t.strictSame(connection, {})
  t.match(log, [{ level: 'warn', details: { code: 403, reason: 'The second factor is missing' } }])
})

t.test('tells of logins and logouts, for external calls and after the call', async (t) => {
  const { app, users } = await startLoginApp()
  const service = app.service('authentication')
  const events: unknown[][] = []
  let isDone = false
  service.hooks({
    after: {
      all: async () => {
        await new Promise((resolve) => setImmediate(resolve))
        isDone = true
      },
    },
  })
  for (const name of ['login', 'logout']) {
    app.on(name, (...values: unknown[]) => {
      events.push([name, isDone, ...values])
      isDone = false
    })
  }
  const params = external()
  const result = (await service.create(CREDENTIALS, params)) as { accessToken: string }
  t.strictSame(events[0]?.slice(0, 2), ['login', true])
  t.equal(events[0]?.[2], result)
  t.equal(events[0]?.[3], params)
  t.match(events[0]?.[4], { path: 'authentication', method: 'create' })

  const { accessToken } = result
  const authentication = { strategy: 'jwt', accessToken }
  await service.remove(null, external({ authentication }))
  t.match(events[1], ['logout', true, { accessToken, user: { id: 1 } }])

  await service.create(CREDENTIALS)
  await service.remove(null, { authentication })
  await service.create({ ...CREDENTIALS, password: 'x' }, external()).catch(silent)
  t.equal(events.length, 2, 'internal and failing calls tell nothing')
  t.ok(users.calls.length > 0)
})

t.test('listeners that throw change nothing (CRASH-1)', async (t) => {
  const { app, log } = await startLoginApp()
  app.on('login', () => {
    throw new Error('no')
  })
  app.on('login', () => Promise.reject(new Error('never')))
  await t.resolves(app.service('authentication').create(CREDENTIALS, external()))
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(log.filter(({ level }) => level === 'error').length, 2)
})

t.test('tells the connection before the listeners', async (t) => {
  const { app } = await startLoginApp()
  const service = app.service('authentication')
  const connection: Record<string, unknown> = {}
  app.on('login', () => t.match(connection, { user: { id: 1 } }))
  const { accessToken } = (await service.create(CREDENTIALS, external({ connection }))) as {
    accessToken: string
  }
  t.match(connection, { authentication: { strategy: 'jwt', accessToken } })
  const authentication = { strategy: 'jwt', accessToken }
  await service.remove(null, external({ connection, authentication }))
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(connection, {})
  t.plan(3)
})

t.test('forbids to store answers with tokens, of failures too (BRC-1)', async (t) => {
  const { app } = await startLoginApp()
  const service = app.service('authentication')
  const headers: unknown[] = []
  service.hooks([
    async (context: HookContext, next: () => Promise<void>) => {
      await next().finally(() => headers.push(context.http.headers))
    },
  ])
  await service.create(CREDENTIALS, external())
  await service.create({ ...CREDENTIALS, password: 'x' }, external()).catch(silent)
  await service.remove(null, external()).catch(silent)
  t.strictSame(headers, Array(3).fill({ 'Cache-Control': 'no-store' }))
})

t.test('says in the data of the error when to come back', async (t) => {
  const { app } = await startLoginApp({ settings: { loginThrottle: { maxAttempts: 1 } } })
  const service = app.service('authentication')
  const wrong = { ...CREDENTIALS, password: 'x' }
  await service.create(wrong, external()).catch(silent)
  const again = service.create(wrong, external())
  await t.rejects(again, { code: 429, data: { retryAfter: Number } })
})

t.test('logs each login once, with address and reason (LOG-3)', async (t) => {
  const { app, log } = await startLoginApp({ settings: { loginThrottle: { maxAttempts: 1 } } })
  const service = app.service('authentication')
  const address = '192.0.2.1'
  const attempts = [
    CREDENTIALS,
    { ...CREDENTIALS, password: 'x' },
    { ...CREDENTIALS, email: 'nobody@example.org' },
    { strategy: 'made up' },
    { strategy: 'local' },
    CREDENTIALS,
  ]
  for (const data of attempts) await service.create(data, external({ address })).catch(silent)
  const event = 'login'
  const account = toHash('ada@example.org')
  t.match(log, [
    { level: 'info', details: { event, strategy: 'local', address, user: '1' } },
    {
      level: 'warn',
      details: { event, strategy: 'local', address, account, reason: 'wrong password' },
    },
    { level: 'warn', details: { account: toHash('nobody@example.org'), reason: 'unknown user' } },
    { level: 'warn', details: { event, strategy: undefined, account: undefined, code: 401 } },
    { level: 'warn', details: { account: undefined, reason: 'no user name and password' } },
    { level: 'warn', details: { event, code: 429, account, address } },
  ])
  t.equal(log.length, attempts.length)
})

t.test('neither passwords nor tokens nor secrets get into the log (LOG-1)', async (t) => {
  const { app, log, users } = await startLoginApp()
  const service = app.service('authentication')
  const accessToken = await forge()
  const forged = await forge({ secret: 'y'.repeat(40) })
  for (const data of [
    CREDENTIALS,
    { ...CREDENTIALS, password: 'wrong horse' },
    { strategy: 'jwt', accessToken },
    { strategy: 'jwt', accessToken: forged },
    { strategy: accessToken },
  ]) {
    await service.create(data, external()).catch(silent)
  }
  const authentication = { strategy: 'jwt', accessToken }
  await service.remove(null, external({ authentication }))
  t.ok(log.length >= 6)
  const text = JSON.stringify(log)
  const secrets = [SECRET, accessToken, forged, 'correct horse', 'wrong horse']
  for (const secret of [...secrets, String(users.users.get('1')?.password)]) {
    t.notOk(text.includes(secret), 'not in the log')
  }
})
