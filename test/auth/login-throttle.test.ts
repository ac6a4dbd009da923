import t from 'tap'
import {
  CollectionThrottleStore,
  LoginThrottle,
  MemoryThrottleStore,
} from '../../src/auth/index.ts'
import { atTime, CREDENTIALS, external, startLoginApp } from './login-app.ts'

const TOO_MANY = { name: 'TooManyRequests', code: 429 }
const WRONG = { ...CREDENTIALS, password: 'wrong horse' }

function start() {
  return startLoginApp({ settings: { loginThrottle: true } })
}

t.test('RES-17: refuses the eleventh failing login of a minute for an account', async (t) => {
  const { authentication, users } = await start()
  const login = (data: object, address: string) =>
    authentication.create({ ...CREDENTIALS, ...data }, external({ address }))
  for (let index = 0; index < 10; index += 1) {
    await t.rejects(login(WRONG, `192.0.2.${index}`), { code: 401 })
  }
  users.takeCalls()
  const error = await login(WRONG, '192.0.2.99').catch((thrown: unknown) => thrown)
  t.match(error, { ...TOO_MANY, data: { retryAfter: Number } })
  const { retryAfter } = (error as { data: { retryAfter: number } }).data
  t.ok(retryAfter > 50 && retryAfter <= 60, `${retryAfter} seconds`)
  await t.rejects(login({ ...WRONG, email: ' ADA@example.org ' }, '192.0.2.98'), TOO_MANY)
  await t.rejects(login({}, '192.0.2.97'), TOO_MANY, 'from an unknown address')
  t.strictSame(users.takeCalls(), [], 'no command and no hash')
})

t.test('RES-17: refuses the eleventh failing login of a minute from an address', async (t) => {
  const { authentication } = await start()
  const login = (email: string, address: string) =>
    authentication.create({ ...WRONG, email }, external({ address }))
  for (let index = 0; index < 10; index += 1) {
    const neighbour = `2001:db8:0:1::${index.toString(16)}`
    await t.rejects(login(`user${index}@example.org`, neighbour), { code: 401 }, 'MDB-9')
  }
  await t.rejects(login('new@example.org', '2001:db8:0:1:ffff::1'), TOO_MANY, 'the same /64')
  await t.rejects(login('new@example.org', '2001:0db8::1:0:0:0:7%eth0'), TOO_MANY)
  await t.rejects(login('new@example.org', '2001:db8:0:2::1'), { code: 401 }, 'another network')
})

t.test(
  'RES-17: knows the address that a transport gives on the prototype of its params',
  async (t) => {
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
    for (let index = 0; index < 10; index += 1) {
      await t.rejects(login(`user${index}@example.org`), { code: 401 })
    }
    await t.rejects(login('another@example.org'), TOO_MANY)
  },
)

t.test('RES-17: counts logins that run at the same time', async (t) => {
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

t.test('RES-18: nobody is locked out of an account from where they are known', async (t) => {
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

t.test('limits requests without proper credentials too', async (t) => {
  const { authentication } = await start()
  const create = () =>
    authentication.create({ strategy: 'local' }, external({ address: '192.0.2.1' }))
  for (let index = 0; index < 10; index += 1) await t.rejects(create(), { code: 401 })
  await t.rejects(create(), TOO_MANY)
})

t.test('CLK-2: counts on while the wall clock jumps', async (t) => {
  for (const jump of [-3_600_000, 3_600_000]) {
    const { authentication } = await start()
    const params = external({ address: '192.0.2.1' })
    for (let index = 0; index < 10; index += 1) {
      await t.rejects(authentication.create(WRONG, params), { code: 401 })
    }
    const then = Date.now() + jump
    await t.rejects(
      atTime(then, () => authentication.create(WRONG, params)),
      TOO_MANY,
    )
  }
})

t.test('begins anew when the window has passed', async (t) => {
  const throttle = new LoginThrottle({ maxAttempts: 1, windowSeconds: 0.05 })
  await throttle.begin('ada', undefined)
  await t.rejects(throttle.begin('ada', undefined), TOO_MANY)
  await new Promise((resolve) => setTimeout(resolve, 60))
  await t.resolves(throttle.begin('ada', undefined))
})

t.test('RES-17: holds a limited number of counters, and keeps those in use', async (t) => {
  const store = new MemoryThrottleStore(1000)
  store.add('attacker', 1, 60_000)
  for (let index = 0; index < 20_000; index += 1) {
    store.add(`account ${index}`, 1, 60_000)
    if (index % 100 === 0) store.add('attacker', 1, 60_000)
  }
  t.ok(store.size <= 1000, `${store.size} counters`)
  t.equal(store.add('attacker', 0, 60_000).count, 201)
  store.remember('known', 60_000)
  t.ok(store.isRemembered('known'))
  t.notOk(store.isRemembered('unknown'))
})

t.test('keeps counters in a collection by one command each', async (t) => {
  const documents = new Map<string, { count?: number; expiresAt: Date }>()
  const commands: string[] = []
  const store = new CollectionThrottleStore({
    async findOneAndUpdate(filter, update) {
      commands.push('findOneAndUpdate')
      const { _id } = filter as { _id: string }
      const { $inc, $set } = update as { $inc: { count: number }; $set: { expiresAt: Date } }
      const count = (documents.get(_id)?.count ?? 0) + $inc.count
      documents.set(_id, { count, ...$set })
      return documents.get(_id)
    },
    async updateOne(filter, update) {
      const { _id } = filter as { _id: string }
      documents.set(_id, (update as { $set: { expiresAt: Date } }).$set)
    },
    async findOne(filter) {
      return documents.get((filter as { _id: string })._id) ?? null
    },
  })
  const throttle = new LoginThrottle({ store, maxAttempts: 2 })
  const first = await throttle.begin('ada', '192.0.2.1')
  await first.succeed()
  await throttle.begin('ada', '192.0.2.1')
  await throttle.begin('ada', '192.0.2.1')
  await t.rejects(throttle.begin('ada', '192.0.2.1'), TOO_MANY)
  t.ok(commands.every((name) => name === 'findOneAndUpdate'))
  t.notMatch(JSON.stringify([...documents]), /ada|192/, 'neither names nor addresses are stored')
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
