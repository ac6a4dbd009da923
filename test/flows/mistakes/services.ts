import type { Mistake } from './mistake.ts'
import { ask, messages, thrown, untyped, warned } from './mistake.ts'

class Messages {
  async find(): Promise<object[]> {
    return []
  }
}

/** Mistakes about services: how they are registered, found and called. */
export const SERVICE_MISTAKES: readonly Mistake[] = [
  thrown(
    'a mistyped path of a service',
    (app) => app.use('messages', messages).service('mesages'),
    /app\.service\('mesages'\); did you mean 'messages'\?/,
  ),
  thrown(
    'a path with an id',
    (app) => app.use('users', messages).service('users/1'),
    /use app\.service\('users'\) and pass the id to its methods/,
  ),
  thrown(
    'a path with a route value',
    (app) => app.use('users/:userId/notes', messages).service('users/1/notes'),
    /use app\.service\('users\/:userId\/notes'\) and pass \{ route: \{ userId \} \} as params to its methods/,
  ),
  thrown(
    'a service that is not registered yet',
    (app) => app.service('users'),
    /app\.service\('users'\): no service is registered yet, app\.use\(\) has to come first/,
  ),
  thrown(
    'a path that is nothing like the others',
    (app) => app.use('users', messages).use('notes', messages).service('weather'),
    /app\.service\('weather'\): registered are users, notes/,
  ),
  thrown(
    'a listed method that the service lacks',
    (app) => untyped(app)['use']?.('users', new Messages(), { methods: ['find', 'publich'] }),
    "'publich' is not a function of service 'users': the option `methods` lists what the service has",
  ),
  thrown(
    'a listed method that is mistyped',
    (app) => untyped(app)['use']?.('users', new Messages(), { methods: ['fnd'] }),
    "'fnd' is not a function of service 'users'; did you mean 'find'?",
  ),
  thrown(
    'an empty service',
    (app) => app.use('users', {}),
    'passed for path `users`: it has none of the methods find, get, create, update, patch, remove; list others by the option `methods`',
  ),
  thrown(
    'a class in place of an instance',
    (app) => untyped(app)['use']?.('users', Messages),
    "Messages is a class, pass an instance: app.use('users', new Messages())",
  ),
  thrown(
    'a promise in place of a service',
    (app) => app.use('users', Promise.resolve(messages)),
    'it is a promise, await it first',
  ),
  thrown(
    'nothing in place of a service, as a wrong import gives it',
    (app) => untyped(app)['use']?.('users', undefined),
    'passed for path `users`: it is undefined, not an object',
  ),
  thrown(
    'two services on one path',
    (app) => app.use('users', messages).use('/users/', messages),
    "Path 'users' is in use: await app.unuse('users') first",
  ),
  thrown(
    'one instance at two paths',
    (app) => {
      const service = new Messages()
      return app.use('users', service).use('people', service)
    },
    "is registered at 'users': make a new one",
  ),
  thrown(
    'a second service in place of the options',
    (app) => untyped(app)['use']?.('users', new Messages(), new Messages()),
    "app.use() takes one service for path 'users', and its options after it",
  ),
  thrown(
    'a mistyped option of a service',
    (app) => untyped(app)['use']?.('users', messages, { method: ['find'] }),
    "app.use('users'): unknown option 'method'; did you mean 'methods'?",
  ),
  thrown(
    'the options of the database at app.use()',
    (app) => untyped(app)['use']?.('users', messages, { paginate: { default: 10 } }),
    "app.use('users'): unknown option 'paginate', allowed are methods, events,",
  ),
  thrown(
    'a method with the name of a hook kind',
    (app) => untyped(app)['use']?.('users', { before: async () => 1 }, { methods: ['before'] }),
    "'before' on service 'users' is not allowed as a custom method name",
  ),
  thrown(
    'a method without hooks for callers outside',
    (app) => untyped(app)['use']?.('users', { _create: async () => 1 }, { methods: ['_create'] }),
    "'_create' on service 'users' is not allowed as a custom method name: methods with _ have no hooks",
  ),
  warned(
    'a listener for a method in place of its event',
    async (app) => {
      app
        .use('users', messages)
        .service('users')
        .on('create', () => undefined)
      await app.fastify.ready()
    },
    "'create' is a method of service 'users' and not one of its events: listen to 'created'",
  ),
  warned(
    'a custom method that is not listed',
    (app) => {
      app.use('users', { ...messages, invite: async () => ({}) })
      return ask(app, { url: '/users', data: {}, headers: { 'x-service-method': 'invite' } })
    },
    /list it in the option methods of app\.use\('users'\)/,
    /"message":"Method `invite` is not supported by this endpoint\."/,
  ),
  warned(
    'a standard method by its name',
    (app) => {
      app.use('users', { create: async () => ({}) }, { methods: ['create'] })
      return ask(app, { url: '/users', data: {}, headers: { 'x-service-method': 'create' } })
    },
    'Method `create` is not supported by this endpoint: a standard method is called by its verb, POST, not by name',
    /"message":"Method `create` is not supported by this endpoint\."/,
  ),
  thrown(
    'a path with a wildcard',
    (app) => app.use('files/*', messages),
    "'*' in the path '/files/*' must be a literal or one ':placeholder'",
  ),
  thrown(
    'two placeholders of the same name',
    (app) => app.use('users/:id/notes/:id/tags', messages),
    "The placeholder ':id' in the path '/users/:id/notes/:id/tags' appears twice: give it another name",
  ),
  thrown(
    'a placeholder of the name that the id of a record has',
    (app) => app.use('users/:__id/notes', messages),
    "The placeholder ':__id' in the path '/users/:__id/notes' has a name that is taken: give it another name",
  ),
]
