import {
  AuthenticationBaseStrategy,
  AuthenticationService,
  JWTStrategy,
} from '@feathersjs/authentication'
import type { HookContext as FeathersContext } from '@feathersjs/feathers'
import { feathers } from '@feathersjs/feathers'
import { hooks, middleware } from '@feathersjs/hooks'
import t from 'tap'

import type { Application, AroundHook } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'

type Seen = unknown[]

/** A class whose methods, and which itself, have hooks of the package. */
function createHookedClass(seen: Seen): new () => object {
  class Notes {
    async create(data: object): Promise<object> {
      return { ...data, stored: true }
    }
    async find(): Promise<number[]> {
      return [1]
    }
  }
  const note = (name: string) => async (context: FeathersContext, next: () => Promise<void>) => {
    const { app, path, method, data, params, service } = context
    seen.push([name, path, method, data, params.query, app !== undefined, service !== undefined])
    await next()
    if (name === 'method') context.result = { ...context.result, hooked: true }
  }
  hooks(Notes, { create: [note('method') as never] })
  hooks(Notes.prototype, [note('class') as never])
  return Notes
}

/** What the calls of a service resolve to, and what its hooks have seen. */
async function callAll(app: Application): Promise<unknown[]> {
  const seen: Seen = []
  const note = (name: string): AroundHook => {
    return async (_context, next) => {
      seen.push(name)
      await next()
    }
  }
  const Notes = createHookedClass(seen)
  app.use('notes', new Notes())
  const notes = app.service('notes')
  notes.hooks({ around: { create: [note('around')] } })
  notes.hooks({ create: [note('short')] })
  app.hooks({ around: [note('app')] })
  const results = [await notes.create({ a: 1 }, { query: { b: 2 } }), await notes.find()]
  return [results, seen]
}

t.test('a class with hooks of the package works as in Feathers', async (t) => {
  const [results, seen] = await callAll(createApp())
  t.strictSame([results, seen], await callAll(feathers() as unknown as Application))
  t.strictSame(results, [{ a: 1, stored: true, hooked: true }, [1]])
})

t.test('the official AuthenticationService works, with its events', async (t) => {
  class Open extends AuthenticationBaseStrategy {
    async authenticate() {
      return { user: { id: 1 }, authentication: { strategy: 'open' } }
    }
  }
  const app = createApp()
  app.set('authentication', {
    ...{ secret: 'x'.repeat(32), entity: null, authStrategies: ['open', 'jwt'], jwtOptions: {} },
  })
  const authentication = new AuthenticationService(app as never)
  authentication.register('open', new Open())
  authentication.register('jwt', new JWTStrategy())
  app.use('authentication', authentication)
  await app.setup()
  const events: unknown[] = []
  for (const event of ['login', 'logout']) {
    app.on(event, (_result, _params, { path, method }) => events.push([event, path, method]))
  }
  const params = { provider: 'rest' }
  const service = app.service('authentication')
  const login = await service.create({ strategy: 'open' }, params)
  const { accessToken } = login as { accessToken: string }
  const proof = { authentication: { strategy: 'jwt', accessToken } }
  t.match(await service.remove(null, { ...params, ...proof }), { accessToken })
  t.strictSame(events, [
    ['login', 'authentication', 'create'],
    ['logout', 'authentication', 'remove'],
  ])
})

t.test('a service can be taken out and registered again, and has its hooks once', async (t) => {
  const seen: Seen = []
  const Notes = createHookedClass(seen)
  const notes = new Notes()
  const app = createApp().use('notes', notes)
  await app.unuse('notes')
  app.use('again', notes)
  await app.service('again').find()
  t.equal(seen.length, 1)
})

t.test('a method that names its arguments has a context of its own, as a client has', async (t) => {
  const client = feathers().use('todos', { get: async (id: string) => ({ id }) })
  const seen: unknown[] = []
  client.service('todos').hooks({ before: { get: [({ path, id }) => void seen.push([path, id])] } })
  const app = createApp().use('proxied', client.service('todos'))
  t.strictSame(await app.service('proxied').get('1'), { id: '1' })
  t.strictSame(seen, [['todos', '1']])
})

t.test('what another package has put around a method of a class with hooks stays', async (t) => {
  class Notes {
    find = Object.assign(async () => 'guarded', { original: async () => 'unguarded' })
  }
  hooks(Notes.prototype, [async (_context, next) => next()])
  const app = createApp().use('notes', new Notes())
  t.equal(await app.service('notes').find(), 'guarded')
})

t.test('refuses hooks that ask for more than a context has', async (t) => {
  for (const manager of [
    middleware([]).props({ tenant: 'a' }),
    middleware([]).defaults(() => ({ tenant: 'a' })),
  ]) {
    const service = { find: hooks(async () => [], manager) }
    t.throws(() => createApp().use('notes', service), {
      name: 'TypeError',
      message:
        "The hooks of @feathersjs/hooks around 'find' of service 'notes' cannot have props or defaults: they get the context of the service",
    })
  }
})
