import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import type { FastifyApplication, Formatter } from '../../src/transport/index.ts'
import { BadRequest, NotAcceptable, remex, rest } from '../../src/transport/index.ts'
import { stopTime } from '../support/clock.ts'
import type { TestScope } from '../support/http.ts'
import { injectServer, MODES } from '../support/http.ts'
import { openApp, openHost, startOwnServer } from '../support/own-server.ts'

const records = {
  find: async () => [
    { id: 1, text: 'a' },
    { id: 2, text: 'b' },
  ],
  get: async (id: string) => ({ id, text: 'a' }),
  create: async (data: object) => data,
  remove: async () => null,
}

const withMethod: Formatter = (_request, reply) => {
  reply.send({ method: reply.hook?.method, data: reply.data })
}

/** Opens an application whose transport was configured in a way of its own. */
function open(t: TestScope, configure: (app: FastifyApplication) => unknown): FastifyApplication {
  const app = openApp(t)
  configure(app)
  app.use('records', records)
  return app
}

const OPTIONS = {
  'rest(fn)': rest(withMethod),
  'rest({ formatter })': rest({ formatter: withMethod }),
}

for (const [title, configurator] of Object.entries(OPTIONS)) {
  t.test(`${title} takes the place of JSON`, async (t) => {
    const app = open(t, (app) => app.configure(configurator))
    const answer = await app.fastify.inject('/records/1')
    t.strictSame(answer.json(), { method: 'get', data: { id: '1', text: 'a' } })
  })
}

/** Formatters that return something, and what is answered. */
const RETURNING: readonly [title: string, formatter: Formatter, text: string][] = [
  ['a text', (_request, _reply) => 'returned', 'returned'],
  [
    'a promise of an object',
    async (_request, reply) => ({ own: reply.data }),
    '{"own":{"id":"1","text":"a"}}',
  ],
  ['the reply', (_request, reply) => reply.send('sent'), 'sent'],
  ['the response', (_request, reply) => reply.raw.writeHead(200).end('raw'), 'raw'],
  [
    'nothing, and sends later',
    (_request, reply) => void setImmediate(() => reply.send('later')),
    'later',
  ],
]

for (const [title, formatter, text] of RETURNING) {
  t.test(`a formatter may return ${title}`, async (t) => {
    const app = open(t, (app) => app.configure(rest(formatter)))
    const answer = await app.fastify.inject('/records/1')
    t.equal(answer.payload, text)
  })
}

for (const [title, configurator] of Object.entries({
  'rest(null)': rest(null),
  'rest({ formatter: null })': rest({ formatter: null }),
})) {
  t.test(`${title} keeps JSON`, async (t) => {
    const app = open(t, (app) => app.configure(configurator))
    t.strictSame((await app.fastify.inject('/records/1')).json(), { id: '1', text: 'a' })
  })
}

for (const mode of MODES) {
  t.test(`an asynchronous formatter gets the status of the answer, ${mode}`, async (t) => {
    const server = await injectServer(
      t,
      {
        services: (app) => app.use('records', records),
        formatter: async (_request, reply) => {
          await new Promise(setImmediate)
          await reply.send({ status: reply.statusCode })
        },
      },
      mode,
    )
    t.strictSame((await server.request('/records', { data: {} })).body, { status: 201 })
    t.equal((await server.request('/records/1', { method: 'DELETE' })).status, 204)
  })

  t.test(`answers what a formatter throws, ${mode}`, async (t) => {
    const failures: Formatter[] = [
      () => {
        throw new BadRequest('Not like this')
      },
      async () => Promise.reject(new BadRequest('Not like this')),
    ]
    for (const formatter of failures) {
      const server = await injectServer(
        t,
        { services: (app) => app.use('records', records), formatter },
        mode,
      )
      const { status, body } = await server.request('/records/1')
      t.match([status, body], [400, { name: 'BadRequest', message: 'Not like this' }])
    }
  })
}

t.test('a formatter that fails in an unexpected way answers 500 and tells nothing', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('records', records), {
    formatter: () => {
      throw new TypeError('x is not a function')
    },
  })
  t.match((await server.request('/records/1')).body, { code: 500, message: 'Internal error' })
  t.equal(server.logged.length, 1)
})

t.test('errors go by the formatter', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('records', records), {
    formatter: withMethod,
  })
  t.match((await server.request('/records/1', { method: 'PATCH', data: {} })).body, { code: 405 })
})

t.test('an answer that a formatter never sends ends with the time limit', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('records', records), {
    formatter: () => undefined,
    handlerTimeoutMs: 50,
  })
  t.equal((await server.request('/records/1')).status, 503)
})

t.test('one that is sent late is sent once', async (t) => {
  const time = stopTime(t)
  const server = await startOwnServer(t, (app) => app.use('records', records), {
    formatter: (_request, reply) => {
      setImmediate(() => reply.send(reply.data))
    },
    handlerTimeoutMs: 200,
  })
  for (const id of ['1', '2']) {
    t.strictSame((await server.request(`/records/${id}`)).body, { id, text: 'a' })
    // The next request finds the time of this one passed.
    time.pass(1_000)
  }
  t.strictSame(server.logged, [])
})

/** Sends what the client asks for. */
const negotiate: Formatter = (request, reply) => {
  const { accept = '*/*' } = request.headers
  if (accept.includes('text/csv')) {
    const rows = [reply.data].flat() as Record<string, unknown>[]
    return reply.type('text/csv').send(rows.map((row) => Object.values(row).join(',')).join('\n'))
  }
  if (/json|\*\/\*/.test(accept)) return reply.send(reply.data)
  throw new NotAcceptable('Offered are application/json and text/csv')
}

t.test('a formatter can choose the format by Accept', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('records', records), {
    formatter: negotiate,
  })
  const get = async (accept: string) => server.request('/records', { headers: { accept } })
  t.match(await get('text/csv'), { text: '1,a\n2,b', headers: { 'content-type': /^text\/csv/ } })
  t.match((await get('application/json')).body, [{ id: 1 }, { id: 2 }])
  t.match((await get('image/png')).body, { code: 406, name: 'NotAcceptable' })
})

t.test('without formatter an Accept that excludes JSON answers 406 before the call', async (t) => {
  let created = 0
  const server = await startOwnServer(t, (app) =>
    app.use('count', { create: async () => ++created }),
  )
  const statusOf = async (accept: string) =>
    (await server.request('/count', { data: {}, headers: { accept } })).status
  t.equal(await statusOf('image/png'), 406)
  t.equal(await statusOf('application/json;q=0, */*'), 406)
  t.equal(created, 0)
  t.equal(await statusOf('image/png, */*;q=0.1'), 201)
})

t.test('a function after the service may send a page to those who exclude JSON', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.use('page', records, (_request: FastifyRequest, reply: FastifyReply) =>
      reply.type('text/html').send(`<p>${(reply.data as unknown[]).length} records</p>`),
    )
    app.use('data', records, (_request: FastifyRequest, reply: FastifyReply) => {
      reply.header('x-seen', 'yes')
    })
  })
  const headers = { accept: 'text/html' }
  t.match(await server.request('/page', { headers }), { status: 200, text: '<p>2 records</p>' })
  t.match(await server.request('/data', { headers }), { status: 406 })
})

t.test('refuses a formatter that is no function, a plugin without an application', async (t) => {
  const message = "rest(): the option 'formatter' must be a function (request, reply) or null"
  t.throws(() => rest({ formatter: 'csv' as never }), { message })
  const server = openHost(t)
  server.register(remex, {} as never)
  await t.rejects(async () => server.ready(), {
    message: "The option 'app' must be an application made by createApp()",
  })
})
