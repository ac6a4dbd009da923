import { createRequire } from 'node:module'
import t from 'tap'
import type { Application, AroundHook, Hook } from '../../../src/core/index.ts'
import { createApp, HookContext } from '../../../src/core/index.ts'
import { Gate } from '../../support/gate.ts'

/** An application with one service that writes its calls down, and hooks that do the same. */
function createLoggedApp(): {
  app: Application
  log: string[]
  record: (name: string) => Hook
  around: (name: string) => AroundHook
} {
  const log: string[] = []
  const todos = {
    async find() {
      log.push('find')
      return ['one']
    },
    async get(id: string | number) {
      log.push('get')
      return { id }
    },
  }
  const record = (name: string): Hook => {
    return (context) => void log.push(`${name} (${context.type})`)
  }
  const around = (name: string): AroundHook => {
    return async (context, next) => {
      log.push(`${name} in (${context.type})`)
      await next()
      log.push(`${name} out (${context.type})`)
    }
  }
  return { app: createApp().use('todos', todos), log, record, around }
}

t.test('runs hooks in the documented order, and in reverse on the way out', async (t) => {
  const { app, log, record, around } = createLoggedApp()
  const todos = app.service('todos')
  // Registered in another order than they run in.
  todos.hooks({
    after: { get: record('service after get'), all: record('service after all') },
    before: { get: record('service before get'), all: record('service before all') },
    around: { get: around('service around get'), all: around('service around all') },
  })
  todos.hooks({ get: [around('service short get')] })
  todos.hooks([around('service short all')])
  app.hooks({
    after: { get: record('app after get'), all: record('app after all') },
    before: { get: record('app before get'), all: record('app before all') },
    around: { get: around('app around get'), all: around('app around all') },
  })

  await todos.get(1)
  t.same(log, [
    'app around all in (around)',
    'app around get in (around)',
    'app before all (before)',
    'app before get (before)',
    'service short all in (around)',
    'service short get in (around)',
    'service around all in (around)',
    'service around get in (around)',
    'service before all (before)',
    'service before get (before)',
    'get',
    'service after all (after)',
    'service after get (after)',
    'service around get out (around)',
    'service around all out (around)',
    'service short get out (around)',
    'service short all out (around)',
    'app after all (after)',
    'app after get (after)',
    'app around get out (around)',
    'app around all out (around)',
  ])
})

t.test('runs hooks of one kind in the order in which they were registered', async (t) => {
  const { app, log, record } = createLoggedApp()
  const todos = app.service('todos')
  todos.hooks({ before: [record('1'), record('2')], after: [record('5')] })
  todos.hooks({ before: { all: record('3') }, after: { all: [record('6'), record('7')] } })
  todos.hooks({ before: record('4') })

  await todos.find()
  t.equal(log.join(' ').replace(/ \(\w+\)/g, ''), '1 2 3 4 find 5 6 7')
})

t.test('takes the short formats of the application as around hooks, in their order', async (t) => {
  const { app, log, around } = createLoggedApp()
  app.hooks({ around: [around('1')] })
  app.hooks([around('2')])
  app.hooks({ around: { get: around('3') } })
  app.hooks({ get: [around('4')] })

  await app.service('todos').get(1)
  t.same(
    log.filter((line) => line.includes('in')).map((line) => line[0]),
    ['1', '2', '3', '4'],
  )
})

t.test('runs hooks for the methods they are registered for', async (t) => {
  const { app, log, record } = createLoggedApp()
  app.hooks({ before: { find: [record('app find')], create: [record('app create')] } })
  app.service('todos').hooks({ before: { get: record('get hook') } })

  await app.service('todos').find()
  t.same(log.splice(0), ['app find (before)', 'find'])
  await app.service('todos').get(1)
  t.same(log, ['get hook (before)', 'get'])
})

t.test('runs hooks that are registered after the service was used', async (t) => {
  const { app, log, record } = createLoggedApp()
  const todos = app.service('todos')
  await todos.find()
  app.hooks({ before: [record('app')] })
  todos.hooks({ before: [record('service')] })

  await todos.find()
  t.same(log, ['find', 'app (before)', 'service (before)', 'find'])
})

t.test('runs application hooks for services that are registered later', async (t) => {
  const { app, log, record } = createLoggedApp()
  app.hooks({ before: [record('app')] })
  app.use('later', { find: async () => [] })

  await app.service('later').find()
  t.same(log, ['app (before)'])
})

t.test('runs hooks around custom methods', async (t) => {
  const app = createApp().use(
    'todos',
    { shout: async (data: string) => data.toUpperCase() },
    {
      methods: ['shout'],
    },
  )
  app.service('todos').hooks({
    before: {
      shout: (context) => {
        context.data = `${context.data}!`
      },
    },
  })
  t.equal(await app.service('todos')['shout']?.('hey'), 'HEY!')
})

t.test('hooks() returns the service or the application', async (t) => {
  const { app, record } = createLoggedApp()
  const todos = app.service('todos')
  t.equal(todos.hooks({ before: [record('x')] }), todos)
  t.equal(app.hooks({ before: [record('x')] }), app)
})

t.test('refuses hooks that are not in one of the formats, registers none of them', async (t) => {
  const { app, log, record } = createLoggedApp()
  const hook = record('x')
  const cases: [unknown, string | RegExp][] = [
    [{ before: [hook], get: [hook] }, "'get' is not a valid hook type"],
    [{ before: [hook], finally: [hook] }, "'finally' is not a valid hook type"],
    [
      { before: { get: ['x'] } },
      "A hook in 'before get' of service 'todos' is string, not a function",
    ],
    [{ before: [hook, undefined] }, /'before' of service 'todos' is undefined, not a function/],
    [{ before: 'x' }, /must be functions, a list or a map/],
    [{ before: [hook], after: { get: 1 } }, /'after get' of service 'todos' is number/],
    [[hook, null], /'around' of service 'todos' is object, not a function/],
    ['x', "The hooks of service 'todos' must be an object or an array"],
    [null, "The hooks of service 'todos' must be an object or an array"],
  ]
  for (const [options, message] of cases) {
    t.throws(() => app.service('todos').hooks(options as []), { name: 'TypeError', message })
  }
  t.throws(() => app.hooks(null as unknown as []), { message: /hooks of the application must/ })
  await app.service('todos').find()
  t.same(log, ['find'])
})

t.test('refuses a method the service does not have, takes any on the application', async (t) => {
  const { app, record } = createLoggedApp()
  for (const name of ['creat', 'create', 'toString', '__proto__', 'setup']) {
    const map = Object.fromEntries([[name, [record('x')]]])
    const expected = { message: `'${name}' is not a hookable method of service 'todos'` }
    t.throws(() => app.service('todos').hooks({ before: map }), expected)
    t.doesNotThrow(() => app.hooks({ before: map }))
  }
  t.throws(() => app.service('todos').hooks({ creat: [async () => undefined] }), {
    message: "'creat' is not a hookable method of service 'todos'",
  })
})

t.test('takes empty lists for methods the service lacks, as generators write them', async (t) => {
  const { app } = createLoggedApp()
  const all = { all: [], find: [], get: [], create: [], update: [], patch: [], remove: [] }
  const todos = app.service('todos')
  todos.hooks({ around: all, before: all, after: all, error: all })
  todos.hooks({ before: { update: [] } }).hooks({ update: [] })
  app.hooks({ around: all, before: all, after: all, error: all })

  t.same(await todos.find(), ['one'])
  const hook: Hook = () => undefined
  t.throws(() => todos.hooks({ before: { update: [hook] } }), {
    message: "'update' is not a hookable method of service 'todos'",
  })
})

t.test('calls hooks and method with the object that the method was called on', async (t) => {
  const { app } = createLoggedApp()
  const seen: unknown[] = []
  const todos = app.service('todos')
  todos.hooks({
    around: [
      async function (this: unknown, _context, next) {
        seen.push(this)
        await next()
      },
    ],
    before: [
      function (this: unknown, context) {
        seen.push(this, context.self)
      },
    ],
  })
  const receiver: typeof todos = Object.create(todos)

  await todos.find.call(receiver)
  t.equal(seen.length, 3)
  t.ok(seen.every((value) => value === receiver))
})

t.test('lets hooks replace id, data and params of the method', async (t) => {
  const patch = async (...values: unknown[]): Promise<unknown[]> => values
  const app = createApp().use('todos', { patch })
  app.service('todos').hooks({
    before: (context) => {
      context.id = 2
      context.data = { b: 1 }
      context.params = { query: { c: 1 } }
    },
  })
  t.same(await app.service('todos').patch(1, { a: 1 }), [2, { b: 1 }, { query: { c: 1 } }])
})

t.test('waits for hooks that return a promise, one after the other', async (t) => {
  const { app, log, record } = createLoggedApp()
  const slow: Hook = async () => {
    await new Promise(setImmediate)
    log.push('slow')
  }
  app.service('todos').hooks({ before: [record('1'), slow, record('2'), slow], after: [slow] })

  await app.service('todos').find()
  t.same(log, ['1 (before)', 'slow', '2 (before)', 'slow', 'find', 'slow'])
})

t.test('a result that is set before the method skips it, and runs all other hooks', async (t) => {
  for (const result of ['cached', null, undefined]) {
    const { app, log, record, around } = createLoggedApp()
    const todos = app.service('todos')
    todos.hooks({
      around: [around('around')],
      before: [(context) => void Object.assign(context, { result }), record('before')],
      after: [record('after')],
    })

    t.equal(await todos.get(1), result)
    t.same(log, ['around in (around)', 'before (before)', 'after (after)', 'around out (around)'])
  }
})

t.test('an around hook may set the result and go on', async (t) => {
  const { app, log } = createLoggedApp()
  const hook: AroundHook = async (context, next) => {
    context.result = 'cached'
    await next()
  }
  app.service('todos').hooks([hook])

  t.equal(await app.service('todos').find(), 'cached')
  t.same(log, [])
})

t.test('an around hook that does not call next() ends the call', async (t) => {
  const { app, log, record } = createLoggedApp()
  app.hooks({ after: [record('app after')] })
  app.service('todos').hooks([async () => undefined])
  app.service('todos').hooks({ before: [record('before')] })

  t.equal(await app.service('todos').find(), undefined)
  t.same(log, ['app after (after)'])
})

t.test('refuses a second next()', async (t) => {
  const { app, log } = createLoggedApp()
  const hook: AroundHook = async (_context, next) => {
    await next()
    await next()
  }
  app.service('todos').hooks([hook])

  await t.rejects(app.service('todos').find(), { message: 'next() called multiple times' })
  t.same(log, ['find'])
})

t.test('refuses a second next() while the first is running, and each one after that', async (t) => {
  const { app, log } = createLoggedApp()
  const gate = new Gate()
  const hook: AroundHook = async (_context, next) => {
    const first = next()
    for (let count = 0; count < 3; count += 1) {
      await t.rejects(next(), { message: 'next() called multiple times' })
    }
    gate.open()
    await first
  }
  app.service('todos').hooks([hook])
  app.service('todos').hooks({ before: { find: () => gate.pass() } })

  t.same(await app.service('todos').find(), ['one'])
  t.same(log, ['find'])
})

t.test('allows a further next() after one that has failed', async (t) => {
  const { app, log, record, around } = createLoggedApp()
  const refused: unknown[] = []
  const hook: AroundHook = async (_context, next) => {
    await next().catch(() => next().catch(() => next()))
    await next().catch((error: Error) => refused.push(error.message))
  }
  let failures = 0
  app.service('todos').hooks([hook, around('inner')])
  app.service('todos').hooks({
    before: {
      find: [
        record('before'),
        () => {
          failures += 1
          if (failures < 3) throw new Error(`failure ${failures}`)
        },
      ],
    },
  })

  t.same(await app.service('todos').find(), ['one'])
  const attempt = ['inner in (around)', 'before (before)']
  t.same(log, [...attempt, ...attempt, ...attempt, 'find', 'inner out (around)'])
  t.same(refused, ['next() called multiple times'])
})

t.test('gives next() to around hooks only; others get one argument', async (t) => {
  const counts: Record<string, number> = {}
  const countFor = (kind: string): Hook =>
    function () {
      // biome-ignore lint/complexity/noArguments: how many there are is what is asked
      counts[kind] = arguments.length
    }
  const { app } = createLoggedApp()
  const failing = async (): Promise<never> => {
    throw new Error('first')
  }
  app.hooks({ before: countFor('before'), after: countFor('after'), error: countFor('error') })
  app.service('todos').hooks({
    around: {
      all: async (_context, ...rest) => rest[0]().then(() => (counts['around'] = rest.length)),
    },
    before: { get: failing },
  })

  await app.service('todos').find()
  await t.rejects(app.service('todos').get(1), { message: 'first' })
  t.same(counts, { before: 1, after: 1, error: 1, around: 1 })
})

t.test('runs hooks that ask for next, as of @feathersjs/schema, in every place', async (t) => {
  const hook: AroundHook = async (context, next) => {
    log.push(context.type)
    if (typeof next === 'function') return next()
  }
  const { app, log } = createLoggedApp()
  app.hooks({ before: [hook as Hook], after: [hook as Hook], around: [hook] })

  t.same(await app.service('todos').find(), ['one'])
  t.same(log, ['around', 'before', 'find', 'after'])
})

t.test('an around hook may be a plain function that returns the promise of next()', async (t) => {
  const { app, log } = createLoggedApp()
  app.service('todos').hooks([(_context, next) => next()])

  t.same(await app.service('todos').find(), ['one'])
  t.same(log, ['find'])
})

t.test('turns what a hook throws at once into a rejection', async (t) => {
  const throwing = (): never => {
    throw new Error('at once')
  }
  for (const kind of ['around', 'before', 'after']) {
    const { app } = createLoggedApp()
    app.service('todos').hooks({ [kind]: [throwing] })

    const call = app.service('todos').find()
    await t.rejects(call, { message: 'at once' }, kind)
  }
})

t.test('leaves alone what a hook returns by the way', async (t) => {
  const { app } = createLoggedApp()
  const other = app.service('todos')
  class User {
    id = 99
  }
  const returns: Hook[] = [
    (context) => context,
    () => 42,
    () => 'text',
    () => false,
    () => null,
    () => [1, 2],
    () => new User(),
    () => other,
    (context) => context.app,
    () => JSON.parse('{"__proto__":{"id":99}}'),
  ]
  const seen: unknown[] = []
  app.hooks({ before: [...returns, (context) => void seen.push(context.id, Object.keys(context))] })
  app.hooks({ after: (context) => t.type(context, HookContext) })
  app.use('plain', { get: async (id: string | number) => ({ id }) })

  t.same(await app.service('plain').get(1), { id: 1 })
  const names = ['app', 'service', 'path', 'method', 'self', 'type', 'id', 'params']
  t.same(seen, [1, [...names, 'event', 'http', 'dispatch', 'data']])
})

t.test('a context as the last argument is used for the call and returned', async (t) => {
  const { app } = createLoggedApp()
  const method = app.entries.get('todos')?.methods.get('get')
  const todos = app.service('todos')
  if (method === undefined) throw new Error('no such method')
  const context = new HookContext(method, todos, 7, undefined, { query: {} })
  const call = todos.get as unknown as (...values: unknown[]) => Promise<unknown>

  t.equal(await call(context), context)
  t.same(context.result, { id: 7 })
  const other = new HookContext(method, todos, 8, undefined, {})
  t.equal(await call(9, { query: {} }, other), other)
  t.same(other.result, { id: 9 })
})

t.test('arguments before a context take the places of those in it', async (t) => {
  const echo = async (...values: unknown[]): Promise<unknown> => values
  const methods = { find: echo, get: echo, create: echo, patch: echo, remove: echo, shout: echo }
  const app = createApp().use('echo', methods, { methods: Object.keys(methods) })
  const inContext = { id: 5, data: { old: 1 }, params: { provider: 'rest' } }
  const cases: [string, unknown[], unknown[]][] = [
    ['get', [10, {}], [10, {}]],
    ['get', [10], [10, inContext.params]],
    ['get', [undefined, undefined], [undefined, {}]],
    ['find', [{ user: 1 }], [{ user: 1 }]],
    ['create', [{ a: 1 }, null], [{ a: 1 }, {}]],
    ['patch', [null, { a: 1 }], [null, { a: 1 }, inContext.params]],
    ['remove', [10, {}, 'more'], [10, {}]],
    ['shout', [{ a: 1 }, {}], [{ a: 1 }, {}]],
    ['get', [], [5, inContext.params]],
  ]
  for (const [name, given, expected] of cases) {
    const service = app.service('echo')
    const method = app.entries.get('echo')?.methods.get(name)
    if (method === undefined) throw new Error('no such method')
    const { id, data, params } = inContext
    const context = new HookContext(method, service, id, data, params)
    const call = service[name] as (...values: unknown[]) => Promise<unknown>

    t.equal(await call(...given, context), context, name)
    t.same(context.result, expected, name)
    t.same(context.arguments, expected, name)
  }
})

t.test('a context that createContext() of @feathersjs/feathers makes is one of ours', async (t) => {
  const todos = createApp()
    .use('todos', { get: async (id: unknown, params: unknown) => ({ id, params }) })
    .service('todos')
  const feathers = createRequire(import.meta.url)('@feathersjs/feathers') as Record<string, unknown>
  const create = feathers['createContext'] as (...values: unknown[]) => HookContext
  const context = create(todos, 'get', { http: { status: 202 } })
  const call = todos.get as unknown as (...values: unknown[]) => Promise<unknown>

  t.equal(await call(10, { query: {} }, context), context)
  t.same(context.result, { id: 10, params: { query: {} } })
  t.same([context.path, context.http], ['todos', { status: 202 }])
})

t.test('a call with a context rejects with the error itself', async (t) => {
  const error = new Error('broken')
  const app = createApp().use('todos', { get: () => Promise.reject(error) })
  const method = app.entries.get('todos')?.methods.get('get')
  if (method === undefined) throw new Error('no such method')
  const context = new HookContext(method, app.service('todos'), 1, undefined, {})
  const call = app.service('todos').get as unknown as (value: unknown) => Promise<unknown>

  await t.rejects(call(context), error)
})

t.test('a context of another method is an argument like any other', async (t) => {
  const app = createApp().use('todos', {
    get: async () => 1,
    find: async (params: unknown) => params,
  })
  const method = app.entries.get('todos')?.methods.get('get')
  if (method === undefined) throw new Error('no such method')
  const context = new HookContext(method, app.service('todos'), 1, undefined, {})
  const find = app.service('todos').find as (value: unknown) => Promise<unknown>

  t.equal(await find(context), context)
  t.notOk('result' in context)
})

t.test('keeps the function without hooks as its property original', async (t) => {
  const { app, log, record } = createLoggedApp()
  const todos = app.service('todos')
  todos.hooks({ before: [record('before')] })
  const { original } = todos.find as unknown as { original: () => Promise<unknown> }

  t.same(await original.call(todos), ['one'])
  t.same(log, ['find'])
})

t.test('a hooked method has the name, length and enumerable fields of its function', async (t) => {
  class Todos {
    async patch(id: unknown, data: unknown, _params: unknown) {
      return { id, data }
    }
  }
  const mark = Symbol('mark')
  const custom = { schema: 'todo' }
  Object.assign(Todos.prototype.patch, { custom, original: 'no', [mark]: 1 })
  Object.defineProperty(Todos.prototype.patch, 'hidden', { value: 1 })
  const { patch } = createApp().use('todos', new Todos()).service('todos')

  t.same([patch.name, patch.length], ['patch', 3])
  t.equal(Reflect.get(patch, 'custom'), custom)
  t.equal(Reflect.get(patch, 'original'), Todos.prototype.patch)
  t.equal(Reflect.get(patch, mark), 1)
  t.equal(Reflect.get(patch, 'hidden'), undefined)
})

t.test('hooks that are added during a call leave its result alone', async (t) => {
  const app = createApp()
  let finish = (): void => undefined
  const waits = new Promise<void>((resolve) => {
    finish = resolve
  })
  const emitted: unknown[] = []
  app.use('notes', {
    get: async (id: string) => {
      await waits
      return { id }
    },
    create: async (data: object) => {
      await waits
      return { ...data, id: 1 }
    },
  })
  const notes = app.service('notes')
  notes.on('created', (record: unknown) => emitted.push(record))
  const calls = [notes.get('1'), notes.create({ text: 'a' })]
  app.hooks({ before: { all: [] }, after: { all: [() => undefined] } })
  finish()
  t.strictSame(await Promise.all(calls), [{ id: '1' }, { text: 'a', id: 1 }])
  t.strictSame(emitted, [{ text: 'a', id: 1 }])
})

const BEFORE_HOOKS: Readonly<Record<string, Hook>> = {
  'at once': ({ params }) => void Object.assign(params, { seen: true }),
  later: async ({ params }) => void Object.assign(params, { seen: true }),
}

for (const [time, hook] of Object.entries(BEFORE_HOOKS)) {
  t.test(`before hooks alone that end ${time} leave what other chains do`, async (t) => {
    const broken = new Error('broken')
    const app = createApp().use('todos', {
      get: (id: unknown, { seen }: { seen?: boolean }) => ({ id, seen }),
      find: async ({ seen }: { seen?: boolean }) => [seen],
      create: () => {
        throw broken
      },
      remove: () => Promise.reject(broken),
    })
    const todos = app.service('todos').hooks({ before: { all: [hook] } })
    const created: unknown[] = []
    todos.on('created', (data: unknown) => created.push(data))
    t.strictSame(await todos.get(1), { id: 1, seen: true })
    t.strictSame(await todos.find(), [true])
    await t.rejects(todos.create({}), broken)
    await t.rejects(todos.remove(1), broken)
    t.strictSame(created, [])

    const method = app.entries.get('todos')?.methods.get('get')
    if (method === undefined) throw new Error('no such method')
    const context = new HookContext(method, todos, 7, undefined, {})
    const call = todos.get as unknown as (...values: unknown[]) => Promise<unknown>
    t.equal(await call(context), context)
    t.equal(context.type, 'around')
    t.strictSame(context.result, { id: 7, seen: true })
  })
}

t.test('what a method returns counts, also where a result was set while it ran', async (t) => {
  const contexts: HookContext[] = []
  const app = createApp().use('todos', {
    async find() {
      for (const context of contexts) context.result = ['early']
      return ['own']
    },
  })
  const todos = app.service('todos')
  todos.hooks({ before: { find: [(context) => void contexts.push(context as HookContext)] } })
  t.strictSame(await todos.find(), ['own'])
})
