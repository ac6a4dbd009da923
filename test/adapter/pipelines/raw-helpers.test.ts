import type { Document } from 'mongodb'
import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { openDatabase } from '../../support/database.ts'

const { db, empty, commandsOf } = await openDatabase(t)

async function createPeople(): Promise<MongoDBService> {
  const Model = await empty('people')
  const people = [1, 2, 3].map((_id) => ({ _id, name: `name ${_id}`, age: 10 * _id }))
  await Model.insertMany(people as unknown as Document[])
  return new MongoDBService({ Model, paginate: { default: 2 } })
}

t.test('makeFeathersPipeline returns the stages of a query in their order', async (t) => {
  const people = await createPeople()
  const hex = 'a'.repeat(24)
  const query = { _id: hex, $select: ['name'], $limit: 1, $skip: 3, $sort: { age: 1 } } as const
  t.strictSame(people.makeFeathersPipeline({ query: { ...query } }), [
    { $match: { _id: people.getObjectId(hex) } },
    { $sort: { age: 1 } },
    { $skip: 3 },
    { $limit: 1 },
    { $project: { _id: 1, name: 1 } },
  ])
  t.strictSame(people.makeFeathersPipeline(), [{ $match: {} }, { $skip: 0 }, { $limit: 2 }])
  const all = { paginate: false, query: { $sort: {} }, pipeline: [{ $set: { a: 1 } }] } as const
  t.strictSame(people.makeFeathersPipeline({ ...all }), [{ $match: {} }, { $skip: 0 }])
})

t.test('its stages yield nothing for $limit 0', async (t) => {
  const people = await createPeople()
  const stages = people.makeFeathersPipeline({ query: { $limit: 0 } })
  t.strictSame(await (await people.getModel()).aggregate(stages).toArray(), [])
})

t.test('aggregateRaw resolves to a cursor over what the pipeline yields', async (t) => {
  const people = await createPeople()
  const query = { $sort: { age: -1 } } as const
  const cursor = await people.aggregateRaw({ query, pipeline: [{ $set: { a: 1 } }] })
  t.match(await cursor.next(), { _id: 3, a: 1 })
  t.match(await cursor.toArray(), [{ _id: 2, a: 1 }])
  t.equal((await (await people.aggregateRaw()).toArray()).length, 2)
})

t.test('aggregateRaw writes for callers inside', async (t) => {
  const people = await createPeople()
  await empty('copies')
  const cursor = await people.aggregateRaw({ query: { age: 20 }, pipeline: [{ $out: 'copies' }] })
  t.strictSame(await cursor.toArray(), [])
  t.match(await db.collection('copies').find().toArray(), [{ name: 'name 2' }])
})

t.test('aggregateRaw that writes has the concerns of a write, and no signal', async (t) => {
  const people = await createPeople()
  await empty('copies')
  people.options = {
    ...people.options,
    ...{ readPreference: 'secondary', readConcern: { level: 'majority' } },
    writeConcern: { w: 'majority' },
  }
  const abort = new AbortController()
  for (const stage of [{ $out: 'copies' }, { $merge: { into: 'copies' } }]) {
    const commands = await commandsOf(async () => {
      const cursor = await people.aggregateRaw({ pipeline: [stage], signal: abort.signal })
      t.equal(cursor.readPreference.mode, 'primary')
      abort.abort()
      await cursor.toArray()
    })
    t.match(commands, [{ readConcern: undefined, writeConcern: { w: 'majority' } }])
  }
  const reading = await people.aggregateRaw()
  t.equal(reading.readPreference.mode, 'secondary')
  await reading.close()
})

t.test('aggregateRaw ends with the signal of its caller', async (t) => {
  const people = await createPeople()
  const abort = new AbortController()
  const cursor = await people.aggregateRaw({ signal: abort.signal, docdb: { batchSize: 1 } })
  t.match(await cursor.next(), { _id: 1 })
  abort.abort()
  await t.rejects(cursor.next(), { name: 'AbortError' })
})

t.test('a malformed query is refused', async (t) => {
  const people = await createPeople()
  await t.rejects(people.aggregateRaw({ query: { $limit: 'x' } as never }), BadRequest)
  t.throws(() => people.makeFeathersPipeline({ query: { $limit: 'x' } as never }), BadRequest)
})
