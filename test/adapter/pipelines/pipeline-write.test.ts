import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { NotFound } from '../../../src/core/errors/index.ts'
import { openDatabase } from '../../support/database.ts'

const { client, empty, commandsOf } = await openDatabase(t)

const ADDING = [{ $addFields: { aggregation: true } }]
const ID = new ObjectId()
const ANN = { _id: ID, name: 'Ann', team: 'x', tags: ['a', 'b'] }

async function createAnn(options: Partial<MongoDBOptions> = {}) {
  const Model = await empty('people')
  await Model.insertOne({ ...ANN })
  const teams = await empty('teams')
  await teams.insertMany([{ _id: 'x' }, { _id: 'y', closed: true }] as unknown as Document[])
  return { Model, people: new MongoDBService({ Model, multi: true, ...options }) }
}

/** Leaves out the people whose team is closed. */
const OPEN_TEAMS = [
  { $lookup: { from: 'teams', localField: 'team', foreignField: '_id', as: 'of' } },
  { $match: { 'of.closed': { $ne: true } } },
]

const namesOf = (commands: Document[]) =>
  commands.map((command) => Object.keys(command)[0]).join(' ')

type Change = (people: MongoDBService, params: MongoDBParams) => Promise<Document>

const CHANGES: readonly [string, Change][] = [
  ['update', (people, params) => people.update(String(ID), { name: 'Anna', team: 'x' }, params)],
  [
    'update by operators',
    (people, params) => people.update(String(ID), { $set: { name: 'Anna' } } as Document, params),
  ],
  ['patch', (people, params) => people.patch(String(ID), { name: 'Anna' }, params)],
]

for (const [method, change] of CHANGES) {
  t.test(`${method} writes and answers by two commands`, async (t) => {
    const { people, Model } = await createAnn()
    const commands = await commandsOf(async () => {
      const anna = await change(people, { query: { name: 'Ann' }, pipeline: ADDING })
      t.match(anna, { _id: ID, name: 'Anna', team: 'x', aggregation: true })
    })
    t.equal(namesOf(commands), 'findAndModify aggregate')
    t.match(await Model.findOne(), { name: 'Anna', aggregation: undefined })
  })

  t.test(`${method} takes conditions of the pipeline into the command that writes`, async (t) => {
    const { people, Model } = await createAnn()
    for (const place of [[], [{ $framework: {} }]]) {
      const pipeline = [{ $match: { name: 'Ann' } }, ...place, ...ADDING]
      const commands = await commandsOf(async () => {
        t.match(await change(people, { pipeline }), { name: 'Anna', aggregation: true })
      })
      t.equal(namesOf(commands), 'findAndModify aggregate')
      const missed = await commandsOf(async () => {
        await t.rejects(change(people, { pipeline }), NotFound)
      })
      t.equal(namesOf(missed), 'findAndModify')
      await Model.replaceOne({}, { ...ANN })
    }
  })

  t.test(`${method} asks first where stages may leave the record out`, async (t) => {
    const { people, Model } = await createAnn()
    const commands = await commandsOf(async () => {
      t.match(await change(people, { pipeline: OPEN_TEAMS }), { name: 'Anna', of: [{ _id: 'x' }] })
    })
    t.equal(namesOf(commands), 'aggregate findAndModify aggregate')
    await Model.updateOne({}, { $set: { name: 'Ann', team: 'y' } })
    const missed = await commandsOf(async () => {
      await t.rejects(change(people, { pipeline: OPEN_TEAMS }), NotFound)
    })
    t.equal(namesOf(missed), 'aggregate')
    t.match(await Model.findOne(), { name: 'Ann' })
  })

  t.test(`${method} of a record that is not there is NotFound`, async (t) => {
    const { people, Model } = await createAnn()
    await Model.deleteMany({})
    await t.rejects(change(people, { pipeline: ADDING }), NotFound)
    t.equal(await Model.countDocuments(), 0)
  })
}

t.test('a condition sees records as they are stored, whatever fields are selected', async (t) => {
  const { people, Model } = await createAnn()
  const query = { $select: ['name'] }
  const before = [{ $match: { team: 'x' } }, { $framework: {} }]
  const commands = await commandsOf(async () => {
    t.strictSame(await people.patch(ID, { n: 1 }, { query, pipeline: before }), {
      _id: ID,
      name: 'Ann',
    })
  })
  t.equal(namesOf(commands), 'findAndModify aggregate')
  // Behind $project the stage sees no team, here as in find.
  await t.rejects(
    people.patch(ID, { n: 2 }, { query, pipeline: [{ $match: { team: 'x' } }] }),
    NotFound,
  )
  t.match(await Model.findOne(), { n: 1 })
})

t.test('tells the id of a record that the pipeline leaves out once it is changed', async (t) => {
  const { people, Model } = await createAnn()
  t.strictSame(await people.patch(ID, { team: 'y' }, { pipeline: OPEN_TEAMS }), { _id: ID })
  t.match(await Model.findOne(), { team: 'y' })
  const created = await people.create({ name: 'Bob', team: 'y' }, { pipeline: OPEN_TEAMS })
  t.strictSame(Object.keys(created), ['_id'])
})

t.test('removes a record and answers by two commands', async (t) => {
  const { people, Model } = await createAnn()
  const commands = await commandsOf(async () => {
    const pipeline = [{ $match: { name: 'Ann' } }, ...ADDING]
    t.match(await people.remove(String(ID), { pipeline }), { name: 'Ann', aggregation: true })
  })
  t.equal(namesOf(commands), 'aggregate findAndModify')
  t.match(commands[1]?.['query'], { $and: [{}, { name: 'Ann' }] })
  t.equal(await Model.countDocuments(), 0)
})

t.test('removes no record that the pipeline excludes', async (t) => {
  const { people, Model } = await createAnn()
  await Model.updateOne({}, { $set: { team: 'y' } })
  await t.rejects(people.remove(ID, { pipeline: OPEN_TEAMS }), NotFound)
  await t.rejects(people.remove(ID, { pipeline: [{ $match: { team: 'x' } }] }), NotFound)
  t.equal(await Model.countDocuments(), 1)
})

t.test('creates a record and answers by two commands', async (t) => {
  const { people } = await createAnn()
  const commands = await commandsOf(async () => {
    const params = { query: { $select: ['name'] }, pipeline: ADDING }
    const bob = await people.create({ name: 'Bob', team: 'x' }, params)
    t.strictSame(bob, { _id: bob['_id'], name: 'Bob', aggregation: true })
  })
  t.equal(namesOf(commands), 'insert aggregate')
})

t.test('creates records and answers in the order of the data by three commands', async (t) => {
  const { people } = await createAnn()
  const data = [{ _id: 9 }, { _id: 3 }, { _id: 5 }]
  const commands = await commandsOf(async () => {
    t.strictSame(await people.create(data, { pipeline: ADDING }), [
      { _id: 9, aggregation: true },
      { _id: 3, aggregation: true },
      { _id: 5, aggregation: true },
    ])
  })
  t.equal(namesOf(commands), 'insert aggregate commitTransaction')
  t.strictSame(await people.create([], { pipeline: ADDING }), [])
})

t.test('keeps the order of records whose ids differ by their type alone', async (t) => {
  const { people } = await createAnn()
  for (const ids of [
    [1, '2', '1', 2],
    ['1', 2, 1, '2'],
  ]) {
    await people.remove(null)
    const data: Document[] = ids.map((_id) => ({ _id }))
    const expected = ids.map((_id) => ({ _id, aggregation: true }))
    t.strictSame(await people.create(data, { pipeline: ADDING }), expected)
  }
})

t.test('upserts, and answers', async (t) => {
  const { people } = await createAnn()
  const params = { pipeline: ADDING, docdb: { upsert: true } }
  t.strictSame(await people.patch(7, { name: 'Bob' }, params), {
    ...{ _id: 7, name: 'Bob' },
    aggregation: true,
  })
})

t.test('upserts by the conditions of a $match of stored records', async (t) => {
  const { people } = await createAnn()
  const upsert = (pipeline: NonNullable<MongoDBParams['pipeline']>) =>
    people.patch(7, { name: 'Bob' }, { pipeline, docdb: { upsert: true } })
  const commands = await commandsOf(async () => {
    t.strictSame(await upsert([{ $match: { team: 'y' } }, ...ADDING]), {
      ...{ _id: 7, name: 'Bob', team: 'y' },
      aggregation: true,
    })
  })
  t.equal(namesOf(commands), 'findAndModify aggregate')
  // As with the condition in the query: the record is there, and out of reach.
  await t.rejects(upsert([{ $match: { team: 'x' } }]), { name: 'Conflict' })
  await t.rejects(upsert(OPEN_TEAMS), {
    name: 'TypeError',
    message: /^params\.docdb\.upsert cannot be combined with \$match in params\.pipeline, unless/,
  })
})

t.test('a service with an id of another name writes and answers', async (t) => {
  const { people } = await createAnn({ id: 'key' })
  const { key } = await people.create({ name: 'Bob', team: 'x' }, { pipeline: ADDING })
  t.match(await people.patch(key, { n: 1 }, { pipeline: ADDING }), { key, n: 1, aggregation: true })
  const left = await people.patch(key, { team: 'y' }, { pipeline: OPEN_TEAMS })
  t.match(left, { key, name: undefined, _id: ObjectId })
  t.match(await people.remove(key, { pipeline: ADDING }), { key, n: 1, aggregation: true })
})

t.test('joins every command of a write to the session, comment and collation', async (t) => {
  const { people } = await createAnn()
  const session = client.startSession()
  t.teardown(() => session.endSession())
  session.startTransaction()
  const params = {
    ...{ collation: { locale: 'en', strength: 2 }, pipeline: OPEN_TEAMS },
    docdb: { session, comment: 'mine' },
  }
  const commands = await commandsOf(async () => {
    await people.patch(ID, { n: 1 }, { ...params, query: { name: 'ANN' } })
    await people.remove(ID, { ...params, query: { name: 'ANN' } })
    await people.create({ name: 'Bob' }, params)
  })
  t.equal(commands.length, 7)
  for (const command of commands) {
    t.equal(command['comment'], 'mine')
    t.equal(command['autocommit'], false)
    const collation = command['insert'] === undefined ? { locale: 'en', strength: 2 } : undefined
    t.strictSame(command['collation'], collation)
  }
})
