import type { Document } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { openDatabase } from '../../support/database.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const { empty, commandsOf } = await openDatabase(t)
const notes = await empty('notes')
await notes.createIndex({ title: 'text' }, { default_language: 'none' })
const OPTIONS: MongoDBOptions = { Model: notes, multi: true, filters: { $search: true } }

const create = (options: Partial<MongoDBOptions> = {}) =>
  new MongoDBService({ ...OPTIONS, ...options })

t.beforeEach(async () => {
  await notes.deleteMany({})
  const titles = ['green tea', 'black tea', 'coffee', 'green coffee']
  await notes.insertMany(titles.map((title, _id) => ({ _id, title }) as unknown as Document))
})

/** Sorted: a search has no order of its own. */
const idsOf = (records: unknown): unknown[] => (records as Document[]).map(({ _id }) => _id).sort()

t.test('$search becomes $text in the command of every method', async (t) => {
  const service = create({ paginate: { default: 1 } })
  const query = { $search: 'tea -black' }
  const filter = { $text: { $search: 'tea -black' } }
  const filterOf = async (run: () => Promise<unknown>): Promise<unknown> => {
    const [command = {}] = await commandsOf(run)
    const { filter, query: q, updates, pipeline } = command
    return filter ?? q ?? updates?.[0].q ?? pipeline?.[0].$match
  }
  t.strictSame(await filterOf(() => service.find({ query })), filter)
  t.strictSame(await filterOf(() => service.countDocuments({ query })), filter)
  t.strictSame(await filterOf(() => service.get(0, { query })), { _id: 0, ...filter })
  t.strictSame(await filterOf(() => service._get(0, { query })), { _id: 0, ...filter })
  t.strictSame(await filterOf(() => service.patch(0, { n: 1 }, { query })), { _id: 0, ...filter })
  t.strictSame(await filterOf(() => service.patch(null, { n: 1 }, { query })), filter)
  t.strictSame(await filterOf(() => service.remove(null, { query })), filter)
})

t.test('a search has pages with their total, an order, and other conditions', async (t) => {
  const service = create({ paginate: { default: 1 } })
  const query = { $search: 'tea', $sort: { _id: -1 as const } }
  t.match(await service.find({ query }), { total: 2, data: [{ _id: 1 }] })
  t.match(await service.find({ query: { ...query, _id: 0 } }), { total: 1, data: [{ _id: 0 }] })
  const either = { $or: [{ _id: 0 }, { _id: 3 }], $search: 'green "green t"' }
  t.match(await service.find({ query: either }), { total: 1, data: [{ _id: 0 }] })
})

t.test('a search decides which record is read, changed and removed', async (t) => {
  const service = create()
  const query = { $search: 'tea' }
  t.match(await service.get(0, { query }), { title: 'green tea' })
  for (const call of [
    () => service.get(2, { query }),
    () => service.patch(2, { n: 1 }, { query }),
    () => service.update(2, { title: 'x' }, { query }),
    () => service.remove(2, { query }),
  ]) {
    await t.rejects(call(), { name: 'NotFound' }, String(call))
  }
  t.strictSame(idsOf(await service.patch(null, { n: 1 }, { query })), [0, 1])
  t.strictSame(idsOf(await service.remove(null, { query: { ...query, n: 1 } })), [0, 1])
  t.equal(await notes.countDocuments(), 2)
})

const WRONG: readonly unknown[] = [
  ...['', 'x'.repeat(257), 5, true, null, undefined],
  ...[['a'], [], {}, { $regex: 'x' }, { $search: 'x' }, /x/, new Date(0)],
]

t.test('$search is a string of 1 to 256 characters, for everybody (INJ-23)', async (t) => {
  const service = create()
  const commands = await commandsOf(async () => {
    for (const value of WRONG) {
      for (const params of [{ query: { $search: value } }] as MongoDBParams[]) {
        const error = {
          name: 'BadRequest',
          message: '$search must be a string of 1 to 256 characters',
        }
        for (const outside of [params, { ...params, provider: 'rest' }]) {
          await t.rejects(service.find(outside), error, String(value))
          await t.rejects(service.remove(null, outside), error, String(value))
        }
        await t.rejects(service._find(params), error, String(value))
        await t.rejects(service.aggregateRaw(params), error, String(value))
      }
    }
  })
  t.strictSame(commands, [])
  t.strictSame(await service.find({ query: { $search: 'x'.repeat(256) } }), [])
})

t.test('$search stands at the top alone, and not beside $text', async (t) => {
  const service = create({ operators: ['$text'] })
  for (const query of [
    ...[{ $or: [{ $search: 'a' }] }, { $and: [{ $search: 'a' }] }, { title: { $search: 'a' } }],
    { $search: 'a', $text: {} },
  ]) {
    await t.rejects(service.find({ query }), BadRequest, JSON.stringify(query))
  }
})

t.test('where $search is not enabled it is refused', async (t) => {
  await t.rejects(create({ filters: {} }).find({ query: { $search: 'tea' } }), {
    message: 'Invalid filter value $search',
  })
})

t.test('a function gives $search a meaning of the service', async (t) => {
  class Titles extends MongoDBService {
    override async _find(params: MongoDBParams = {}): Promise<never> {
      const { $search, ...query } = params.query ?? {}
      return super._find({ ...params, query: { ...query, title: $search } }) as never
    }
  }
  const options = { ...OPTIONS, filters: { $search: (value: unknown) => `${value} tea` } }
  const service = new Titles({ ...options, hidden: ['secret'] })
  t.match(await service.find({ query: { $search: 'black' }, provider: 'rest' }), [{ _id: 1 }])
})

t.test('callers inside sort by the score, and get it, through params.docdb', async (t) => {
  const service = create()
  const score = { $meta: 'textScore' } as const
  const docdb = { sort: { score, _id: 1 as const }, projection: { score } } as never
  const found = await service.find({ query: { $search: 'green tea' }, docdb })
  t.strictSame(
    (found as Document[]).map(({ _id, score }) => [_id, score]),
    [
      [0, 1.5],
      [1, 0.75],
      [3, 0.75],
    ],
  )
  const page = await service.find({
    ...{ query: { $search: 'green tea', $limit: 1 }, docdb },
    paginate: { default: 1 },
  })
  t.match(page, { total: 3, data: [{ _id: 0, score: 1.5 }] })
  t.match(await service.get(1, { query: { $search: 'tea' }, docdb: { projection: { score } } }), {
    score: 0.75,
  })
  const query = { $search: 'tea', $sort: { score: score as unknown as 1 } }
  await t.rejects(service.find({ query }), { message: /\$sort takes field names/ })
})

t.test('a score is refused by name in calls that write', async (t) => {
  const service = create()
  const score = { $meta: 'textScore' } as const
  const commands = await commandsOf(async () => {
    for (const docdb of [
      { projection: { score } },
      { sort: { score } },
      { sort: [['score', score]] },
      { sort: new Map([['score', score]]) },
    ] as MongoDBParams['docdb'][]) {
      const params = { query: { $search: 'tea' }, docdb } as MongoDBParams
      const refused = {
        name: 'TypeError',
        message: /params\.docdb\.(?:projection|sort): \$meta is not/,
      }
      await t.rejects(service.patch(0, { n: 1 }, params), refused)
      await t.rejects(service.patch(null, { n: 1 }, params), refused)
      await t.rejects(service.update(0, { n: 1 }, params), refused)
      await t.rejects(service.remove(0, params), refused)
      await t.rejects(service.remove(null, params), refused)
    }
  })
  t.strictSame(commands, [])
})

t.test('a search without a text index is an internal error, whose cause is logged', async (t) => {
  const service = create({ Model: await empty('without-index') })
  await t.rejects(service.find({ query: { $search: 'tea' }, provider: 'rest' }), {
    name: 'GeneralError',
    message: 'Internal error',
    code: 500,
    cause: { code: 27 },
  })
})

const text = (more: object) => [{ key: { title: 'text' as const }, ...more }]

const LEAKS: readonly [string, MongoDBOptions['indexes'], RegExp][] = [
  ['no text index', [{ key: { title: 1 } }], /needs the text index in the option 'indexes'/],
  ['a hidden field', [{ key: { title: 'text', secret: 'text' } }], /hidden fields in 'secret'/],
  ['one inside it', [{ key: { 'secret.word': 'text' } }], /hidden fields in 'secret.word'/],
  ['one around it', [{ key: { profile: 'text' } }], /hidden fields in 'profile'/],
  ['a Map', [{ key: new Map([['secret', 'text']]) }], /hidden fields in 'secret'/],
  ['a weight', text({ weights: { secret: 2 } }), /hidden fields in 'secret'/],
  ['a Map of weights', text({ weights: new Map([['secret', 2]]) }), /hidden fields in 'secret'/],
  ['a wildcard', [{ key: { '$**': 'text' } }], /hidden fields in '\$\*\*'/],
  ['a wildcard among weights', text({ weights: { '$**': 1 } }), /hidden fields in '\$\*\*'/],
]

t.test('no text index lets callers guess hidden words (INJ-23)', async (t) => {
  const hidden = ['secret', 'profile.token']
  const options = { ...OPTIONS, Model: idleCollection, hidden }
  for (const [title, indexes, message] of LEAKS) {
    const make = () => new MongoDBService({ ...options, indexes: indexes ?? [] })
    t.throws(make, { name: 'TypeError', message }, title)
    // Options may be changed at any time: then the call is refused.
    const service = new MongoDBService({ ...options, indexes: text({}) })
    service.options.indexes = indexes ?? []
    const query = { $search: 'x' }
    const refused = { name: 'BadRequest', message: /\$search can read hidden fields/ }
    await t.rejects(service.find({ query, provider: 'rest' }), refused, title)
    await t.rejects(service.countDocuments({ query, provider: 'rest' }), refused, title)
  }
  t.ok(new MongoDBService({ ...options, indexes: LEAKS[1]?.[1] ?? [], filters: {} }))
  t.ok(new MongoDBService({ ...options, indexes: LEAKS[7]?.[1] ?? [], hidden: [] }))
})

t.test('a search of callers outside goes with hidden fields that are not indexed', async (t) => {
  const indexes = [{ key: { title: 'text' }, default_language: 'none' }] as const
  const service = create({ hidden: ['secret'], indexes })
  await notes.updateMany({}, { $set: { secret: 'tea' } })
  const query = { $search: 'tea', $sort: { _id: 1 as const } }
  const found = await service.find({ query, provider: 'rest' })
  t.match(found, [
    { _id: 0, secret: undefined },
    { _id: 1, secret: undefined },
  ])
})
