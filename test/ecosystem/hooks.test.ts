import { createRequire } from 'node:module'
import { joinQuery, sanitizeResult, withData, withoutResult } from 'feathers-fletching'
import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import type { AnyService, Application, Hook, HookOptions } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope } from '../support/http.ts'
import { startServer } from '../support/http.ts'

// A package of CommonJS that has no types.
const require = createRequire(import.meta.url)
const search = require('feathers-mongodb-fuzzy-search') as (options?: object) => Hook

const database = await openDatabase(t)

/** A server whose notes have hooks, and people beside them. */
async function start(t: TestScope, hooks: HookOptions<AnyService>) {
  const Model = await database.empty('notes')
  const people = await database.empty('people')
  const server = await startServer(t, 'standalone', {
    services: (app: Application) => {
      const notes = new MongoDBService({ Model, operators: ['$regex', '$text', '$search'] })
      app.use('notes', notes).use('people', new MongoDBService({ Model: people }))
      app.service('notes').hooks(hooks)
    },
  })
  return {
    ...server,
    async insert(...records: object[]): Promise<void> {
      await Model.insertMany(records)
    },
    find: async (query: string) => (await server.request(`/notes?${query}`)).body,
  }
}

t.test('feathers-fletching: joinQuery, withData, withoutResult and sanitizeResult', async (t) => {
  const join = joinQuery({
    owner: { service: 'people', foreignKey: 'ownerId', targetKey: 'name' },
  } as object as Parameters<typeof joinQuery>[0])
  const { request, app, find } = await start(t, {
    before: {
      all: [join],
      create: [withData({ upper: (data: { text?: string }) => data.text?.toUpperCase() })],
    },
    after: {
      all: [join, withoutResult({ secret: () => false }), sanitizeResult({ Hello: '<hidden>' })],
    },
  })
  await app.service('people').create({ name: 'ann', city: 'Bergen' })
  const data = { text: 'Hello', ownerId: 'ann', secret: 's' }
  const created = await request('/notes', { method: 'POST', data })
  t.match(created, { status: 201, body: { text: '<hidden>', upper: 'HELLO', secret: undefined } })
  t.match(await find('owner[city]=Bergen'), [{ ownerId: 'ann' }])
  t.strictSame(await find('owner[city]=Oslo'), [])
})

t.test('feathers-mongodb-fuzzy-search: patterns for fields', async (t) => {
  const { find, insert } = await start(t, { before: { find: [search({ fields: ['text'] })] } })
  await insert({ text: 'A cat' }, { text: 'a dog' }, { text: 'a.c' })
  t.match(await find('text[$search]=CAT'), [{ text: 'A cat' }])
  t.match(await find('text[$search]=a.c'), [{ text: 'a.c' }])
  t.match(await find('other[$search]=a'), { code: 400 })
})

// The embedded server has no text indexes: what reaches the database is looked at instead.
t.test('feathers-mongodb-fuzzy-search: words by the text index', async (t) => {
  const { find } = await start(t, { before: { find: [search()] } })
  const [command] = await database.commandsOf(() => find('$search=dog'))
  t.match(command, { filter: { $text: { $search: '"dog"' } } })
})
