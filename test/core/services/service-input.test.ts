import { feathers } from '@feathersjs/feathers'
import t from 'tap'
import { createApp, findServiceEntry } from '../../../src/core/index.ts'
import { createConfigurator } from '../../../src/core/options/configurator.ts'

class UserService {
  async get(id: unknown) {
    return { id }
  }
}

function OldService(this: { name: string }): void {
  this.name = 'old'
}
OldService.prototype.get = async () => 1

t.test('use() says what stands where a service is meant', async (t) => {
  const app = createApp()
  const loading = Promise.resolve(new UserService())
  const cases: [unknown, string][] = [
    [
      UserService,
      ": UserService is a class, pass an instance: app.use('users', new UserService())",
    ],
    [OldService, ": OldService is a class, pass an instance: app.use('users', new OldService())"],
    [
      createConfigurator('oauth', {}, () => undefined),
      ': oauth() belongs to app.configure(oauth())',
    ],
    [async () => new UserService(), ': it is a function'],
    [loading, ': it is a promise, await it first'],
    [
      feathers(),
      ': it is an application that createApp() did not make; register its services one by one',
    ],
    [undefined, ''],
    [null, ''],
    ['users', ''],
    [{}, ''],
  ]
  for (const [value, hint] of cases) {
    const message = `Invalid service object passed for path \`users\`${hint}`
    t.throws(() => app.use('users', value as object), { name: 'TypeError', message })
  }
  t.equal(app.entries.size, 0)
})

t.test('what stands for a registered service is none itself, and may be registered', async (t) => {
  const app = createApp().use('users', new UserService())
  const users = app.service('users')
  for (const other of [new Proxy(users, {}), Object.create(users)]) {
    t.equal(findServiceEntry(other), undefined)
  }
  t.equal(findServiceEntry(undefined as never), undefined)
  t.equal(findServiceEntry(users)?.path, 'users')
  app.use('people', new Proxy(users, {}))
  t.strictSame(await app.service('people').get(1), { id: 1 })
})
