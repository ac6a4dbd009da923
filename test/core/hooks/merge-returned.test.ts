import t from 'tap'
import type { Application, Hook, HookContext, Params } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { createLogger } from '../recording-logger.ts'

/** An application whose service `echo` answers with what its methods got. */
function createEcho() {
  const app: Application = createApp().use('echo', {
    get: async (id: unknown, params: Params) => ({ id, params }),
    create: async (data: unknown, params: Params) => ({ data, params }),
  })
  const logger = createLogger()
  app.logger = logger
  return { app, echo: app.service('echo'), logger }
}

t.test('takes over a copy of the context with changes, from every kind of hook', async (t) => {
  const { app, echo } = createEcho()
  app.hooks({
    before: {
      get: [
        (context) => ({ ...context, params: { ...context.params, first: true } }),
        async (context) => Object.assign({}, context, { id: 8 }),
        (context) => ({ ...context.toObject(), startedAt: 5 }),
      ],
      create: () => Promise.reject(new Error('refused')),
    },
    after: {
      get: async (context) => ({
        ...context,
        result: [context.result, Reflect.get(context, 'startedAt')],
      }),
    },
    error: { create: (context) => ({ ...context, result: 'instead' }) },
  })

  t.same(await echo.get(7, { query: {} }), [{ id: 8, params: { query: {}, first: true } }, 5])
  t.equal(await echo.create({}), 'instead')
})

t.test('a copy has every property of the context, params too', async (t) => {
  const { app, echo } = createEcho()
  app.hooks({
    before: (context) => {
      const copy = { ...context }
      copy.params = { ...copy.params, query: { a: 1 } }
      return copy
    },
  })
  t.same(await echo.get(1, { user: 2 }), { id: 1, params: { user: 2, query: { a: 1 } } })
})

t.test('a copy by lodash or with the context as its prototype can be read', async (t) => {
  const { app, echo } = createEcho()
  const seen: unknown[] = []
  app.hooks({
    before: (context) => {
      const derived = Object.create(context) as HookContext
      const clone = Object.assign(Object.create(Object.getPrototypeOf(context)), context)
      for (const copy of [derived, clone as HookContext]) {
        seen.push(copy.params, copy.arguments, Object.keys(copy.toJSON()).includes('params'))
      }
      return Object.assign(clone as HookContext, { id: 9 })
    },
  })
  t.match(await echo.get(1, { user: 2 }), { id: 9 })
  t.same(seen, [{ user: 2 }, [1, { user: 2 }], false, { user: 2 }, [1, { user: 2 }], true])
})

t.test('a copy changes nothing of what the call is about', async (t) => {
  const { app, echo } = createEcho()
  const seen: HookContext[] = []
  const own = JSON.parse('{"__proto__":{"polluted":1},"toJSON":1,"constructor":2}') as object
  app.hooks({
    before: [
      (context) => ({ ...context, ...own, type: 'after', service: null, self: null, id: 8 }),
      (context) => void seen.push(context),
    ],
  })
  t.match(await echo.get(7), { id: 8 })
  const [context] = seen
  t.equal(context?.service, echo)
  t.equal(context?.self, echo)
  t.equal(typeof context?.toJSON, 'function')
  t.equal((context as { polluted?: unknown }).polluted, undefined)
})

t.test('the body of a caller can not name parts of the context', async (t) => {
  const { app, echo, logger } = createEcho()
  const copies: Hook[] = [
    (context) => ({ ...(context.data as object) }),
    async (context) => structuredClone(context.data),
    (context) => (context.data = { ...(context.data as object) }),
    (context) => context.data,
  ]
  app.hooks({ before: copies, after: (context) => context.data, error: (context) => context.data })
  const evil = {
    ...{ params: {}, id: 1, data: {}, result: 'forged', dispatch: 'forged', event: 'forged' },
    ...{ app: null, path: 'echo', method: 'create', service: {}, self: {}, type: 'after' },
  }
  const params = { provider: 'rest' }

  t.same(await echo.create(evil, params), { data: evil, params })
  t.same(
    logger.entries.map(({ level }) => level),
    ['warn', 'warn'],
    'the two copies look like attempts, parts of the context do not',
  )
})

t.test('the context of another call is no copy of this one', async (t) => {
  const { app, echo } = createEcho()
  const contexts: HookContext[] = []
  app.hooks({ before: (context) => void contexts.push(context) })
  app.hooks({ before: () => contexts[0] })

  t.match(await echo.get(1, { user: 'a' }), { id: 1, params: { user: 'a' } })
  t.match(await echo.get(2, { user: 'b' }), { id: 2, params: { user: 'b' } })
})

t.test('leaves any other object alone, and tells the log once for each hook', async (t) => {
  const { app, echo, logger } = createEcho()
  const named: Hook = function setTenant() {
    return { params: { tenant: 1 } }
  }
  app.hooks({ before: [named, async () => ({ data: 1 }), () => ({ locale: 'is' })] })
  app.hooks({ error: [() => ({ result: 1 })], after: [named] })
  for (let call = 0; call < 3; call += 1) {
    t.same(await echo.get(1, { query: {} }), { id: 1, params: { query: {} } })
  }
  t.match(logger.entries, [
    {
      level: 'warn',
      details: { service: 'echo', method: 'get', hook: 'setTenant' },
      message: /'setTenant' of 'echo' .* changed nothing/,
    },
    { level: 'warn', details: { service: 'echo', method: 'get', hook: 'anonymous' } },
  ])
  t.equal(logger.entries.length, 2)
})
