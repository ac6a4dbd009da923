import type { Collection } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { openDatabase } from '../../support/database.ts'

const { db, empty } = await openDatabase(t)

type Model = MongoDBOptions['Model']

/** Returns a function that has no collection at its first call, and how often it was called. */
function failOnce(collection: Collection): { Model: Model; calls: () => number } {
  let count = 0
  const Model = async (): Promise<Collection> => {
    count += 1
    if (count > 1) return collection
    throw Object.assign(new Error('secret:27017'), { name: 'MongoNetworkError' })
  }
  return { Model, calls: () => count }
}

t.test('calls a function once, at the first need', async (t) => {
  const people = await empty('people')
  let calls = 0
  const service = new MongoDBService({
    Model: async () => {
      calls += 1
      return people
    },
  })
  t.equal(calls, 0)
  await Promise.all([service.create({ name: 'a' }), service.find(), service.getModel()])
  t.match(await service.find(), [{ name: 'a' }])
  t.equal(await service.getModel(), people)
  t.equal(calls, 1)
})

t.test('takes a function that returns the collection, also from params.adapter', async (t) => {
  const people = await empty('people')
  const service = new MongoDBService({ Model: () => people })
  await service.create({ name: 'a' })
  const others = await empty('others')
  t.strictSame(await service.find({ adapter: { Model: () => others } }), [])
  t.equal(await service.countDocuments(), 1)
})

t.test('calls a function again after it failed, and answers its failure with 503', async (t) => {
  const { Model, calls } = failOnce(await empty('people'))
  const service = new MongoDBService({ Model })
  await t.rejects(service.find(), { code: 503, message: 'The database is not available' })
  t.strictSame(await service.find(), [])
  t.strictSame(await service.find(), [])
  t.equal(calls(), 2)
})

t.test('answers a function that throws at once in the same way', async (t) => {
  const service = new MongoDBService({
    Model: () => {
      throw new Error('secret')
    },
  })
  await t.rejects(service.find(), { code: 500, message: 'Internal error' })
  await t.rejects(service.getModel(), { code: 500, message: 'Internal error' })
})

t.test('is ready only when the function has a collection that can be reached', async (t) => {
  const { Model, calls } = failOnce(await empty('people'))
  const readiness = new Map<string, () => Promise<unknown>>()
  await new MongoDBService({ Model }).setup({ readiness }, 'people')
  t.equal(calls(), 0)
  const check = async (): Promise<unknown> => readiness.get('mongodb people')?.()
  await t.rejects(check(), { code: 503 })
  t.equal(await check(), 0)
})

t.test('asks a function again that has returned no collection', async (t) => {
  const people = await empty('people')
  const returned: unknown[] = [undefined, db, people]
  const service = new MongoDBService({ Model: (() => returned.shift()) as Model })
  for (const _ of [1, 2]) await t.rejects(service.find(), { name: 'TypeError' })
  t.strictSame(await service.find(), [])
  t.strictSame(await service.find(), [])
})

const NOT_COLLECTIONS: readonly [string, () => unknown][] = [
  ['a promise of a database', () => Promise.resolve(db)],
  ['a function of a database', () => () => db],
  ['an async function of nothing', () => async () => undefined],
]

for (const [title, toModel] of NOT_COLLECTIONS) {
  t.test(`names the option at the first call when it is ${title}`, async (t) => {
    const service = new MongoDBService({ Model: toModel() as Model })
    const message = /the option 'Model' must be .*db\.collection\('name'\)/
    const calls = [
      () => service.find(),
      () => service.create({}),
      () => service.remove('a'),
      () => service.findRaw(),
      () => service.getModel(),
    ]
    for (const call of calls) await t.rejects(call(), { name: 'TypeError', message })
  })
}

t.test('refuses what wraps a collection, such as that of a Mongoose model', async (t) => {
  const people = await empty('people')
  const wrapper = { find: () => people.find(), findOne: () => people.findOne() } as never
  t.throws(() => new MongoDBService({ Model: wrapper }), {
    name: 'TypeError',
    message: /'Model' must be a MongoDB collection, as db.collection\('name'\) returns it/,
  })
  await t.rejects(new MongoDBService({ Model: () => wrapper }).find(), { name: 'TypeError' })
})
