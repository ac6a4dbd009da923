import type { Document } from 'mongodb'
import t from 'tap'

import { MongoDBService, resolveObjectId } from '../../src/adapter/index.ts'
import { authenticate, passwordHash } from '../../src/auth/index.ts'
import type { Application } from '../../src/core/index.ts'
import { Forbidden, NotFound, toExternalForm } from '../../src/core/index.ts'
import {
  resolve,
  resolveData,
  resolveExternal,
  resolveQuery,
  resolveResult,
  virtual,
} from '../../src/core/schema/index.ts'
import type { HookContext } from '../../src/transport/index.ts'
import { bearer, logIn } from '../support/accounts.ts'
import { openDatabase } from '../support/database.ts'
import { startApp } from '../support/test-app.ts'
import { CREDENTIALS } from '../support/users.ts'

const { empty, commandsOf } = await openDatabase(t)
const users = await empty('users')
const posts = await empty('posts')

const userData = resolve<Document, HookContext>({
  password: passwordHash({ strategy: 'local' }),
  role: (value, _user, { params }) => {
    if (value !== undefined && params.provider) throw new Forbidden('Not yours')
    return value
  },
})
const userResult = resolve<Document, HookContext>({
  fullName: virtual(({ first, last }) => `${first} ${last}`),
})
const userExternal = resolve<Document, HookContext>({
  password: () => undefined,
  resetToken: () => undefined,
})
const userQuery = resolve<Document, HookContext>({
  _id: (value, _query, { params }) => (params.user as Document | undefined)?.['_id'] ?? value,
})
const postResult = resolve<Document, HookContext>({
  author: virtual(async ({ authorId }, { app }) =>
    authorId ? (app as Application).service('users').get(authorId) : null,
  ),
})

const events: { record: unknown; dispatch: unknown }[] = []
const server = await startApp(t, {
  accounts: { users: null },
  services: {
    users: new MongoDBService({ Model: users, multi: true, paginate: { default: 10 } }),
    posts: new MongoDBService({ Model: posts }),
    nothing: { get: async () => null, find: async () => undefined },
  },
  hooks: {
    users: {
      around: {
        all: [resolveExternal(userExternal), resolveResult(userResult)],
        patch: [authenticate('jwt')],
      },
      before: {
        patch: [resolveQuery(userQuery), resolveData(userData)],
        create: [resolveData(userData)],
      },
    },
    posts: {
      around: { all: [resolveResult(postResult)] },
      before: {
        create: [resolveData(resolve<Document, HookContext>({ authorId: resolveObjectId }))],
      },
    },
    nothing: { around: { all: [resolveExternal(userExternal), resolveResult(userResult)] } },
  },
  configure(app) {
    for (const name of ['created', 'patched', 'removed']) {
      app.service('users').on(name, (record, context) => {
        events.push({ record, dispatch: (context as HookContext).dispatch })
      })
    }
  },
})

const { email, password } = CREDENTIALS
const ADA = { email, first: 'Ada', last: 'Byron' }
const SECRETS = /scrypt|HASH|T0KEN|password|resetToken/

async function createAda(): Promise<string> {
  await users.deleteMany({})
  const { body, status } = await server.request('/users', { data: { ...ADA, password } })
  t.equal(status, 201)
  const id = (body as Document)['_id'] as string
  await users.updateOne({}, { $set: { resetToken: 'T0KEN' } })
  events.length = 0
  return id
}

t.test('no password and no token is in a result, whatever the method (MASS-3)', async (t) => {
  const _id = await createAda()
  const shown = { _id, ...ADA, fullName: 'Ada Byron' }
  const headers = bearer(await logIn(server))
  t.match(await users.findOne(), { password: /^\$scrypt/, resetToken: 'T0KEN' })

  const page = { total: 1, limit: 10, skip: 0, data: [shown] }
  const path = `/users/${_id}`
  t.strictSame((await server.request('/users')).body, page)
  t.strictSame((await server.request(path)).body, shown)
  const data = { first: 'Augusta', password: 'another one' }
  const patched = await server.request(path, { method: 'PATCH', headers, data })
  t.strictSame(patched.body, { ...shown, first: 'Augusta', fullName: 'Augusta Byron' })
  const list = await server.request('/users', { data: [{ first: 'B', password }, { first: 'C' }] })
  t.match(list.body, [{ first: 'B', fullName: 'B undefined' }, { first: 'C' }])
  t.notMatch(list.text, SECRETS)
  const removed = await server.request(path, { method: 'DELETE' })
  t.strictSame(removed.body, patched.body)
})

t.test('no password and no token is what an event shows outside (MASS-3)', async (t) => {
  const _id = await createAda()
  const headers = bearer(await logIn(server))
  const data = { first: 'Augusta' }
  await server.request(`/users/${_id}`, { method: 'PATCH', headers, data })
  await server.request('/users', { data: [{ password }, { password }] })
  await server.request(`/users/${_id}`, { method: 'DELETE' })
  t.equal(events.length, 4)
  for (const { record, dispatch } of events) {
    t.match(record, { password: /^\$scrypt/ }, 'listeners in the process get the whole record')
    t.notMatch(JSON.stringify(toExternalForm(record)), SECRETS)
    t.notMatch(JSON.stringify(dispatch), SECRETS)
  }
})

t.test('no password and no token is selected (MASS-3)', async (t) => {
  const _id = await createAda()
  const select = async (names: string) => (await server.request(`/users/${_id}?${names}`)).body
  t.strictSame(await select('$select[]=password'), { _id })
  t.strictSame(await select('$select[]=fullName&$select[]=resetToken'), {
    _id,
    fullName: 'Ada Byron',
  })
  t.strictSame(await select('$select[]=first'), { _id, first: 'Ada' })
  t.strictSame(await select('$select=fullName'), { _id, fullName: 'Ada Byron' })
  const many = Array.from({ length: 25 }, (_, index) => `$select[]=f${index}`).join('&')
  t.strictSame(await select(`${many}&$select[]=fullName`), { _id, fullName: 'Ada Byron' })
})

t.test('no password and no token is in an error (MASS-3)', async (t) => {
  await createAda()
  const data = { ...ADA, password: 'T0KEN', role: 'admin' }
  const { status, body, text } = await server.request('/users', { data })
  t.strictSame(
    [status, body],
    [
      400,
      {
        ...{ name: 'BadRequest', message: 'Error resolving data', code: 400 },
        className: 'bad-request',
        data: {
          role: { name: 'Forbidden', message: 'Not yours', code: 403, className: 'forbidden' },
        },
      },
    ],
  )
  t.notMatch(text, SECRETS)
  t.equal(await users.countDocuments(), 1)
})

t.test('a user in another record keeps its external form (MASS-3)', async (t) => {
  const authorId = await createAda()
  const author = { _id: authorId, ...ADA, fullName: 'Ada Byron' }
  const created = await server.request('/posts', { data: { text: 'Hi', authorId } })
  const { _id } = created.body as Document
  const post = { _id, text: 'Hi', authorId, author }
  t.strictSame(created.body, post)
  t.strictSame((await server.request('/posts')).body, [post])
  const selected = await server.request(`/posts/${_id}?$select[]=author`)
  t.strictSame(selected.body, { _id, author })
  const inside = (await server.app.service('posts').get(_id)) as Document
  t.match(inside['author'], { password: /^\$scrypt/, resetToken: 'T0KEN' })
  await server.app.service('users').remove(authorId)
  const orphan = await server.request(`/posts/${_id}`)
  t.match(orphan.body, { code: 400, data: { author: { name: 'NotFound', code: 404 } } })
})

t.test('a query may be bound to the user behind the call', async (t) => {
  const id = await createAda()
  const headers = bearer(await logIn(server))
  const { insertedId } = await users.insertOne({ first: 'Bob' })
  const options = { method: 'PATCH', headers, data: { first: 'Eve' } }
  t.equal((await server.request(`/users/${insertedId}`, options)).status, new NotFound().code)
  t.equal((await server.request(`/users/${id}`, options)).status, 200)
})

t.test('a selection of stored fields is read by the database, a virtual one is not', async (t) => {
  const _id = await createAda()
  const projectionOf = async (select: string) => {
    const commands = await commandsOf(() => server.request(`/users/${_id}?${select}`))
    return commands.find(({ find }) => find === 'users')?.['projection']
  }
  t.match(await projectionOf('$select[]=first'), { first: 1 })
  t.equal(await projectionOf('$select[]=fullName'), undefined)
})

t.test('no result is no record', async (t) => {
  for (const path of ['/nothing/1', '/nothing']) {
    t.strictSame((await server.request(path)).status, 204)
  }
})

t.test('$resolve of a caller outside is refused by its name', async (t) => {
  const { body } = await server.request('/users?$resolve[]=fullName')
  t.match(body, { code: 400, message: /^Invalid query parameter \$resolve/ })
})
