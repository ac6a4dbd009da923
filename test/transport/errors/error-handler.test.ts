import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { FastifyInstance, FastifyReply } from 'fastify'
import t from 'tap'
import { renderErrorPage } from '../../../src/transport/errors/error-page.ts'
import { fromFastifyError } from '../../../src/transport/errors/fastify-error.ts'
import type { ErrorResponder } from '../../../src/transport/index.ts'
import {
  BadRequest,
  errorHandler,
  GeneralError,
  NotAuthenticated,
  NotFound,
  rest,
  ServiceError,
  Unavailable,
} from '../../../src/transport/index.ts'
import type { Answer, ServerOptions, TestScope, TestServer } from '../../support/http.ts'
import { injectServer, MODES, startServer } from '../../support/http.ts'
import { openApp } from '../../support/own-server.ts'

const INTERNAL = {
  name: 'GeneralError',
  message: 'Internal error',
  code: 500,
  className: 'general-error',
}

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

class Teapot extends ServiceError {
  static override readonly code: number = 418
  static override readonly className: string = 'teapot'
}

/** An error as `@feathersjs/errors` makes them. */
class FeathersError extends Error {
  readonly type = 'FeathersError'
  readonly code: number
  readonly className: string

  constructor(message: string, name: string, code: number, className: string) {
    super(message)
    Object.assign(this, { name })
    this.code = code
    this.className = className
  }

  toJSON(): object {
    const { name, message, code, className } = this
    return { name, message, code, className, data: { a: 1 } }
  }
}

class ForeignError extends Error {
  override readonly name = 'MongoServerError'
  readonly keyValue = { email: 'a@b' }
}

/** Serves what was thrown: synchronously by `get`, as a rejection by `find`, in a hook by `create`. */
function addThrower(app: TestServer['app'], thrown: unknown): void {
  app.use('fails', {
    get() {
      throw thrown
    },
    find: async () => Promise.reject(thrown),
    create: async () => ({}),
  })
  app.service('fails').hooks({
    before: {
      create() {
        throw thrown
      },
    },
  })
}

async function fail(
  t: Parameters<typeof injectServer>[0],
  thrown: unknown,
  options: ServerOptions & { readonly headers?: Record<string, string> } = {},
): Promise<Answer & { readonly logged: TestServer['logged'] }> {
  const { headers = {}, ...serverOptions } = options
  const services = (app: TestServer['app']): void => addThrower(app, thrown)
  const server = await injectServer(t, { ...serverOptions, services })
  const ownErrorBody =
    options.errorHandler?.json !== undefined || options.errorHandler?.html !== undefined
  return { ...(await server.request('/fails', { headers, ownErrorBody })), logged: server.logged }
}

/** What services throw, and the body that is answered; its code is the status. */
const THROWN: Readonly<Record<string, readonly [thrown: unknown, body: object]>> = {
  'a ServiceError': [
    new NotFound('No record', { id: 1, errors: { id: 'unknown' } }),
    {
      ...{ name: 'NotFound', message: 'No record', code: 404, className: 'not-found' },
      ...{ data: { id: 1 }, errors: { id: 'unknown' } },
    },
  ],
  'a ServiceError with a cause': [
    new BadRequest('Bad', null, { cause: new Error('E11000 secret') }),
    { name: 'BadRequest', message: 'Bad', code: 400, className: 'bad-request' },
  ],
  'an error class of its own': [
    new Teapot('Short and stout'),
    { name: 'Teapot', message: 'Short and stout', code: 418, className: 'teapot' },
  ],
  'an error of @feathersjs/errors': [
    new FeathersError('Old', 'Conflict', 409, 'conflict'),
    { name: 'Conflict', message: 'Old', code: 409, className: 'conflict', data: { a: 1 } },
  ],
  'an error class derived from those of @feathersjs/errors': [
    new FeathersError('Short and stout', 'Teapot', 418, 'teapot'),
    {
      ...{ name: 'Teapot', message: 'Short and stout', code: 418, className: 'teapot' },
      data: { a: 1 },
    },
  ],
  'a plain Error': [new Error('My text'), { ...INTERNAL, message: 'My text' }],
  'a plain Error with errors': [
    Object.assign(new Error('My text'), { errors: { a: 'b' } }),
    { ...INTERNAL, message: 'My text', data: {}, errors: { a: 'b' } },
  ],
  'a plain Error with data': [
    Object.assign(new Error('My text'), { data: { secret: 1 } }),
    { ...INTERNAL, message: 'My text' },
  ],
  'an Error with a code': [Object.assign(new Error('x'), { code: 404 }), INTERNAL],
  'an Error with a code of text': [Object.assign(new Error('x'), { code: 'ENOENT' }), INTERNAL],
  'a TypeError': [new TypeError("can't read 'x' of undefined"), INTERNAL],
  'a RangeError': [new RangeError('x'), INTERNAL],
  'an error of a library': [new ForeignError('E11000 db.users'), INTERNAL],
  'a text': ['a text', INTERNAL],
  'a number': [404, INTERNAL],
  undefined: [undefined, INTERNAL],
  null: [null, INTERNAL],
  false: [false, INTERNAL],
  'an object': [{ message: 'x', code: 404, statusCode: 200 }, INTERNAL],
  'a frozen object': [Object.freeze({ code: 404 }), INTERNAL],
  'a function': [() => 'x', INTERNAL],
}

for (const [title, [thrown, body]] of Object.entries(THROWN)) {
  t.test(`answers ${title} that a service throws`, async (t) => {
    const server = await injectServer(t, { services: (app) => addThrower(app, thrown) })
    const { code: status } = body as { code: number }
    for (const answer of [
      await server.request('/fails'),
      await server.request('/fails/1'),
      await server.request('/fails', { data: {} }),
    ]) {
      t.strictSame([answer.status, answer.body], [status, body])
      t.equal(answer.headers['x-content-type-options'], 'nosniff')
    }
    t.equal(server.logged.length, status >= 500 ? 3 : 0, 'logs what is the fault of the server')
  })
}

t.test('keys stand in the documented order', async (t) => {
  const { text } = await fail(t, new BadRequest('m', { b: 1, errors: [2] }))
  t.equal(
    text,
    '{"name":"BadRequest","message":"m","code":400,"className":"bad-request","data":{"b":1},"errors":[2]}',
  )
})

t.test('a code that is no status of an error is answered with 500', async (t) => {
  for (const code of [0, 200, 304, 600, 404.5, Number.NaN]) {
    const { status } = await fail(t, Object.assign(new BadRequest('x'), { code }), {
      errorHandler: { json: (error) => error.toJSON() },
    })
    t.equal(status, 500, String(code))
  }
})

t.test('an error of Fastify keeps its status and text below 500, and 503', async (t) => {
  for (const [status, name] of [
    [400, 'BadRequest'],
    [413, 'PayloadTooLarge'],
    [415, 'UnsupportedMediaType'],
    [503, 'Unavailable'],
    [418, 'BadRequest'],
  ] as const) {
    const error = fromFastifyError(Object.assign(new Error('text'), { statusCode: status }))
    t.match(error, { name, code: status, message: 'text' })
  }
  for (const status of [200, 302, 500, 502, '400', null]) {
    const error = fromFastifyError(Object.assign(new TypeError('text'), { statusCode: status }))
    t.match(error, { code: 500, message: 'Internal error' }, String(status))
  }
})

t.test('a hook of the server that throws is answered in the same shape', async (t) => {
  for (const [thrown, status] of [
    [new NotAuthenticated('No'), 401],
    [new TypeError('x'), 500],
    [Object.assign(new Error('slow down'), { statusCode: 429 }), 429],
  ] as const) {
    const server = await injectServer(t, {
      services: (app) => app.use('a', { find: async () => [] }),
      server: (fastify) =>
        fastify.addHook('preHandler', async (request) => {
          if (request.url === '/a') throw thrown
        }),
    })
    t.equal((await server.request('/a')).status, status)
  }
})

t.test('a client that prefers HTML gets a page with the message, escaped (HTTP-13)', async (t) => {
  const thrown = new BadRequest('<script>alert(1)</script>', { secret: 1 })
  const { status, headers, text } = await fail(t, thrown, { headers: HTML })
  t.equal(status, 400)
  t.equal(headers['content-type'], 'text/html; charset=utf-8')
  t.match(headers['content-security-policy'], /default-src 'none'/)
  t.equal(headers['x-content-type-options'], 'nosniff')
  t.match(headers.vary, /accept/i)
  t.match(text, /id="error-code">400</)
  t.match(text, /id="error-message">Bad Request</)
  t.match(text, 'id="error-detail">&lt;script&gt;alert(1)&lt;/script&gt;<')
  t.notMatch(text, /<script|secret/)
})

t.test('a page shows only the status and the request id of a server error', async (t) => {
  const { text } = await fail(t, new GeneralError('disk 7 is full'), { headers: HTML })
  t.match(text, /id="error-code">500</)
  t.match(text, /id="error-message">Something went wrong</)
  t.match(text, /id="error-detail">Request id: [\w-]+</)
  t.notMatch(text, 'disk')
})

t.test('a page adds to the Vary header that a hook has set', async (t) => {
  const server = await injectServer(t, {
    server: (fastify) =>
      fastify.addHook('onRequest', async (_request, reply) => {
        reply.header('vary', 'Origin')
      }),
  })
  const { headers } = await server.request('/nothing', { headers: HTML })
  t.equal(headers.vary, 'Origin, accept')
})

const renderPage = (status: number, message = '', hasWayBack = true): string =>
  renderErrorPage({ status, message, requestId: '<7>', hasWayBack })

t.test('the pages for 401 and 404 have their own text, others that of the status', async (t) => {
  t.match(renderPage(401), />401<.*>Not Authorized</s)
  t.match(renderPage(404), />404<.*>Page Not Found</s)
  t.match(renderPage(409), />409<.*>Conflict</s)
  t.match(renderPage(499), />499<.*>Something went wrong</s)
  t.match(renderPage(503), />503<.*>Something went wrong<.*>Request id: &lt;7&gt;</s)
})

t.test('a page shows every character of a message as text', async (t) => {
  const page = renderPage(400, `<b a="1" c='2'>&amp;`)
  t.match(page, '>&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;<')
  t.notMatch(renderPage(400), 'id="error-detail"', 'an empty message has no place')
})

t.test('a page says nothing twice, and copes with a message that is no string', async (t) => {
  t.notMatch(renderPage(404, 'Page not found'), 'id="error-detail"')
  for (const message of [42, undefined, { a: 1 }]) {
    const thrown = Object.assign(new BadRequest('No'), { message })
    const { status, headers } = await fail(t, thrown, { headers: HTML })
    t.strictSame([status, headers['content-type']], [400, 'text/html; charset=utf-8'])
  }
})

t.test('a page leads back to the start, except from there', async (t) => {
  t.match(renderPage(404), '<a href="/">')
  t.notMatch(renderPage(404, '', false), '<a ')
  const below = await injectServer(t, {}, 'plugin')
  t.notMatch((await below.request('/nothing', { headers: HTML })).text, '<a ', 'below a prefix')
  const server = await injectServer(t)
  const paths = [
    ['/nothing', true],
    ['/?a=1', false],
  ] as const
  for (const [path, hasLink] of paths) {
    const { text } = await server.request(path, { headers: HTML })
    t.equal(text.includes('<a href="/">'), hasLink, path)
  }
})

/** Accept and Content-Type, and which of the two forms is answered. */
const FORMS: readonly [headers: Record<string, string>, form: 'html' | 'json'][] = [
  [{}, 'json'],
  [{ accept: '*/*' }, 'json'],
  [{ accept: 'application/json' }, 'json'],
  [{ accept: 'text/html, application/json' }, 'json'],
  [{ accept: 'text/html' }, 'html'],
  [HTML, 'html'],
  [{ 'content-type': 'text/html' }, 'json'],
  [{ accept: 'text/html', 'content-type': 'application/json' }, 'html'],
  [{ accept: 'text/csv' }, 'json'],
]

for (const [headers, form] of FORMS) {
  t.test(`answers ${form} to ${JSON.stringify(headers)}`, async (t) => {
    const server = await injectServer(t)
    const answer = await server.request('/nothing', { headers })
    t.equal(answer.status, 404)
    t.match(answer.headers['content-type'], form)
  })
}

t.test('html: false answers JSON to browsers too', async (t) => {
  const { body } = await fail(t, new NotFound('No'), {
    headers: HTML,
    errorHandler: { html: false },
  })
  t.match(body, { name: 'NotFound', message: 'No' })
})

const writeText: ErrorResponder = (error, _request, reply) =>
  reply.type('text/plain').send(`own ${error.code} ${error.message}`)

t.test('html and json may be a function', async (t) => {
  const errorHandler = { html: writeText, json: writeText }
  for (const headers of [HTML, { accept: 'application/json' }]) {
    const { status, text, ...answer } = await fail(t, new NotFound('No'), { headers, errorHandler })
    t.strictSame([status, text], [404, 'own 404 No'])
    t.match(answer.headers['content-type'], 'text/plain')
  }
})

t.test('html and json may be maps by status, with a default', async (t) => {
  const responders = {
    404: writeText,
    default: async (_e: unknown, _r: unknown, reply: Parameters<ErrorResponder>[2]) =>
      reply.send('default'),
  }
  const errorHandler = { html: responders, json: responders }
  for (const headers of [HTML, { accept: 'application/json' }]) {
    t.equal((await fail(t, new NotFound('No'), { headers, errorHandler })).text, 'own 404 No')
    t.equal((await fail(t, new BadRequest('No'), { headers, errorHandler })).text, 'default')
  }
})

t.test('a map without a default leaves the other statuses as they are', async (t) => {
  const errorHandler = { html: { 404: writeText }, json: { 404: writeText } }
  const { body } = await fail(t, new BadRequest('No'), { errorHandler })
  t.match(body, { name: 'BadRequest' })
  t.match(
    (await fail(t, new BadRequest('No'), { errorHandler, headers: HTML })).text,
    />Bad Request</,
  )
})

t.test('a page may be a file; one that can not be read is replaced and logged', async (t) => {
  const file = join(t.testdir(), '404.html')
  await writeFile(file, '<h1>Lost</h1>')
  const options = { headers: HTML, errorHandler: { html: { 404: file, 400: `${file}.missing` } } }
  const found = await fail(t, new NotFound('No'), options)
  t.strictSame([found.status, found.text], [404, '<h1>Lost</h1>'])
  t.match(found.headers['content-type'], 'text/html')
  const missing = await fail(t, new BadRequest('No'), options)
  t.equal(missing.status, 400)
  t.match(missing.text, />Bad Request</)
})

/** Responders that do not send, and what is answered to a `NotFound`. */
const RETURNING: Readonly<
  Record<string, readonly [responder: ErrorResponder, text: string | RegExp]>
> = {
  'a text': [() => 'Not here', 'Not here'],
  'an object': [(error) => ({ own: error.code }), '{"own":404}'],
  'a promise of a text': [async () => 'Not here', 'Not here'],
  'nothing, and takes no reply': [() => undefined, /Page Not Found|"NotFound"/],
  'a promise of nothing': [async (_e, _request, _reply) => undefined, /Page Not Found|"NotFound"/],
  'the reply': [async (_error, _request, reply) => reply.send('sent'), 'sent'],
  'nothing, and sends later': [sendLater, 'later'],
  'a promise of nothing, and has sent': [sendBefore, 'before'],
  'the reply, and sends later': [
    (error, request, reply) => {
      sendLater(error, request, reply)
      return reply
    },
    'later',
  ],
}

function sendLater(_error: unknown, _request: unknown, reply: FastifyReply): void {
  setImmediate(() => reply.send('later'))
}

async function sendBefore(_error: unknown, _request: unknown, reply: FastifyReply): Promise<void> {
  reply.send('before')
}

for (const [title, [responder, text]] of Object.entries(RETURNING)) {
  t.test(`a responder that returns ${title} is answered once`, async (t) => {
    const errorHandler = { html: responder, json: { 404: responder } }
    // With it `reply.sent` says the truth long after something was sent.
    const server = (fastify: FastifyInstance): unknown =>
      fastify.addHook('onSend', async (_request, _reply, payload) => {
        await new Promise(setImmediate)
        return payload
      })
    for (const headers of [HTML, { accept: 'application/json' }]) {
      const answer = await fail(t, new NotFound('No'), { headers, errorHandler, server })
      t.equal(answer.status, 404)
      t.match(answer.text, text)
      t.strictSame(answer.logged, [])
    }
  })
}

t.test('JSON and pages vary with Accept alike, unless there are no pages', async (t) => {
  for (const headers of [{ accept: 'application/json' }, HTML]) {
    t.equal((await fail(t, new NotFound('No'), { headers })).headers.vary, 'accept')
    const { vary } = (await fail(t, new NotFound('No'), { headers, errorHandler: { html: false } }))
      .headers
    t.equal(vary, undefined)
  }
})

for (const [title, json] of [
  [
    'throws',
    () => {
      throw new Error('responder')
    },
  ],
  ['rejects', async () => Promise.reject(new Error('responder'))],
] as const) {
  t.test(`a responder that ${title} is answered with one generic 500 (FST-11)`, async (t) => {
    const { status, body } = await fail(t, new NotFound('No'), { errorHandler: { json } })
    t.strictSame([status, body], [500, INTERNAL])
  })
}

/** Fails with what a service throws; returns what a logger is called with, as an object or alone. */
async function hear(t: TestScope, thrown: unknown, asFunction = false) {
  const calls: unknown[][] = []
  const error = (...values: unknown[]) => void calls.push(values)
  await fail(t, thrown, { errorHandler: { logger: asFunction ? error : { error } } })
  return calls
}

t.test('the logger is called with the error alone, from 500 on', async (t) => {
  for (const asFunction of [false, true]) {
    const original = new TypeError('the original', { cause: new RangeError('deep') })
    const [[told, ...others] = []] = await hear(t, original, asFunction)
    t.strictSame(others, [])
    t.ok(told instanceof TypeError)
    t.match(told, { name: 'TypeError', message: 'the original', code: 500, stack: original.stack })
    t.match((told as Error).cause, { name: 'RangeError', message: 'deep' })
    t.strictSame(await hear(t, new NotFound('No'), asFunction), [])
  }
  const known = new Unavailable('Known', { table: 'a', errors: { b: 1 } }, { cause: original() })
  const [[told] = []] = await hear(t, known)
  t.ok(told instanceof Unavailable)
  t.match(told, { name: 'Unavailable', message: 'Known', code: 503, className: 'unavailable' })
  t.match(told, { data: { table: 'a' }, errors: { b: 1 }, cause: { message: 'socket' } })
  t.match(
    inspect(told),
    /^Unavailable: Known\n +at .*[\s\S]*code: 503[\s\S]*\[cause\]: Error: socket/,
  )
  t.strictSame((told as ServiceError).toJSON(), known.toJSON())
  class FailedToTell extends Error {
    override readonly name = 'FailedToTell'
    get code() {
      return 'E_TELL'
    }
  }
  t.match(await hear(t, new FailedToTell('x')), [[{ name: 'FailedToTell', code: 500 }]])
  t.match(await hear(t, 'a string'), [[{ name: 'GeneralError', code: 500 }]])
  t.match(await hear(t, new FeathersError('f', 'GeneralError', 500, 'general-error')), [
    [{ name: 'GeneralError', message: 'f', code: 500, className: 'general-error', data: { a: 1 } }],
  ])
})

function original(): Error {
  return Object.assign(new Error('socket'), { password: 'hunter2' })
}

t.test('what the logger is called with has no secrets (LOG-1)', async (t) => {
  const url = 'mongodb://root:hunter2@db.test/?password=hunter2'
  const data = { password: 'hunter2', at: url, deep: [{ accessToken: 'hunter2' }] }
  const all = Object.assign(new Error(`No answer of ${url}`, { cause: original() }), data)
  for (const thrown of [
    all,
    new GeneralError(`At ${url}`, { ...data, errors: data }, { cause: all }),
    new GeneralError(all),
    Object.assign(new TypeError(url), { errors: data, options: data }),
    Object.assign(new FeathersError(url, 'GeneralError', 500, 'x'), data),
  ]) {
    const [[told] = []] = await hear(t, thrown)
    t.ok(told instanceof Error)
    t.notMatch(inspect(told, { depth: 9, showHidden: true }), /hunter2/)
  }
})

t.test('an error that can not be read is told of all the same', async (t) => {
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {})
  revoke()
  const hostile = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('hostile')
    },
  })
  for (const thrown of [proxy, hostile]) {
    t.match(await hear(t, thrown), [[{ name: 'GeneralError', message: 'Internal error' }]])
  }
  const circle: Record<string, unknown> = { a: 1 }
  circle['self'] = circle
  const calls = await hear(t, new GeneralError('Round', circle))
  t.match(calls, [
    [{ message: 'Round', data: { a: 1 } }],
    [{ message: /^The data of an error cannot be written as JSON/, cause: { name: 'TypeError' } }],
  ])
})

t.test('data that JSON can not hold is left out, and the log says so', async (t) => {
  const circle: Record<string, unknown> = { a: 1 }
  circle['self'] = circle
  const BODY = { name: 'BadRequest', message: 'Bad', code: 400, className: 'bad-request' }
  for (const [data, kept, lost] of [
    [circle, {}, 'data'],
    [{ count: 5n }, {}, 'data'],
    [{ field: 'x', errors: circle }, { data: { field: 'x' } }, 'errors'],
  ] as const) {
    const { status, body, logged } = await fail(t, new BadRequest('Bad', data))
    t.strictSame([status, body], [400, { ...BODY, ...kept }])
    t.match(logged, [{ message: `The ${lost} of an error cannot be written as JSON` }])
    t.equal(logged.length, 1)
  }
})

t.test('logger: false logs nothing', async (t) => {
  const { status, logged } = await fail(t, new TypeError('x'), { errorHandler: { logger: false } })
  t.strictSame([status, logged], [500, []])
})

t.test('a logger that throws or rejects changes nothing for the client', async (t) => {
  const loggers = [
    async () => Promise.reject(new Error('disk full')),
    {
      error() {
        throw new Error('disk full')
      },
    },
  ]
  for (const logger of loggers) {
    const { status, body, logged } = await fail(t, new Unavailable('x'), {
      errorHandler: { logger },
    })
    t.match([status, body], [503, { name: 'Unavailable', message: 'x' }])
    t.match(logged, [{ message: 'The logger of errorHandler() failed' }])
  }
})

for (const mode of MODES) {
  t.test(`bytes that are no request are answered, the server lives, ${mode} (ERR-5)`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => app.use('a', { find: async () => [] }),
    })
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'GET /a HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n',
      'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ]) {
      const answer = await server.raw(bytes)
      t.match(answer, /^HTTP\/1\.1 [45]\d\d /)
      if (mode === 'standalone') t.match(answer, /"name":"BadRequest","message"/)
    }
  })
}

t.test('a URL that can not be decoded is answered as the options say', async (t) => {
  const app = openApp(t)
    .configure(rest())
    .configure(
      errorHandler({
        html: false,
        json: (error, _request, reply) => reply.send({ own: error.code }),
      }),
    )
  const response = await app.fastify.inject({ url: '/notes/%ZZ', headers: { accept: 'text/html' } })
  t.strictSame(response.json(), { own: 400 })
})
