import type { Collection, Document } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest, MethodNotAllowed } from '../../../src/core/errors/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { AnyPaging } from '../../support/any-paging.ts'
import { createAnyPaging } from '../../support/any-paging.ts'
import { namesOf, openDatabase } from '../../support/database.ts'
import { pluck } from '../../support/pluck.ts'

interface Person {
  name: string
  age?: number
  owner?: string
  n?: number
}

const { empty, commandsOf } = await openDatabase(t)

async function createPeople(options: Partial<MongoDBOptions> = {}): Promise<AnyPaging<Person>> {
  return createAnyPaging<Person>({ Model: await empty('people'), ...options })
}

t.test('creates many by two commands, in the order of the data', async (t) => {
  const people = await createPeople({ multi: ['create'] })
  const data = ['c', 'a', 'b'].map((name) => ({ name }))
  let names: string[] = []
  const commands = await commandsOf(async () => {
    names = (await people.create(data)).map(({ name }) => name)
  })
  t.strictSame(namesOf(commands), ['insert', 'commitTransaction'])
  t.strictSame(names, ['c', 'a', 'b'])
  t.strictSame(
    data,
    ['c', 'a', 'b'].map((name) => ({ name })),
  )
  t.strictSame(await people.create([]), [])
  const paginate = { default: 1 }
  t.equal((await people.create(data, { adapter: { paginate } })).length, 3)
})

t.test('writes many only where the option multi allows it', async (t) => {
  const people = await createPeople()
  const calls = {
    create: () => people.create([{ name: 'a' }]),
    patch: () => people.patch(null, { name: 'a' }),
    remove: () => people.remove(null),
    _create: () => people._create([{ name: 'a' }]),
    _patch: () => people._patch(null, { name: 'a' }),
    _remove: () => people._remove(null),
  }
  for (const [name, call] of Object.entries(calls)) {
    const message = `Can not ${name.replace('_', '')} multiple entries`
    await t.rejects(call(), new MethodNotAllowed(message))
  }
  people.options.multi = ['create']
  t.equal((await people.create([{ name: 'a' }])).length, 1)
  await t.rejects(people.remove(null), MethodNotAllowed)
})

const sliceOf = (size: number) =>
  Array.from({ length: size }, (_, n) => ({ _id: n, n, owner: 'A' }))

t.test('patches many by four commands, also where that changes what was asked for', async (t) => {
  const people = await createPeople({ multi: true, paginate: { default: 2, max: 2 } })
  await people.create(['a', 'b', 'c', 'd'].map((name, age) => ({ name, age, owner: 'A' })))
  const query = {
    owner: 'A',
    age: { $gt: 0 },
    $sort: { age: -1 },
    $select: ['name'],
    $limit: 1,
  } as const
  let patched: Person[] = []
  const commands = await commandsOf(async () => {
    patched = await people.patch(null, { owner: 'B' }, { query })
  })
  t.strictSame(namesOf(commands), ['find', 'update', 'find', 'commitTransaction'])
  t.strictSame(pluck(patched, 'name'), ['d', 'c', 'b'])
  t.equal(await people.countDocuments({ query: { owner: 'B' } }), 3)
  const nothing = await commandsOf(() => people.patch(null, { age: 1 }, { query: { owner: 'X' } }))
  t.strictSame(namesOf(nothing), ['find', 'commitTransaction'])
})

t.test('removes many by three commands and returns all of them', async (t) => {
  const people = await createPeople({ multi: true, paginate: { default: 2 } })
  await people.create(['a', 'b', 'c', 'd'].map((name, age) => ({ name, age })))
  const query = { age: { $gt: 0 }, $select: ['name'], $sort: { name: 1 } } as const
  let removed: Person[] = []
  const commands = await commandsOf(async () => {
    removed = await people.remove(null, { query, docdb: { projection: { _id: 0, name: 1 } } })
  })
  t.strictSame(namesOf(commands), ['find', 'delete', 'commitTransaction'])
  t.strictSame(pluck(removed, 'name'), ['b', 'c', 'd'])
  t.equal(await people.countDocuments(), 1)
})

t.test('external callers who limit what they write to are rejected, not ignored', async (t) => {
  const people = await createPeople({ multi: true })
  await people.create([{ name: 'a' }, { name: 'b' }])
  for (const $limit of [0, 1, '1']) {
    const params = { provider: 'rest', query: { name: { $ne: 'c' }, $limit } } as MongoDBParams
    const text = (method: string) =>
      new BadRequest(`$limit is not possible in ${method} of many: name the ids by $in`)
    await t.rejects(people.remove(null, params), text('remove'))
    await t.rejects(people.patch(null, { age: 1 }, params), text('patch'))
  }
  t.equal(await people.countDocuments({ query: { age: { $exists: false } } as never }), 2)
})

t.test('skips before it writes, in the order of the query', async (t) => {
  const people = await createPeople({ multi: true })
  await people.create(['a', 'b', 'c', 'd'].map((name, age) => ({ name, age })))
  const query = { $sort: { age: -1 }, $skip: 1 } as const
  const patched = await people.patch(null, { owner: 'B' }, { query })
  t.strictSame(pluck(patched, 'name'), ['c', 'b', 'a'])
  const removed = await people.remove(null, { query: { $sort: { age: 1 }, $skip: 2 } })
  t.strictSame(pluck(removed, 'name'), ['c', 'd'])
})

/** What another call does to the first record between the commands of a call. */
const INTERFERENCES = {
  moves: (Model: Collection<Document>) => Model.updateOne({ n: 1 }, { $set: { owner: 'B' } }),
  removes: (Model: Collection<Document>) => Model.deleteOne({ n: 1 }),
} as const

/** Returns a collection that another call interferes with once, just before a command. */
function interfereBefore(Model: Collection, command: string, interfere: () => Promise<unknown>) {
  let isDone = false
  return new Proxy(Model, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (name !== command) return method
      return async (...args: unknown[]) => {
        if (!isDone) await interfere()
        isDone = true
        return Reflect.apply(method as (...all: unknown[]) => unknown, target, args)
      }
    },
  })
}

for (const [does, interfere] of Object.entries(INTERFERENCES)) {
  for (const size of [3, 1_500]) {
    const title = `another call ${does} one of ${size} records`
    t.test(`a patch returns exactly what it has changed: ${title} (FTH-24)`, async (t) => {
      const people = await createPeople({ multi: true })
      const Model = (await people.getModel()) as unknown as Collection<Document>
      await Model.insertMany(sliceOf(size) as never)
      const adapter = {
        Model: interfereBefore(Model as never, 'updateMany', () => interfere(Model)),
      }
      const query = { owner: 'A', $sort: { _id: 1 } } as const
      const patched = await people.patch(null, { owner: 'C' }, { query: { ...query }, adapter })
      const expected = sliceOf(size)
        .filter(({ n }) => n !== 1)
        .map((record) => ({ ...record, owner: 'C' }))
      t.strictSame(patched, expected)
      t.equal(await Model.countDocuments({ owner: 'C' }), size - 1)
      t.strictSame((await Model.findOne({ n: 1 }))?.['owner'], does === 'moves' ? 'B' : undefined)
    })

    t.test(`a removal returns exactly what it has removed: ${title} (FTH-24)`, async (t) => {
      const people = await createPeople({ multi: true })
      const Model = (await people.getModel()) as unknown as Collection<Document>
      await Model.insertMany(sliceOf(size) as never)
      const adapter = {
        Model: interfereBefore(Model as never, 'deleteMany', () => interfere(Model)),
      }
      const query = { owner: 'A', $sort: { _id: 1 } } as const
      const removed = await people.remove(null, { query: { ...query }, adapter })
      t.strictSame(removed, sliceOf(size).filter(({ n }) => n !== 1) as never)
      t.equal(await Model.countDocuments(), does === 'moves' ? 1 : 0)
    })
  }
}

t.test('writes to many in slices, each in a transaction of its own', async (t) => {
  const people = await createPeople({ multi: true })
  await people.create(sliceOf(2_001) as never)
  const commands = await commandsOf(async () => {
    const patched = await people.patch(null, { age: 1 }, { query: { $sort: { n: -1 } } })
    t.strictSame(
      patched.map((record) => record.n),
      sliceOf(2_001).map(({ n }) => 2_000 - n),
    )
  })
  const slice = ['find', 'update', 'find', 'commitTransaction']
  t.strictSame(namesOf(commands), [
    ...['find', 'commitTransaction', 'find'],
    ...[...slice, ...slice, ...slice],
  ])
  const sizes = commands.flatMap((command) => command['updates'] ?? [])
  t.strictSame(
    sizes.map(({ q }) => q._id.$in.length),
    [1_000, 1_000, 1],
  )
  const exactly = await createPeople({ multi: true })
  await exactly.create(sliceOf(1_000) as never)
  const few = await commandsOf(() => exactly.patch(null, { age: 1 }))
  t.strictSame(namesOf(few), slice)
})

t.test('answers with the number of records where nobody reads them', async (t) => {
  const people = await createPeople({ multi: true })
  await people.create(sliceOf(1_500) as never)
  const docdb = { returning: false } as const
  const query = { n: { $gte: 500 }, $sort: { n: 1 }, $select: ['n'] } as never
  const commands = await commandsOf(async () => {
    const patched = await people.patch(null, { age: 1 }, { query, docdb })
    t.strictSame(patched, { acknowledged: true, matched: 1_000, modified: 1_000 })
    const again = await people._patch(null, { age: 1 }, { query: {}, docdb })
    t.strictSame(again, { acknowledged: true, matched: 1_500, modified: 500 })
    const removed = await people.remove(null, { query, docdb })
    t.strictSame(removed, { acknowledged: true, matched: 1_000, modified: 1_000 })
    t.strictSame(await people._remove(null, { docdb }), {
      acknowledged: true,
      matched: 500,
      modified: 500,
    })
  })
  t.strictSame(namesOf(commands), ['update', 'update', 'delete', 'delete'])
  const unconfirmed = { docdb: { ...docdb, writeConcern: { w: 0 } } } as const
  const unknown = { acknowledged: false, matched: 0, modified: 0 }
  t.strictSame(await people.patch(null, { age: 1 }, unconfirmed), unknown)
  t.strictSame(await people.remove(null, unconfirmed), unknown)
  t.strictSame(await people.remove(null, { mongodb: { returning: false } }), {
    acknowledged: true,
    matched: 0,
    modified: 0,
  })
})

t.test('refuses to leave out an answer that is made of more than a number', async (t) => {
  const people = await createPeople({ multi: true })
  const docdb = { returning: false } as const
  const reasons: readonly [object, RegExp][] = [
    [
      { pipeline: [{ $set: { a: 1 } }] },
      /returning: false cannot be combined with params\.pipeline/,
    ],
    [{ docdb: { returning: 0 } }, /params\.docdb\.returning must be true or false/],
    ...['max', 'min', 'sort', 'projection', 'singleBatch', 'batchSize'].map(
      (name): [object, RegExp] => [
        { docdb: { ...docdb, [name]: { _id: 1 } } },
        new RegExp(`params\\.docdb\\.${name} is not one for`),
      ],
    ),
  ]
  const commands = await commandsOf(async () => {
    for (const [params, message] of reasons) {
      const all = { docdb, ...params } as never
      await t.rejects(people.patch(null, { age: 1 }, all), { name: 'TypeError', message })
      await t.rejects(people.remove(null, all), { name: 'TypeError', message })
    }
    const skipping = { docdb, query: { $skip: 1 } }
    const refusal = new BadRequest('$skip is not possible where no records are returned')
    await t.rejects(people.patch(null, { age: 1 }, skipping), refusal)
    await t.rejects(people.remove(null, skipping), refusal)
    const one = /docdb\.returning is not one for/
    await t.rejects(people.patch('x', { age: 1 }, { docdb }), one)
    await t.rejects(people.remove('x', { docdb }), one)
    await t.rejects(people.find({ docdb }), one)
    await t.rejects(people.create([{ name: 'a' }], { docdb }), one)
  })
  t.strictSame(commands, [])
})

t.test('ids that a collation takes for the same are told apart', async (t) => {
  const collation = { locale: 'en', strength: 2 } as const
  const names = ['a', 'A'].flatMap((letter) =>
    Array.from({ length: 600 }, (_, n) => `${letter}${n}`),
  )
  const Model = await empty('people')
  for (const query of [{}, { $sort: { n: -1 } }] as const) {
    await Model.deleteMany({})
    await Model.insertMany(names.map((_id, n) => ({ _id, n: 0, order: n })) as never)
    const people = new MongoDBService({ Model, multi: true })
    const params = { query: { ...query }, collation }
    t.equal((await people.patch(null, { $inc: { n: 1 } }, params)).length, 1_200)
    t.equal(await Model.countDocuments({ n: 1 }), 1_200)
    t.equal((await people.remove(null, params)).length, 1_200)
    t.equal(await Model.countDocuments(), 0)
  }
  await Model.insertMany([
    { _id: 'ann', owner: 'me' },
    { _id: 'ANN', owner: 'other' },
  ] as never)
  const people = new MongoDBService({ Model, multi: true })
  for (const pipeline of [undefined, [{ $set: { more: true } }]]) {
    const params = { query: { owner: 'me', $sort: { owner: 1 } }, collation, pipeline } as const
    t.match(await people.patch(null, { n: 1 }, params), [{ _id: 'ann' }])
    t.equal((await people.patch(null, { n: 1 }, params)).length, 1)
  }
  const params = { query: { owner: 'ME' }, collation, pipeline: [{ $set: { more: true } }] }
  t.strictSame(pluck(await people.remove(null, params as MongoDBParams), '_id'), ['ann'])
  t.strictSame(
    (await Model.find().toArray()).map(({ _id }) => String(_id)),
    ['ANN'],
  )
})

/** Updates that depend on the query or on the collation. */
const COMPARING_UPDATES: readonly { readonly update: Document; readonly docdb?: object }[] = [
  { update: { $set: { 'lines.$.sent': true } } },
  { update: { $unset: { 'lines.$.sku': '' }, $inc: { 'lines.$.n': 1 } } },
  { update: { $set: { 'lines.$[line].n': 9 } }, docdb: { arrayFilters: [{ 'line.sku': 'A' }] } },
  { update: { $pull: { lines: { sku: 'A' } } } },
  { update: { $pull: { tags: 'RED' } } },
  { update: { $pullAll: { tags: ['RED'] } } },
  { update: { $addToSet: { tags: 'RED' } } },
  { update: { $min: { tag: 'RED' }, $set: { n: 1 } } },
  { update: { $push: { tags: { $each: ['ROSE'], $sort: 1 } } } },
  { update: { $set: { 'lines.$[].n': 3 } } },
  { update: { $set: { 'lines.0.n': 3 } } },
]

t.test('changes what the driver changes by a collation, and no more', async (t) => {
  const Model = await empty('orders')
  const orders = new MongoDBService({ Model, multi: true })
  const collation = { locale: 'en', strength: 2 } as const
  const query = { 'lines.sku': 'B' }
  const lines = [{ sku: 'a' }, { sku: 'b' }]
  const order = { lines, tags: ['blue', 'red'], tag: 'red' }
  const records: object[] = [1, 'a', 'c'].map((_id) => ({ _id, ...order }))
  records.push({ _id: 'A', ...order, lines: [] })
  const reset = async () => {
    await Model.deleteMany({})
    await Model.insertMany(structuredClone(records))
  }
  for (const { update, docdb = {} } of COMPARING_UPDATES) {
    await reset()
    await Model.updateMany(query, update, { collation, ...docdb })
    const expected = await Model.find().toArray()
    for (const pipeline of [undefined, []]) {
      await reset()
      const params = { query: { ...query }, collation, docdb, pipeline } as MongoDBParams
      const patched = (await orders.patch(null, update, params)) as Document[]
      t.strictSame(await Model.find().toArray(), expected, JSON.stringify(update))
      t.strictSame(patched, expected.slice(0, 3))
    }
  }
})

t.test('changes nothing where a collation reaches further records by their ids', async (t) => {
  const Model = await empty('orders')
  const orders = new MongoDBService({ Model, multi: true })
  const order = { lines: [{ sku: 'b' }] }
  await Model.insertMany([
    { _id: 'a', n: 1, ...order },
    { _id: 'A', n: 2, ...order },
  ] as never)
  const params = {
    query: { 'lines.sku': 'B', $sort: { n: 1 }, $skip: 1 },
    collation: { locale: 'en', strength: 2 },
  } as const
  const patched = orders.patch(null, { $set: { 'lines.$.sent': true } }, params)
  await t.rejects(patched, { code: 400, message: /ids of other records/ })
  t.equal(await Model.countDocuments({ 'lines.sent': true }), 0)
  t.match(await orders.patch(null, { m: 1 }, params), [{ _id: 'A' }])
})

t.test('reads what it has written without the hint of the query', async (t) => {
  const Model = await empty('people')
  await Model.createIndex({ name: 1 })
  const people = new MongoDBService({ Model, multi: true })
  const [{ _id } = {}] = (await people.create([{ name: 'a' }])) as Document[]
  const docdb = { hint: { name: 1 } }
  const pipeline = [{ $set: { more: true } }]
  const reads: Document[] = []
  for (const params of [{ docdb }, { docdb, pipeline }]) {
    for (const id of [null, _id]) {
      const commands: Document[] = await commandsOf(async () => {
        t.match(await people.patch(id as null, { age: 1 }, params as MongoDBParams), {})
      })
      const writes = commands.map((one) =>
        Object.hasOwn(one, id === null ? 'update' : 'findAndModify'),
      )
      t.match(JSON.stringify(commands[writes.indexOf(true)]), /"hint":\{"name":1\}/)
      reads.push(...commands.slice(writes.indexOf(true) + 1))
    }
  }
  t.strictSame(
    namesOf(reads).filter((name) => name !== 'commitTransaction'),
    ['find', 'aggregate', 'aggregate'],
  )
  t.strictSame(
    reads.filter(({ hint }) => hint !== undefined),
    [],
  )
})

t.test('says that a positional operator needs a condition on its list', async (t) => {
  const Model = await empty('orders')
  await Model.insertOne({ lines: [{ sku: 'b' }] })
  const orders = new MongoDBService({ Model, multi: true })
  const message = 'A positional $ in the data needs a condition on its list in the query'
  for (const collation of [undefined, { locale: 'en' }]) {
    const patched = orders.patch(null, { $set: { 'lines.$.n': 1 } }, { collation } as never)
    await t.rejects(patched, { code: 400, message })
  }
})

t.test('emits no event for records that nobody has read', async (t) => {
  const app = createApp<{ people: AnyPaging<Person> }>()
  app.use('people', await createPeople({ multi: true }))
  const people = app.service('people')
  await people.create([{ name: 'a' }, { name: 'b' }])
  const seen: unknown[] = []
  for (const event of ['patched', 'removed'] as const) people.on(event, (one) => seen.push(one))
  const docdb = { returning: false } as const
  await people.patch(null, { age: 1 }, { docdb })
  await people.remove(null, { query: { name: 'a' }, docdb })
  t.strictSame(seen, [])
  await people.remove(null)
  t.match(seen, [{ name: 'b', age: 1 }])
})

t.test('only the search for what is to be written has the time limit of callers', async (t) => {
  const people = await createPeople({ multi: true, limits: { timeMs: 1234 } })
  await people.create([{ name: 'a', owner: 'A' }])
  const params = { provider: 'rest', query: { owner: 'A' } }
  for (const [pipeline, search] of [
    [undefined, 'find'],
    [[{ $unwind: '$name' }], 'aggregate'],
  ] as const) {
    const commands = await commandsOf(async () => {
      await people.patch(null, { age: 1 }, { ...params, pipeline })
      await people.remove(null, {
        ...params,
        query: { owner: 'A' },
        docdb: { maxTimeMS: 4321 },
        pipeline,
      })
      await people.create([{ name: 'a', owner: 'A' }])
    })
    const limits = commands.map((command) => [Object.keys(command)[0], command['maxTimeMS']])
    t.match(limits.slice(0, 2), [
      [search, 1234],
      ['update', undefined],
    ])
    t.strictSame(limits.filter(([, limit]) => limit === 1234).length, 1)
    t.ok(limits.some(([name, limit]) => name === 'delete' && limit === 4321))
  }
})
