import type { Document } from 'mongodb'
import t from 'tap'
import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { AnyPaging } from '../../support/any-paging.ts'
import { createAnyPaging } from '../../support/any-paging.ts'
import { namesOf, openDatabase } from '../../support/database.ts'

const { empty, commandsOf, client } = await openDatabase(t)

interface Task extends Document {
  _id: number
  text: string
  v: number
}

const OUTSIDE: MongoDBParams = { provider: 'rest' }
const STALE = { code: 412, name: 'PreconditionFailed', data: { current: 1 } }

/** Resolves to a service with one task, of version 1. */
async function createTasks(options: Partial<MongoDBOptions> = {}): Promise<AnyPaging<Task>> {
  const Model = await empty('tasks')
  const tasks = createAnyPaging<Task>({ Model, version: 'v', ...options })
  await tasks.create({ _id: 1, text: 'a' } as Task)
  return tasks
}

t.test('each write raises the version, in its own command', async (t) => {
  const tasks = await createTasks()
  t.strictSame(await tasks.get(1), { _id: 1, text: 'a', v: 1 })
  const write = async (run: () => Promise<Document>, expected: Document): Promise<void> => {
    let written: Document = {}
    const commands = await commandsOf(async () => {
      written = await run()
    })
    t.strictSame(written, expected)
    t.strictSame(namesOf(commands), ['findAndModify'])
  }
  await write(() => tasks.patch(1, { text: 'b' }), { _id: 1, text: 'b', v: 2 })
  await write(() => tasks.patch(1, {}), { _id: 1, text: 'b', v: 3 })
  await write(() => tasks.patch(1, { $set: { text: 'c' } }), { _id: 1, text: 'c', v: 4 })
  await write(() => tasks.patch(1, { $inc: { n: 2 } }), { _id: 1, text: 'c', v: 5, n: 2 })
  await write(() => tasks.update(1, { text: 'd' } as Task), { _id: 1, text: 'd', v: 6 })
  await write(() => tasks.update(1, { $set: { text: 'e' } } as never), { _id: 1, text: 'e', v: 7 })
  await write(() => tasks.remove(1), { _id: 1, text: 'e', v: 7 })
})

t.test('data of a replacement is never read as an expression', async (t) => {
  const tasks = await createTasks()
  const data = { text: '$v', list: ['$$ROOT', { a: '$text' }], at: new Date(0), none: null }
  t.strictSame(await tasks.update(1, data as never), { _id: 1, ...data, v: 2 })
})

t.test('the version is in each answer, whatever is selected', async (t) => {
  const tasks = await createTasks()
  const select = { query: { $select: ['text'] } } as MongoDBParams
  t.strictSame(await tasks.get(1, select), { _id: 1, text: 'a', v: 1 })
  t.strictSame(await tasks.find(select), [{ _id: 1, text: 'a', v: 1 }])
  t.strictSame(await tasks.patch(1, { n: 1 } as never, select), { _id: 1, text: 'a', v: 2 })
  t.strictSame(await tasks.create({ _id: 2, text: 'b' } as Task, { query: { $select: ['_id'] } }), {
    _id: 2,
    v: 1,
  })
})

const WRITES: readonly [
  string,
  (tasks: AnyPaging<Task>, params: MongoDBParams) => Promise<unknown>,
][] = [
  ['patch', (tasks, params) => tasks.patch(1, { text: 'b' }, params as never)],
  ['update', (tasks, params) => tasks.update(1, { text: 'b' } as Task, params as never)],
  ['remove', (tasks, params) => tasks.remove(1, params as never)],
]

for (const [name, write] of WRITES) {
  t.test(`${name}: params.version is a condition of the command`, async (t) => {
    const tasks = await createTasks()
    for (const version of [0, 2, [], [2, 3]]) {
      await t.rejects(write(tasks, { version }), STALE)
    }
    t.strictSame(await tasks.get(1), { _id: 1, text: 'a', v: 1 })
    const commands = await commandsOf(() => write(tasks, { version: 1 }))
    t.match(commands, [{ findAndModify: 'tasks', query: { _id: 1, v: { $in: [1] } } }])
    t.equal(commands.length, 1)
  })

  t.test(`${name}: '*' and a list are conditions, too`, async (t) => {
    for (const version of ['*', [5, 1]] as const) {
      await t.resolves(write(await createTasks(), { version }))
    }
  })

  t.test(`${name}: a record that is not there is not found`, async (t) => {
    const tasks = await createTasks()
    const params = { version: 1, query: { text: 'other' } }
    await t.rejects(write(tasks, params), { code: 404 })
    await t.rejects(write(tasks, { ...params, version: 7 }), { code: 404 })
    await tasks.remove(1)
    await t.rejects(write(tasks, { version: 1 }), { code: 404 })
    await t.rejects(write(tasks, { version: '*' }), { code: 404 })
  })

  t.test(`${name}: what is no version is refused`, async (t) => {
    const tasks = await createTasks()
    for (const version of ['1', -1, 1.5, Number.NaN, null, {}, ['1'], [[1]]]) {
      await t.rejects(write(tasks, { version } as never), {
        name: 'TypeError',
        message: /params\.version/,
      })
    }
    t.equal((await tasks.get(1)).v, 1)
  })

  t.test(`${name}: a service without versions refuses one`, async (t) => {
    const Model = await empty('plain')
    const plain = createAnyPaging<Task>({ Model })
    await plain.create({ _id: 1, text: 'a' } as Task)
    await t.rejects(write(plain, { version: 1 }), {
      name: 'TypeError',
      message: /option 'version'/,
    })
    // What `If-Match` has become.
    await t.rejects(write(plain, { version: [1] }), { code: 412 })
    t.strictSame(await plain.get(1), { _id: 1, text: 'a' })
    await write(plain, { version: '*' })
  })

  t.test(`${name}: requireVersion asks callers outside for one`, async (t) => {
    const tasks = await createTasks({ requireVersion: true })
    await t.rejects(write(tasks, OUTSIDE), { code: 428, name: 'PreconditionRequired' })
    t.equal((await tasks.get(1)).v, 1)
    await write(tasks, { ...OUTSIDE, version: 1 })
    await write(await createTasks({ requireVersion: true }), { ...OUTSIDE, version: '*' })
    await write(await createTasks({ requireVersion: true }), {})
  })
}

t.test('of 50 patches of one version exactly one wins', async (t) => {
  const tasks = await createTasks()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) => tasks.patch(1, { text: String(n) }, { version: 1 })),
  )
  const won = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  t.equal(won.length, 1)
  t.strictSame(await tasks.get(1), won[0])
  for (const one of outcomes) {
    if (one.status === 'rejected') t.match(one.reason, { code: 412, data: { current: 2 } })
  }
})

t.test('50 patches without a condition raise it by 50', async (t) => {
  const tasks = await createTasks()
  const written = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      n % 2 === 0 ? tasks.patch(1, { text: 'x' }) : tasks.update(1, { text: 'y' } as Task),
    ),
  )
  t.strictSame(
    written.map(({ v }) => v).sort((a, b) => a - b),
    Array.from({ length: 50 }, (_, n) => n + 2),
  )
})

t.test('a record from before the option has the version 0', async (t) => {
  const Model = await empty('tasks')
  await Model.insertMany([
    { _id: 1, text: 'a' },
    { _id: 2, text: 'a' },
  ] as never)
  const tasks = createAnyPaging<Task>({ Model, version: 'v' })
  t.strictSame(await tasks.get(1), { _id: 1, text: 'a', v: 0 })
  t.match(await tasks.find(), [{ v: 0 }, { v: 0 }])
  for (const id of [1, 2]) {
    await t.rejects(tasks.patch(id, { text: 'b' }, { version: 1 }), {
      code: 412,
      data: { current: 0 },
    })
  }
  t.strictSame(await tasks.patch(1, { text: 'b' }, { version: 0 }), { _id: 1, text: 'b', v: 1 })
  t.strictSame(await tasks.update(1, { text: 'c' } as Task, { version: 1 }), {
    _id: 1,
    text: 'c',
    v: 2,
  })
})

t.test('the version in the data of a write is the one that was read', async (t) => {
  const tasks = await createTasks()
  const task = await tasks.get(1)
  t.strictSame(await tasks.update(1, { ...task, text: 'b' }), { _id: 1, text: 'b', v: 2 })
  await t.rejects(tasks.update(1, { ...task, text: 'c' }), { code: 412, data: { current: 2 } })
  await t.rejects(tasks.patch(1, { text: 'c', v: 1 }), { code: 412 })
  t.match(await tasks.patch(1, { text: 'c', v: 2 }), { text: 'c', v: 3 })
  await t.rejects(tasks.patch(1, { text: 'd', v: 3 }, { version: 2 }), { code: 412 })
  for (const v of ['3', null, -1, {}]) {
    await t.rejects(tasks.patch(1, { v } as never), { code: 400, message: /'v'/ })
  }
  t.match(await tasks.get(1), { text: 'c', v: 3 })
  const required = createAnyPaging<Task>({ ...tasks.options, requireVersion: true })
  t.match(await required.patch(1, { text: 'e', v: 3 }, OUTSIDE as never), { v: 4 })
})

t.test('nobody sets a version', async (t) => {
  const names = ['$set', '$inc', '$unset', '$rename', '$max']
  const tasks = await createTasks({ updateOperators: names, multi: true })
  const data = { _id: 2, text: 'b', v: 7 }
  const message = /The field 'v' is set by the server/
  await t.rejects(tasks.create(data, OUTSIDE as never), { code: 400, message: /'_id'|'v'/ })
  await t.rejects(tasks.create({ text: 'b', v: 7 } as never, OUTSIDE as never), {
    code: 400,
    message,
  })
  const updates = [
    ...names.map((name) => ({ [name]: { v: 1 } })),
    { $set: { 'v.x': 1 } },
    { $rename: { text: 'v' } },
    { 'v.x': 1 },
  ]
  for (const update of updates) {
    for (const params of [OUTSIDE, {}]) {
      await t.rejects(tasks.patch(1, update as never, params as never), { code: 400 })
      await t.rejects(
        tasks.patch(null, update as never, { ...params, query: { text: 'a' } } as never),
        {
          code: 400,
        },
      )
    }
  }
  await t.rejects(tasks.patch(null, { v: 1 } as never, { query: { text: 'a' } }), {
    code: 400,
    message,
  })
  t.strictSame(await tasks.get(1), { _id: 1, text: 'a', v: 1 })
  for (const v of ['7', -1, null]) {
    await t.rejects(tasks.create({ text: 'c', v } as never), { code: 400, message: /'v'/ })
  }
  // Copies of records, by the server itself.
  t.match(await tasks.create(data as Task), { v: 7 })
})

t.test('writes to many raise all versions, and take no condition', async (t) => {
  const tasks = await createTasks({ multi: true })
  await tasks.create([{ _id: 2, text: 'a' }] as Task[])
  t.match(await tasks.patch(null, { text: 'b' }, { query: { text: 'a' } }), [{ v: 2 }, { v: 2 }])
  t.match(await tasks.patch(null, { text: 'c' }, { docdb: { returning: false } }), { modified: 2 })
  t.match(await tasks.find(), [{ v: 3 }, { v: 3 }])
  const params = { version: 3 }
  await t.rejects(tasks.patch(null, { text: 'd' }, params), { code: 400, message: /one by one/ })
  await t.rejects(tasks.remove(null, params), { code: 400, message: /one by one/ })
  t.equal(((await tasks.find({ query: { text: 'c' } })) as unknown[]).length, 2)
  const required = createAnyPaging<Task>({ ...tasks.options, requireVersion: true })
  const outside = { ...OUTSIDE, query: { text: 'c' } } as never
  await t.rejects(required.patch(null, { text: 'd' }, outside), { code: 428 })
  await t.rejects(required.remove(null, outside), { code: 428 })
})

t.test('an upsert adds a record of version 1, unless a version is expected', async (t) => {
  const tasks = await createTasks()
  const docdb = { upsert: true }
  t.strictSame(await tasks.update(2, { text: 'b' } as Task, { docdb }), { _id: 2, text: 'b', v: 1 })
  t.strictSame(await tasks.patch(3, { text: 'c' }, { docdb }), { _id: 3, text: 'c', v: 1 })
  await t.rejects(tasks.patch(4, { text: 'd' }, { docdb, version: 1 }), { code: 404 })
  await t.rejects(tasks.update(1, { text: 'd' } as Task, { docdb, version: 5 }), STALE)
  t.equal(((await tasks.find()) as unknown[]).length, 3)
})

t.test('a condition holds in transactions, with stages, and for ids of another name', async (t) => {
  const tasks = await createTasks()
  const session = client.startSession()
  await session.withTransaction(async () => {
    const params = { docdb: { session } }
    t.match(await tasks.patch(1, { text: 'b' }, { ...params, version: 1 }), { v: 2 })
    t.match(await tasks.patch(1, { text: 'c' }, { ...params, version: 2 }), { v: 3 })
  })
  await session.endSession()
  const pipeline = [{ $set: { extra: 1 } }]
  t.match(await tasks.patch(1, { text: 'd' }, { pipeline, version: 3 }), { v: 4, extra: 1 })
  await t.rejects(tasks.patch(1, { text: 'e' }, { pipeline, version: 3 }), { code: 412 })
  await t.rejects(tasks.remove(1, { pipeline, version: 3 }), { code: 412 })
  const keyed = createAnyPaging<Task>({ Model: await empty('keyed'), id: 'key', version: 'v' })
  const { key } = await keyed.create({ text: 'a' } as Task)
  await t.rejects(keyed.update(key, { text: 'b' } as Task, { version: 2 }), STALE)
  t.match(await keyed.update(key, { text: 'b' } as Task, { version: 1 }), { key, text: 'b', v: 2 })
})

const OPTIONS: readonly [Partial<MongoDBOptions>, RegExp][] = [
  [{ version: '_id' }, /version/],
  [{ version: 'a.b' }, /version/],
  [{ version: '$v' }, /version/],
  [{ version: '' }, /version/],
  [{ version: 7 as never }, /version/],
  [{ version: 'key', id: 'key' }, /version/],
  [{ version: 'v', hidden: ['v'] }, /version/],
  [{ requireVersion: true }, /requireVersion/],
]

for (const [options, message] of OPTIONS) {
  t.test(`the options ${JSON.stringify(options)} are refused`, async (t) => {
    const Model = await empty('tasks')
    t.throws(() => new MongoDBService({ Model, ...options }), { name: 'TypeError', message })
  })
}

t.test('one call can not change the field of the versions', async (t) => {
  const tasks = await createTasks()
  const params = { adapter: { version: 'w' } } as never
  await t.rejects(tasks.patch(1, { text: 'b' }, params), { name: 'TypeError', message: /version/ })
})
