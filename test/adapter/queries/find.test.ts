import type { ObjectId } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { BadRequest, NotFound } from '../../../src/core/errors/index.ts'
import type { Page } from '../../../src/core/params.ts'
import type { RecordQuery } from '../../../src/core/services/record-query.ts'
import type { AnyPaging } from '../../support/any-paging.ts'
import { createAnyPaging } from '../../support/any-paging.ts'
import { namesOf, openDatabase } from '../../support/database.ts'
import { pluck } from '../../support/pluck.ts'

interface Person {
  _id: ObjectId | number | string
  name: string
  age: number
  tags?: string[]
}

const { client, empty, commandsOf } = await openDatabase(t)

async function createPeople(
  count: number,
  options: Partial<MongoDBOptions> = {},
): Promise<AnyPaging<Person>> {
  const Model = await empty('people')
  const people = Array.from({ length: count }, (_, age) => ({ name: `name ${age}`, age }))
  if (count > 0) await Model.insertMany(people)
  return createAnyPaging<Person>({ Model, ...options })
}

const agesOf = (found: Page<Person> | Person[]) =>
  (Array.isArray(found) ? found : found.data).map(({ age }) => age).sort((a, b) => a - b)

const FINDS: readonly [string, MongoDBParams['query'], number[]][] = [
  ['equality', { age: 3 }, [3]],
  ['$eq', { age: { $eq: 3 } }, [3]],
  ['$ne', { age: { $ne: 3 } }, [0, 1, 2, 4]],
  ['$in', { age: { $in: [1, 3, 9] } }, [1, 3]],
  ['$nin', { age: { $nin: [1, 3] } }, [0, 2, 4]],
  ['$lt', { age: { $lt: 2 } }, [0, 1]],
  ['$lte', { age: { $lte: 2 } }, [0, 1, 2]],
  ['$gt', { age: { $gt: 2 } }, [3, 4]],
  ['$gte', { age: { $gte: 2 } }, [2, 3, 4]],
  ['$le', { age: { $le: 1 } }, [0, 1]],
  ['$ge', { age: { $ge: 3 } }, [3, 4]],
  ['a range', { age: { $gt: 0, $lt: 3 } }, [1, 2]],
  ['$or', { $or: [{ age: 1 }, { name: 'name 2' }] }, [1, 2]],
  ['$and', { $and: [{ age: { $gt: 1 } }, { age: { $lt: 4 } }] }, [2, 3]],
  ['$or in $and', { $and: [{ $or: [{ age: 1 }, { age: 2 }] }, { age: { $ne: 1 } }] }, [2]],
  ['index-keyed lists', { age: { $in: { 0: 1, 1: 2 } } }, [1, 2]],
  ['an own key constructor', { constructor: 'x' }, []],
]

t.test('finds what the operators say', async (t) => {
  const people = await createPeople(5)
  for (const [title, query, ages] of FINDS) {
    t.strictSame(agesOf(await people.find({ query: query ?? {} })), ages, title)
  }
})

t.test('finds ids given as strings, in lists and below $or', async (t) => {
  const people = await createPeople(3)
  const [first, second] = await people.find({ query: { $sort: { age: 1 } }, paginate: false })
  const ids = [String(first?._id), String(second?._id)] as const
  t.strictSame(agesOf(await people.find({ query: { _id: { $in: ids } } })), [0, 1])
  t.strictSame(agesOf(await people.find({ query: { _id: { $nin: ids } } })), [2])
  t.strictSame(agesOf(await people.find({ query: { $or: [{ _id: ids[0] }] } })), [0])
})

const PAGES: readonly [string, object, object, string[]][] = [
  ['a full page', { $limit: 2 }, { total: 5, limit: 2, skip: 0 }, ['find', 'aggregate']],
  ['the last page', { $skip: 4 }, { total: 5, limit: 3, skip: 4 }, ['find', 'aggregate']],
  ['no match', { age: 99 }, { total: 0, limit: 3, skip: 0 }, ['find', 'aggregate']],
  ['a page behind the end', { $skip: 9 }, { total: 5, limit: 3, skip: 9 }, ['find', 'aggregate']],
  ['$limit 0', { $limit: 0 }, { total: 5, limit: 0, skip: 0 }, ['aggregate']],
  ['$limit over max', { $limit: '99' }, { total: 5, limit: 4, skip: 0 }, ['find', 'aggregate']],
]

for (const [title, query, page, sent] of PAGES) {
  t.test(`reads a page and its total by two commands: ${title}`, async (t) => {
    const people = await createPeople(5, { paginate: { default: 3, max: 4 } })
    const commands = await commandsOf(async () => {
      t.match(await people.find({ query: { ...query } }), page)
    })
    t.strictSame(namesOf(commands), sent)
  })
}

t.test('reads page and total at the same time, but in turn in a session', async (t) => {
  const people = await createPeople(5, { paginate: { default: 3 } })
  const sent: string[] = []
  const note = ({ commandName }: { commandName: string }) => sent.push(`start ${commandName}`)
  const noteEnd = ({ commandName }: { commandName: string }) => sent.push(`end ${commandName}`)
  client.on('commandStarted', note)
  client.on('commandSucceeded', noteEnd)
  t.teardown(() => client.off('commandStarted', note).off('commandSucceeded', noteEnd))
  t.match(await people.find(), { total: 5 })
  t.strictSame(sent.splice(0, 2).sort(), ['start aggregate', 'start find'])
  sent.length = 0
  await client.withSession(async (session) => {
    t.match(await people.find({ docdb: { session } }), { total: 5 })
  })
  t.strictSame(sent, ['start find', 'end find', 'start aggregate', 'end aggregate'])
})

t.test('collation, session and hint reach the count as well', async (t) => {
  const people = await createPeople(2, { paginate: { default: 1 } })
  await client.withSession(async (session) => {
    const collation = { locale: 'en', strength: 2 } as const
    const docdb = { session, hint: '_id_', comment: 'both' }
    const params = { query: { name: 'NAME 1' }, collation, docdb }
    const commands = await commandsOf(async () => {
      t.match(await people.find(params), { total: 1, data: [{ name: 'name 1' }] })
    })
    for (const command of commands) {
      t.match(command, { collation, hint: '_id_', comment: 'both', lsid: session.id })
    }
  })
})

t.test('counts by metadata only when there is no condition', async (t) => {
  const options = { paginate: { default: 1 }, useEstimatedDocumentCount: true }
  const people = await createPeople(5, options)
  const all = await commandsOf(async () => t.match(await people.find(), { total: 5 }))
  t.strictSame(namesOf(all), ['find', 'count'])
  const some = await commandsOf(async () =>
    t.match(await people.find({ query: { age: { $gt: 2 } } }), { total: 2 }),
  )
  t.strictSame(namesOf(some), ['find', 'aggregate'])
})

t.test('returns an array without pages, none of it by a command for $limit 0', async (t) => {
  const people = await createPeople(5, { paginate: { max: 2 } })
  t.equal(agesOf(await people.find()).length, 2)
  t.strictSame(namesOf(await commandsOf(() => people.find({ query: { $limit: 0 } }))), [])
  t.strictSame(agesOf(await people.find({ paginate: false })), [0, 1, 2, 3, 4])
  t.match(await people.find({ paginate: { default: 1 } }), { total: 5, limit: 1 })
  const adapter = { paginate: { default: 2 } }
  t.match(await people.find({ paginate: false, adapter }), { limit: 2 })
})

t.test('reads lists of more than 101 records by one command', async (t) => {
  const people = await createPeople(350)
  for (const query of [{}, { $limit: 200 }]) {
    const commands = await commandsOf(async () => {
      t.equal(agesOf(await people.find({ query })).length, query.$limit ?? 350)
    })
    t.strictSame(namesOf(commands), ['find'])
  }
})

t.test('gets a record by one command, by a string or an ObjectId', async (t) => {
  const people = await createPeople(3)
  const [person] = await people.find({ query: { age: 1 }, paginate: false })
  const id = person?._id as ObjectId
  for (const given of [id, String(id), String(id).toUpperCase()]) {
    const commands = await commandsOf(async () => t.match(await people.get(given), { age: 1 }))
    t.strictSame(namesOf(commands), ['find'])
  }
  t.strictSame(await people.get(id, { query: { $select: ['name'] } }), { _id: id, name: 'name 1' })
})

t.test('takes no projection for $select, also without hooks, says what takes one', async (t) => {
  const people = await createPeople(1)
  const [person] = await people.find({ paginate: false })
  const id = person?._id as ObjectId
  const params = { query: { $select: { age: 0 } } } as object
  const calls: readonly (() => Promise<unknown>)[] = [
    () => people.find(params),
    () => people._find(params),
    () => people.get(id, params),
    () => people._get(id, params),
    () => people._patch(id, { name: 'b' }, params),
    () => people._create({ name: 'c', age: 1 }, params),
  ]
  for (const call of calls) {
    await t.rejects(call(), {
      code: 400,
      message: '$select must be a list of field names',
      cause: { hint: 'for a projection, set params.docdb: { projection: … }' },
    })
  }
  t.strictSame(await people._get(id, { docdb: { projection: { age: 0 } } }), {
    _id: id,
    name: 'name 0',
  })
})

t.test('gets no record that the query excludes, nor one with another id in it', async (t) => {
  const people = await createPeople(2)
  const [one, two] = await people.find({ query: { $sort: { age: 1 } }, paginate: false })
  const id = String(one?._id)
  const queries = [{ age: 99 }, { _id: String(two?._id) }, { _id: { $ne: id } }]
  for (const query of queries) {
    await t.rejects(people.get(id, { query }), new NotFound(`No record found for id '${id}'`))
  }
  t.match(await people.get(id, { query: { _id: id, $sort: { age: -1 }, $skip: 1 } }), { age: 0 })
})

t.test('answers unknown ids of any form with NotFound', async (t) => {
  const people = await createPeople(1)
  for (const id of ['568225fbfe21222432e836ff', 'x', '', 'twelve chars', 0, 123456789, -1]) {
    await t.rejects(people.get(id), new NotFound(`No record found for id '${id}'`))
  }
})

t.test('refuses ids that are none before any command', async (t) => {
  const people = await createPeople(1)
  const commands = await commandsOf(async () => {
    for (const id of [null, undefined, { $ne: null }, ['x'], { toHexString: () => 'x' }]) {
      await t.rejects(people.get(id as never), BadRequest)
      await t.rejects(people._get(id as never), BadRequest)
    }
  })
  t.strictSame(commands, [])
})

t.test('sends no command for a query that is refused', async (t) => {
  const people = await createPeople(1)
  const queries: readonly RecordQuery<Person>[] = [
    { $where: '1' },
    { $or: [[{ $where: '1' }]] as never },
    { name: undefined as never },
  ]
  const commands = await commandsOf(async () => {
    for (const query of queries) {
      await t.rejects(people.find({ query }), BadRequest)
      await t.rejects(people.get('x', { query }), BadRequest)
      await t.rejects(people.patch('x', { age: 1 }, { query }), BadRequest)
      await t.rejects(people.remove('x', { query }), BadRequest)
    }
    await t.rejects(people._find({ query: { name: undefined as never } }), BadRequest)
  })
  t.strictSame(commands, [])
})

t.test('lets trusted callers use every operator with the methods that check nothing', async (t) => {
  const people = await createPeople(5)
  t.strictSame(agesOf(await people._find({ query: { age: { $mod: [2, 0] } } })), [0, 2, 4])
  t.equal(await people.countDocuments({ query: { age: { $exists: true } } }), 5)
  const cursor = await people.findRaw({ query: { $sort: { age: -1 }, $limit: 2 } })
  t.strictSame(pluck(await cursor.toArray(), 'age'), [4, 3])
})

t.test('passes collation and options of the driver on', async (t) => {
  const people = await createPeople(0, { paginate: { default: 5 } })
  await people._create({ name: 'Ann', age: 1 })
  const collation = { locale: 'en', strength: 2 }
  t.match(await people.find({ query: { name: 'ANN' }, collation }), { total: 1 })
  t.match(await people.find({ query: { name: 'ANN' }, docdb: { collation } }), { total: 1 })
  t.match(await people.find({ query: { name: 'ANN' }, mongodb: { collation } }), { total: 1 })
  const docdb = { projection: { age: 1 }, hint: '_id_', comment: 'from a test' }
  const [command] = await commandsOf(() => people.find({ docdb }))
  t.match(command, docdb)
})

t.test('takes the collection from a promise, or from params.adapter', async (t) => {
  const Model = await empty('people')
  const other = await empty('others')
  const people = createAnyPaging<Person>({ Model: Promise.resolve(Model) })
  await people.create({ name: 'a', age: 1 })
  t.equal(await people.getModel(), Model)
  t.strictSame(await people.find({ adapter: { Model: other } }), [])
})

t.test('answers a database that is away with 503 and without its address', async (t) => {
  const Model = Promise.reject(
    Object.assign(new Error('secret:27017'), { name: 'MongoNetworkError' }),
  )
  const people = createAnyPaging<Person>({ Model: Model as Promise<never> })
  await t.rejects(people.find(), { code: 503, message: 'The database is not available' })
})
