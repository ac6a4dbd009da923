import { feathers } from '@feathersjs/feathers'
import { hooks } from '@feathersjs/hooks'
import t from 'tap'
import { Application, createApp, NotFound } from '../../../src/core/index.ts'
import { createLogger } from '../recording-logger.ts'

const users = { find: async () => [], get: async (id: unknown) => ({ id }) }

type Mistake = (app: Application) => unknown

const REFUSED: Readonly<Record<string, readonly [mistake: Mistake, advice: RegExp, bare: RegExp]>> =
  {
    'a promise as a service': [
      (app) => app.use('a', Promise.resolve(users)),
      /it is a promise, await it first/,
      /for path `a`: pass an object with methods$/,
    ],
    'a function as a service': [
      (app) => app.use('a', () => users),
      /it is a function/,
      /for path `a`: pass an object with methods$/,
    ],
    'an application of Feathers as a service': [
      (app) => app.use('a', feathers()),
      /createApp\(\) did not make/,
      /for path `a`: pass an object with methods$/,
    ],
    'an unknown option of a service': [
      (app) => app.use('a', { ...users }, { method: [] } as object),
      /unknown option 'method'; did you mean 'methods'\?/,
      /unknown option 'method', allowed are methods, events, /,
    ],
    'a listed method that is not there': [
      (app) => app.use('a', { ...users }, { methods: ['fnd'] }),
      /'fnd' is not a function of service 'a'; did you mean 'find'\?/,
      /'fnd' is not a function of service 'a': the option `methods` lists/,
    ],
    'hooks of an unknown method': [
      (app) => app.service('users').hooks({ before: { fnd: [() => undefined] } } as object),
      /'fnd' is not a hookable method of service 'users'; did you mean 'find'\?/,
      /'fnd' is not a hookable method of service 'users', it has find, get/,
    ],
    'hooks of an unknown kind': [
      (app) => app.hooks({ around: [], aftre: [] } as object),
      /'aftre' is not a valid hook type; did you mean 'after'\?/,
      /'aftre' is not a valid hook type, allowed are around, /,
    ],
    'a map in the place of hooks': [
      (app) => app.hooks({ before: { create: { all: [] } } } as object),
      /The hooks 'before create' of the application are a map, not a list of functions: \{ before/,
      /A hook in 'before create' of the application is object, not a function: { before/,
    ],
    'a function for configure() that takes more than the application': [
      (app) => app.configure(((_app: unknown, _options: unknown) => undefined) as never),
      /^'anonymous' takes 2 arguments: app\.configure\(\) takes a function \(app\)$/,
      /^app\.configure\(\) takes a function \(app\)$/,
    ],
  }

for (const [what, [mistake, advice, bare]] of Object.entries(REFUSED)) {
  t.test(`${what} is refused, with advice and without`, async (t) => {
    const advised = createApp().use('users', { ...users })
    const plain = new Application().use('users', { ...users })
    t.throws(() => mistake(advised), { name: 'TypeError', message: advice })
    t.throws(() => mistake(plain), { name: 'TypeError', message: bare })
  })
}

t.test('a path without a service is NotFound, which only advice says more of', async (t) => {
  const find = (app: Application): unknown => app.use('users', { ...users }).service('user')
  t.throws(() => find(createApp()), {
    message: "Can not find service 'user'",
    stack: /did you mean 'users'/,
    cause: { hint: "app.service('user'); did you mean 'users'?" },
  })
  t.throws(() => find(new Application()), NotFound)
  t.throws(() => find(new Application()), {
    message: "Can not find service 'user'",
    cause: undefined,
  })
})

t.test('hooks that do nothing are warned of by advice alone', async (t) => {
  const warnings = async (app: Application): Promise<number> => {
    const logger = createLogger()
    app.logger = logger
    const service = app.use('users', { ...users }).service('users')
    service.on('create', () => undefined)
    service.hooks({ around: { get: [async () => undefined] } })
    service.hooks({ before: { find: [() => ({ params: {} })] } })
    t.equal(await service.get(1), undefined)
    t.strictSame(await service.find(), [])
    await app.setup()
    return logger.entries.length
  }
  t.equal(await warnings(createApp()), 3)
  t.equal(await warnings(new Application()), 0)
})

for (const [what, use] of [
  ["the option 'extensions'", (app) => app.use('a', { ...users }, { extensions: { docs: {} } })],
  ["the option 'singleton'", (app) => app.use('a', { ...users }, { singleton: true })],
  ["the option 'schemas'", (app) => app.use('a', { ...users }, { schemas: {} })],
  ["'find' with hooks of @feathersjs/hooks", (app) => app.use('a', createHookedUsers())],
] as readonly (readonly [string, Mistake])[]) {
  t.test(`an application without support for servers refuses ${what}`, async (t) => {
    const message = `app.use('a'): ${what} needs an application made by createApp() of 'remex'`
    t.throws(() => use(new Application()), { name: 'TypeError', message })
  })
}

t.test('an application without support for servers sets its services up as well', async (t) => {
  const calls: string[] = []
  const app = new Application().use('users', {
    ...users,
    setup: async () => void calls.push('setup'),
    teardown: async () => void calls.push('teardown'),
  })
  app.hooks({
    setup: [
      async (_context: unknown, next: () => Promise<void>) => {
        calls.push('hook')
        await next()
      },
    ],
  } as object)
  await app.setup()
  t.equal(app._isSetup, true)
  await app.teardown()
  t.strictSame(calls, ['hook', 'setup', 'teardown'])
  t.ok(createApp() instanceof Application)
})

/** A service whose method needs the context of its call. */
function createHookedUsers(): object {
  const find = async (): Promise<unknown[]> => []
  return { find: hooks(find, [async (_context, next) => next()]) }
}
