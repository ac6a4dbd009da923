import { EventEmitter } from 'node:events'
import feathersPackage from '@feathersjs/feathers'
import t from 'tap'
import type { Params } from '../../../src/core/index.ts'
import { createApp, METHOD_TABLE } from '../../../src/core/index.ts'

const { feathers, getServiceOptions } = feathersPackage

const todos = {
  async find() {
    return ['one']
  },
  async get(id: string | number) {
    return { id }
  },
}

/** Counts in a private field, which only the instance itself has. */
class Counter {
  #count = 0
  readonly unit = 'calls'

  async find(): Promise<number> {
    this.#count += 1
    return this.#count
  }

  async twice(): Promise<number> {
    await this.find()
    return this.find()
  }
}

t.test('derives from an object literal and leaves it as it was', async (t) => {
  const mark = Symbol('mark')
  const literal = Object.freeze({ ...todos, [mark]: 1 })
  const app = createApp().use('todos', literal)
  const service = app.service('todos')

  t.equal(Object.getPrototypeOf(service), literal)
  t.equal((service as unknown as typeof literal)[mark], 1)
  t.same(Object.keys(literal), ['find', 'get'])
  t.same(await service.get(7), { id: 7 })
})

t.test('lets several paths and applications share an object literal', async (t) => {
  const app = createApp().use('todos', todos).use('notes', todos)
  const other = createApp().use('todos', todos)
  app.service('todos').hooks({
    after: (context) => {
      context.result = context.path
    },
  })

  t.equal(await app.service('todos').get(1), 'todos')
  t.same(await app.service('notes').get(1), { id: 1 })
  t.same(await other.service('todos').get(1), { id: 1 })
})

t.test('registers an instance in place, so that its private fields work', async (t) => {
  const counter = new Counter()
  const app = createApp<{ counter: Counter }>().use('counter', counter)

  t.equal(app.service('counter'), counter)
  t.equal(await counter.find(), 1)
  t.equal(await counter.twice(), 3)
})

t.test('adds nothing to an instance that shows when it is logged or copied', async (t) => {
  const counter = new Counter()
  createApp().use('counter', counter)

  t.same(Object.keys(counter), ['unit'])
  t.equal(JSON.stringify(counter), '{"unit":"calls"}')
})

t.test('runs hooks for the calls that an instance makes on itself', async (t) => {
  const app = createApp<{ counter: Counter }>()
  app.use('counter', new Counter(), { methods: ['find', 'twice'] })
  const called: string[] = []
  app.hooks({ before: (context) => void called.push(context.method) })

  await app.service('counter').twice()
  t.same(called, ['twice', 'find', 'find'])
})

t.test('refuses to register an instance twice', async (t) => {
  const app = createApp()
  const counter = new Counter()
  app.use('counter', counter)

  const expected = { name: 'TypeError', message: /'other'.* is registered at 'counter'/ }
  t.throws(() => app.use('other', counter), expected)
  t.throws(() => createApp().use('other', counter), expected)
  t.throws(() => app.use('other', app.service('counter')), expected)
  t.same([...app.entries.keys()], ['counter'])
})

t.test('refuses a path that is taken, whatever its slashes', async (t) => {
  const app = createApp().use('todos', todos)
  t.throws(() => app.use('/todos/', { ...todos }), {
    name: 'TypeError',
    message: "Path 'todos' is in use",
  })
})

t.test('refuses what offers no method', async (t) => {
  const app = createApp()
  const wrong = [{}, { fetch: () => 1 }, { find: 1 }, null, undefined, 'todos', () => todos]
  for (const service of wrong as object[]) {
    t.throws(() => app.use('todos', service), {
      name: 'TypeError',
      message: 'Invalid service object passed for path `todos`',
    })
  }
  t.equal(app.entries.size, 0)
})

t.test('takes a service that has only a custom method, a setup or a teardown', async (t) => {
  const app = createApp()
  app.use('custom', { shout: async (data: string) => data.toUpperCase() }, { methods: ['shout'] })
  app.use('setup', { setup: async () => undefined })
  app.use('teardown', { teardown: async () => undefined })

  t.equal(await app.service('custom')['shout']?.('hey'), 'HEY')
  t.equal(app.entries.size, 3)
})

t.test('passes arguments in the order of the method, with params always there', async (t) => {
  const echo = (...values: unknown[]): unknown[] => values
  const all = { find: echo, get: echo, create: echo, update: echo, patch: echo, remove: echo }
  const app = createApp().use(
    'echo',
    { ...all, custom: echo },
    {
      methods: [...Object.keys(METHOD_TABLE), 'custom'],
    },
  )
  const service = app.service('echo')

  t.same(await service.find(), [{}])
  t.same(await service.get(1), [1, {}])
  t.same(await service.create({ a: 1 }), [{ a: 1 }, {}])
  t.same(await service.update(1, { a: 1 }), [1, { a: 1 }, {}])
  t.same(await service.patch(null, { a: 1 }, { query: {} }), [null, { a: 1 }, { query: {} }])
  t.same(await service.remove(null, undefined), [null, {}])
  t.same(await service['custom']?.({ a: 1 }), [{ a: 1 }, {}])
})

t.test('makes a promise of a thrown error and a plain value, with or without hooks', async (t) => {
  const service = {
    find: () => 'plain',
    get: () => {
      throw new Error('thrown')
    },
    create: () => {
      throw new Error('thrown')
    },
  }
  const app = createApp().use('bare', service).use('hooked', service)
  app.service('hooked').hooks([async (_context, next) => next()])

  for (const path of ['bare', 'hooked']) {
    t.equal(await app.service(path).find(), 'plain')
    await t.rejects(app.service(path).get(1), { message: 'thrown' })
    await t.rejects(app.service(path).create({}), { message: 'thrown' })
  }
})

t.test('a method works without its service, as a function of its own', async (t) => {
  const app = createApp<{ counter: Counter }>().use('counter', new Counter())
  const { find } = app.service('counter')
  t.equal(await find(), 1)
})

t.test('refuses a promise in the place of data, with hooks and without', async (t) => {
  const calls: unknown[] = []
  const service = {
    create: async (data: object) => calls.push(data),
    patch: async (_id: unknown, data: object) => calls.push(data),
    shout: async (data: object) => calls.push(data),
  }
  const methods = ['create', 'patch', 'shout'] as const
  const app = createApp().use('plain', service, { methods })
  app
    .use('hooked', service, { methods })
    .service('hooked')
    .hooks({ before: { all: [({ data }) => void calls.push(data)] } })
  const data = Promise.resolve({ text: 'x' })
  const fault = { name: 'TypeError', message: 'The data is a promise: await it first' }
  for (const path of ['plain', 'hooked']) {
    const { create, patch, shout } = app.service(path) as unknown as typeof service
    await t.rejects(create(data), fault)
    await t.rejects(patch(1, data), fault)
    await t.rejects(shout(data), fault)
  }
  t.strictSame(calls, [])
  await t.resolves(app.service('plain').create(JSON.parse('{"then":"no function"}')))
})

t.test('offers the standard methods that are there when no methods are named', async (t) => {
  const app = createApp().use('todos', { ...todos, shout: () => 1 })
  const entry = app.entries.get('todos')

  t.same(entry?.options, {
    methods: ['find', 'get'],
    events: [],
    serviceEvents: ['created', 'updated', 'patched', 'removed'],
    routeParams: {},
  })
  t.same([...(entry?.methods.keys() ?? [])], ['find', 'get'])
})

t.test('keeps unlisted standard methods for internal calls, hooks included', async (t) => {
  const app = createApp().use(
    'todos',
    { ...todos, shout: async () => 'raw' },
    { methods: ['find'] },
  )
  app.hooks({
    after: (context) => {
      context.result = 'hooked'
    },
  })
  const methods = app.entries.get('todos')?.methods

  t.equal(methods?.get('find')?.external, true)
  t.equal(methods?.get('get')?.external, false)
  t.equal(await app.service('todos').get(1), 'hooked')
  t.equal(methods?.has('shout'), false)
  t.equal(await app.service('todos')['shout']?.(), 'raw')
})

t.test('methods: [] makes a service internal', async (t) => {
  const app = createApp().use('todos', todos, { methods: [] })
  const methods = [...(app.entries.get('todos')?.methods.values() ?? [])]

  t.ok(methods.every(({ external }) => !external))
  t.same(await app.service('todos').get(1), { id: 1 })
})

t.test('copies options, so that later changes to them change nothing', async (t) => {
  const options = { methods: ['find'], events: ['done'], routeParams: { tenant: 'a' } }
  const app = createApp().use('todos', todos, options)
  options.methods.push('get')
  options.events.push('more')
  options.routeParams.tenant = 'b'

  t.same(app.entries.get('todos')?.options, {
    methods: ['find'],
    events: ['done'],
    serviceEvents: ['created', 'updated', 'patched', 'removed', 'done'],
    routeParams: { tenant: 'a' },
  })
})

t.test('refuses a second service where the options stand', async (t) => {
  class Notes {
    async find(): Promise<unknown[]> {
      return []
    }
  }
  for (const second of [{ find: async () => [] }, new Notes(), { setup: async () => null }]) {
    t.throws(() => createApp().use('notes', todos, second as object), {
      message: "app.use() takes one service for path 'notes', and its options after it",
    })
  }
})

t.test('takes any options object, and an option that is undefined', async (t) => {
  const app = createApp()
  app.use('a', todos, {}).use('b', todos, { routeParams: {} })
  app.use('c', todos, { serviceEvents: ['done'], methods: undefined } as object)

  t.same(app.entries.get('c')?.options.serviceEvents, ['done'])
  t.same(app.entries.get('c')?.options.methods, ['find', 'get'])
})

t.test('refuses an option that is unknown, or has a value that it can not have', async (t) => {
  const app = createApp()
  const wrong: readonly [options: unknown, message: string][] = [
    [{ method: ['find'] }, "unknown option 'method'; did you mean 'methods'?"],
    [
      { public: ['find'] },
      "unknown option 'public', allowed are methods, events, serviceEvents, routeParams",
    ],
    [{ methods: 'find' }, "the option 'methods' must be a list of non-empty strings"],
    [{ methods: ['find', ''] }, "the option 'methods' must be a list of non-empty strings"],
    [{ methods: { find: true } }, "the option 'methods' must be a list of non-empty strings"],
    [{ events: 'done' }, "the option 'events' must be a list of non-empty strings"],
    [{ events: [Symbol('done')] }, "the option 'events' must be a list of non-empty strings"],
    [{ serviceEvents: null }, "the option 'serviceEvents' must be a list of non-empty strings"],
    [{ routeParams: ['a'] }, "the option 'routeParams' must be an object"],
    [{ docs: {} }, "unknown option 'docs', allowed are methods, events"],
    [{ extensions: true }, "the option 'extensions' must be an object"],
    [
      { extensions: { schemas: {} } },
      "'extensions.schemas' cannot be an option of another package",
    ],
    [
      { extensions: { schema: {} } },
      "'extensions.schema' cannot be an option of another package; did you mean 'schemas'?",
    ],
    [
      { extensions: { extension: {} } },
      "'extensions.extension' cannot be an option of another package; did you mean 'extensions'?",
    ],
    [{ extensions: JSON.parse('{"__proto__":{}}') }, "'extensions.__proto__' cannot be an option"],
    [null, 'the options must be an object, not null'],
  ]
  for (const [options, message] of wrong) {
    t.throws(() => app.use('d', todos, options as object), {
      name: 'TypeError',
      message: `app.use('d'): ${message}`,
    })
  }
  t.equal(app.entries.size, 0)
})

t.test('options of other packages are where getServiceOptions() of Feathers looks', async (t) => {
  const docs = { description: 'Things to do' }
  const app = createApp()
  const seen: unknown[] = []
  app.mixins.push((_service, path, options) => seen.push([path, Reflect.get(options, 'docs')]))
  app.use('todos', todos, { methods: ['find'], extensions: { docs } as object })

  const options = getServiceOptions(app.service('todos'))
  t.match(options, { methods: ['find'], events: [], docs })
  t.equal(Reflect.get(options, 'docs'), docs)
  t.strictSame(seen, [['todos', docs]])
  t.notOk('extensions' in options)
  t.strictSame(Object.getOwnPropertySymbols({ ...app.service('todos') }), [])
})

t.test('getServiceOptions() of Feathers finds none once a service is unused', async (t) => {
  const service = new (class {
    find = async () => []
  })()
  const app = createApp().use('todos', service)
  t.match(getServiceOptions(service as never), { methods: ['find'] })
  await app.unuse('todos')
  t.equal(getServiceOptions(service as never), undefined)
})

t.test('a service of Feathers keeps its options of there', async (t) => {
  const theirs = feathers().use(
    'todos',
    new (class {
      find = async () => ['a']
    })(),
  )
  const service = theirs.service('todos')
  const app = createApp().use('todos', service)
  t.strictSame(await app.service('todos').find(), ['a'])
  t.match(getServiceOptions(service), { methods: ['find'] })
})

t.test('an option that the service has itself is none of another package', async (t) => {
  const service = { ...todos, options: { hidden: [] } }
  t.throws(() => createApp().use('todos', service, { extensions: { hidden: ['a'] } as object }), {
    name: 'TypeError',
    message: "'extensions.hidden' is an option of the service: give it to its constructor",
  })
  createApp().use('todos', { ...todos, options: null }, { extensions: { docs: 1 } as object })
})

t.test('refuses every protected name as a custom method', async (t) => {
  const names = [
    ...['all', 'around', 'before', 'after', 'error', 'hooks', 'setup', 'teardown', 'publish'],
    ...Object.getOwnPropertyNames(EventEmitter.prototype),
    ...Object.getOwnPropertyNames(Object.prototype),
  ].filter((name) => !['domain'].includes(name))
  const app = createApp()
  for (const name of names) {
    const service = Object.defineProperty({ ...todos }, name, { value: () => 1 })
    t.throws(() => app.use('todos', service, { methods: ['get', name] }), {
      message: `'${name}' on service 'todos' is not allowed as a custom method name`,
    })
  }
  t.ok(names.includes('toString') && names.includes('__proto__') && names.includes('emit'))
})

t.test('refuses a listed method that is not there', async (t) => {
  const app = createApp()
  const service = { ...todos, title: 'x' }
  for (const name of ['create', 'shout', 'title']) {
    t.throws(() => app.use('todos', service, { methods: ['get', name] }), {
      message: `Can not apply hooks. '${name}' is not a function of service 'todos'`,
    })
  }
  t.equal(app.entries.size, 0)
})

t.test('registers each service of a mounted application below the path', async (t) => {
  const subApp = createApp()
    .use('todos', todos)
    .use('/', { ...todos })
  const app = createApp().use('notes', todos).use('/api/v1/', subApp)

  t.same([...app.entries.keys()], ['notes', 'api/v1/todos', 'api/v1'])
  t.equal(app.service('api/v1/todos'), subApp.service('todos'))
})

t.test('runs the hooks of the mounted application, with its context, none above', async (t) => {
  const subApp = createApp().use('todos', todos)
  const app = createApp().use('api', subApp)
  const seen: unknown[] = []
  app.hooks({ before: () => void seen.push('above') })
  subApp.hooks({ before: (context) => void seen.push(context.app, context.path) })

  await app.service('api/todos').get(1)
  t.equal(seen[0], subApp)
  t.same(seen.slice(1), ['todos'])
})

t.test('shares events with the mounted application', async (t) => {
  const subApp = createApp().use('todos', { create: async (data: unknown) => data })
  const app = createApp().use('api', subApp)
  const seen: unknown[] = []
  subApp.service('todos').on('created', (data) => seen.push(data))

  await app.service('api/todos').create({ a: 1 })
  t.same(seen, [{ a: 1 }])
})

t.test('mounts all of an application or nothing', async (t) => {
  const subApp = createApp().use('free', todos).use('taken', todos)
  const app = createApp().use('api/taken', todos)

  t.throws(() => app.use('api', subApp), { message: "Path 'api/taken' is in use" })
  t.same([...app.entries.keys()], ['api/taken'])
})

t.test('unuse() tears a service down, removes it and returns it', async (t) => {
  const torn: unknown[] = []
  const service = { ...todos, teardown: async (...values: unknown[]) => void torn.push(values) }
  const app = createApp().use('todos', service)
  const registered = app.service('todos')

  t.equal(await app.unuse('/todos'), registered)
  t.same(torn, [[app, 'todos']])
  t.throws(() => app.service('todos'), { code: 404 })
  t.equal(await app.unuse('todos'), undefined)
})

t.test('unuse() gives an instance back as it was, to be registered again', async (t) => {
  class Notes {
    hooks = 'mine'
    find = async (_params?: Params): Promise<string> => 'own'
    async get(): Promise<string> {
      return 'inherited'
    }
  }
  const notes = new Notes()
  const before = Object.getOwnPropertyDescriptors(notes)
  const app = createApp().use('notes', notes)
  app.hooks({
    after: (context) => {
      context.result = 'hooked'
    },
  })
  t.equal(await notes.find(), 'hooked')

  await app.unuse('notes')
  t.same(Object.getOwnPropertyDescriptors(notes), before)
  t.equal(await notes.find(), 'own')
  t.equal(await notes.get(), 'inherited')
  t.doesNotThrow(() => createApp().use('again', notes))
})

t.test('unuse() removes a service also when its teardown fails', async (t) => {
  const counter = Object.assign(new Counter(), {
    teardown: async () => {
      throw new Error('stuck')
    },
  })
  const app = createApp().use('counter', counter)

  await t.rejects(app.unuse('counter'), { message: 'stuck' })
  t.equal(app.entries.size, 0)
  t.doesNotThrow(() => app.use('counter', counter))
})

t.test('unuse() of a mounted service leaves it to its own application', async (t) => {
  const subApp = createApp().use('counter', new Counter())
  const app = createApp().use('api', subApp)
  const called: string[] = []
  subApp.hooks({ before: (context) => void called.push(context.method) })

  await app.unuse('api/counter')
  await subApp.service('counter').find()
  t.same(called, ['find'])
})

t.test('the method that callers get has the properties of the one it is made of', async (t) => {
  let mock = { calls: 1 }
  const find = Object.defineProperties(async (): Promise<unknown[]> => [], {
    mock: {
      get: () => mock,
      set: (value) => {
        mock = value
      },
      enumerable: true,
    },
    broken: {
      get: () => {
        throw new Error('broken')
      },
      enumerable: true,
    },
    name: { value: 'search', enumerable: true },
    original: { value: 'own', enumerable: true },
    hidden: { value: 1 },
  })
  const app = createApp().use('todos', { find })
  const hooked = app.service('todos').find as typeof find & Record<string, unknown>
  mock = { calls: 2 }
  t.equal(hooked['mock'], mock)
  hooked['mock'] = { calls: 3 } as never
  t.strictSame(mock, { calls: 3 })
  t.throws(() => hooked['broken'], /broken/)
  t.equal(hooked.name, 'search')
  t.equal(hooked['original'], find)
  t.notOk('hidden' in hooked)
})

t.test('an event of a service without a name is refused, and so is no other list', async (t) => {
  const app = createApp()
  const message = "app.use('todos'): the option 'events' must be a list of non-empty strings"
  t.throws(() => app.use('todos', { ...todos, events: ['done', ''] }), {
    name: 'TypeError',
    message,
  })
  app.use('todos', { ...todos, events: ['done', {}] })
  t.strictSame(getServiceOptions(app.service('todos')).events, ['done'])
})

t.test('an option of another package that is undefined is not given', async (t) => {
  const app = createApp()
  app.use('todos', todos, { extensions: { docs: undefined, other: 1 } as object })
  const options = getServiceOptions(app.service('todos'))
  t.notOk('docs' in options)
  t.equal(Reflect.get(options, 'other'), 1)
})
