import type { HookContext } from '@feathersjs/feathers'
import {
  Ajv,
  getDataValidator,
  getValidator,
  querySyntax,
  resolve,
  resolveAll,
  resolveData,
  resolveExternal,
  resolveQuery,
  resolveResult,
  validateData,
  validateQuery,
  virtual,
} from '@feathersjs/schema'
import type { Document } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { Application, AroundHook, Hook, Params } from '../../src/transport/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/database.ts'
import type { Mode, TestScope } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

const before = (hook: unknown): Hook => hook as Hook
const around = (hook: unknown): AroundHook => hook as AroundHook

const ajv = new Ajv({ coerceTypes: true })
const queryAjv = new Ajv({ coerceTypes: true })

const USER = {
  $id: 'User',
  type: 'object',
  additionalProperties: false,
  required: ['email', 'password'],
  properties: {
    email: { type: 'string' },
    password: { type: 'string', minLength: 8 },
    age: { type: 'number' },
  },
} as const

const NOTE = {
  $id: 'Note',
  type: 'object',
  additionalProperties: false,
  required: ['text', 'userId'],
  properties: { text: { type: 'string' }, userId: { type: 'string' } },
} as const

const userQuery = getValidator(
  {
    $id: 'UserQuery',
    type: 'object',
    additionalProperties: false,
    properties: querySyntax({ ...USER.properties, name: { type: 'string' } }),
  },
  queryAjv,
)
const userData = getDataValidator(USER, ajv)
const userDataResolver = resolve<Document, HookContext>({
  password: async (value) => (value === undefined ? value : `hash of ${value}`),
  provider: async (_value, _user, context) => context.params.provider,
})
const userQueryResolver = resolve<Document, HookContext>({
  age: async (value) => (value === 99 ? 9 : value),
})
const userResolver = resolve<Document, HookContext>({
  name: virtual(async (user) => String(user['email']).split('@')[0]),
})
const userExternal = resolve<Document, HookContext>({ password: async () => undefined })

const noteResolver = resolve<Document, HookContext>({
  user: virtual(async ({ userId }, { app }) => (userId ? app.service('users').get(userId) : null)),
  readers: virtual(async (_note, { app }) => app.service('users').find()),
})
const noteExternal = resolve<Document, HookContext>({ secret: async () => undefined })

/** What `users` got as params, one after the other. */
let seen: Params[] = []

/** The hooks where the generators of Feathers put them. */
function addServices(app: Application, { db }: TestDatabase): void {
  seen = []
  const users = new MongoDBService({ Model: db.collection<Document>('users') })
  app.use('users', users).use('notes', new MongoDBService({ Model: db.collection('notes') }))
  app.service('users').hooks({
    around: { all: [around(resolveExternal(userExternal)), around(resolveResult(userResolver))] },
    before: {
      all: [before(validateQuery(userQuery)), before(resolveQuery(userQueryResolver))],
      find: [({ params }) => void seen.push(params)],
      get: [],
      create: [before(validateData(userData)), before(resolveData(userDataResolver))],
      update: [before(validateData(userData.update)), before(resolveData(userDataResolver))],
      patch: [before(validateData(userData)), before(resolveData(userDataResolver))],
      remove: [],
    },
    after: { all: [] },
    error: { all: [] },
  })
  app.service('notes').hooks({
    around: {
      all: [around(resolveExternal(noteExternal)), around(resolveResult(noteResolver))],
      // The same hooks have the same effect around a method.
      create: [
        around(validateData(getValidator(NOTE, new Ajv()))),
        around(resolveData(resolve<Document, HookContext>({ secret: async () => 'kept inside' }))),
      ],
    },
  })
}

async function start(t: TestScope, mode: Mode, database: TestDatabase) {
  for (const name of ['users', 'notes']) await database.empty(name)
  return startServer(t, mode, { services: (app) => addServices(app, database) })
}

const ANN = { email: 'ann@example.org', password: 'long enough', age: 9 }

t.test('the hooks of @feathersjs/schema', async (t) => {
  const database = await openDatabase(t)
  for (const mode of MODES) {
    await t.test(`validate data before and around methods, ${mode}`, async (t) => {
      const server = await start(t, mode, database)
      const short = await server.request('/users', { data: { ...ANN, password: 'short' } })
      t.match(short.body, {
        name: 'BadRequest',
        code: 400,
        message: 'validation failed',
        data: [{ instancePath: '/password', keyword: 'minLength' }],
      })
      const many = await server.request('/users', { data: [ANN] })
      t.match(many.body, { code: 405, message: 'Can not create multiple entries' })
      const note = await server.request('/notes', { data: { text: 1 } })
      t.match(note.body, { code: 400, message: 'validation failed' })
      t.same(await database.db.collection('users').countDocuments(), 0)
    })

    await t.test(`resolve data, results and what goes outside, ${mode}`, async (t) => {
      const server = await start(t, mode, database)
      const created = await server.request('/users', { data: { ...ANN, age: '9' } })
      const { _id } = created.body as { _id: string }
      const shown = { _id, email: ANN.email, age: 9, provider: 'rest', name: 'ann' }
      t.equal(created.status, 201)
      t.same(created.body, shown)
      t.same((await server.request(`/users/${_id}`)).body, shown)
      t.same((await server.request('/users')).body, [shown])
      t.match(await server.app.service('users').get(_id), { password: 'hash of long enough' })

      const patch = { method: 'PATCH', data: { password: 'even longer' } }
      t.same((await server.request(`/users/${_id}`, patch)).body, shown)
      t.match(await server.app.service('users').get(_id), { password: 'hash of even longer' })
      const { provider: _provider, ...replaced } = { ...shown, age: 10 }
      const put = { method: 'PUT', data: { ...ANN, age: 10 } }
      t.match((await server.request(`/users/${_id}`, put)).body, replaced)
      t.match((await server.request(`/users/${_id}`, { method: 'DELETE' })).body, replaced)
    })

    await t.test(`validate and resolve queries, ${mode}`, async (t) => {
      const server = await start(t, mode, database)
      await server.request('/users', { data: ANN })
      const find = async (query: string) => (await server.request(`/users?${query}`)).body
      t.match(await find('age=9'), [{ age: 9 }], 'text becomes a number')
      t.match(await find('age=99'), [{ age: 9 }])
      t.match(await find('age[$gt]=10'), [])
      t.same(await find('$select[]=name&$select[]=age'), [{ name: 'ann', age: 9 }])
      t.match(await find('other=1'), { code: 400, message: 'validation failed' })
      t.match(await find('$limit=-1'), { code: 400, message: 'validation failed' })
      t.match(seen[0], { provider: 'rest', query: { age: 9 }, headers: {}, route: {} })
    })

    await t.test(`nested records keep their outside form, ${mode} (BOLA-6)`, async (t) => {
      const server = await start(t, mode, database)
      const { _id } = (await server.request('/users', { data: ANN })).body as Document
      const data = { text: 'hello', userId: _id }
      const created = await server.request('/notes', { data })
      const shown = { _id, email: ANN.email, age: 9, provider: 'rest', name: 'ann' }
      const note = {
        ...data,
        _id: (created.body as Document)['_id'],
        user: shown,
        readers: [shown],
      }
      t.same(created.body, note)
      t.same((await server.request('/notes')).body, [note])
      t.same((await server.request(`/notes/${note._id}`)).body, note)
      const inside = (await server.app.service('notes').get(note._id)) as Document
      t.match(inside, { secret: 'kept inside', user: { password: /hash/ }, readers: [{ age: 9 }] })
    })

    await t.test(`the adapter checks a validated query again, ${mode} (FTH-17)`, async (t) => {
      const server = await start(t, mode, database)
      const anything = validateQuery(async (query: Document) => query)
      server.app.service('notes').hooks({ before: { all: [before(anything)] } })
      t.match((await server.request('/notes?text[$where]=1')).body, { code: 400 })
      t.match((await server.request('/notes?text[$regex]=.')).body, { code: 400 })
    })

    await t.test(`resolveAll, around, ${mode}`, async (t) => {
      const server = await startServer(t, mode, {
        services: (app) => {
          app.use('todos', { create: async (data: object) => ({ ...data, id: 1, key: 'inside' }) })
          const hook = resolveAll({
            dispatch: resolve<Document, HookContext>({ key: async () => undefined }),
            result: resolve<Document, HookContext>({
              loud: virtual(async ({ text }) => `${text}!`),
            }),
            data: {
              create: resolve<Document, HookContext>({ text: async (value) => `${value}?` }),
            },
          } as unknown as Parameters<typeof resolveAll>[0])
          app.service('todos').hooks({ around: [around(hook)] })
        },
      })
      const { body } = await server.request('/todos', { data: { text: 'what' } })
      t.same(body, { text: 'what?', id: 1, loud: 'what?!' })
    })

    await t.test(`say so when they stand in the wrong place, ${mode}`, async (t) => {
      const server = await startServer(t, mode, {
        services: (app) => {
          app.use('todos', { get: async (id: unknown) => ({ id }), find: async () => [] })
          app.service('todos').hooks({
            before: { get: [before(resolveResult(userResolver))] },
            after: { find: [before(resolveExternal(userExternal))] },
          })
        },
      })
      const message = (name: string) => `The ${name} hook must be used as an around hook`
      t.match((await server.request('/todos/1')).body, { message: message('resolveResult') })
      t.match((await server.request('/todos')).body, { message: message('resolveExternal') })
    })
  }
})
