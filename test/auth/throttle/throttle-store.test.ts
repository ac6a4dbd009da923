import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import {
  CollectionThrottleStore,
  LoginThrottle,
  MemoryThrottleStore,
} from '../../../src/auth/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { namesOf, openDatabase } from '../../support/database.ts'
import { pluck } from '../../support/pluck.ts'
import { createClosedCollection } from '../closed-collection.ts'
import { atTime, CREDENTIALS, external, startLoginApp } from '../login-app.ts'

/** Windows of a collection begin with the clock: this one has begun in 1970. */
const ENDLESS_SECONDS = 10_000_000_000

const TOO_MANY = { name: 'TooManyRequests', code: 429 }

t.test('holds a limited number of counters, and keeps those in use (RES-17)', async (t) => {
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

t.test('what is taken back leaves no counter, and pushes none out (RES-17)', async (t) => {
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

/** Returns an empty collection for counters. */
async function createCollection({ db, empty }: TestDatabase) {
  await empty('logins')
  return db.collection<{ _id: string; count?: number }>('logins')
}

t.test('keeps counters in a collection by one command each', async (t) => {
  const database = await openDatabase(t)
  const collection = await createCollection(database)
  const store = new CollectionThrottleStore(collection)
  const throttle = new LoginThrottle({ store, maxAttempts: 2, windowSeconds: ENDLESS_SECONDS })
  const commands = await database.commandsOf(async () => {
    const first = await throttle.begin('ada', '192.0.2.1')
    await first.succeed()
  })
  t.strictSame(
    namesOf(commands),
    ['find', 'findAndModify', 'findAndModify', 'update', 'update', 'update'],
    'to begin: known, address, account; to succeed: two counters, known',
  )
  await throttle.begin('ada', '192.0.2.1')
  await throttle.begin('ada', '192.0.2.1')
  await t.rejects(throttle.begin('ada', '192.0.2.1'), TOO_MANY)
  const documents = await collection.find().toArray()
  t.notMatch(JSON.stringify(documents), /ada|192\.0\.2/, 'neither names nor addresses are stored')
})

t.test('what is taken back is taken from its own window (RES-17)', async (t) => {
  const collection = await createCollection(await openDatabase(t))
  const throttle = new LoginThrottle({
    store: new CollectionThrottleStore(collection),
    windowSeconds: 3600,
  })
  const beginMany = async () => {
    const begun = Array.from({ length: 100 }, () => throttle.begin('victim', undefined))
    return { settled: Promise.allSettled(begun) }
  }
  const countPassed = async ({ settled }: Awaited<ReturnType<typeof beginMany>>) =>
    (await settled).filter(({ status }) => status === 'fulfilled').length
  // Counted in the window before, and refused in this one, when the database has answered.
  const before = await atTime(3_600_000 - 1, beginMany)
  await atTime(3_600_000, async () => {
    t.equal(await countPassed(before), 10)
    t.equal(await countPassed(await beginMany()), 10)
  })
  const documents = await collection.find().toArray()
  t.strictSame(pluck(documents, 'count'), [10, 10])
})

t.test('counters that can not be reached are 503 with the seconds to wait', async (t) => {
  const store = new CollectionThrottleStore(await createClosedCollection())
  const { authentication } = await startLoginApp({ settings: { loginThrottle: { store } } })
  for (const address of [undefined, '192.0.2.1']) {
    const login = authentication.create(CREDENTIALS, external({ ...(address && { address }) }))
    const error = await login.catch((thrown: unknown) => thrown)
    t.match(error, {
      name: 'Unavailable',
      code: 503,
      data: { retryAfter: 1 },
      cause: { name: 'MongoNotConnectedError' },
    })
    t.notMatch(JSON.stringify(error), /client/i, 'the cause is not sent')
  }
  await t.rejects(store.remember('known', 1), { code: 503 })
})

t.test('a store that fails while a login fails does not hide why the login failed', async (t) => {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const client = new MongoClient(embedded.url)
  t.teardown(() => client.close())
  const collection = client.db('test').collection<{ _id: string }>('logins')
  const throttle = new LoginThrottle({ store: new CollectionThrottleStore(collection) })
  const fault = new Error('the users can not be read')
  const logged: unknown[] = []
  const logger = { error: (...values: unknown[]) => logged.push(values) }
  const fail = async (): Promise<never> => {
    await client.close()
    throw fault
  }
  const login = throttle.run('ada', '192.0.2.1', fail, { logger })
  t.equal(await login.catch((error: unknown) => error), fault)
  t.match(logged, [[{ err: { code: 503 } }, 'The store of the login throttle failed']])
  await t.rejects(throttle.begin('ada', '192.0.2.1'), { code: 503 }, 'the next login tells')
})
