import t from 'tap'
import type { ThrottleCollection } from '../../../src/auth/index.ts'
import {
  CollectionThrottleStore,
  LoginThrottle,
  MemoryThrottleStore,
} from '../../../src/auth/index.ts'
import { Gate } from '../../support/gate.ts'
import { atTime, CREDENTIALS, external, startLoginApp } from '../login-app.ts'

/** Windows of a collection begin with the clock: this one has begun in 1970. */
const ENDLESS_SECONDS = 10_000_000_000

const TOO_MANY = { name: 'TooManyRequests', code: 429 }

t.test('RES-17: holds a limited number of counters, and keeps those in use', async (t) => {
  const store = new MemoryThrottleStore(1000)
  store.add('account of the victim', 60_000)
  store.add('address that is seen once', 60_000)
  for (let index = 0; index < 20_000; index += 1) {
    store.add(`account ${index}`, 60_000)
    if (index % 100 === 0) store.add('account of the victim', 60_000)
  }
  t.ok(store.size <= 1001, `${store.size} counters`)
  t.equal(store.add('account of the victim', 60_000).count, 202)
  t.equal(store.add('address that is seen once', 60_000).count, 2, 'names push no address out')
  store.remember('known', 60_000)
  t.ok(store.isRemembered('known'))
  t.notOk(store.isRemembered('unknown'))
})

t.test('RES-17: what is taken back leaves no counter, and pushes none out', async (t) => {
  const store = new MemoryThrottleStore(100)
  const victim = store.add('account of the victim', 60_000)
  const second = store.add('account of the victim', 60_000)
  second.undo()
  for (let index = 0; index < 1000; index += 1) store.add(`account ${index}`, 60_000).undo()
  t.equal(store.size, 1)
  t.equal(store.add('account of the victim', 60_000).count, 2)
  victim.undo()
  t.equal(store.add('account of the victim', 60_000).count, 2)
})

/** A collection in memory, whose commands end when the gate is open. */
function createCollection(gate?: Gate) {
  const documents = new Map<string, { count?: number; expiresAt?: Date }>()
  const commands: string[] = []
  const run = async <T>(name: string, command: () => T): Promise<T> => {
    commands.push(name)
    await gate?.pass()
    return command()
  }
  const change = (filter: object, update: object, { upsert }: { upsert: boolean }) => {
    const { _id, count: condition } = filter as { _id: string; count?: { $gt: number } }
    const { $inc, $set } = update as { $inc?: { count: number }; $set?: object }
    const found = documents.get(_id)
    const isMatch = found !== undefined && (found.count ?? 0) > (condition?.$gt ?? -1)
    if (!isMatch && !upsert) return null
    const changed = { ...found, ...$set }
    if ($inc !== undefined) changed.count = (found?.count ?? 0) + $inc.count
    documents.set(_id, changed)
    return changed
  }
  const collection: ThrottleCollection = {
    findOneAndUpdate: (...args) => run('findOneAndUpdate', () => change(...args)),
    updateOne: (...args) => run('updateOne', () => change(...args)),
    findOne: (filter) =>
      run('findOne', () => documents.get((filter as { _id: string })._id) ?? null),
  }
  return { collection, documents, commands }
}

t.test('keeps counters in a collection by one command each', async (t) => {
  const { collection, documents, commands } = createCollection()
  const store = new CollectionThrottleStore(collection)
  const throttle = new LoginThrottle({ store, maxAttempts: 2, windowSeconds: ENDLESS_SECONDS })
  const first = await throttle.begin('ada', '192.0.2.1')
  t.strictSame(commands, ['findOne', 'findOneAndUpdate', 'findOneAndUpdate'])
  await first.succeed()
  await throttle.begin('ada', '192.0.2.1')
  await throttle.begin('ada', '192.0.2.1')
  await t.rejects(throttle.begin('ada', '192.0.2.1'), TOO_MANY)
  t.notMatch(JSON.stringify([...documents]), /ada|192/, 'neither names nor addresses are stored')
})

t.test('RES-17: what is taken back is taken from its own window', async (t) => {
  const gate = new Gate()
  const { collection, documents } = createCollection(gate)
  const store = new CollectionThrottleStore(collection)
  const throttle = new LoginThrottle({ store, windowSeconds: 3600 })
  const beginMany = async () => {
    const begun = Array.from({ length: 100 }, () => throttle.begin('victim', undefined))
    return { settled: Promise.allSettled(begun) }
  }
  const countPassed = async ({ settled }: Awaited<ReturnType<typeof beginMany>>) =>
    (await settled).filter(({ status }) => status === 'fulfilled').length
  // Counted in the window before, and refused in this one, when the database has answered.
  const before = await atTime(3_600_000 - 1, beginMany)
  await gate.arrivals(100)
  await atTime(3_600_000, async () => {
    gate.open()
    t.equal(await countPassed(before), 10)
    t.equal(await countPassed(await beginMany()), 10)
  })
  t.strictSame(
    [...documents.values()].map(({ count }) => count),
    [10, 10],
  )
})

t.test('counters that are away are 503 with the seconds to wait', async (t) => {
  const away = () => Promise.reject(new Error('connection 7 to 10.0.0.1:27017 closed'))
  const collection = { findOneAndUpdate: away, updateOne: away, findOne: away }
  const store = new CollectionThrottleStore(collection)
  const { authentication } = await startLoginApp({ settings: { loginThrottle: { store } } })
  for (const address of [undefined, '192.0.2.1']) {
    const login = authentication.create(CREDENTIALS, external({ ...(address && { address }) }))
    const error = await login.catch((thrown: unknown) => thrown)
    t.match(error, { name: 'Unavailable', code: 503, data: { retryAfter: 1 }, cause: Error })
    t.notMatch(JSON.stringify(error), /27017/)
  }
  await t.rejects(store.remember('known', 1), { code: 503 })
})
