import { transaction } from '../../../src/adapter/index.ts'
import { authenticate, hashPassword, protect } from '../../../src/auth/index.ts'
import { BadRequest } from '../../../src/core/index.ts'
import {
  resolveData,
  resolveExternal,
  resolveQuery,
  resolveResult,
  validateData,
  validateQuery,
} from '../../../src/core/schema/index.ts'
import type { Mistake } from './mistake.ts'
import { ask, logged, messages, thrown, untyped, warned } from './mistake.ts'

const hook = async (): Promise<void> => undefined
const audit = async (): Promise<void> => undefined
const open = async (_context: unknown, next: () => Promise<void>): Promise<void> => next()

/** Registers a service with hooks that the compiler would refuse. */
function register(app: object, hooks: unknown): unknown {
  untyped(app)['use']?.('users', messages)
  return untyped(app).service('users')['hooks']?.(hooks)
}

/** The functions that return hooks, with what errors say to write. */
const FACTORIES: readonly (readonly [factory: object, call: string])[] = [
  [authenticate, "authenticate('jwt')"],
  [hashPassword, "hashPassword('password')"],
  [protect, "protect('password')"],
  [resolveData, 'resolveData(resolver)'],
  [resolveExternal, 'resolveExternal(resolver)'],
  [resolveQuery, 'resolveQuery(resolver)'],
  [resolveResult, 'resolveResult(resolver)'],
  [transaction, 'transaction()'],
  [validateData, 'validateData(schema)'],
  [validateQuery, 'validateQuery(schema)'],
]

const UNCALLED = FACTORIES.map(([factory, call]) => {
  const name = call.slice(0, call.indexOf('('))
  return thrown(
    `a hook without its call: ${name}`,
    (app) => register(app, { after: { find: [hook, factory] } }),
    `A hook in 'after find' of service 'users' is the function ${name}, which returns a hook: write ${call}`,
  )
})

/** Mistakes about hooks: where they are registered, and what they do. */
export const HOOK_MISTAKES: readonly Mistake[] = [
  thrown(
    'a mistyped kind of hook beside others',
    (app) => register(app, { before: { find: [hook] }, aftre: { find: [hook] } }),
    "'aftre' is not a valid hook type; did you mean 'after'?",
  ),
  thrown(
    'a mistyped kind of hook alone',
    (app) => register(app, { befor: { find: [hook] } }),
    "The hooks 'befor' of service 'users' are a map, not a list of functions; did you mean 'before'?",
  ),
  thrown(
    'kinds and methods in the wrong order',
    (app) => register(app, { find: { before: [hook] } }),
    "The hooks 'find' of service 'users' are a map, not a list of functions: { before: { create: [hook] } } is the order",
  ),
  thrown(
    'methods beside kinds',
    (app) => register(app, { before: { find: [hook] }, find: [hook] }),
    "'find' is not a valid hook type, allowed are around, before, after, error",
  ),
  thrown(
    'a mistyped method in hooks',
    (app) => register(app, { before: { fnd: [hook] } }),
    "'fnd' is not a hookable method of service 'users'; did you mean 'find'?",
  ),
  thrown(
    'hooks for a method that the service lacks',
    (app) => register(app, { before: { create: [hook] } }),
    "'create' is not a hookable method of service 'users', it has find",
  ),
  thrown(
    'a hook that is undefined, as a wrong import gives it',
    (app) => register(app, { before: { find: [undefined] } }),
    "A hook in 'before find' of service 'users' is undefined, not a function: nothing is imported or returned there",
  ),
  thrown(
    'a hook that is a promise',
    (app) => register(app, { before: { find: [hook()] } }),
    "A hook in 'before find' of service 'users' is a promise, await it first",
  ),
  ...UNCALLED,
  thrown(
    'a hook without its call in the hooks of the application',
    (app) => untyped(app)['hooks']?.({ after: [protect] }),
    "A hook in 'after' of the application is the function protect, which returns a hook: write protect('password')",
  ),
  warned(
    'a mistyped method in the hooks of the application',
    async (app) => {
      untyped(app.use('users', messages))['hooks']?.({ before: { fnd: [hook] } })
      await app.fastify.ready()
    },
    "No service has the method 'fnd' of a hook of the application; did you mean 'find'?",
  ),
  warned(
    'an around hook without next()',
    async (app) => {
      register(app, { around: { find: [open, audit] } })
      await ask(app, { url: '/users' })
    },
    "'find' of service 'users' was not called and has no result: one of its around hooks (open, audit) must await next(), or set context.result",
  ),
  warned(
    'a setup hook without next()',
    async (app) => {
      app.use('users', messages).hooks({ setup: [async () => undefined] })
      await app.fastify.ready()
    },
    'No setup of a service ran: a setup hook must await next()',
  ),
  logged(
    'next() in a before hook',
    (app) => {
      register(app, { before: { find: [open] } })
      return app.fastify.inject('/users').then(({ body }) => body)
    },
    'next is not a function',
    /"message":"Internal error"/,
  ),
  thrown(
    'next() twice',
    (app) => {
      register(app, {
        around: {
          find: [
            async (_context: unknown, next: () => Promise<void>) => {
              await next()
              await next()
            },
          ],
        },
      })
      return app.service('users').find()
    },
    'next() called multiple times',
  ),
  warned(
    'a hook that returns a part of the context',
    async (app) => {
      register(app, { before: { find: [async () => ({ params: {} })] } })
      await ask(app, { url: '/users' })
    },
    /returned an object that is not a copy of the context, so it changed nothing: set context\.params/,
  ),
  logged(
    'a hook that throws a plain object',
    (app) => {
      register(app, {
        before: {
          find: [
            () => {
              throw { code: 400, reason: 'hunter2' }
            },
          ],
        },
      })
      return app.fastify.inject('/users').then(({ body }) => body)
    },
    /What was thrown is an object with code, reason, and no error: throw an error of remex\/errors, new BadRequest\('…'\) for example \| users \| find$/,
    /^(?!.*hunter2).*Internal error/,
  ),
  logged(
    'a method that fails, with no logger of the server',
    (app) => {
      app.use('users', { find: async () => Reflect.get(undefined as never, 'name') })
      return app.fastify.inject('/users').then(({ body }) => body)
    },
    /\| users \| find$/,
    /"message":"Internal error"/,
  ),
  logged(
    'a listener that fails',
    async (app) => {
      app.use('users', { create: async () => ({ id: 1 }) })
      app.service('users').on('created', () => {
        throw new BadRequest('No mail')
      })
      await app.service('users').create({})
    },
    /An event listener failed \| No mail/,
  ),
]
