import {
  ApiKeyStrategy,
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  protect,
  requireScope,
} from '../../../src/auth/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { authenticateRequest } from '../../../src/transport/index.ts'
import { SECRET } from '../../support/users.ts'
import type { Mistake } from './mistake.ts'
import { messages, thrown, untyped, warned } from './mistake.ts'

const SETTINGS = { secret: SECRET, entity: null, authStrategies: ['jwt'] }

function addAuthentication(app: FastifyApplication, settings: object = {}): FastifyApplication {
  const service = new AuthenticationService(app, 'authentication', { ...SETTINGS, ...settings })
  service.register('jwt', new JwtStrategy())
  return app.use('authentication', service)
}

/** Registers a service whose hooks the compiler may refuse. */
function addUsers(app: FastifyApplication, hooks: unknown): FastifyApplication {
  app.use('users', messages)
  untyped(app).service('users')['hooks']?.(hooks)
  return app
}

/** Mistakes about authentication: what would be a 401 for ever ends the start. */
export const AUTHENTICATION_MISTAKES: readonly Mistake[] = [
  thrown(
    'authenticate() with a mistyped strategy',
    (app) => {
      addUsers(app, { before: { all: [authenticate('jtw')] } })
      return addAuthentication(app).fastify.ready()
    },
    "authenticate('jtw') in 'before all' of service 'users': 'jtw' is not a strategy of 'authentication'; did you mean 'jwt'?",
  ),
  thrown(
    'authenticate() with a strategy that is not registered',
    (app) => {
      addAuthentication(app).hooks({ around: { all: [authenticate('jwt', 'google')] } })
      return app.fastify.ready()
    },
    "authenticate('jwt', 'google') in 'around all' of the application: 'google' is not a strategy of 'authentication', registered are jwt",
  ),
  thrown(
    'requireScope() with a scope that no API key can have',
    (app) => {
      addUsers(app, { before: { find: [requireScope('users:raed')] } })
      const section = { service: 'users', prefix: 'acme', scopes: ['users:read'] }
      const settings = { parseStrategies: ['jwt', 'api-key'], 'api-key': section }
      const service = addAuthentication(app, settings).service('authentication')
      const authentication = service as unknown as AuthenticationService
      // Its keys are in no database.
      const strategy = Object.assign(new ApiKeyStrategy(), { setup: () => undefined })
      authentication.register('api-key', strategy as unknown as ApiKeyStrategy)
      return app.setup()
    },
    "requireScope('users:raed') in 'before find' of service 'users': no API key can have this scope; did you mean 'users:read'?",
  ),
  thrown(
    'authenticateRequest() with a mistyped strategy',
    (app) => {
      const preHandler = authenticateRequest(addAuthentication(app), 'jtw')
      app.fastify.get('/me', { preHandler }, async () => ({}))
      return app.fastify.ready()
    },
    "authenticate('jtw') in a route: 'jtw' is not a strategy of 'authentication'; did you mean 'jwt'?",
  ),
  thrown(
    'authenticate() without an authentication service',
    (app) => addUsers(app, { around: { find: [authenticate('jwt')] } }).setup(),
    "authenticate('jwt') in 'around find' of service 'users': there is no authentication service: app.use('authentication', new AuthenticationService(app))",
  ),
  thrown(
    'authenticate() with a mistyped service',
    (app) => {
      const hook = authenticate({ service: 'authentcation', strategies: ['jwt'] })
      return addUsers(addAuthentication(app), [hook]).fastify.ready()
    },
    "authenticate('jwt') in 'all' of service 'users': its option 'service' is 'authentcation', where no service is; did you mean 'authentication'?",
  ),
  thrown(
    'authenticate() with a service that logs nobody in',
    (app) => {
      const hook = authenticate({ service: 'users', strategies: ['jwt'] })
      return addUsers(addAuthentication(app), { before: [hook] }).fastify.ready()
    },
    "its option 'service' names 'users', which is not an authentication service",
  ),
  thrown(
    'authenticate() while the setting defaultAuthentication names nothing',
    (app) => {
      app.set('defaultAuthentication', 'auth')
      return addUsers(addAuthentication(app), [authenticate('jwt')]).fastify.ready()
    },
    "the setting 'defaultAuthentication' must be one of authentication",
  ),
  thrown(
    'authenticate() after the method',
    (app) => {
      addUsers(addAuthentication(app), { after: { find: [authenticate('jwt')] } })
      return app.fastify.ready()
    },
    "authenticate('jwt') in 'after find' of service 'users' runs too late: register it in 'before' or 'around'",
  ),
  thrown(
    'authenticate() on the authentication service',
    (app) => {
      addAuthentication(app)
        .service('authentication')
        .hooks({ before: { create: [authenticate('jwt')] } })
      return app.fastify.ready()
    },
    "authenticate('jwt') in 'before create' of service 'authentication' would refuse each login: remove it from this service",
  ),
  thrown(
    'authenticate() without a strategy',
    () => untyped({ authenticate })['authenticate']?.(),
    "The authenticate hook needs at least one allowed strategy: authenticate('jwt')",
  ),
  thrown(
    'hashPassword() without a field',
    () => untyped({ hashPassword })['hashPassword']?.(),
    "The hashPassword hook requires a field name option: hashPassword('password')",
  ),
  thrown(
    'hashPassword() after the method',
    (app) => {
      addUsers(app, { after: { find: [hashPassword('password')] } })
      return app.service('users').find()
    },
    'The hashPassword hook must be used as a before or an around hook',
  ),
  thrown(
    'protect() before the method',
    (app) => {
      addUsers(app, { before: { find: [protect('password')] } })
      return app.service('users').find()
    },
    'The protect hook must be used as an after or an around hook',
  ),
  thrown(
    'an authentication service without its application',
    () => new AuthenticationService(undefined as never),
    'An application instance has to be passed to the authentication service',
  ),
  thrown(
    'no secret',
    (app) => addAuthentication(app, { secret: undefined }).fastify.ready(),
    "A 'secret' must be provided in your authentication configuration",
  ),
  thrown(
    'a strategy in the settings that is not registered',
    (app) => addAuthentication(app, { authStrategies: ['jwt', 'local'] }).fastify.ready(),
    "'authentication.authStrategies' names 'local', which is not a strategy: registered are jwt",
  ),
  thrown(
    'a mistyped setting of authentication',
    (app) => addAuthentication(app, { jwtOption: {} }).fastify.ready(),
    "the setting 'authentication': unknown option 'jwtOption'; did you mean 'jwtOptions'?",
  ),
  thrown(
    'no service with the users',
    (app) => addAuthentication(app, { entity: 'user', service: 'users' }).fastify.ready(),
    "The 'users' service that 'authentication.service' names does not exist",
  ),
  warned(
    'a method that lacks the authenticate hook of the others',
    (app) => {
      const one = async (): Promise<object> => ({})
      app.use('notes', { create: one, update: one, patch: one, remove: one })
      const hooks = [authenticate('jwt')]
      app.service('notes').hooks({ before: { create: hooks, patch: hooks, remove: hooks } })
      return addAuthentication(app).fastify.ready()
    },
    "Of 'notes', update lacks the authenticate hook of create, patch and remove: unless a hook for all methods rejects callers, anyone may call it. Add the hook, or leave it out of the option methods",
  ),
]
