import t from 'tap'
import { authenticate } from '../../../src/auth/index.ts'
import { stopClock } from '../../support/clock.ts'
import type { LoginAppOptions } from '../login-app.ts'
import { external, forge, now, startLoginApp } from '../login-app.ts'

/** The application with a protected service that is called with tokens from one address. */
async function start(options: LoginAppOptions = {}) {
  const started = await startLoginApp(options)
  const { app, log } = started
  app.use('echo', { find: async () => [] })
  app.service('echo').hooks({ before: { all: [authenticate('jwt')] } })
  const address = '192.0.2.1'
  const call = async (accessToken: string) => {
    log.length = 0
    const authentication = { strategy: 'jwt', accessToken }
    const calling = app.service('echo').find(external({ authentication, address }))
    await calling.catch(() => undefined)
    return log.splice(0)
  }
  return { ...started, call, address }
}

t.test('says why a token was refused, and whose it is where it is genuine (LOG-3)', async (t) => {
  const { authentication, users, call, address } = await start({ settings: { revocation: true } })
  const usual = { event: 'token', strategy: 'jwt', address }
  const line = (details: object) => [{ level: 'warn', details: { ...usual, ...details } }]
  const forged = await forge({ secret: 'y'.repeat(40) })
  t.match(await call(forged), line({ reason: 'invalid signature', jti: undefined }))
  t.match(await call('a.b.c'), line({ reason: 'jwt malformed' }))

  const accessToken = await forge({ claims: { jti: 'one' } })
  const request = { strategy: 'jwt', accessToken }
  t.strictSame(await call(accessToken), [])
  await authentication.remove(null, external({ authentication: request }))
  t.match(await call(accessToken), line({ reason: 'jwt was revoked', jti: 'one', sub: '1' }))

  await users.remove(1)
  const other = await forge({ claims: { jti: 'two' } })
  t.match(await call(other), line({ reason: /user of the token/, jti: 'two', sub: '1' }))
})

t.test('a token that has expired is no news, and a fault is no refusal (LOG-3)', async (t) => {
  const { app, call } = await start()
  t.strictSame(await call(await forge({ claims: { iat: now() - 9, exp: now() - 1 } })), [])
  app.service('users').hooks({
    before: {
      get: () => {
        throw new Error('the database is away')
      },
    },
  })
  t.strictSame(await call(await forge()), [])
})

t.test('a login with a bad token is one line, that of the login (LOG-3)', async (t) => {
  const { app, log } = await startLoginApp()
  const request = { strategy: 'jwt', accessToken: await forge({ secret: 'y'.repeat(40) }) }
  await t.rejects(app.service('authentication').create(request, external()), { code: 401 })
  t.match(log, [{ details: { event: 'login', reason: 'invalid signature' } }])
  t.equal(log.length, 1)
})

t.test('a flood of bad tokens is a few lines, the next one says how many (LOG-3)', async (t) => {
  const clock = stopClock(t)
  const { call } = await start()
  const lines = []
  for (let index = 0; index < 500; index += 1) lines.push(...(await call(`a.b.${index}`)))
  t.equal(lines.length, 10)
  clock.advance(10_000)
  t.match(await call('a.b.c'), [{ details: { reason: 'jwt malformed', omitted: 490 } }])
  t.match(await call('a.b.c'), [{ details: { omitted: undefined } }])
})
