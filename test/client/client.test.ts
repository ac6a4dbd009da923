import restClient, {
  AxiosClient as OfficialAxios,
  FetchClient as OfficialFetch,
  SuperagentClient as OfficialSuperagent,
} from '@feathersjs/rest-client'
import t from 'tap'
import type { RemoteServiceClass, RemoteServiceSettings } from '../../src/client/index.ts'
import { createClient, FetchClient, RemoteService, rest } from '../../src/client/index.ts'
import type { Application } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { SERVERS } from './suite/servers.ts'

t.test('a client has the services of the server, and its own hooks and events', async (t) => {
  const baseURL = await SERVERS['Remex, a plugin of Fastify'](t)
  const client = createClient({ baseURL, methods: { todos: ['customMethod'] } })
  const seen: unknown[] = []
  client.hooks({
    around: {
      all: async ({ path, method }, next) => {
        seen.push(`${path} ${method}`)
        await next()
      },
    },
  })
  client.service('todos').on('created', (todo) => seen.push(todo))
  t.strictSame(await client.service('todos').create({ id: 7 }), { id: 7 })
  t.match(await client.service('todos').customMethod?.({ a: 1 }), { data: { a: 1 } })
  t.match(await client.service('rooms/:userId/echo').get(1, { route: { userId: '2' } }), {
    route: { userId: '2' },
  })
  const calls = ['todos create', { id: 7 }, 'todos customMethod', 'rooms/:userId/echo get']
  t.strictSame(seen, calls)
})

t.test('a client can have services of its own', async (t) => {
  const client = createClient({ baseURL: 'http://nothing.invalid' })
  client.use('local', { get: async (id) => ({ id }) })
  t.strictSame(await client.service('local').get(1), { id: 1 })
})

t.test('refuses what is no service, or has no methods', async (t) => {
  const client = createClient({ baseURL: 'http://nothing.invalid' })
  class Local {
    get = async (id: unknown) => ({ id })
  }
  for (const wrong of [Local, Promise.resolve(new Local()), undefined, { find: 1 }]) {
    t.throws(() => client.use('local', wrong as object), {
      name: 'TypeError',
      message: /^Invalid service object passed for path `local`: /,
    })
  }
})

t.test('refuses options that are unknown or invalid, at once', (t) => {
  const wrong: [options: object, message: RegExp][] = [
    [{ baseUrl: 'http://a' }, /unknown option 'baseUrl', allowed are baseURL, methods, headers, /],
    [{ baseURL: 'localhost' }, /must begin with/],
    [{ baseURL: '//evil.example' }, /must begin with .* one '\/'/],
    [{ baseURL: 1 }, /'baseURL' must be a string/],
    [{ timeoutMs: '5' }, /'timeoutMs' must be a number of milliseconds above 0/],
    [{ headers: 'a' }, /'headers' must be an object/],
    [{ headers: { 'a b': 'c' } }, /a name that no header can have/],
    [{ methods: ['a'] }, /'methods' must be an object of lists of names/],
    [{ methods: { todos: ['setup'] } }, /'setup' on service 'todos' is not allowed/],
    [{ connection: { timeout: 1 } }, /cannot hold 'timeout': it is called timeoutMs/],
    [{ connection: { signal: null } }, /cannot hold 'signal'/],
  ]
  for (const [options, message] of wrong) t.throws(() => createClient(options), message)
  t.end()
})

t.test('app.rest is the library, and an application has one default connection', (t) => {
  const app = createApp().configure(rest('http://a').fetch(fetch))
  t.equal((app as unknown as { rest: unknown }).rest, fetch)
  const again = () => app.configure(rest('http://b').ofetch())
  t.throws(again, /Only one default client provider can be configured/)
  t.type(createClient({ baseURL: 'http://a' }).rest, 'function')
  t.end()
})

t.test('refuses a class of services that its connection would not call as it is meant', (t) => {
  const connect = (options: unknown, Service?: unknown) => () =>
    rest('http://a').fetch(fetch, options as object, Service as RemoteServiceClass)
  const { Base } = restClient.default('') as unknown as Record<'Base', new () => object>
  const official = [OfficialFetch, OfficialAxios, OfficialSuperagent, Base]
  const none = [
    class {},
    Object,
    Promise,
    () => ({}),
    function any() {
      return {}
    },
    RemoteService,
    null,
    'x',
    1,
  ]
  for (const Service of [...official, ...official.map((Official) => class extends Official {})]) {
    t.throws(connect(Service), /must extend FetchClient .* of remex\/client/)
    t.throws(connect({}, Service), /must extend FetchClient .* of remex\/client/)
  }
  for (const Service of none) t.throws(connect({}, Service), { name: 'TypeError' }, String(Service))
  t.end()
})

t.test('refuses what classes of Feathers override and this client never calls, by name', (t) => {
  const names = ['request', 'makeUrl', '_find', '_get', '_create', '_remove']
  for (const name of names) {
    class Method extends FetchClient {}
    Object.defineProperty(Method.prototype, name, { value: () => undefined })
    class Field extends FetchClient {
      constructor(settings: RemoteServiceSettings) {
        super(settings)
        Object.assign(this, { [name]: () => undefined })
      }
    }
    const message = new RegExp(`'${name}' .* never called: override sendRequest`)
    for (const Service of [Method, Field]) {
      t.throws(() => rest('http://a').fetch(fetch, Service), { name: 'TypeError', message })
    }
  }
  t.end()
})

t.test('a service made by its class has a base URL that is checked as well', (t) => {
  const settings = { name: 'a', connection: fetch }
  t.throws(() => new FetchClient({ ...settings, base: '//evil.example' }), /must begin with/)
  t.equal(new FetchClient({ ...settings, base: '/api/' }).base, '/api')
  t.end()
})

t.test('the services of a library have a class of its own, to be extended', (t) => {
  t.equal(rest('/').fetch(fetch).Service, FetchClient)
  t.type(rest('/').fetch(fetch).service('a'), FetchClient)
  t.end()
})

t.test('names what is missing or in the wrong place', (t) => {
  for (const library of ['fetch', 'axios', 'superagent'] as const) {
    for (const nothing of [undefined, null, {}]) {
      const connect = () => rest('/')[library](nothing as never)
      t.throws(connect, `${library} has to be provided: rest(url).${library}(${library})`)
    }
  }
  t.throws(() => rest('/').fetch(fetch, { header: {} } as object), /unknown option 'header'/)
  t.throws(() => createApp().configure(rest as never), /lacks the call of rest/)
  const connection = rest('/').fetch(fetch)
  t.throws(() => createApp().use('a', connection), /belongs to app.configure/)
  t.end()
})

t.test('a client sets nothing up, and says so', async (t) => {
  const client: Application = createClient({ baseURL: 'http://localhost' })
  const toMessage = (name: string): string =>
    `app.${name}() needs an application made by createApp() of 'remex'`
  await t.rejects(client.setup(), { name: 'TypeError', message: toMessage('setup') })
  await t.rejects(client.teardown(), { name: 'TypeError', message: toMessage('teardown') })
  t.equal(client._isSetup, false)
  for (const name of ['setup', 'teardown']) {
    const hooks = { [name]: [async () => undefined] } as object
    const message = `'${name}' is not a hookable method of the application, it has find, get`
    t.throws(() => client.hooks(hooks), { name: 'TypeError', message: new RegExp(message) })
  }
})

t.test('a client says in which order kinds and methods of hooks stand', async (t) => {
  const client = createClient({ baseURL: 'http://localhost' })
  const hooks = { create: { before: [async () => undefined] } } as object
  t.throws(() => client.hooks(hooks), {
    name: 'TypeError',
    message: /not a function: { before: { create: \[hook\] } } is the order$/,
  })
})

t.test('an option of calls only cannot be one of the connection, the error says', async (t) => {
  const connect = (connection: Readonly<Record<string, unknown>>) => () =>
    createClient({ baseURL: 'http://localhost', connection })
  t.throws(connect({ headers: {} }), /'headers': it is a top-level option$/)
  t.throws(
    connect({ responseType: 'text' }),
    /'responseType': it is an option of params.connection$/,
  )
})
