import t from 'tap'
import type { AuthenticationParams } from '../../../src/auth/index.ts'
import {
  AuthenticationBaseStrategy,
  AuthenticationService,
  authenticate,
  LocalStrategy,
} from '../../../src/auth/index.ts'
import type { AuthenticationRequest } from '../../../src/core/index.ts'
import { createApp, NotAuthenticated } from '../../../src/core/index.ts'
import { CREDENTIALS, collectLog, external, SECRET, startLoginApp } from '../login-app.ts'

const TOO_MANY = { name: 'TooManyRequests', code: 429 }
const WRONG = { ...CREDENTIALS, password: 'wrong horse' }

/** The codes of forty failing logins for one account from one address. */
async function guess(settings: object): Promise<number[]> {
  const { authentication } = await startLoginApp({ settings })
  const codes: number[] = []
  for (let count = 0; count < 40; count += 1) {
    const params = external({ address: '192.0.2.1' })
    const error = await authentication.create(WRONG, params).catch((thrown: unknown) => thrown)
    codes.push((error as { code: number }).code)
  }
  return codes
}

t.test('failing logins are limited unless the setting says no (RES-17)', async (t) => {
  const limited = [...Array<number>(10).fill(401), ...Array<number>(30).fill(429)]
  for (const settings of [{}, { loginThrottle: undefined }, { loginThrottle: true }]) {
    t.strictSame(await guess(settings), limited, JSON.stringify(settings))
  }
  const noLimits = { maxAttempts: undefined, windowSeconds: undefined, store: undefined }
  t.strictSame(await guess({ loginThrottle: noLimits }), limited, 'what is not given is no limit')
  t.strictSame(await guess({ loginThrottle: false }), Array(40).fill(401))
})

t.test('a setting that is neither limits nor false does not switch them off', async (t) => {
  for (const loginThrottle of [null, 0, '', 'off']) {
    await t.rejects(startLoginApp({ settings: { loginThrottle } }), {
      name: 'TypeError',
      message: /'authentication': the option 'loginThrottle' must be/,
    })
  }
})

/** Knows a number of four digits, and counts how often it was asked. */
class PinStrategy extends AuthenticationBaseStrategy {
  asked = 0

  async authenticate({ pin }: AuthenticationRequest) {
    this.asked += 1
    if (pin !== '1234') throw new NotAuthenticated('Invalid PIN')
    return { authentication: { strategy: this.name } }
  }

  limitGuesses<T>(
    { door }: AuthenticationRequest,
    { address }: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T> {
    const { loginThrottle } = this.authentication
    return loginThrottle === null ? prove() : loginThrottle.run(String(door), address, prove)
  }
}

t.test('limits the guesses of any strategy that has limits, at its login (RES-17)', async (t) => {
  const app = createApp()
  collectLog(app)
  const settings = { secret: SECRET, entity: null, authStrategies: ['pin'] }
  const strategy = new PinStrategy()
  const service = new AuthenticationService(app, 'authentication', settings)
  app.use('authentication', service.register('pin', strategy))
  app.use('rooms', { find: async () => [] })
  app.service('rooms').hooks({ before: { all: [authenticate('pin')] } })
  await app.setup()
  const request = { strategy: 'pin', door: 'front', pin: '0000' }
  const enter = () => service.create(request, external({ address: '192.0.2.1' }))
  const find = () => app.service('rooms').find({ provider: 'rest', authentication: request })
  for (let count = 0; count < 5; count += 1) await t.rejects(enter(), { code: 401 })
  for (let count = 0; count < 5; count += 1) await t.rejects(find(), { code: 401 })
  t.equal(strategy.asked, 10, 'each guess is counted once')
  await t.rejects(enter(), TOO_MANY)
  await t.rejects(find(), TOO_MANY)
  t.equal(strategy.asked, 10)
  await t.rejects(service.create(request), { code: 401 }, 'inside the process')
})

/** Asks for a second factor once the password is right. */
class TwoFactorStrategy extends LocalStrategy {
  override async authenticate(request: AuthenticationRequest, params: AuthenticationParams) {
    const result = await super.authenticate(request, params)
    if (request['code'] !== '123456') throw new NotAuthenticated('Invalid login')
    return result
  }
}

t.test('limits what a subclass asks for beside the password (RES-17)', async (t) => {
  const { authentication } = await startLoginApp({ local: new TwoFactorStrategy() })
  const login = (code: string) =>
    authentication.create({ ...CREDENTIALS, code }, external({ address: '192.0.2.1' }))
  for (let code = 0; code < 10; code += 1) await t.rejects(login(`00000${code}`), { code: 401 })
  await t.rejects(login('123456'), TOO_MANY)
})

t.test('says once that callers come from behind a proxy that is not trusted', async (t) => {
  const { authentication, log } = await startLoginApp()
  const login = (address: string, forwarded: string | undefined) => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    return authentication.create(CREDENTIALS, external({ address, headers }))
  }
  await login('10.0.0.1', undefined)
  await login('203.0.113.9', '203.0.113.9')
  await login('203.0.113.9', '198.51.100.1, 203.0.113.9, 10.0.0.2')
  const warnings = () => log.filter(({ level }) => level === 'warn')
  t.strictSame(warnings(), [])
  await login('10.0.0.1', '203.0.113.9')
  await login('10.0.0.1', '203.0.113.10')
  t.match(warnings(), [{ details: { address: '10.0.0.1' }, message: /trustProxy/ }])
  t.equal(warnings().length, 1)
})

t.test('says nothing about proxies where nothing is limited', async (t) => {
  const { authentication, log } = await startLoginApp({ settings: { loginThrottle: false } })
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  await authentication.create(CREDENTIALS, external({ address: '10.0.0.1', headers }))
  t.notOk(log.some(({ level }) => level === 'warn'))
})
