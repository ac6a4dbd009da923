import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { Conflict } from '../../../src/core/errors/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { pluck } from '../../support/pluck.ts'

const { db, empty, commandsOf } = await openDatabase(t)

t.test('creates indexes when the application is set up, and none before', async (t) => {
  const users = new MongoDBService({
    Model: await empty('users'),
    indexes: [
      { key: { email: 1 }, unique: true },
      { key: { team: 1, name: -1 }, name: 'by team' },
    ],
  })
  const app = createApp()
  app.use('users', users)
  const commands = await commandsOf(() => app.setup())
  t.strictSame(pluck(commands, 'createIndexes'), ['users', 'users'])
  t.match(await db.collection('users').indexes(), [
    { name: '_id_' },
    { name: 'email_1', key: { email: 1 }, unique: true },
    { name: 'by team', key: { team: 1, name: -1 } },
  ])
  await users.create({ email: 'a' })
  await t.rejects(users.create({ email: 'a' }), Conflict)
  await app.teardown()
})

t.test('starts again with the indexes that are there', async (t) => {
  for (const _start of [1, 2]) {
    const app = createApp()
    const key = new Map([['name', 1 as const]])
    app.use('people', new MongoDBService({ Model: await empty('people'), indexes: [{ key }] }))
    await app.setup()
    await app.teardown()
  }
  t.match(await db.collection('people').indexes(), [{ name: '_id_' }, { name: 'name_1' }])
})

t.test('an index that can not be created ends the start and is named', async (t) => {
  const Model = await empty('twice')
  await Model.insertMany([{ email: 'a' }, { email: 'a' }])
  const app = createApp()
  const indexes = [{ key: { name: 1 as const } }, { key: { email: 1 as const }, unique: true }]
  app.use('members', new MongoDBService({ Model, indexes }))
  await t.rejects(app.setup(), {
    message: "Cannot create the index email_1 of 'members'",
    cause: { code: 11000 },
  })
})

t.test('a collection that can not be opened ends the start as well', async (t) => {
  const failure = new Error('secret')
  const Model = () => Promise.reject(failure)
  const app = createApp()
  app.use('members', new MongoDBService({ Model, indexes: [{ key: { a: 1 } }] }))
  await t.rejects(app.setup(), { message: /a_1 of 'members'/, cause: { cause: failure } })
})

t.test('without indexes the start sends no command', async (t) => {
  const app = createApp()
  app.use('users', new MongoDBService({ Model: await empty('users') }))
  t.strictSame(await commandsOf(() => app.setup()), [])
  await app.teardown()
})
