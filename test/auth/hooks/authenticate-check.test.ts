import t from 'tap'
import { AuthenticationService, authenticate, JwtStrategy } from '../../../src/auth/index.ts'
import type { Application } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { SECRET } from '../../support/users.ts'

function createAuthentication(app: Application, settings: object = {}): AuthenticationService {
  const options = { secret: SECRET, entity: null, authStrategies: ['jwt'], ...settings }
  const service = new AuthenticationService(app, 'authentication', options)
  service.register('jwt', new JwtStrategy())
  return service
}

/** An application with a service that has the hook, and nothing that proves anything. */
function createGuarded(hook = authenticate('jwt')): Application {
  const app = createApp().use('notes', { find: async () => [] })
  app.service('notes').hooks({ before: { all: [hook] } })
  return app
}

t.test('lets an application start whose authentication service comes later', async (t) => {
  const app = createGuarded(authenticate({ service: '/authentication/', strategies: ['jwt'] }))
  app.hooks({ around: { find: [authenticate('jwt')] } })
  app.use('authentication', createAuthentication(app))
  await t.resolves(app.setup())
})

t.test('takes a strategy that is registered later, as its section in settings says', async (t) => {
  const app = createGuarded(authenticate('jwt', 'google'))
  app.use(
    'authentication',
    createAuthentication(app, { authStrategies: ['jwt', 'google'], google: {} }),
  )
  await t.resolves(app.setup())
})

t.test('takes any strategy of a service that does not tell which it has', async (t) => {
  const app = createGuarded(authenticate('any'))
  const service = { configKey: 'authentication', authenticate: async () => ({}) }
  app.use('authentication', service, { methods: ['authenticate'] })
  await t.resolves(app.setup())
})

t.test('looks for the service in the application that the hooks run in', async (t) => {
  const inner = createGuarded()
  const outer = createApp().use('api', inner)
  await t.rejects(
    outer.setup(),
    /authenticate\('jwt'\) in 'before all' of service 'notes': there is no/,
  )
  const other = createGuarded()
  other.use('authentication', createAuthentication(other))
  await t.resolves(createApp().use('api', other).setup())
})
