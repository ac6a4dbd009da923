import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { openDatabase } from '../../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)
const notes = await empty('notes')
await notes.createIndex({ title: 'text' }, { default_language: 'none' })
const service = new MongoDBService({
  ...{ Model: notes, multi: true, paginate: { default: 5 } },
  filters: { $search: true },
})

const NORTH = { $match: { region: 'north' } }
const MARK = { $framework: {} }
const query = { $search: 'tea' }

t.beforeEach(async () => {
  await notes.deleteMany({})
  const records = [
    { _id: 0, title: 'green tea', region: 'north' },
    { _id: 1, title: 'black tea', region: 'south' },
    { _id: 2, title: 'coffee', region: 'north' },
  ]
  await notes.insertMany(records as unknown as Document[])
})

t.test('a search is in the first stage, with the conditions that come before it', async (t) => {
  const pipeline = [NORTH, { $match: { title: /t/ } }, MARK, { $set: { n: 1 } }]
  const commands = await commandsOf(async () => {
    t.match(await service.find({ query, pipeline }), { total: 1, data: [{ _id: 0, n: 1 }] })
  })
  const first = {
    $match: { $and: [{ $text: { $search: 'tea' } }, NORTH.$match, { title: /t/ }] },
  }
  t.equal(commands.length, 2)
  for (const command of commands) t.match(command['pipeline'][0], first)
})

t.test('a search selects for every method with a pipeline', async (t) => {
  const params: MongoDBParams = { query, pipeline: [NORTH, MARK, { $set: { n: 1 } }] }
  t.match(await service.get(0, params), { _id: 0, n: 1 })
  t.equal(await service.countDocuments(params), 1)
  t.match(await service.patch(0, { a: 1 }, params), { _id: 0, a: 1, n: 1 })
  for (const id of [1, 2]) {
    await t.rejects(service.get(id, params), { name: 'NotFound' })
    await t.rejects(service.patch(id, { a: 1 }, params), { name: 'NotFound' })
    await t.rejects(service.remove(id, params), { name: 'NotFound' })
  }
  t.match(await service.patch(null, { a: 2 }, params), [{ _id: 0, a: 2, n: 1 }])
  t.match(await service.patch(null, { title: 'milk' }, params), [{ _id: 0, title: 'milk' }])
  await service.patch(0, { title: 'tea' })
  t.match(await service.remove(null, params), [{ _id: 0, n: 1 }])
  t.equal(await notes.countDocuments(), 2)
  const raw = await service.aggregateRaw({ query, pipeline: [{ $match: {} }, MARK] })
  t.match(await raw.toArray(), [{ _id: 1 }])
})

t.test('a search behind a stage that selects anew is refused, no command is sent', async (t) => {
  const stages = [
    ...[{ $limit: 5 }, { $group: { _id: 1 } }, { $set: { a: 1 } }, { $search: {} }],
    { $lookup: { from: 'x', localField: 'a', foreignField: 'b', as: 'c' } },
  ]
  const commands = await commandsOf(async () => {
    for (const stage of stages) {
      const pipeline = stage.$search === undefined ? [NORTH, stage, MARK] : [stage, MARK]
      const [name = ''] = Object.keys(stage)
      const message = 'The text search is not possible here'
      const cause = { hint: `it cannot come after ${name} of params.pipeline` }
      const refused = { name: 'BadRequest', message, cause }
      await t.rejects(service.find({ query, pipeline } as MongoDBParams), refused)
      await t.rejects(service.get(0, { query, pipeline } as MongoDBParams), refused)
    }
  })
  t.strictSame(commands, [])
})
