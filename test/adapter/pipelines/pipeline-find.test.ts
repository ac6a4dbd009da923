import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest, NotFound } from '../../../src/core/errors/index.ts'
import { namesOf, openDatabase } from '../../support/database.ts'

const { client, empty, commandsOf } = await openDatabase(t)

const PEOPLE = [
  { _id: 1, name: 'Ann', age: 30, tags: ['a', 'b'] },
  { _id: 2, name: 'Bob', age: 20, tags: ['b'] },
  { _id: 3, name: 'Cy', age: 40, tags: [] },
  { _id: 4, name: 'Dan', age: 10, tags: ['a', 'b', 'c'] },
]
const TEAMS = [
  { _id: 'x', name: 'first', lead: 1 },
  { _id: 'y', name: 'second', lead: 4 },
]
const WITH_TEAMS = {
  $lookup: { from: 'teams', localField: '_id', foreignField: 'lead', as: 'team' },
}

async function createPeople(options: Partial<MongoDBOptions> = {}): Promise<MongoDBService> {
  const Model = await empty('people')
  await Model.insertMany(PEOPLE.map((person) => ({ ...person })) as Document[])
  const teams = await empty('teams')
  await teams.insertMany(TEAMS.map((team) => ({ ...team })) as Document[])
  return new MongoDBService({ Model, ...options })
}

const idsOf = (found: unknown) =>
  (Array.isArray(found) ? found : (found as { data: Document[] }).data).map(({ _id }) => _id)
t.test('runs the stages after those of the query: one command', async (t) => {
  const people = await createPeople()
  const commands = await commandsOf(async () => {
    const found = await people.find({
      query: { age: { $gte: 10 }, $sort: { age: 1 }, $limit: 3 },
      pipeline: [WITH_TEAMS, { $unwind: '$team' }, { $addFields: { leads: '$team.name' } }],
    })
    t.match(found, [
      { _id: 4, leads: 'second' },
      { _id: 1, leads: 'first' },
    ])
    t.equal((found as Document[]).length, 2)
  })
  t.strictSame(namesOf(commands), ['aggregate'])
})

const PLACES: readonly [string, MongoDBParams['pipeline'], unknown[]][] = [
  ['no marker', [{ $match: { age: { $gt: 15 } } }], [2]],
  ['$framework first', [{ $framework: {} }, { $match: { age: { $gt: 15 } } }], [2]],
  ['$framework last', [{ $match: { age: { $gt: 15 } } }, { $framework: {} }], [2, 1]],
  ['$feathers last', [{ $match: { age: { $gt: 15 } } }, { $feathers: {} }], [2, 1]],
  ['$feathers: true', [{ $match: { age: { $gt: 15 } } }, { $feathers: true }], [2, 1]],
  ['a marker alone', [{ $framework: {} }], [4, 2]],
  ['no stages', [], [4, 2]],
  [
    'a marker between',
    [{ $match: { age: { $gt: 15 } } }, { $framework: {} }, { $match: { age: { $gt: 25 } } }],
    [1],
  ],
]

for (const [title, pipeline, ids] of PLACES) {
  t.test(`puts the stages of the query where they belong: ${title}`, async (t) => {
    const people = await createPeople()
    const found = await people.find({ query: { $sort: { age: 1 }, $limit: 2 }, pipeline })
    t.strictSame(idsOf(found), ids)
  })
}

t.test('sends the stages in their order, fields last', async (t) => {
  const people = await createPeople()
  const query = { age: 30, $sort: { age: -1 }, $skip: 1, $limit: 2, $select: ['name'] } as const
  const [command] = await commandsOf(() =>
    people.find({
      query: { ...query },
      pipeline: [{ $set: { a: 1 } }, { $framework: {} }, { $set: { b: 1 } }],
    }),
  )
  t.strictSame(command?.['pipeline'], [
    { $set: { a: 1 } },
    { $match: { age: 30 } },
    { $sort: { age: -1 } },
    { $skip: 1 },
    { $limit: 2 },
    { $project: { _id: 1, name: 1 } },
    { $set: { b: 1 } },
  ])
})

const PAGES: readonly [string, object, MongoDBParams['pipeline'], object, unknown[]][] = [
  ['as many as records', { $limit: 2 }, [{ $set: { a: 1 } }], { total: 4, limit: 2 }, [1, 2]],
  ['more than records', { $limit: 2 }, [{ $unwind: '$tags' }], { total: 6, limit: 2 }, [1, 1, 2]],
  [
    'fewer than records',
    { $skip: 1 },
    [{ $match: { age: { $gt: 15 } } }, { $framework: {} }],
    { total: 3, limit: 3, skip: 1 },
    [2, 3],
  ],
  ['none', { age: 99 }, [{ $unwind: '$tags' }], { total: 0, limit: 3, skip: 0 }, []],
  ['$select', { $select: ['name'] }, [{ $match: { age: 30 } }], { total: 0 }, []],
]

for (const [title, query, pipeline = [], page, ids] of PAGES) {
  t.test(`counts what the pipeline yields on all pages by two commands: ${title}`, async (t) => {
    const people = await createPeople({ paginate: { default: 3, max: 4 } })
    const commands = await commandsOf(async () => {
      const found = await people.find({ query: { ...query }, pipeline })
      t.match(found, page)
      t.strictSame(idsOf(found), ids)
    })
    t.strictSame(namesOf(commands), ['aggregate', 'aggregate'])
  })
}

t.test('only counts for $limit 0, and does nothing without pages', async (t) => {
  const people = await createPeople({ paginate: { default: 3 } })
  const params = { query: { $limit: 0 }, pipeline: [{ $unwind: '$tags' }] }
  const commands = await commandsOf(async () => {
    t.strictSame(await people.find(params), { total: 6, limit: 0, skip: 0, data: [] })
  })
  t.equal(commands.length, 1)
  const none = await commandsOf(async () => {
    t.strictSame(await people.find({ ...params, paginate: false }), [])
  })
  t.strictSame(none, [])
})

t.test('countDocuments counts what the pipeline yields', async (t) => {
  const people = await createPeople({ useEstimatedDocumentCount: true })
  t.equal(await people.countDocuments({ pipeline: [{ $unwind: '$tags' }] }), 6)
  t.equal(await people.countDocuments({ query: { age: 30 }, pipeline: [{ $unwind: '$tags' }] }), 2)
  t.equal(await people.countDocuments({ pipeline: [{ $match: { age: 99 } }] }), 0)
  t.equal(await people.countDocuments({ pipeline: [] }), 4)
})

t.test('gets one record by one command, the first where there are several', async (t) => {
  const people = await createPeople()
  const commands = await commandsOf(async () => {
    t.match(await people.get(1, { pipeline: [WITH_TEAMS, { $unwind: '$tags' }] }), {
      ...{ _id: 1, tags: 'a' },
      team: [{ name: 'first' }],
    })
  })
  t.strictSame(namesOf(commands), ['aggregate'])
})

t.test('gets nothing that the query or the pipeline excludes', async (t) => {
  const people = await createPeople()
  const missing = new NotFound("No record found for id '3'")
  await t.rejects(people.get(3, { pipeline: [{ $unwind: '$tags' }] }), missing)
  await t.rejects(people.get(3, { query: { age: 1 }, pipeline: [{ $set: { a: 1 } }] }), missing)
  await t.rejects(
    people.get(3, { pipeline: [{ $match: { age: 1 } }, { $framework: {} }] }),
    missing,
  )
})

t.test('follows references, and puts something inside the record in its place', async (t) => {
  const Model = await empty('people')
  const bosses = [undefined, 1, 2].map((boss, index) => ({ _id: index + 1, boss }))
  await Model.insertMany(bosses as unknown as Document[])
  const people = new MongoDBService({ Model })
  const links = { connectFromField: 'boss', connectToField: '_id', as: 'above' }
  const graph = { $graphLookup: { from: 'people', startWith: '$boss', ...links } }
  const found = await people.get(3, { pipeline: [graph] })
  t.strictSame(idsOf(found['above']).sort(), [1, 2])
  const first = { $replaceRoot: { newRoot: { $first: '$above' } } }
  t.match(await people.patch(2, { n: 1 }, { pipeline: [graph, first] }), { _id: 1 })
  t.match(await Model.find({ n: 1 }).toArray(), [{ _id: 2 }])
})

t.test('finds ids given as 24 hexadecimal digits', async (t) => {
  const Model = await empty('people')
  const people = new MongoDBService({ Model })
  const { _id } = await people.create({ name: 'Ann' })
  const pipeline = [{ $addFields: { aggregation: true } }]
  const ann = { _id, name: 'Ann', aggregation: true }
  t.strictSame(await people.get(String(_id), { pipeline }), ann)
  t.strictSame(await people.find({ query: { _id: { $in: [String(_id)] } }, pipeline }), [ann])
})

t.test('finds records by an id of another name', async (t) => {
  const Model = await empty('people')
  const people = new MongoDBService({ Model, id: 'key' })
  const { key } = await people.create({ name: 'Ann' })
  const params = { query: { $select: ['name'] }, pipeline: [{ $set: { a: 1 } }] }
  t.match(await people.get(key, params), { key, name: 'Ann', a: 1 })
})

t.test('a projection for the driver wins over $select', async (t) => {
  const people = await createPeople()
  const params = { query: { $select: ['age'] }, docdb: { projection: { name: 1 } } }
  const pipeline = [{ $set: { a: 1 } }]
  t.strictSame(await people.get(1, { ...params, pipeline }), { _id: 1, name: 'Ann', a: 1 })
})

t.test('hands the options of the driver to the page and to its count', async (t) => {
  const people = await createPeople({ paginate: { default: 1 } })
  const session = client.startSession()
  t.teardown(() => session.endSession())
  session.startTransaction()
  const commands = await commandsOf(async () => {
    const found = await people.find({
      query: { name: 'ANN' },
      pipeline: [{ $set: { a: 1 } }],
      collation: { locale: 'en', strength: 2 },
      docdb: { session, comment: 'mine', hint: { _id: 1 }, allowDiskUse: true },
    })
    t.match(found, { total: 1, data: [{ name: 'Ann' }] })
  })
  t.equal(commands.length, 2)
  for (const command of commands) {
    t.match(command, {
      ...{ comment: 'mine', hint: { _id: 1 }, allowDiskUse: true },
      collation: { locale: 'en', strength: 2 },
    })
    t.equal(command['autocommit'], false)
  }
})

t.test('sends no command for a caller who has left', async (t) => {
  const people = await createPeople({ paginate: { default: 1 } })
  const signal = AbortSignal.abort()
  const commands = await commandsOf(async () => {
    const left = new BadRequest('The call was aborted')
    const params = { signal, pipeline: [{ $set: { a: 1 } }] }
    await t.rejects(people.find(params), left)
    await t.rejects(people.get(1, params), left)
    await t.rejects(people.countDocuments(params), left)
  })
  t.strictSame(commands, [])
})

t.test('tells what the database refuses as for find', async (t) => {
  const people = await createPeople()
  const pipeline = [{ $set: { a: 1 } }]
  await t.rejects(people._find({ query: { age: { $in: 1 } }, pipeline }), BadRequest)
  await t.rejects(people.find({ pipeline: [{ $nonsense: {} }] }), { code: 500 })
})
