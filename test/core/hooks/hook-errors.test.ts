import t from 'tap'
import type { Application, AroundHook, Hook, HookContext } from '../../../src/core/index.ts'
import { createApp, NotFound } from '../../../src/core/index.ts'

/** An application with one service that always fails with {@link broken}. */
function createBrokenApp(): { app: Application; broken: Error } {
  const broken = new Error('broken')
  const fail = (): Promise<never> => Promise.reject(broken)
  return { app: createApp().use('todos', { get: fail, create: fail }), broken }
}

function createRecorder(): {
  log: string[]
  record: (name: string) => Hook
  around: (name: string) => AroundHook
} {
  const log: string[] = []
  const record = (name: string): Hook => {
    return (context) => void log.push(`${name} (${context.type})`)
  }
  const around = (name: string): AroundHook => {
    return async (context, next) => {
      try {
        await next()
      } catch (error) {
        log.push(`${name} catch (${context.type})`)
        throw error
      }
    }
  }
  return { log, record, around }
}

t.test('runs error hooks in the documented order, between the catch blocks', async (t) => {
  const { app, broken } = createBrokenApp()
  const { log, record, around } = createRecorder()
  app.hooks({
    around: [around('app around')],
    after: [record('app after')],
    error: { all: record('app error all'), get: record('app error get') },
  })
  const todos = app.service('todos')
  todos.hooks([around('service short')])
  todos.hooks({
    around: [around('service around')],
    after: [record('service after')],
    error: { all: record('service error all'), get: record('service error get') },
  })

  await t.rejects(todos.get(1), broken)
  t.same(log, [
    'service error get (error)',
    'service error all (error)',
    'service around catch (around)',
    'service short catch (around)',
    'app error get (error)',
    'app error all (error)',
    'app around catch (around)',
  ])
})

t.test('error hooks of a method do not see failures of the hooks for all before it', async (t) => {
  const { log, record } = createRecorder()
  const app = createApp().use('todos', { get: async (id: string | number) => ({ id }) })
  app.service('todos').hooks({
    before: { all: () => Promise.reject(new Error('all')), get: [record('before get')] },
    error: { all: record('error all'), get: record('error get') },
  })

  await t.rejects(app.service('todos').get(1), { message: 'all' })
  t.same(log, ['error all (error)'])
})

t.test('error hooks see failures of the before and after hooks of their level', async (t) => {
  for (const kind of ['before', 'after']) {
    for (const name of ['get', 'all']) {
      const { log, record } = createRecorder()
      const app = createApp().use('todos', { get: async (id: string | number) => ({ id }) })
      app.service('todos').hooks({
        [kind]: { get: () => Promise.reject(new Error('failed')) },
        error: { [name]: record(`error ${name}`) },
      })

      await t.rejects(app.service('todos').get(1), { message: 'failed' })
      t.same(log, [`error ${name} (error)`], `${kind} ${name}`)
    }
  }
})

t.test('error hooks of a service do not see failures of the application hooks', async (t) => {
  const { log, record } = createRecorder()
  const app = createApp().use('todos', { get: async (id: string | number) => ({ id }) })
  app.hooks({ after: () => Promise.reject(new Error('above')) })
  app.service('todos').hooks({ error: [record('service')] })

  await t.rejects(app.service('todos').get(1), { message: 'above' })
  t.same(log, [])
})

t.test('a result swallows the error, null included, and leaves context.error', async (t) => {
  for (const result of ['fallback', null, 0, '']) {
    const { app, broken } = createBrokenApp()
    const seen: unknown[] = []
    app.hooks({ after: (context) => void seen.push(context.error) })
    app.service('todos').hooks({ error: (context) => void Object.assign(context, { result }) })

    t.equal(await app.service('todos').get(1), result)
    t.same(seen, [broken])
  }
})

t.test('undefined as the result swallows nothing', async (t) => {
  const { app, broken } = createBrokenApp()
  app
    .service('todos')
    .hooks({ error: (context) => void Object.assign(context, { result: undefined }) })
  await t.rejects(app.service('todos').get(1), broken)
})

t.test('clearing context.error swallows it too', async (t) => {
  for (const error of [null, undefined]) {
    const { app } = createBrokenApp()
    app.service('todos').hooks({ error: (context) => void Object.assign(context, { error }) })
    t.equal(await app.service('todos').get(1), undefined)
  }
})

t.test('after a swallowed error the application goes on, the service does not', async (t) => {
  const { log, record } = createRecorder()
  const { app } = createBrokenApp()
  app.hooks({ after: [record('app after')], error: [record('app error')] })
  app.service('todos').hooks({
    after: [record('service after')],
    error: (context) => void Object.assign(context, { result: 'fallback' }),
  })

  t.equal(await app.service('todos').get(1), 'fallback')
  t.same(log, ['app after (after)'])
})

t.test('an error that a hook throws or sets replaces the one before', async (t) => {
  const { app } = createBrokenApp()
  const seen: unknown[] = []
  const see: Hook = ({ error }) => void seen.push((error as Error).message)
  app.service('todos').hooks({
    error: [
      see,
      (context) => {
        context.error = new NotFound('set')
      },
      see,
      () => {
        throw new NotFound('thrown')
      },
      see,
      () => Promise.reject(new NotFound('rejected')),
    ],
  })

  await t.rejects(app.service('todos').get(1), { code: 404, message: 'rejected' })
  t.same(seen, ['broken', 'set', 'thrown'])
})

t.test('an error that is thrown after a result was set counts', async (t) => {
  const { app } = createBrokenApp()
  app.service('todos').hooks({
    error: [
      (context) => void Object.assign(context, { result: 'fallback' }),
      () => Promise.reject(new NotFound('no')),
    ],
  })
  await t.rejects(app.service('todos').get(1), { code: 404 })
})

t.test('keeps the context as it was when the error came, through every level', async (t) => {
  const app = createApp().use('todos', { get: async (id: string | number) => ({ id }) })
  const seen: (HookContext['original'] | boolean)[] = []
  const see: Hook = (context) => void seen.push(context.original, 'result' in context)
  app.hooks({ error: [see] })
  app.service('todos').hooks({
    after: () => Promise.reject(new Error('late')),
    error: { all: see, get: see },
  })

  await t.rejects(app.service('todos').get(1, { query: { a: 1 } }))
  t.match(seen[0], {
    ...{ type: 'after', result: { id: 1 }, id: 1, path: 'todos', params: { query: { a: 1 } } },
  })
  t.same(
    seen.filter((value) => typeof value === 'boolean'),
    [false, false, false],
  )
  t.ok(seen[2] === seen[0] && seen[4] === seen[0])
})

t.test('error hooks never find a result that was set on the way', async (t) => {
  const { app, broken } = createBrokenApp()
  const seen: unknown[] = []
  app.hooks({ error: (context) => void seen.push('result' in context, context.original) })
  app.service('todos').hooks([
    async (context, next) => {
      await next().catch((error: unknown) => {
        context.result = 'half done'
        throw error
      })
    },
  ])
  app.service('todos').hooks({ error: [() => undefined] })

  await t.rejects(app.service('todos').get(1), broken)
  t.match(seen, [false, { result: 'half done' }])
})

t.test('an around hook that catches an error finds the type as it was', async (t) => {
  for (const kind of ['before', 'after']) {
    const { log, around } = createRecorder()
    const app = createApp().use('todos', { get: async () => 1 })
    app.service('todos').hooks([around('around')])
    app.service('todos').hooks({ [kind]: () => Promise.reject(new Error(kind)) })

    await t.rejects(app.service('todos').get(1), { message: kind })
    t.same(log, ['around catch (around)'])
  }
})

t.test('the JSON of a context in an error hook has no settings of the application', async (t) => {
  const { app } = createBrokenApp()
  app.set('authentication', { secret: 'kept' } as never)
  const seen: string[] = []
  app.service('todos').hooks({ error: [(context) => void seen.push(JSON.stringify(context))] })
  await app
    .service('todos')
    .get(7)
    .catch(() => undefined)
  t.match(seen, [/"original":\{.*"id":7/])
  t.notMatch(seen[0], /kept|"app"|"service"|"self"/)
})

t.test('throw undefined stays an error, with and without error hooks', async (t) => {
  const app = createApp().use('todos', { get: () => Promise.reject(undefined) })
  const call = (): Promise<unknown> =>
    app
      .service('todos')
      .get(1)
      .then(() => 'resolved')

  t.equal(await call().catch((error: unknown) => error), undefined)
  app.service('todos').hooks({ error: [() => undefined] })
  await t.rejects(call(), { message: 'undefined was thrown' })
  app.service('todos').hooks({ error: [() => Promise.reject(null)] })
  await t.rejects(call(), { message: 'null was thrown' })
})
