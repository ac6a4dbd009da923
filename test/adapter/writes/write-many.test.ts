import t from 'tap'

import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { MethodNotAllowed } from '../../../src/core/errors/index.ts'
import { openDatabase } from '../../support/database.ts'

interface Person {
  name: string
  age?: number
  owner?: string
}

const { empty, commandsOf } = await openDatabase(t)

async function createPeople(
  options: Partial<MongoDBOptions> = {},
): Promise<MongoDBService<Person>> {
  return new MongoDBService<Person>({ Model: await empty('people'), ...options })
}

const namesOf = (commands: object[]) => commands.map((command) => Object.keys(command)[0])

t.test('creates many by one command, in the order of the data', async (t) => {
  const people = await createPeople({ multi: ['create'] })
  const data = ['c', 'a', 'b'].map((name) => ({ name }))
  let names: string[] = []
  const commands = await commandsOf(async () => {
    names = (await people.create(data)).map(({ name }) => name)
  })
  t.strictSame(namesOf(commands), ['insert'])
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

t.test(
  'patches many by three commands, also when the patch changes the queried field',
  async (t) => {
    const people = await createPeople({ multi: true, paginate: { default: 2, max: 2 } })
    await people.create(['a', 'b', 'c', 'd'].map((name, age) => ({ name, age, owner: 'A' })))
    const query = { owner: 'A', age: { $gt: 0 }, $sort: { age: -1 }, $select: ['name'], $limit: 1 }
    let patched: Person[] = []
    const commands = await commandsOf(async () => {
      patched = await people.patch(null, { owner: 'B' }, { query })
    })
    t.strictSame(namesOf(commands), ['find', 'update', 'find'])
    t.strictSame(
      patched.map(({ name }) => name),
      ['d', 'c', 'b'],
    )
    t.equal(await people.countDocuments({ query: { owner: 'B' } }), 3)
    const nothing = await commandsOf(() =>
      people.patch(null, { age: 1 }, { query: { owner: 'X' } }),
    )
    t.strictSame(namesOf(nothing), ['find'])
  },
)

t.test('a patch of many leaves out a record that another call moves away meanwhile', async (t) => {
  const people = await createPeople({ multi: true })
  await people.create(['a', 'b', 'c'].map((name) => ({ name, owner: 'A' })))
  const Model = await people.getModel()
  const moving = new Proxy(Model, {
    get(target, name) {
      if (name !== 'updateMany') return Reflect.get(target, name)
      return async (...args: Parameters<typeof Model.updateMany>) => {
        await target.updateOne({ name: 'b' }, { $set: { owner: 'B' } })
        return target.updateMany(...args)
      }
    },
  })
  const params = { query: { owner: 'A' }, adapter: { Model: moving } }
  const patched = await people.patch(null, { age: 1 }, params)
  t.strictSame(patched.map(({ name }) => name).sort(), ['a', 'c'])
  const [moved] = await people.find({ query: { name: 'b' }, paginate: false })
  t.equal(moved?.age, undefined)
})

t.test('removes many by two commands and returns all of them', async (t) => {
  const people = await createPeople({ multi: true, paginate: { default: 2 } })
  await people.create(['a', 'b', 'c', 'd'].map((name, age) => ({ name, age })))
  const query = { age: { $gt: 0 }, $select: ['name'], $sort: { name: 1 } }
  let removed: Person[] = []
  const commands = await commandsOf(async () => {
    removed = await people.remove(null, { query, docdb: { projection: { _id: 0, name: 1 } } })
  })
  t.strictSame(namesOf(commands), ['find', 'delete'])
  t.strictSame(
    removed.map(({ name }) => name),
    ['b', 'c', 'd'],
  )
  t.equal(await people.countDocuments(), 1)
})

t.test('a removal of many returns only what it removed', async (t) => {
  const people = await createPeople({ multi: true })
  await people.create(['a', 'b', 'c'].map((name) => ({ name, owner: 'A' })))
  const Model = await people.getModel()
  const moving = new Proxy(Model, {
    get(target, name) {
      if (name !== 'deleteMany') return Reflect.get(target, name)
      return async (...args: Parameters<typeof Model.deleteMany>) => {
        await target.updateOne({ name: 'b' }, { $set: { owner: 'B' } })
        return target.deleteMany(...args)
      }
    },
  })
  const removed = await people.remove(null, { query: { owner: 'A' }, adapter: { Model: moving } })
  t.strictSame(
    removed.map(({ name }) => name),
    ['a', 'c'],
  )
  t.equal(await people.countDocuments(), 1)
})
