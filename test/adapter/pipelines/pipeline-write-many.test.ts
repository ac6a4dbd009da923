import type { Document } from 'mongodb'
import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { openDatabase } from '../../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)

const ADDING = [{ $addFields: { aggregation: true } }]
const PEOPLE = [
  { _id: 1, age: 30, tags: ['a', 'b'] },
  { _id: 2, age: 20, tags: [] },
  { _id: 3, age: 40, tags: ['c'] },
]

async function createPeople() {
  const Model = await empty('people')
  await Model.insertMany(PEOPLE.map((person) => ({ ...person })) as unknown as Document[])
  return { Model, people: new MongoDBService({ Model, multi: true }) }
}

const namesOf = (commands: Document[]) =>
  commands.map((command) => Object.keys(command)[0]).join(' ')
const idsOf = (records: Document[]) => records.map(({ _id }) => _id)

t.test('patches many, in the order of the query, by three commands in a transaction', async (t) => {
  const { people, Model } = await createPeople()
  const query = { age: { $gt: 20 }, $sort: { _id: -1 } } as const
  const commands = await commandsOf(async () => {
    t.match(await people.patch(null, { age: 1 }, { query: { ...query }, pipeline: ADDING }), [
      { _id: 3, age: 1, aggregation: true },
      { _id: 1, age: 1, aggregation: true },
    ])
  })
  t.equal(namesOf(commands), 'find update aggregate commitTransaction')
  t.equal(await Model.countDocuments({ age: 1 }), 2)
  t.equal(await Model.countDocuments({ aggregation: true }), 0)
})

t.test('patches only what the stages select', async (t) => {
  const { people, Model } = await createPeople()
  const selecting = [{ $unwind: '$tags' }]
  const commands = await commandsOf(async () => {
    const patched = await people.patch(null, { n: 1 }, { query: {}, pipeline: selecting })
    t.strictSame(idsOf(patched), [1, 1, 3])
  })
  t.equal(namesOf(commands), 'aggregate update aggregate commitTransaction')
  t.strictSame(idsOf(await Model.find({ n: 1 }).toArray()), [1, 3])
})

t.test('patches and removes the first by an order of the pipeline', async (t) => {
  const { people, Model } = await createPeople()
  const pipeline = [
    ...[{ $match: { age: { $lt: 40 } } }, { $sort: { age: -1 } }, { $limit: 1 }],
    { $framework: {} },
  ]
  t.match(await people.patch(null, { age: 50 }, { pipeline }), [{ _id: 1, age: 50 }])
  t.match(await people.remove(null, { pipeline }), [{ _id: 2, age: 20 }])
  t.strictSame(idsOf(await Model.find({}).toArray()), [1, 3])
})

t.test('takes conditions of the pipeline into the commands', async (t) => {
  const { people, Model } = await createPeople()
  const pipeline = [{ $match: { age: { $gt: 20 } } }, { $framework: {} }, ...ADDING]
  const commands = await commandsOf(async () => {
    t.match(await people.patch(null, { age: 5 }, { pipeline }), [{ _id: 1 }, { _id: 3 }])
  })
  t.equal(namesOf(commands), 'find update aggregate commitTransaction')
  t.strictSame(idsOf(await Model.find({ age: 5 }).toArray()), [1, 3])
})

t.test('removes many by three commands in a transaction', async (t) => {
  const { people, Model } = await createPeople()
  const pipeline = [{ $match: { age: { $gt: 20 } } }, ...ADDING]
  const commands = await commandsOf(async () => {
    t.match(await people.remove(null, { query: { $sort: { age: -1 } }, pipeline }), [
      { _id: 3, age: 40, aggregation: true },
      { _id: 1, age: 30, aggregation: true },
    ])
  })
  t.equal(namesOf(commands), 'find aggregate delete commitTransaction')
  t.strictSame(idsOf(await Model.find().toArray()), [2])
})

t.test('removes only what the stages select', async (t) => {
  const { people, Model } = await createPeople()
  await people.remove(null, { pipeline: [{ $unwind: '$tags' }] })
  t.strictSame(idsOf(await Model.find().toArray()), [2])
})

t.test('only looks when nothing matches', async (t) => {
  const { people } = await createPeople()
  for (const pipeline of [ADDING, [{ $unwind: '$tags' }]]) {
    const params = { query: { age: 99 }, pipeline }
    const commands = await commandsOf(async () => {
      t.strictSame(await people.patch(null, { n: 1 }, params), [])
      t.strictSame(await people.remove(null, params), [])
    })
    t.equal(
      namesOf(commands).replaceAll('aggregate', 'find'),
      'find commitTransaction find commitTransaction',
    )
  }
})

t.test('a pipeline is no condition of a caller outside', async (t) => {
  const { people, Model } = await createPeople()
  const params = { provider: 'rest', pipeline: [{ $match: { age: 30 } }] }
  await t.rejects(people.remove(null, params), BadRequest)
  t.equal(await Model.countDocuments(), 3)
})

const MOVING: readonly Document[] = [
  ...[{ $addFields: { _id: 2 } }, { $set: { '_id.a': 2 } }, { $project: { _id: 0, age: 1 } }],
  ...[{ $unset: '_id' }, { $unset: ['age', '_id'] }],
  { $lookup: { from: 'people', localField: 'age', foreignField: 'age', as: '_id' } },
  { $unwind: { path: '$tags', includeArrayIndex: '_id' } },
]

for (const stage of MOVING) {
  t.test(`changes nothing by a stage that moves ids: ${JSON.stringify(stage)}`, async (t) => {
    const { people, Model } = await createPeople()
    const pipeline = [{ $match: { age: 30 } }, { $unwind: '$tags' }, stage] as never
    const message = /does not tell which records to/
    await t.rejects(people.remove(null, { pipeline }), { name: 'TypeError', message })
    await t.rejects(people.patch(null, { n: 1 }, { pipeline }), { name: 'TypeError', message })
    t.strictSame(await Model.find({}).toArray(), PEOPLE)
  })
}

t.test('keeps the ids that a projection names', async (t) => {
  const { people } = await createPeople()
  const pipeline = [{ $match: { age: 30 } }, { $limit: 1 }, { $project: { _id: 1, age: 1 } }]
  t.strictSame(await people.patch(null, { n: 1 }, { pipeline }), [{ _id: 1, age: 30 }])
})

t.test('answers with all that was written where stages have skipped others', async (t) => {
  const { people, Model } = await createPeople()
  const after = [{ $framework: {} }, { $sort: { _id: 1 } }, { $skip: 1 }]
  t.strictSame(idsOf(await people.patch(null, { n: 1 }, { pipeline: after })), [2, 3])
  const before = [{ $sort: { _id: 1 } }, { $skip: 2 }, { $framework: {} }]
  t.strictSame(idsOf(await people.remove(null, { pipeline: before })), [3])
  t.strictSame(idsOf(await Model.find({}).toArray()), [1, 2])
})
