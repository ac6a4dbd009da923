import { ObjectId } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest, Conflict, NotFound } from '../../../src/core/errors/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { AnyPaging } from '../../support/any-paging.ts'
import { createAnyPaging } from '../../support/any-paging.ts'
import { namesOf, openDatabase } from '../../support/database.ts'

interface Person {
  _id: ObjectId | number | string
  name: string
  age?: number
  owner?: string
  tags?: string[]
  key?: string
  at?: Date
}

const { db, empty, commandsOf } = await openDatabase(t)

async function createPeople(options: Partial<MongoDBOptions> = {}): Promise<AnyPaging<Person>> {
  return createAnyPaging<Person>({ Model: await empty('people'), ...options })
}

t.test('gives hooks and listeners what a write selects, and what a before hook adds', async (t) => {
  const app = createApp<{ people: AnyPaging<Person> }>()
  app.use('people', await createPeople())
  const people = app.service('people')
  const { _id } = await people.create({ name: 'a', age: 1, owner: 'x' })
  const seen: unknown[] = []
  for (const event of ['patched', 'removed'] as const) people.on(event, (one) => seen.push(one))
  people.hooks({
    before: {
      remove: ({ params }) => {
        const { $select } = params.query ?? {}
        if ($select !== undefined) {
          params.query = { ...params.query, $select: [...$select, 'owner'] }
        }
      },
    },
    after: { all: ({ result }) => void seen.push(result) },
  })
  const params = { provider: 'rest', query: { $select: ['name'] } } as const
  await people.patch(_id, { age: 2 }, params)
  await people.remove(_id, params)
  const patched = { _id, name: 'a' }
  const removed = { ...patched, owner: 'x' }
  t.strictSame(seen, [patched, patched, removed, removed])
})

t.test('creates by one command and returns what get returns', async (t) => {
  const people = await createPeople()
  const data = { name: 'a', tags: ['x'], at: new Date(5) }
  const copy = structuredClone(data)
  const created: Person[] = []
  const commands = await commandsOf(async () => created.push(await people.create(data)))
  t.strictSame(namesOf(commands), ['insert'])
  t.strictSame(data, copy)
  const [person] = created
  t.ok(person?._id instanceof ObjectId)
  t.strictSame(await people.get(String(person?._id)), person)
})

t.test('creates with $select as the server would return it, and ignores the query', async (t) => {
  const people = await createPeople()
  const created = await people.create(
    { name: 'a', age: 5 },
    { query: { name: 'b', $select: ['name'] } },
  )
  t.strictSame(created, { _id: created._id, name: 'a' })
  t.strictSame(await people.get(String(created._id), { query: { $select: ['name'] } }), created)
})

t.test('finds records again by the string or number they were created with', async (t) => {
  const people = await createPeople()
  for (const _id of ['507f1f77bcf86cd799439011', 'slug', 7]) {
    await people.create({ _id, name: String(_id) })
    t.match(await people.get(_id), { name: String(_id) })
  }
  await t.rejects(people.create({ _id: 'slug', name: 'again' }), Conflict)
})

t.test('generates an id of another name and leaves _id to the driver', async (t) => {
  const people = await createPeople({ id: 'key' })
  const { key, _id } = await people.create({ name: 'a' })
  t.match(key, /^[0-9a-f]{24}$/)
  t.ok(_id instanceof ObjectId)
  t.match(await people.get(String(key)), { name: 'a', key })
  t.match(await people.update(String(key), { name: 'b', key: 'other' }), { name: 'b', key })
  t.match(await people.patch(String(key), { age: 5, key: 'other' }), { name: 'b', age: 5, key })
  t.match(await people.remove(String(key)), { key })
})

t.test('leaves undefined out, as it is lost over HTTP', async (t) => {
  const people = await createPeople()
  const data = { name: 'a', age: undefined } as unknown as Person
  const { _id } = await people.create(data)
  t.strictSame(await people.get(_id), { _id, name: 'a' })
  await people.patch(_id, { age: 5 })
  t.match(await people.patch(_id, data), { age: 5 })
})

t.test('update replaces a record by one command and returns the new one', async (t) => {
  const people = await createPeople()
  const { _id } = await people.create({ name: 'a', age: 5 })
  const data = { _id: String(_id), name: 'b' }
  const commands = await commandsOf(async () => {
    t.strictSame(await people.update(String(_id), data), { _id, name: 'b' })
  })
  t.strictSame(namesOf(commands), ['findAndModify'])
  t.strictSame(data, { _id: String(_id), name: 'b' })
})

t.test('update and patch return the record also when it no longer matches the query', async (t) => {
  const people = await createPeople()
  const { _id } = await people.create({ name: 'a', age: 5 })
  t.match(await people.patch(_id, { age: 6 }, { query: { age: 5 } }), { age: 6 })
  t.match(await people.update(_id, { name: 'b' }, { query: { age: 6 } }), { name: 'b' })
})

t.test('update refuses to replace many', async (t) => {
  const people = await createPeople({ multi: true })
  const message = "You can not replace multiple instances. Did you mean 'patch'?"
  await t.rejects(people.update(null as never, { name: 'a' }), new BadRequest(message))
  await t.rejects(people.update('x', [{ name: 'a' }] as never), new BadRequest(message))
})

t.test('update and patch take update operators of callers inside', async (t) => {
  const people = await createPeople()
  const { _id } = await people.create({ name: 'a', age: 5, tags: ['x'] })
  t.match(await people.patch(_id, { name: 'b', $push: { tags: 'y' } }), {
    name: 'b',
    tags: ['x', 'y'],
  })
  t.match(await people.update(_id, { $inc: { age: 2 } } as never), { name: 'b', age: 7 })
  await t.rejects(people.update(_id, { name: 'c', $inc: { age: 2 } } as never), BadRequest)
  t.match(await people.patch(_id, { 'address.city': 'x' }), { address: { city: 'x' } })
})

t.test('patches a record by one command, an empty patch as well', async (t) => {
  const people = await createPeople()
  const { _id } = await people.create({ name: 'a', age: 5 })
  for (const data of [{ age: 6 }, {}]) {
    const commands = await commandsOf(async () => {
      t.strictSame(await people.patch(_id, data), { _id, name: 'a', age: 6 })
    })
    t.strictSame(namesOf(commands), ['findAndModify'])
  }
})

t.test('removes a record by one command and returns it', async (t) => {
  const people = await createPeople()
  const { _id } = await people.create({ name: 'a', age: 5 })
  const commands = await commandsOf(async () => {
    const query = { $select: ['name'] } as const
    t.strictSame(await people.remove(String(_id), { query }), { _id, name: 'a' })
  })
  t.strictSame(namesOf(commands), ['findAndModify'])
  await t.rejects(people.get(_id), NotFound)
})

t.test('answers writes to records that are not there, or excluded, with NotFound', async (t) => {
  const people = await createPeople()
  const { _id } = await people.create({ name: 'a', owner: 'A' })
  const query = { owner: 'B' }
  const missing = new NotFound(`No record found for id '${_id}'`)
  await t.rejects(people.update(_id, { name: 'b' }, { query }), missing)
  await t.rejects(people.patch(_id, { name: 'b' }, { query }), missing)
  await t.rejects(people.remove(_id, { query }), missing)
  await t.rejects(people.patch(5, { name: 'b' }), NotFound)
  t.strictSame(await people.get(_id), { _id, name: 'a', owner: 'A' })
})

for (const method of ['patch', 'remove', 'update'] as const) {
  t.test(`${method} refuses ids that are none before any command`, async (t) => {
    const people = await createPeople({ multi: true })
    const commands = await commandsOf(async () => {
      for (const id of [undefined, { $gt: '' }, ['x']] as never[]) {
        if (method === 'remove') await t.rejects(people.remove(id), BadRequest)
        else await t.rejects(people[method](id, { name: 'a' }), BadRequest)
      }
    })
    t.strictSame(commands, [])
  })
}

t.test('upserts by an option of the driver', async (t) => {
  const people = await createPeople({ multi: true })
  const docdb = { upsert: true }
  const id = '507f1f77bcf86cd799439011'
  t.match(await people.update(id, { name: 'a' }, { docdb }), { _id: new ObjectId(id), name: 'a' })
  t.match(await people.patch('other', { name: 'b' }, { docdb }), { _id: 'other', name: 'b' })
  const many = people.patch(null, { name: 'c' }, { query: { name: 'x' }, docdb })
  await t.rejects(many, /docdb\.upsert is not one for patch of many/)
})

t.test('refuses a record that holds itself, however often', async (t) => {
  const people = await createPeople()
  const parent: { children: object[] } = { children: [] }
  parent.children.push({ parent }, { parent })
  const message = 'The data is nested more than 200 levels deep'
  for (const call of [
    () => people.create(parent as never),
    () => people.update('x', parent as never),
    () => people.patch('x', parent as never),
  ]) {
    await t.rejects(call(), new BadRequest(message))
  }
})

t.test('an unacknowledged write of one record answers that there is none', async (t) => {
  const people = await createPeople()
  await people._create({ _id: 'a', name: 'a' } as never)
  const params = { docdb: { writeConcern: { w: 0 } } } as const
  await t.rejects(people.update('a', { name: 'b' }, params), NotFound)
  await t.rejects(people.patch('a', { name: 'c' }, params), NotFound)
})

t.test('an upsert that adds a record emits created', async (t) => {
  const app = createApp<{ people: MongoDBService }>()
  app.use('people', new MongoDBService({ Model: await empty('people') }))
  const people = app.service('people')
  const seen: unknown[] = []
  for (const event of ['created', 'updated', 'patched'] as const) {
    people.on(event, ({ _id }) => seen.push([event, _id]))
  }
  const docdb = { upsert: true }
  const pipeline = [{ $set: { more: true } }] as const
  for (const params of [{ docdb }, { docdb, query: { $select: ['name'] } }, { docdb, pipeline }]) {
    await people.update('a', { name: 'a' }, params)
    await people.patch('a', { name: 'b' }, params)
    await people.patch('b', { name: 'b' }, params)
    await people.update('b', { $set: { name: 'c' } }, params)
    t.strictSame(seen.splice(0), [
      ['created', 'a'],
      ['patched', 'a'],
      ['created', 'b'],
      ['updated', 'b'],
    ])
    await people.remove('a')
    await people.remove('b')
  }
})

t.test('callers outside do not choose an id by an upsert (FTH-9)', async (t) => {
  const people = await createPeople()
  const params = { provider: 'rest', docdb: { upsert: true } }
  const refusal = new BadRequest("The field '_id' is set by the server")
  const commands = await commandsOf(async () => {
    await t.rejects(people.update('other', { name: 'a' }, params), refusal)
    await t.rejects(people.patch('other', { name: 'a' }, params), refusal)
  })
  t.strictSame(commands, [])
  people.options.allowClientId = true
  t.match(await people.update('other', { name: 'a' }, params), { _id: 'other' })
})

t.test('answers a duplicate with 409 and the names of the fields, and no values', async (t) => {
  const people = await createPeople({ multi: true })
  const Model = await people.getModel()
  await Model.createIndex({ name: 1 }, { unique: true })
  t.teardown(() => Model.dropIndexes())
  await people.create({ name: 'secret' })
  await people.create({ name: 'other' })
  const calls = [
    () => people.create({ name: 'secret' }),
    () => people.create([{ name: 'another' }, { name: 'secret' }]),
    () => people.patch(null, { name: 'secret' }, { query: { name: 'other' } }),
  ]
  for (const call of calls) {
    const error = await call().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    t.match(error, { name: 'Conflict', code: 409, data: { fields: ['name'] } })
    t.notMatch(JSON.stringify(error), /secret|name_1|people|E11000/)
  }
})

t.test('answers a collection that the database refuses with 400, not naming it', async (t) => {
  const people = await createPeople()
  const Model = db.collection('system.secret')
  for (const call of [people.create({ name: 'a' }, { adapter: { Model } })]) {
    const error = await call.catch((thrown: unknown) => thrown)
    t.match(error, { name: 'BadRequest', code: 400, cause: { code: 73 } })
    t.notMatch(JSON.stringify(error), /secret/)
  }
})

t.test('answers values that the database refuses with 400', async (t) => {
  const people = await createPeople()
  const { _id } = await people.create({ name: 'a' })
  await t.rejects(people.patch(_id, { $inc: { name: 1 } }), BadRequest)
  await t.rejects(people.patch(_id, { $set: { name: 'a' }, $inc: { name: 1 } }), BadRequest)
  await t.rejects(people.create({ 'nul\0': 1 } as never), BadRequest)
  await t.rejects(people.create({ ref: { _bsontype: 'ObjectId' } } as never), BadRequest)
})
