import t from 'tap'

import type { Application } from '../../../src/transport/index.ts'
import { createApp, MethodNotAllowed } from '../../../src/transport/index.ts'
import { findMethod, toAllow } from '../../../src/transport/routing/service-method.ts'
import type { ListeningServer } from '../../support/http.ts'
import { injectServer, MODES, startServer } from '../../support/http.ts'
import { TODO_METHODS, TodoService } from '../../support/todo-service.ts'

const ALL_VERBS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** No adapter replaces many records. */
const VERBS_OF_MANY = ALL_VERBS.replace(' PUT,', '')

/** Counts every call of a function that is not for callers from outside. */
class GuardedService extends TodoService {
  readonly id = '_id'
  readonly options = { multi: true }
  calls = 0

  #count = async (): Promise<object> => {
    this.calls += 1
    return {}
  }
  _find = this.#count
  _create = this.#count
  getModel = this.#count
  filterQuery = this.#count
  app = this.#count
  customHidden = this.#count
  setup = async (): Promise<void> => undefined
}

function createEntry(methods?: readonly string[], service = new TodoService()) {
  const app = createApp()
  app.use('todo', service, methods === undefined ? {} : { methods })
  const entry = app.entries.get('todo')
  if (entry === undefined) throw new Error('todo is not registered')
  return entry
}

/** Verb, id in the path or not, and the method that is called. */
const VERBS: readonly [verb: string, hasId: boolean, method: string][] = [
  ['GET', false, 'find'],
  ['GET', true, 'get'],
  ['HEAD', false, 'find'],
  ['HEAD', true, 'get'],
  ['POST', false, 'create'],
  ['POST', true, 'create'],
  ['PUT', false, 'update'],
  ['PUT', true, 'update'],
  ['PATCH', false, 'patch'],
  ['PATCH', true, 'patch'],
  ['DELETE', false, 'remove'],
  ['DELETE', true, 'remove'],
]

for (const [verb, hasId, method] of VERBS) {
  t.test(`${verb} ${hasId ? 'with' : 'without'} an id calls ${method}`, async (t) => {
    t.equal(findMethod(createEntry(), verb, hasId, undefined).name, method)
    const others = TODO_METHODS.filter((name) => name !== method)
    t.throws(() => findMethod(createEntry(others), verb, hasId, undefined), {
      code: 405,
      message: `Method \`${method}\` is not supported by this endpoint.`,
    })
  })
}

t.test('other verbs are not allowed', async (t) => {
  for (const verb of ['OPTIONS', 'TRACE', 'PROPFIND', 'get', 'constructor', '__proto__']) {
    const find = () => findMethod(createEntry(), verb, false, 'customMethod')
    t.throws(find, new MethodNotAllowed(`Method ${verb} not allowed`), verb)
  }
})

t.test('Allow lists the verbs that the URL answers to', async (t) => {
  t.equal(toAllow(createEntry(), true, []), ALL_VERBS)
  t.equal(toAllow(createEntry(['find']), false, []), 'GET, HEAD, OPTIONS')
  t.equal(toAllow(createEntry(['find']), true, []), 'OPTIONS')
  t.equal(toAllow(createEntry(['get', 'customMethod']), false, []), 'POST, OPTIONS')
  t.equal(toAllow(createEntry([]), false, []), 'OPTIONS')
})

/** Names of functions and properties that no caller may reach. */
const FORBIDDEN = [
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'],
  ...['_find', '_create', 'setup', 'teardown', 'emit', 'on', 'hooks', 'publish', 'customHidden'],
  ...['getModel', 'filterQuery', 'app', 'id', 'options', 'internalMethod', 'nonExisting'],
  ...['find', 'get', 'create', 'update', 'patch', 'remove', 'CREATE', 'Custom', 'custommethod'],
  ...['a, b', 'customMethod, customMethod', 'crÃ©ate', ' create', 'x'.repeat(8_000)],
]

async function startGuarded(
  t: Parameters<typeof startServer>[0],
  mode: (typeof MODES)[number],
): Promise<ListeningServer & { readonly service: GuardedService }> {
  const service = new GuardedService()
  const services = (app: Application) => app.use('todo', service, { methods: TODO_METHODS })
  return { ...(await startServer(t, mode, { services })), service }
}

for (const mode of MODES) {
  t.test(`no name but a listed custom method is called, ${mode} (MTH-1)`, async (t) => {
    const server = await startGuarded(t, mode)
    for (const name of FORBIDDEN) {
      for (const [path, allow] of [
        ['/todo', VERBS_OF_MANY],
        ['/todo/7', ALL_VERBS],
      ] as const) {
        const { status, body, headers } = await server.request(path, {
          headers: { 'x-service-method': name },
          data: { a: 1 },
        })
        const shown = name.length > 64 ? '' : ` \`${name.trim()}\``
        t.strictSame(
          [status, headers.allow, body],
          [
            405,
            allow,
            {
              name: 'MethodNotAllowed',
              message: `Method${shown} is not supported by this endpoint.`,
              code: 405,
              className: 'method-not-allowed',
            },
          ],
          `${path} ${name.slice(0, 40)}`,
        )
      }
    }
    t.equal(server.service.calls, 0)
  })

  t.test(`a header that is sent twice names no method, ${mode} (MTH-1)`, async (t) => {
    const server = await startGuarded(t, mode)
    const answer = await server.raw(
      [
        `POST ${server.prefix}/todo HTTP/1.1`,
        'Host: x',
        'X-Service-Method: customMethod',
        'x-service-method: internalMethod',
        'Content-Length: 0',
        'Connection: close',
        '\r\n',
      ].join('\r\n'),
    )
    t.match(answer, /^HTTP\/1\.1 405 /)
  })

  t.test(`other verbs ignore the header, ${mode} (MTH-3)`, async (t) => {
    const server = await startGuarded(t, mode)
    for (const name of ['customMethod', 'internalMethod', 'find', 'remove', '__proto__']) {
      const headers = { 'x-service-method': name }
      for (const [method, path, status] of [
        ['GET', '/todo', undefined],
        ['GET', '/todo/1', undefined],
        ['PUT', '/todo/1', 'updated'],
        ['PATCH', '/todo/1', 'patched'],
        ['DELETE', '/todo/1', undefined],
      ] as const) {
        const data = status === undefined ? undefined : {}
        const answer = await server.request(path, { method, headers, data })
        t.equal(answer.status, 200, `${method} ${path} ${name}`)
        t.equal((answer.body as { status?: unknown }).status, status)
      }
    }
    t.equal(server.service.calls, 0)
  })

  t.test(`what is not listed works inside and answers 405 outside, ${mode} (MTH-5)`, async (t) => {
    const service = {
      find: async () => [],
      get: async () => ({ inside: true }),
      ping: async () => 1,
    }
    const server = await startServer(t, mode, {
      services: (app) =>
        app
          .use('some', service, { methods: ['find'] })
          .use('none', { ...service }, { methods: [] }),
    })
    t.strictSame(await server.app.service('some').get('1'), { inside: true })
    t.strictSame(await server.app.service('none').find(), [])
    for (const [method, path, allow] of [
      ['GET', '/some/1', 'OPTIONS'],
      ['POST', '/some', 'GET, HEAD, OPTIONS'],
      ['GET', '/none', 'OPTIONS'],
      ['HEAD', '/none/1', 'OPTIONS'],
      ['DELETE', '/none', 'OPTIONS'],
    ] as const) {
      const { status, headers } = await server.request(path, { method })
      t.strictSame([status, headers.allow], [405, allow], `${method} ${path}`)
    }
    const headers = { 'x-service-method': 'ping' }
    t.equal((await server.request('/some', { method: 'POST', headers })).status, 405)
  })

  t.test(`nothing but the verb chooses the method, ${mode} (MTH-8)`, async (t) => {
    const server = await startGuarded(t, mode)
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
      const { status, body } = await server.request('/todo/1', { headers: { [name]: 'DELETE' } })
      t.match({ status, body }, { status: 200, body: { description: 'You have to do 1!' } })
    }
    for (const key of ['_method', 'method', 'X-HTTP-Method-Override']) {
      const { status } = await server.request(`/todo?${key}=DELETE`, { data: { [key]: 'DELETE' } })
      t.equal(status, 201)
    }
    for (const [method, statuses] of [
      ['TRACE', [405]],
      ['PROPFIND', [404, 405]],
      ['SEARCH', [404, 405]],
      ['QUERY', [400, 404, 405]],
    ] as const) {
      const { status } = await server.request('/todo', { method })
      t.ok((statuses as readonly number[]).includes(status), `${method} answered ${status}`)
    }
    t.match(await server.raw('FOO /todo HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 400 /)
    const connect = await server.raw('CONNECT x:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.notMatch(connect, /^HTTP\/1\.1 (2|5)/)
  })
}

t.test('registration refuses names that are not for custom methods (MTH-4)', async (t) => {
  const service = { find: async () => [], emit: async () => [], hooks: async () => [] }
  for (const name of [
    'constructor',
    'emit',
    'hooks',
    'toString',
    '__proto__',
    'setup',
    'missing',
  ]) {
    t.throws(
      () => createApp().use('a', { ...service }, { methods: ['find', name] }),
      TypeError,
      name,
    )
  }
})

t.test('a slash without an id behind it does not address all records (MTH-7)', async (t) => {
  const server = await injectServer(t, {
    services: (app) =>
      app.use('todo', new TodoService()).use('users/:userId/todo', new TodoService()),
  })
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    for (const path of ['/todo/', '/users/1/todo/', '/todo/?a=b']) {
      const { status, body } = await server.request(path, { method, data: {} })
      t.match({ status, body }, { status: 400, body: { name: 'BadRequest' } }, `${method} ${path}`)
    }
    t.equal((await server.request('/todo//', { method, data: {} })).status, 404)
  }
  t.equal((await server.request('/todo/')).status, 200)
  t.equal((await server.request('/todo/', { data: {} })).status, 201)
})

t.test('an empty X-Service-Method is none', async (t) => {
  const server = await injectServer(t, { services: (app) => app.use('todo', new TodoService()) })
  const { status } = await server.request('/todo', {
    data: {},
    headers: { 'x-service-method': '' },
  })
  t.equal(status, 201)
})

t.test('a custom method gets its data, and hooks run around it', async (t) => {
  const seen: unknown[] = []
  const server = await injectServer(t, {
    services(app) {
      app.use('todo', new TodoService(), { methods: TODO_METHODS })
      app.service('todo').hooks({
        before: {
          customMethod: [({ method, id, data }) => void seen.push(method, id, data)],
        },
      })
    },
  })
  const headers = { 'X-SERVICE-METHOD': 'customMethod' }
  for (const path of ['/todo', '/todo/7', '/todo/']) {
    const { status, body } = await server.request(path, { data: { a: path }, headers })
    t.strictSame([status, (body as { data: unknown }).data], [200, { a: path }])
    t.strictSame(seen.splice(0), ['customMethod', undefined, { a: path }])
  }
  const { body } = await server.request('/todo', { method: 'POST', headers })
  t.strictSame((body as { data: unknown }).data, {}, 'no body is an empty object')
})

t.test('OPTIONS answers 204 with Allow', async (t) => {
  const server = await injectServer(t, {
    services: (app) => app.use('todo', new TodoService()).use('list', { find: async () => [] }),
  })
  for (const [path, allow] of [
    ['/todo', ALL_VERBS],
    ['/todo/1', ALL_VERBS],
    ['/list', 'GET, HEAD, OPTIONS'],
    ['/list/1', 'OPTIONS'],
  ] as const) {
    const { status, headers, text } = await server.request(path, { method: 'OPTIONS' })
    t.strictSame([status, headers.allow, text], [204, allow, ''], path)
  }
  t.equal((await server.request('/nothing', { method: 'OPTIONS' })).status, 404)
})

t.test('HEAD runs the same hooks as GET and answers the same headers', async (t) => {
  const methods: string[] = []
  const server = await injectServer(t, {
    services(app) {
      app.use('todo', new TodoService())
      app.service('todo').hooks({
        after: {
          all: (context) => {
            methods.push(context.method)
            context.http = { headers: { 'x-hook': 'ran' } }
          },
        },
      })
    },
  })
  for (const path of ['/todo', '/todo/1', '/todo/', '/todo?$limit=1']) {
    const get = await server.request(path)
    const head = await server.request(path, { method: 'HEAD' })
    t.strictSame([head.status, head.text], [get.status, ''], path)
    for (const name of ['content-type', 'content-length', 'x-hook']) {
      t.equal(head.headers[name], get.headers[name], `${path} ${name}`)
    }
  }
  t.strictSame(methods, ['find', 'find', 'get', 'get', 'find', 'find', 'find', 'find'])
  const missing = await server.request('/nothing', { method: 'HEAD' })
  t.strictSame([missing.status, missing.text], [404, ''])
})

t.test('tells the log alone that the service has a method which it does not list', async (t) => {
  const entry = createEntry(['find'], new GuardedService())
  const hints = ['internalMethod', '_find', 'toString', 'hooks', 'nothing', '__proto__'].map(
    (name) => {
      try {
        return findMethod(entry, 'POST', false, name).name
      } catch (error) {
        t.equal(JSON.stringify(error).includes('methods'), false)
        return ((error as Error).cause as { hint?: string } | undefined)?.hint
      }
    },
  )
  const hint = "the service has it: list it in the option methods of app.use('todo')"
  t.strictSame(hints, [hint, ...Array.from({ length: 5 }, () => undefined)])
})

t.test('gives no hint where a service has no external method at all', async (t) => {
  for (const [methods, hasHint] of [
    [['get'], true],
    [[], false],
  ] as const) {
    try {
      findMethod(createEntry(methods), 'GET', false, undefined)
      t.fail('the method is not offered')
    } catch (error) {
      t.equal((error as Error).cause !== undefined, hasHint)
    }
  }
})
