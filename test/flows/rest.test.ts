import type { Test } from 'tap'
import t from 'tap'

import type { HookContext, Params } from '../../src/transport/index.ts'
import { NotFound } from '../../src/transport/index.ts'
import type { ListeningServer } from '../support/http.ts'
import { HOST, MODES, startServer } from '../support/http.ts'
import { TODO_METHODS, TodoService } from '../support/todo-service.ts'

const DESCRIPTION = 'You have to do something'

/** Where the same service is served: `list` addresses all of its records. */
const PLACES = [
  { title: 'a service at a path', base: '/todo', list: '/todo' },
  { title: 'a service at the root', base: '', list: '/' },
  { title: 'a service that was added after the start', base: '/tasks', list: '/tasks' },
] as const

interface Probe {
  get(id: string, params: Params): Promise<unknown>
}

for (const mode of MODES) {
  t.test(mode, async (t) => {
    const server = await startServer(t, mode, {
      services(app) {
        app.use('todo', new TodoService(), { methods: TODO_METHODS })
        app.use('/', new TodoService(), { methods: TODO_METHODS })
        app.use('answers', createAnswers(), { methods: ['get', 'create'] })
        app.service('answers').hooks({ after: { all: [setAnswer] } })
        app.use('params', { get: async (id, params) => ({ id, ...params }) } satisfies Probe)
        app.use(':id/things', {
          get: async (id, { route }) => ({ id, route }),
          find: async () => Promise.reject(new NotFound('No such thing')),
        } satisfies Probe & Record<string, unknown>)
      },
    })
    server.app.use('tasks', new TodoService(), { methods: TODO_METHODS })
    for (const place of PLACES) {
      t.test(place.title, async (t) => {
        await testMethods(t, server, place.base, place.list)
      })
    }
    await testAnswers(t, server)
    await testNames(t, server)
    await testParams(t, server)
    t.test('leaves the routes of the server alone', async (t) => {
      const answer = await fetch(new URL(HOST.route, server.url))
      t.strictSame([answer.status, await answer.json()], [200, HOST.answer])
    })
  })
}

async function testMethods(t: Test, server: ListeningServer, base: string, list: string) {
  t.test('GET lists all records', async (t) => {
    const { status, body, headers } = await server.request(list)
    t.equal(status, 200)
    t.equal(headers['content-type'], 'application/json; charset=utf-8')
    t.strictSame(
      body,
      [0, 1].map((id) => ({ id, description: DESCRIPTION })),
    )
  })

  t.test('GET with an id answers one record', async (t) => {
    const { status, body } = await server.request(`${base}/dishes`)
    t.strictSame(
      { status, body },
      { status: 200, body: { id: 'dishes', description: 'You have to do dishes!' } },
    )
  })

  t.test('POST creates and answers 201', async (t) => {
    const { status, body } = await server.request(list, { data: { text: 'Do the dishes' } })
    t.strictSame(
      { status, body },
      { status: 201, body: { text: 'Do the dishes', id: 42, status: 'created' } },
    )
  })

  t.test('POST hands an array over as an array', async (t) => {
    const { status, body } = await server.request(list, { data: [{ text: 'a' }, { text: 'b' }] })
    t.equal(status, 201)
    t.match(body, { 0: { text: 'a' }, 1: { text: 'b' }, many: true })
  })

  for (const [method, done] of [
    ['PUT', 'updated'],
    ['PATCH', 'patched'],
  ] as const) {
    t.test(`${method} hands the id over as a string`, async (t) => {
      const data = { description: 'stuff' }
      const { status, body } = await server.request(`${base}/544`, { method, data })
      t.strictSame(
        { status, body },
        { status: 200, body: { description: 'stuff', id: '544', status: done } },
      )
    })

    t.test(`${method} without an id addresses many records`, async (t) => {
      const { status, body } = await server.request(list, { method, data: { text: 'all' } })
      t.strictSame(
        { status, body },
        { status: 200, body: { text: 'all', id: null, status: done, many: true } },
      )
    })
  }

  t.test('DELETE removes one record, or many without an id', async (t) => {
    const one = await server.request(`${base}/233`, { method: 'DELETE' })
    t.strictSame([one.status, one.body], [200, { id: '233' }])
    const many = await server.request(list, { method: 'DELETE' })
    t.strictSame([many.status, many.body], [200, { id: null }])
  })

  t.test('POST with X-Service-Method calls a custom method', async (t) => {
    const { status, body } = await server.request(list, {
      data: { text: 'hi' },
      headers: { 'X-Service-Method': 'customMethod' },
    })
    t.strictSame(
      { status, body },
      {
        status: 200,
        body: { data: { text: 'hi' }, method: 'customMethod', provider: 'rest' },
      },
    )
  })

  for (const name of ['setup', 'internalMethod', 'nonExisting', 'create', 'find', 'CustomMethod']) {
    t.test(`a custom method '${name}' answers 405`, async (t) => {
      const { status, body, headers } = await server.request(list, {
        data: {},
        headers: { 'X-Service-Method': name },
      })
      t.equal(status, 405)
      t.match(body, {
        name: 'MethodNotAllowed',
        message: `Method \`${name}\` is not supported by this endpoint.`,
      })
      t.equal(headers.allow, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
    })
  }

  t.test('HEAD answers as GET does, without a body', async (t) => {
    for (const path of [list, `${base}/dishes`]) {
      const get = await server.request(path)
      const head = await server.request(path, { method: 'HEAD' })
      t.strictSame(
        [head.status, head.text, head.headers['content-length'], head.headers['content-type']],
        [200, '', String(get.text.length), get.headers['content-type']],
      )
    }
  })

  t.test('a plain error answers 500 with its text, a TypeError without', async (t) => {
    const plain = await server.request(`${base}/dishes?error=true`)
    t.strictSame(
      [plain.status, plain.body],
      [
        500,
        {
          name: 'GeneralError',
          message: 'Something for dishes went wrong',
          code: 500,
          className: 'general-error',
        },
      ],
    )
    const runtime = await server.request(`${base}/dishes?runtimeError=true`)
    t.match(runtime, { status: 500, body: { name: 'GeneralError', message: 'Internal error' } })
  })

  t.test('nothing is served below a record', async (t) => {
    const { status, body } = await server.request(`${base}/foo/bar/baz`)
    t.equal(status, 404)
    t.match(body, { name: 'NotFound', message: 'Page not found', code: 404 })
  })
}

/** What the service at `answers` answers, and what its hook says about the answer. */
const ANSWERS: Readonly<Record<string, { result?: unknown; change?: Partial<HookContext> }>> = {
  null: { result: null },
  undefined: { result: undefined },
  status: { result: {}, change: { http: { status: 206 } } },
  headers: {
    result: {},
    change: { http: { headers: { 'x-first': 'first', 'x-many': ['second', 'third'] } } },
  },
  location: { result: { moved: true }, change: { http: { location: '/söme where?a=b%20c' } } },
  dispatch: { result: { secret: 1 }, change: { dispatch: { secret: null } } },
}

function createAnswers() {
  return {
    async get(id: string) {
      return ANSWERS[id]?.result
    },
    async create({ id }: { id: string }) {
      return ANSWERS[id]?.result
    },
  }
}

function setAnswer(context: HookContext): void {
  const name = String(context.id ?? (context.data as { id: string }).id)
  Object.assign(context, ANSWERS[name]?.change)
}

async function testAnswers(t: Test, server: ListeningServer) {
  for (const [name, path] of [
    ['null', 'null'],
    ['undefined', 'undefined'],
  ]) {
    t.test(`${name} as the result answers 204 without a body`, async (t) => {
      const get = await server.request(`/answers/${path}`)
      t.strictSame([get.status, get.text], [204, ''])
      const create = await server.request('/answers', { data: { id: path } })
      t.strictSame([create.status, create.text], [204, ''])
    })
  }

  t.test('a hook sets the status and headers, several of one name too', async (t) => {
    t.equal((await server.request('/answers/status')).status, 206)
    t.equal((await server.request('/answers', { data: { id: 'status' } })).status, 206)
    const { headers } = await server.request('/answers/headers')
    t.match(headers, { 'x-first': 'first', 'x-many': 'second, third' })
  })

  t.test('a hook redirects with 303 and a location that is percent-encoded', async (t) => {
    const { status, headers, body } = await server.request('/answers/location')
    t.equal(status, 303)
    t.equal(headers.location, '/s%C3%B6me%20where?a=b%20c')
    t.strictSame(body, { moved: true })
  })

  t.test('the client gets context.dispatch instead of the result', async (t) => {
    t.strictSame((await server.request('/answers/dispatch')).body, { secret: null })
  })
}

async function testNames(t: Test, server: ListeningServer) {
  t.test('a placeholder named id stands beside the id of the record', async (t) => {
    const { body } = await server.request('/a%20b/things/c%2Fd')
    t.strictSame(body, { id: 'c/d', route: { id: 'a b' } })
  })

  t.test('an error on a nested route is JSON', async (t) => {
    const { status, body } = await server.request('/me/things')
    t.strictSame(
      [status, body],
      [404, { name: 'NotFound', message: 'No such thing', code: 404, className: 'not-found' }],
    )
  })

  for (const id of ['null', 'undefined', '0', '__proto__', 'constructor', 'a.b', '%25', '☃']) {
    t.test(`'${id}' is an id like every other`, async (t) => {
      const { status, body } = await server.request(`/todo/${encodeURIComponent(id)}`)
      t.strictSame([status, (body as { id: unknown }).id], [200, id])
    })
  }

  t.test('an id may be as long as a token', async (t) => {
    const id = 'x'.repeat(2_000)
    const { status, body } = await server.request(`/todo/${id}`, { method: 'DELETE' })
    t.strictSame([status, body], [200, { id }])
  })
}

async function testParams(t: Test, server: ListeningServer) {
  t.test('the params are query, headers, route and provider', async (t) => {
    const { body } = await server.request('/params/1?a[b]=c', { headers: { 'x-test': 'hi' } })
    t.match(body, { id: '1', query: { a: { b: 'c' } }, provider: 'rest', route: {} })
    t.match(body, { headers: { 'x-test': 'hi' } })
    t.strictSame(Object.keys(body as object).sort(), [
      ...['headers', 'id', 'provider', 'query', 'route'],
    ])
  })
}
