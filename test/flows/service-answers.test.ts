import { MongoServerError } from 'mongodb'
import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import type { HookContext } from '../../src/transport/index.ts'
import { BadRequest } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import { startServer } from '../support/http.ts'

const { db, empty } = await openDatabase(t)
const users = await empty('users')
await users.createIndex({ email: 1 }, { unique: true, sparse: true })

/** What the driver throws next, whatever it is asked. */
let failure = new MongoServerError({ message: 'none', code: 1 })
const fails = { value: async () => Promise.reject(failure) }
const failingUsers = Object.create(users, { findOne: fails, insertOne: fails })

const calledHooks: string[] = []

const server = await startServer(t, 'standalone', {
  services(app) {
    app.use('users', new MongoDBService({ Model: users, paginate: { default: 10 } }))
    app.service('users').hooks({
      before: { find: [({ method }) => void calledHooks.push(method)], get: [hide] },
    })
    app.use('failing', new MongoDBService({ Model: failingUsers }))
    app.use('accepted', { create: async (data: unknown) => data })
    app.service('accepted').hooks({ after: { create: [accept] } })
    app.use('broken', {
      get: async (id: string) => {
        if (id === 'type') return Reflect.get(undefined as unknown as object, 'x')
        throw new BadRequest('Not like this', {
          password: 'hunter2',
          user: { token: 'hunter2', id },
        })
      },
    })
  },
})

function accept({ http }: HookContext): void {
  http.status = 202
}

function hide({ params }: HookContext): void {
  calledHooks.push('get')
  params.query = { ...params.query, visible: true }
}

t.test('what every object has is no service (FTH-19)', async (t) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'a/../b', '', 'users/__proto__']) {
    t.throws(() => server.app.service(name), { name: 'NotFound' })
  }
})

t.test('HEAD answers as GET does, without a body (FTH-21)', async (t) => {
  const { insertedId: id } = await users.insertOne({ name: 'ann', visible: true })
  for (const path of ['/users', `/users/${id}`, '/users/nobody', '/users?$where=1']) {
    const get = await server.request(path)
    const head = await server.request(path, { method: 'HEAD' })
    t.strictSame([head.status, head.text], [get.status, ''], path)
    const ignored = { date: undefined }
    t.strictSame({ ...head.headers, ...ignored }, { ...get.headers, ...ignored }, path)
  }
  t.strictSame(calledHooks, ['find', 'find', 'get', 'get', 'get', 'get', 'find', 'find'])
})

t.test('a status that a hook sets wins over 201 (FTH-22)', async (t) => {
  t.equal((await server.request('/accepted', { data: { a: 1 } })).status, 202)
})

t.test('every answer tells its type, and nothing about the server (HTTP-12)', async (t) => {
  const json = 'application/json; charset=utf-8'
  for (const [method, path, status, type] of [
    ['GET', '/users', 200, json],
    ['HEAD', '/users', 200, json],
    ['POST', '/accepted', 202, json],
    ['GET', '/users/nobody', 404, json],
    ['GET', '/nothing/at/all', 404, json],
    ['GET', '/users?$where=1', 400, json],
    ['GET', '/users/%ff', 400, json],
    ['TRACE', '/users', 405, json],
    ['GET', '/broken/type', 500, json],
    ['GET', '/health/live', 200, json],
    ['OPTIONS', '/users', 204, undefined],
  ] as const) {
    const { headers, ...answer } = await server.request(path, { method })
    t.strictSame([answer.status, headers['content-type']], [status, type], `${method} ${path}`)
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.strictSame([headers.server, headers['x-powered-by']], [undefined, undefined])
  }
})

t.test('no error shows a stack, NODE_ENV or not (FTH-28)', async (t) => {
  const { NODE_ENV } = process.env
  delete process.env.NODE_ENV
  t.teardown(() => (NODE_ENV === undefined ? undefined : Object.assign(process.env, { NODE_ENV })))
  for (const accept of ['text/html,*/*;q=0.1', 'application/json', '*/*']) {
    const { status, text } = await server.request('/broken/type', { headers: { accept } })
    t.equal(status, 500)
    t.notMatch(text, /TypeError|Reflect|stack|\bat /)
  }
})

t.test('a duplicate is a 409 that names the field and nothing else (ERR-1)', async (t) => {
  const data = { email: 'ann@test.example', password: 'hunter2' }
  t.equal((await server.request('/users', { data })).status, 201)
  const { status, body, text } = await server.request('/users', { data })
  t.match({ status, body }, { status: 409, body: { data: { fields: ['email'] } } })
  t.notMatch(text, /ann@test|hunter2|email_1|E11000/)
  t.notOk(text.includes(db.databaseName))
})

/** Conflicts that pass by themselves: the answer says when to try again. */
const WRITE_CONFLICTS = [112, 251]

/** Codes of the server and what they are over HTTP; every other one is a plain 500. */
const STATUS_BY_CODE: readonly [status: number, codes: readonly number[]][] = [
  [400, [2, 66, 292, 51091]],
  [408, [50]],
  [409, [112, 251, 11000]],
  [422, [121]],
  [500, [11, 26, 8000, 4711]],
  [503, [91, 189, 462, 10107, 11600, 13435]],
]

t.test('each error of the database has its status and tells nothing more (ERR-2)', async (t) => {
  for (const [status, codes] of STATUS_BY_CODE) {
    for (const code of codes) {
      const errmsg = 'E11000 index email_1 of db.users dup key { email: "ann" }'
      failure = new MongoServerError({ message: errmsg, errmsg, code, keyValue: { email: 'ann' } })
      for (const options of [{}, { method: 'POST', data: {} }]) {
        const answer = await server.request(options.method ? '/failing' : '/failing/1', options)
        t.equal(answer.status, status, `${code}`)
        t.notMatch(answer.text, /email|ann|users|db\./)
        const isPassing = status === 503 || WRITE_CONFLICTS.includes(code)
        t.equal(answer.headers['retry-after'] !== undefined, isPassing)
      }
    }
  }
})

t.test('the data of an error holds no secret (ERR-4)', async (t) => {
  const { status, body } = await server.request('/broken/1')
  t.strictSame(
    [status, (body as { data: unknown }).data],
    [400, { password: '[redacted]', user: { token: '[redacted]', id: '1' } }],
  )
})
