import t from 'tap'
import type { Hook } from '../../../src/core/index.ts'
import { createApp, createContext, HookContext, METHOD_TABLE } from '../../../src/core/index.ts'

const app = createApp().use(
  '/todos/',
  {
    find: async () => [],
    get: async (id: string | number) => ({ id }),
    create: async (data: unknown) => data,
    update: async (_id: unknown, data: unknown) => data,
    patch: async (_id: unknown, data: unknown) => data,
    remove: async (id: unknown) => ({ id }),
    shout: async (data: unknown) => data,
  },
  { methods: [...Object.keys(METHOD_TABLE), 'shout'] },
)
const todos = app.service('todos')

function contextOf(name: string, ...values: unknown[]): HookContext {
  const method = app.entries.get('todos')?.methods.get(name)
  if (method === undefined) throw new Error(`no method ${name}`)
  return createContext(method, todos, values)
}

t.test('tells application, service, path, method and receiver', async (t) => {
  const context = contextOf('get', 1)
  t.type(context, HookContext)
  t.equal(context.app, app)
  t.equal(context.service, todos)
  t.equal(context.self, todos)
  t.equal(context.path, 'todos')
  t.equal(context.method, 'get')
  t.equal(context.type, 'around')
})

t.test('places the arguments of every method', async (t) => {
  const params = { query: { a: 1 } }
  const data = { text: 'x' }
  const cases: [string, unknown[], unknown, unknown][] = [
    ['find', [params], undefined, undefined],
    ['get', [7, params], 7, undefined],
    ['create', [data, params], undefined, data],
    ['update', [7, data, params], 7, data],
    ['patch', [null, data, params], null, data],
    ['remove', [null, params], null, undefined],
    ['shout', [data, params], undefined, data],
  ]
  for (const [name, values, id, expected] of cases) {
    const context = contextOf(name, ...values)
    t.equal(context.id, id, name)
    t.equal(context.data, expected, name)
    t.equal(context.params, params, name)
    t.same(context.arguments, values, name)
  }
})

t.test('starts with the event of the method, or none', async (t) => {
  const names = ['find', 'get', 'create', 'update', 'patch', 'remove', 'shout']
  t.same(
    names.map((name) => contextOf(name).event),
    [null, null, 'created', 'updated', 'patched', 'removed', null],
  )
})

t.test('params are always an object', async (t) => {
  const takeAway: Hook = (context) => {
    context.params = null as unknown as object
  }
  const takeAwayLater: Hook = async (context) => takeAway(context)
  const show: Hook = (context) => void seen.push(context.params)
  const seen: unknown[] = []
  const other = createApp().use('todos', { get: async (_id: unknown, params: unknown) => params })
  other.hooks({
    around: [
      (context, next) => [takeAway(context), next()][1],
      (context, next) => [show(context), next()][1],
    ],
    before: [takeAway, show, takeAwayLater, show, takeAway],
    after: [takeAway, show],
    error: [show, takeAway, show],
  })

  t.same(await other.service('todos').get(1), {})
  other.hooks({ after: () => Promise.reject(new Error('last')) })
  await t.rejects(other.service('todos').get(1))
  t.ok(seen.length > 8 && seen.every((params) => JSON.stringify(params) === '{}'))
  for (const falsy of [undefined, null, false, 0, '']) t.same(contextOf('find', falsy).params, {})
})

t.test('arguments show what hooks made of them', async (t) => {
  const context = contextOf('patch', 1, { a: 1 })
  context.id = 2
  context.data = { b: 1 }
  context.params = { query: {} }
  t.same(context.arguments, [2, { b: 1 }, { query: {} }])
})

t.test('arguments are set as a whole; a single one is refused', async (t) => {
  const context = contextOf('patch', 1, { a: 1 }, { query: {} })
  context.arguments = [2, { b: 1 }]
  t.same([context.id, context.data, context.params], [2, { b: 1 }, { query: {} }])
  t.throws(() => Reflect.apply(Array.prototype.push, context.arguments, [3]), TypeError)
})

t.test('result, error and original are there only once they are set', async (t) => {
  const context = contextOf('get', 1)
  for (const name of ['result', 'error', 'original']) t.notOk(name in context, name)
  t.equal(context.dispatch, undefined)
  context.result = undefined
  t.ok(Object.hasOwn(context, 'result'))
})

t.test('http is always there, each context has its own, statusCode is its status', async (t) => {
  const context = contextOf('get', 1)
  t.same(context.http, {})
  t.not(contextOf('get', 1).http, context.http)

  context.statusCode = 201
  t.same(context.http, { status: 201 })
  context.http = { status: 202, location: '/x' }
  t.equal(context.statusCode, 202)
  context.statusCode = undefined
  t.same(context.http, { location: '/x' })
})

t.test('hooks see http and properties of their own through an internal call', async (t) => {
  const other = createApp().use('todos', { get: async () => 1 })
  const seen: unknown[] = []
  other.hooks({
    before: (context) => void Object.assign(context, { startedAt: 5 }),
    after: (context) => {
      context.http.status = 418
      seen.push((context as { startedAt?: number }).startedAt, context.statusCode)
    },
  })
  await other.service('todos').get(1)
  t.same(seen, [5, 418])
})

t.test('knows which method it is a call of', async (t) => {
  const methods = app.entries.get('todos')?.methods
  const get = methods?.get('get')
  const find = methods?.get('find')
  if (get === undefined || find === undefined) throw new Error('no such method')
  t.equal(contextOf('get', 1).isFor(get), true)
  t.equal(contextOf('get', 1).isFor(find), false)
})

t.test('JSON shows the call, but neither the application nor the service', async (t) => {
  const context = contextOf('patch', 1, { a: 1 }, { query: { b: 1 } })
  context.result = { c: 1 }
  t.same(JSON.parse(JSON.stringify(context)), {
    path: 'todos',
    method: 'patch',
    type: 'around',
    id: 1,
    data: { a: 1 },
    event: 'patched',
    http: {},
    result: { c: 1 },
    params: { query: { b: 1 } },
    arguments: [1, { a: 1 }, { query: { b: 1 } }],
  })
  t.equal(context.toObject().app, app)
})
