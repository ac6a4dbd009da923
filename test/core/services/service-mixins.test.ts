import t from 'tap'
import type { Application, ServiceMixin } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'

class TodoService {
  async find() {
    return ['one']
  }
}

/** Notes what a mixin is called with, and whether the service has its hooks already. */
function record(seen: unknown[]): ServiceMixin {
  return function (service, path, { methods }) {
    seen.push([this, service, path, methods, 'hooks' in service])
  }
}

t.test('mixins run with each service that is registered, before or after its hooks', async (t) => {
  const seen: unknown[] = []
  const app: Application = createApp()
  app.mixins.unshift(record(seen))
  app.mixins.push(record(seen))
  const service = new TodoService()
  app.use('/todos/', service)

  t.same(seen, [
    [app, service, 'todos', ['find'], false],
    [app, service, 'todos', ['find'], true],
  ])
})

t.test('a mixin gets the service that callers get, also for a literal', async (t) => {
  const services: object[] = []
  const app: Application = createApp()
  app.mixins.unshift((service) => services.push(service))
  const literal = Object.freeze({ find: async () => [] })
  app.use('todos', literal)

  t.equal(services[0], app.service('todos'))
  t.equal(Object.getPrototypeOf(app.service('todos')), literal)
})

t.test('a mixin may add the methods that the options list, and hooks', async (t) => {
  const app: Application = createApp()
  const seen: string[] = []
  app.mixins.unshift((service) => Object.assign(service, { shout: async () => 'LOUD' }))
  app.mixins.push((service) => {
    const { hooks } = service as { hooks: (options: object) => unknown }
    hooks({ before: (context: { method: string }) => void seen.push(context.method) })
  })
  app.use('todos', new TodoService(), { methods: ['find', 'shout'] })

  t.equal(await app.service('todos')['shout']?.({}), 'LOUD')
  t.same(seen, ['shout'])
})

t.test('a mixin that throws leaves the path free and the service without hooks', async (t) => {
  const app: Application = createApp()
  const service = new TodoService()
  const { find } = service
  app.mixins.push(() => {
    throw new Error('broken')
  })
  t.throws(() => app.use('todos', service), { message: 'broken' })
  t.equal(app.entries.size, 0)
  t.equal(service.find, find)

  app.mixins.pop()
  app.use('todos', service)
  t.same(await app.service('todos').find(), ['one'])
})

t.test('a mounted service meets the mixins of both applications, keeps its hooks', async (t) => {
  const seen: unknown[] = []
  const app: Application = createApp()
  app.mixins.push((_service, path) => seen.push(`app ${path}`))
  const subApp: Application = createApp()
  subApp.mixins.push((_service, path) => seen.push(`sub ${path}`))
  subApp.use('todos', new TodoService())
  app.use('api', subApp)

  t.same(seen, ['sub todos', 'app api/todos'])
  t.equal(app.service('api/todos'), subApp.service('todos'))
})

t.test('says so when the mixin that adds the hooks is gone', async (t) => {
  const app: Application = createApp()
  app.mixins.length = 0
  t.throws(() => app.use('todos', new TodoService()), {
    message: 'app.mixins lacks the mixin that adds hooks',
  })
})

t.test('tells the release of Feathers that plug-ins can count on', async (t) => {
  t.match(createApp().version, /^5\.\d+\.\d+$/)
})
