import { feathers } from '@feathersjs/feathers'
import t from 'tap'
import type { AroundHook, Hook } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { createLogger } from '../recording-logger.ts'

interface Inner {
  readonly before?: Hook[]
  readonly error?: Hook[]
}

/** Calls a method twice with hooks around it. Resolves to how often was warned. */
async function countWarnings(around: AroundHook[], { before, error }: Inner = {}): Promise<number> {
  const app = createApp()
  const logger = createLogger()
  app.logger = logger
  app.use('todos', { find: async () => undefined, get: async () => 'one' })
  app.service('todos').hooks({ around, before: before ?? [], error: error ?? [] })
  await app.service('todos').find()
  await app.service('todos').find()
  return logger.entries.filter(({ level }) => level === 'warn').length
}

t.test('warns once of a method that is not called and has no result', async (t) => {
  t.equal(await countWarnings([async () => undefined]), 1)
  t.equal(await countWarnings([async (_context, next) => next(), async (context) => context]), 1)
})

t.test('warns of no result that was meant', async (t) => {
  const fail: Hook = async () => Promise.reject(new Error('no'))
  const swallow: Hook = (context) => void Reflect.set(context, 'error', null)
  for (const [what, around, inner] of [
    ['the result of the method is undefined', [async (_context, next) => next()]],
    ['the result is set', [async (context) => void Reflect.set(context, 'result', null)]],
    ['dispatch is set', [async (context) => void Reflect.set(context, 'dispatch', 1)]],
    ['the answer leads elsewhere', [async ({ http }) => void Reflect.set(http, 'status', 204)]],
    [
      'an error was swallowed',
      [async (_context, next) => next()],
      { before: [fail], error: [swallow] },
    ],
  ] as [string, AroundHook[], Inner?][]) {
    t.equal(await countWarnings(around, inner), 0, what)
  }
})

t.test('warns of nothing in production', async (t) => {
  const former = process.env['NODE_ENV']
  process.env['NODE_ENV'] = 'production'
  t.teardown(() => {
    if (former === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = former
  })
  t.equal(await countWarnings([async () => undefined]), 0)
})

const RETURNED: Readonly<Record<string, AroundHook>> = {
  'the context, without next()': async (context) => context,
  'the context, at once': (context) => context,
  'the context, after next()': async (context, next) => next().then(() => context),
  'a copy of the context, without next()': async (context) => ({ ...context, result: 'copy' }),
  'a copy of the context, after next()': async (context, next) =>
    next().then(() => ({ ...context, result: 'copy' })),
  'an object, without next()': async () => ({ other: 1 }),
  'an object, at once': () => ({ other: 1 }),
  'an object, after next()': async (_context, next) => next().then(() => ({ other: 1 })),
  'a string': async () => 'other',
  null: async () => null,
  nothing: async () => undefined,
  'nothing, at once': () => undefined,
  'the context, with a result': async (context) => Object.assign(context, { result: 'set' }),
}

t.test('what an around hook returns is never the result, as in Feathers', async (t) => {
  const wait: AroundHook = async (_context, next) => next()
  const service = { get: async () => 'one' }
  for (const [what, hook] of Object.entries(RETURNED)) {
    for (const around of [[hook], [wait, hook], [hook, wait]]) {
      const theirs = feathers().use('todos', service)
      theirs.service('todos').hooks({ around: around as never })
      const ours = createApp().use('todos', service)
      ours.logger = createLogger()
      ours.service('todos').hooks({ around })
      t.equal(await ours.service('todos').get('1'), await theirs.service('todos').get('1'), what)
    }
  }
})
