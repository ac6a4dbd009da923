import t from 'tap'
import {
  authenticate,
  LocalStrategy,
  LoginThrottle,
  MemoryThrottleStore,
} from '../../../src/auth/index.ts'
import type { AuthenticationRequest, Params } from '../../../src/core/index.ts'
import { stopClock } from '../../support/clock.ts'
import type { UserService } from '../login-app.ts'
import { atTime, CREDENTIALS, external, now, startLoginApp } from '../login-app.ts'

const TOO_MANY = { name: 'TooManyRequests', code: 429 }
const WRONG = { ...CREDENTIALS, password: 'wrong horse' }

// Or a minute could end in the middle of a test.
const clock = stopClock(t)

function start() {
  return startLoginApp()
}

t.test('refuses the eleventh failing login of a minute for an account (RES-17)', async (t) => {
  const { authentication, users } = await start()
  const login = (data: object, address: string) =>
    authentication.create({ ...CREDENTIALS, ...data }, external({ address }))
  for (let index = 0; index < 10; index += 1) {
    await t.rejects(login(WRONG, `192.0.2.${index}`), { code: 401 })
  }
  users.takeCalls()
  const error = await login(WRONG, '192.0.2.99').catch((thrown: unknown) => thrown)
  t.match(error, { ...TOO_MANY, data: { retryAfter: 60 } })
  await t.rejects(login({ ...WRONG, email: ' ADA@example.org ' }, '192.0.2.98'), TOO_MANY)
  await t.rejects(login({}, '192.0.2.97'), TOO_MANY, 'from an unknown address')
  t.strictSame(users.takeCalls(), [], 'no command and no hash')
})

t.test('refuses the 31st failing login of a minute from an address (RES-17, MDB-9)', async (t) => {
  const { authentication } = await start()
  const login = (email: string, address: string) =>
    authentication.create({ ...WRONG, email }, external({ address }))
  for (let index = 0; index < 30; index += 1) {
    const neighbour = `2001:db8:0:1::${index.toString(16)}`
    await t.rejects(login(`user${index}@example.org`, neighbour), { code: 401 })
  }
  await t.rejects(login('new@example.org', '2001:db8:0:1:ffff::1'), TOO_MANY, 'the same /64')
  await t.rejects(login('new@example.org', '2001:0db8::1:0:0:0:7%eth0'), TOO_MANY)
  await t.rejects(login('new@example.org', '2001:db8:0:2::1'), { code: 401 }, 'another network')
})

t.test('those who are known from an office get in, whatever is tried there (RES-18)', async (t) => {
  const { authentication, local, users } = await start()
  const password = await local.hashPassword(CREDENTIALS.password)
  const office = external({ address: '192.0.2.1' })
  const emails = Array.from({ length: 60 }, (_, index) => `user${index}@example.org`)
  for (const [index, email] of emails.entries()) {
    await users.create({ id: 100 + index, email, password })
    await authentication.create({ ...CREDENTIALS, email }, office)
  }
  for (let index = 0; index < 40; index += 1) {
    const guess = { ...WRONG, email: `made up ${index}` }
    await t.rejects(authentication.create(guess, office), { code: index < 30 ? 401 : 429 })
  }
  for (const email of emails) {
    await t.resolves(authentication.create({ ...CREDENTIALS, email }, office), email)
  }
  for (const [index, email] of emails.entries()) {
    const guess = authentication.create({ ...WRONG, email }, office)
    await t.rejects(guess, { code: index < 30 ? 401 : 429 }, 'nor may one try them all')
  }
})

t.test('knows an address that a transport gives on the prototype of params (RES-17)', async (t) => {
  class TransportParams {
    provider = 'rest'
    query = {}
    get address() {
      return '192.0.2.1'
    }
  }
  const { app } = await start()
  const login = (email: string) =>
    app.service('authentication').create({ ...WRONG, email }, new TransportParams())
  for (let index = 0; index < 30; index += 1) {
    await t.rejects(login(`user${index}@example.org`), { code: 401 })
  }
  await t.rejects(login('another@example.org'), TOO_MANY)
})

t.test('counts logins that run at the same time (RES-17)', async (t) => {
  const { authentication } = await start()
  const logins = await Promise.allSettled(
    Array.from({ length: 50 }, () =>
      authentication.create(WRONG, external({ address: '192.0.2.1' })),
    ),
  )
  const codes = logins.map((one) => (one.status === 'rejected' ? one.reason.code : 201))
  t.equal(codes.filter((code) => code === 401).length, 10)
  t.equal(codes.filter((code) => code === 429).length, 40)
})

t.test('nobody is locked out of an account from where they are known (RES-18)', async (t) => {
  const { authentication } = await start()
  const victim = external({ address: '198.51.100.7' })
  await t.resolves(authentication.create(CREDENTIALS, victim))
  for (let index = 0; index < 100; index += 1) {
    const params = external({ address: `203.0.113.${index}` })
    await t.rejects(authentication.create(WRONG, params), { code: index < 10 ? 401 : 429 })
  }
  await t.resolves(authentication.create(CREDENTIALS, victim))
  for (let index = 0; index < 10; index += 1) {
    await t.rejects(authentication.create(WRONG, victim), { code: 401 })
  }
  await t.rejects(authentication.create(CREDENTIALS, victim), TOO_MANY, 'limited there as well')
})

t.test('does not count logins that go well, nor those inside the process', async (t) => {
  const { authentication } = await start()
  const params = external({ address: '192.0.2.1' })
  for (let index = 0; index < 30; index += 1) {
    await authentication.create(CREDENTIALS, params)
    await t.rejects(authentication.create(WRONG), { code: 401 })
  }
  for (let index = 0; index < 10; index += 1) {
    await t.rejects(authentication.create(WRONG, params), { code: 401 })
  }
  await t.rejects(authentication.create(WRONG, params), TOO_MANY)
})

t.test('limits requests without proper credentials too, for their address alone', async (t) => {
  const { authentication } = await start()
  const create = (address: string) =>
    authentication.create({ strategy: 'local' }, external({ address }))
  for (let index = 0; index < 30; index += 1) {
    await t.rejects(create('192.0.2.1'), { code: 401 })
  }
  await t.rejects(create('192.0.2.1'), TOO_MANY)
  await t.rejects(create('192.0.2.2'), { code: 401 })
})

t.test('counts on while the wall clock jumps (CLK-2)', async (t) => {
  for (const jump of [-3_600_000, 3_600_000]) {
    const { authentication } = await start()
    const params = external({ address: '192.0.2.1' })
    for (let index = 0; index < 10; index += 1) {
      await t.rejects(authentication.create(WRONG, params), { code: 401 })
    }
    const then = now() * 1000 + jump
    await t.rejects(
      atTime(then, () => authentication.create(WRONG, params)),
      TOO_MANY,
    )
  }
})

t.test('begins anew when the window has passed', async (t) => {
  const throttle = new LoginThrottle({ maxAttempts: 1, windowSeconds: 60 })
  await throttle.begin('ada', undefined)
  clock.advance(59_999)
  await t.rejects(throttle.begin('ada', undefined), TOO_MANY)
  clock.advance(1)
  await t.resolves(throttle.begin('ada', undefined))
})

t.test('does not take what is no limit', (t) => {
  t.throws(() => new LoginThrottle({ maxAttempts: 0 }), {
    name: 'TypeError',
    message: "LoginThrottle: the option 'maxAttempts' must be a whole number from 1 on",
  })
  t.throws(() => new LoginThrottle({ maxAttempt: 3 } as object), /did you mean 'maxAttempts'/)
  t.end()
})

t.test('a name that differs only in case makes no address known (RES-17)', async (t) => {
  const { authentication, local, users } = await start()
  const password = await local.hashPassword('evil pony')
  await users.create({ id: 2, email: 'ADA@example.org', password })
  const attacker = { strategy: 'local', email: 'ADA@example.org', password: 'evil pony' }
  let guesses = 0
  for (let host = 1; host <= 5; host += 1) {
    const params = external({ address: `192.0.2.${host}` })
    await authentication.create(attacker, params).catch(() => undefined)
    for (let index = 0; index < 10; index += 1) {
      const error = await authentication.create(WRONG, params).catch((thrown: unknown) => thrown)
      if ((error as { code: number }).code === 401) guesses += 1
    }
  }
  t.equal(guesses, 10)
})

/** Users by a collation that knows neither case nor accents, as one of MongoDB with `strength: 1`. */
function collate(users: UserService): void {
  const find = users.find.bind(users)
  users.find = async (params: Params = {}) => {
    const { email, ...query } = params.query ?? {}
    const found = await find({ ...params, query })
    const options = { sensitivity: 'base' } as const
    return found.filter((one) => one.email?.localeCompare(String(email), 'en', options) === 0)
  }
}

/** Writes down the hashes that passwords are compared to. */
class SpyStrategy extends LocalStrategy {
  readonly checked: unknown[] = []

  override verifyPassword(...args: Parameters<LocalStrategy['verifyPassword']>) {
    this.checked.push(args[1])
    return super.verifyPassword(...args)
  }
}

/** Writes down what it is asked to count and to take back. */
class SpyStore extends MemoryThrottleStore {
  readonly asked: string[] = []

  override add(...args: Parameters<MemoryThrottleStore['add']>) {
    this.asked.push('add')
    const counter = super.add(...args)
    const undo = () => {
      this.asked.push('undo')
      counter.undo()
    }
    return { ...counter, undo }
  }
}

const SPELLINGS = ['ada@example.org', 'ADA@example.org', 'ädá@example.org', 'àda@EXAMPLE.org']

t.test('an account has one limit, however its name may be written (RES-17)', async (t) => {
  const local = new SpyStrategy()
  const store = new SpyStore()
  const settings = { loginThrottle: { store } }
  const { authentication, users, log } = await startLoginApp({ local, settings })
  collate(users)
  const answers: Record<string, unknown[]> = { ada: [], nobody: [] }
  let host = 0
  for (const [name, codes] of Object.entries(answers)) {
    local.checked.length = 0
    for (let index = 0; index < 40; index += 1) {
      const email = SPELLINGS[index % 4]?.replace(/^[^@]+/, (ada) =>
        name === 'ada' ? ada : `n${ada}`,
      )
      host += 1
      const params = external({ address: `192.0.${host}.1` })
      const error = await authentication
        .create({ ...WRONG, email }, params)
        .catch((thrown: unknown) => thrown)
      // A store that is shared takes its time for each.
      codes.push(JSON.stringify(error), store.asked.splice(0).join(' '))
    }
    const guesses = local.checked.filter((stored) => stored !== undefined)
    t.equal(guesses.length, name === 'ada' ? 10 : 0, name)
  }
  t.strictSame(answers['ada'], answers['nobody'], 'nobody is told who has an account')
  const right = { ...CREDENTIALS, email: 'adà@example.org' }
  await t.rejects(authentication.create(right, external({ address: '198.51.100.1' })), {
    code: 401,
  })
  t.match(log.at(-1), { details: { reason: 'too many failed logins of this user' } })
  clock.advance(60_000)
  await t.resolves(authentication.create(right, external({ address: '198.51.100.1' })))
})

t.test('the owner gets in from a known place, however he writes his name (RES-18)', async (t) => {
  const local = new SpyStrategy()
  const { authentication, users } = await startLoginApp({ local })
  collate(users)
  const office = external({ address: '192.0.2.1' })
  const guess = async (index: number, params: object): Promise<void> => {
    const email = SPELLINGS[index % 4] as string
    await t.rejects(authentication.create({ ...WRONG, email }, { ...office, ...params }))
  }
  for (const email of SPELLINGS) await authentication.create({ ...CREDENTIALS, email }, office)
  for (let index = 0; index < 40; index += 1) await guess(index, { address: `203.0.${index}.9` })
  for (const email of SPELLINGS) {
    await t.resolves(authentication.create({ ...CREDENTIALS, email }, office), email)
  }
  local.checked.length = 0
  for (let index = 0; index < 25; index += 1) await guess(index, {})
  const guesses = local.checked.filter((stored) => stored !== undefined)
  t.equal(guesses.length, 10, 'limited there as well')
  for (const email of SPELLINGS) {
    await t.rejects(authentication.create({ ...CREDENTIALS, email }, office), email)
  }
})

t.test('an address that is refused pushes no counter of an account out (RES-17)', async (t) => {
  const throttle = new LoginThrottle({ store: new MemoryThrottleStore(100) })
  const begin = (account: string, address: string) =>
    throttle.begin(account, address).then(
      () => true,
      () => false,
    )
  for (let host = 1; host <= 10; host += 1) await begin('victim', `192.0.2.${host}`)
  for (let index = 0; index < 1000; index += 1) await begin(`made up ${index}`, '203.0.113.9')
  t.notOk(await begin('victim', '192.0.2.99'))
})

t.test('an address is the same with a port, as some proxies tell it (RES-17)', async (t) => {
  const throttle = new LoginThrottle({ maxAttemptsPerAddress: 2 })
  const networks = [
    ['203.0.113.9', '203.0.113.9:40001', '::ffff:203.0.113.9', '[::ffff:203.0.113.9]:1'],
    ['2001:db8::1', '[2001:db8::2]:40001', '[2001:db8::3]'],
  ]
  for (const [index, addresses] of networks.entries()) {
    for (const [place, address] of addresses.entries()) {
      const begun = throttle.begin(`user ${index} ${place}`, address)
      await (place < 2 ? t.resolves(begun) : t.rejects(begun, TOO_MANY, address))
    }
  }
})

t.test('right logins that come together from one address all go well', async (t) => {
  const { authentication, local, users } = await start()
  const password = await local.hashPassword('correct horse')
  const logins = Array.from({ length: 40 }, async (_, index) => {
    const email = `user${index}@example.org`
    await users.create({ id: 100 + index, email, password })
    return authentication.create({ ...CREDENTIALS, email }, external({ address: '192.0.2.1' }))
  })
  await t.resolves(Promise.all(logins))
  const more = Array.from({ length: 100 }, () =>
    authentication.create(CREDENTIALS, external({ address: '192.0.2.1' })),
  )
  const settled = await Promise.allSettled(more)
  const refused = settled.filter(({ status }) => status === 'rejected')
  t.ok(refused.length > 0, 'those who wait are limited')
  for (const one of refused) t.match(one, { reason: { code: 429, data: { retryAfter: 1 } } })
})

t.test('a login that could not be checked does not count', async (t) => {
  const throttle = new LoginThrottle({ maxAttempts: 1 })
  for (let index = 0; index < 3; index += 1) {
    const attempt = await throttle.begin('ann', '192.0.2.1')
    await attempt.cancel()
  }
  await throttle.begin('ann', '192.0.2.1')
  await t.rejects(throttle.begin('ann', '192.0.2.1'), { code: 429 })
})

t.test('limits and logs guesses at the authenticate hook like a login (RES-17)', async (t) => {
  class TransportParams implements Params {
    provider = 'rest'
    query = {}
    readonly authentication: Params['authentication']
    constructor(data: Params['authentication']) {
      this.authentication = data
    }
    get address() {
      return '192.0.2.1'
    }
  }
  const { app, log, users } = await start()
  app.use('echo', { find: async (params: Params) => params })
  app.service('echo').hooks({ before: { all: [authenticate('local', 'jwt')] } })
  const call = (data: AuthenticationRequest) => app.service('echo').find(new TransportParams(data))
  for (let index = 0; index < 20; index += 1) {
    const seen = (await call(CREDENTIALS)) as Params
    t.match(seen.user, { id: 1, password: String }, 'the user as it is stored')
  }
  t.ok(users.takeCalls().every(({ provider }) => provider === undefined))
  t.strictSame(log, [])
  for (let index = 0; index < 10; index += 1) await t.rejects(call(WRONG), { code: 401 })
  const event = { event: 'login', strategy: 'local', address: '192.0.2.1' }
  t.match(log.at(-1), { level: 'warn', details: { ...event, reason: 'wrong password' } })
  t.equal(log.length, 10)
  users.takeCalls()
  await t.rejects(call(CREDENTIALS), TOO_MANY)
  t.match(log.at(-1), { level: 'warn', details: { ...event, code: 429 } })
  t.strictSame(users.takeCalls(), [], 'no command and no hash')
  const login = app
    .service('authentication')
    .create(CREDENTIALS, external({ address: '192.0.2.1' }))
  await t.rejects(login, TOO_MANY, 'the counters are the same')
  await t.resolves(app.service('echo').find({ authentication: CREDENTIALS }), 'inside the process')
})
