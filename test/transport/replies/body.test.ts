import { Readable } from 'node:stream'
import t from 'tap'

import type { HookContext } from '../../../src/transport/index.ts'
import { BadRequest, NotFound } from '../../../src/transport/index.ts'
import type { Answer, TestServer } from '../../support/http.ts'
import { injectServer, MODES, startServer } from '../../support/http.ts'

const GENERIC = {
  name: 'GeneralError',
  message: 'Internal error',
  code: 500,
  className: 'general-error',
}

interface Case {
  readonly result?: unknown
  /** What a hook assigns to the context after the call. */
  readonly change?: Partial<HookContext>
}

/** Answers every method with the result of one case, changed by a hook. */
async function answer(
  t: Parameters<typeof injectServer>[0],
  { result, change }: Case,
  method = 'GET',
  options: Parameters<typeof injectServer>[1] = {},
): Promise<Answer> {
  const server = await injectServer(t, {
    ...options,
    services: (app) => addService(app, result, change),
  })
  return server.request('/case', { method, data: method === 'POST' ? {} : undefined })
}

function addService(
  app: TestServer['app'],
  result: unknown,
  change: Partial<HookContext> | undefined,
): void {
  const service = { find: async () => result, create: async () => result }
  app.use('case', service)
  app.service('case').hooks({ after: { all: [(context) => void Object.assign(context, change)] } })
}

/** The table of statuses and bodies, first match first. */
const ANSWERS: readonly [title: string, given: Case, get: number, post: number, text: string][] = [
  ['null', { result: null }, 204, 204, ''],
  ['undefined', { result: undefined }, 204, 204, ''],
  ['0', { result: 0 }, 200, 201, '0'],
  ['false', { result: false }, 200, 201, 'false'],
  ['an empty text', { result: '' }, 200, 201, '""'],
  ['a text', { result: 'hi "you"' }, 200, 201, '"hi \\"you\\""'],
  ['an array', { result: [] }, 200, 201, '[]'],
  ['a page', { result: { total: 0, data: [] } }, 200, 201, '{"total":0,"data":[]}'],
  ['a date', { result: new Date(0) }, 200, 201, '"1970-01-01T00:00:00.000Z"'],
  ['toJSON', { result: { toJSON: () => ({ a: 1 }) } }, 200, 201, '{"a":1}'],
  ['dispatch', { result: { a: 1 }, change: { dispatch: { b: 2 } } }, 200, 201, '{"b":2}'],
  ['dispatch null', { result: { a: 1 }, change: { dispatch: null } }, 204, 204, ''],
  ['dispatch 0', { result: { a: 1 }, change: { dispatch: 0 } }, 200, 201, '0'],
  ['a status', { result: { a: 1 }, change: { http: { status: 202 } } }, 202, 202, '{"a":1}'],
  ['a status of null', { result: null, change: { http: { status: 203 } } }, 203, 203, ''],
  ['a location', { result: { a: 1 }, change: { http: { location: '/x' } } }, 303, 303, '{"a":1}'],
  [
    'a Location header',
    { result: null, change: { http: { headers: { Location: '/x' } } } },
    ...([303, 303, ''] as const),
  ],
  [
    'a location header in lower case',
    { result: 1, change: { http: { headers: { location: '/x' } } } },
    ...([200, 201, '1'] as const),
  ],
  [
    'status and location',
    { result: 1, change: { http: { status: 301, location: '/x' } } },
    ...([301, 301, '1'] as const),
  ],
]

/** What a hook may assign that says nothing about the answer. */
const SAYS_NOTHING: readonly unknown[] = [
  ...[{ status: 0 }, { status: null }, { status: undefined }, { location: null }],
  ...[{ location: '' }, { headers: null }, { headers: { Location: null } }],
  { headers: { 'x-a': null, 'x-b': undefined } },
]

for (const http of SAYS_NOTHING) {
  t.test(`context.http ${JSON.stringify(http)} changes nothing`, async (t) => {
    const { status, text, headers } = await answer(t, {
      result: 1,
      change: { http: http as object },
    })
    t.strictSame([status, text, headers.location], [200, '1', undefined])
    t.strictSame([headers['x-a'], headers['x-b']], [undefined, undefined])
  })
}

for (const [title, given, get, post, text] of ANSWERS) {
  t.test(`a result of ${title} answers ${get}, and ${post} to create`, async (t) => {
    for (const [method, status] of [
      ['GET', get],
      ['POST', post],
    ] as const) {
      const { headers, ...received } = await answer(t, given, method)
      t.strictSame([received.status, received.text], [status, text], method)
      const type = text === '' ? undefined : 'application/json; charset=utf-8'
      t.equal(headers['content-type'], type, method)
      t.equal(headers['x-content-type-options'], 'nosniff', method)
    }
  })
}

t.test('bytes and streams are sent as they are', async (t) => {
  const headers = { 'content-type': 'text/csv' }
  for (const result of [Buffer.from('a,b'), Readable.from([Buffer.from('a,'), Buffer.from('b')])]) {
    const { status, text, ...received } = await answer(t, { result, change: { http: { headers } } })
    t.strictSame([status, text, received.headers['content-type']], [200, 'a,b', 'text/csv'])
  }
})

/** Streams with what no answer can carry. */
const NO_BYTES: Readonly<Record<string, () => object>> = {
  'a stream of objects': () => Readable.from([{ a: 1 }]),
  'a stream of numbers': () => Readable.from([1, 2]),
  'a stream of wider numbers': () => Readable.from([new Uint16Array(1)]),
  'a web stream of objects': () => toWebStream({ a: 1 }),
  'a response of objects': () => new Response(toWebStream({ a: 1 }) as never),
}

for (const [title, create] of Object.entries(NO_BYTES)) {
  t.test(`${title} is a 500, and does not end the process`, async (t) => {
    t.match(await answer(t, { result: create() }), { status: 500, text: JSON.stringify(GENERIC) })
  })
}

t.test('streams of strings are sent as they are', async (t) => {
  for (const result of [
    Readable.from(['a,', 'b']),
    toWebStream('a,b'),
    new Response('a,b', { status: 200, headers: { 'content-type': 'text/plain' } }),
  ]) {
    t.match(await answer(t, { result }), { status: 200, text: 'a,b' })
  }
})

t.test('a stream ends when its caller goes, also between two chunks', async (t) => {
  const idle = new Readable({ objectMode: true, read: () => undefined })
  idle.push('first')
  const server = await startServer(t, 'standalone', {
    services: (app) => addService(app, idle, undefined),
  })
  const leaving = new AbortController()
  const closed = new Promise((resolve) => idle.once('close', resolve))
  const received = await fetch(`${server.url}/case`, { signal: leaving.signal })
  await received.body?.getReader().read()
  leaving.abort()
  await closed
  t.ok(idle.destroyed)
})

/** Streams without an end, each of which calls a function when it is left unread. */
const ENDLESS: Readonly<Record<string, (left: () => void) => object>> = {
  'a stream': (left) =>
    new Readable({
      read() {
        this.push('line')
      },
      destroy(error, done) {
        left()
        done(error)
      },
    }),
  'a web stream': (cancel) =>
    new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.from('line')), cancel }),
  'a response': (cancel) =>
    new Response(
      new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.from('line')), cancel }),
      {
        status: 206,
        headers: { 'content-type': 'text/csv', 'x-a': 'b' },
      },
    ),
}

for (const [title, create] of Object.entries(ENDLESS)) {
  t.test(`HEAD does not read ${title}`, async (t) => {
    let left = 0
    const result = (): object => create(() => left++)
    const services = (app: TestServer['app']): unknown =>
      app
        .use('case', { get: async () => result() })
        .use('bytes', { get: async () => Buffer.from('ab') })
    const { request } = await startServer(t, 'standalone', { services })
    const answer = await request('/case/1', { method: 'HEAD' })
    t.match(answer, { status: title === 'a response' ? 206 : 200, text: '' })
    if (title === 'a response') t.match(answer.headers, { 'content-type': 'text/csv', 'x-a': 'b' })
    t.equal(left, 1)
    t.match((await request('/bytes/1', { method: 'HEAD' })).headers, { 'content-length': '2' })
  })
}

function toWebStream(chunk: unknown): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(chunk)
      controller.close()
    },
  })
}

t.test('text is sent as it is with a content type of a hook, and as JSON without', async (t) => {
  const http = { headers: { 'content-type': 'text/csv' } }
  const csv = await answer(t, { result: 'a,b', change: { http } })
  t.strictSame([csv.text, csv.headers['content-type']], ['a,b', 'text/csv'])
  const { text } = await answer(t, { result: 'a,b' })
  t.equal(text, '"a,b"')
})

t.test('a content type of a hook stands, and the body is JSON all the same', async (t) => {
  for (const type of ['text/csv', 'application/hal+json']) {
    const http = { headers: { 'content-type': type } }
    const { status, text, headers } = await answer(t, { result: { a: 1 }, change: { http } })
    t.strictSame([status, text, headers['content-type']?.startsWith(type)], [200, '{"a":1}', true])
  }
})

t.test('a hook that sets context.http to null gets the usual answer', async (t) => {
  const http = null as unknown as object
  const { status, text } = await answer(t, { result: { a: 1 }, change: { http } })
  t.strictSame([status, text], [200, '{"a":1}'])
})

t.test('Vary of a hook is added to what is there, and survives an error', async (t) => {
  const server = await startServer(t, 'standalone', {
    server: (fastify) => {
      fastify.addHook('onRequest', (_request, reply, done) => {
        reply.header('vary', 'origin')
        done()
      })
    },
    services: (app) => addService(app, {}, { http: { headers: { Vary: 'accept-language' } } }),
  })
  t.equal((await server.request('/case')).headers['vary'], 'origin, accept-language')
})

t.test('a header may have several values', async (t) => {
  const headers = { 'x-many': ['second', 'third'], 'set-cookie': ['a=1', 'b=2'] }
  const server = await startServer(t, 'standalone', {
    services: (app) => addService(app, {}, { http: { headers } }),
  })
  const answer = await server.request('/case')
  t.equal(answer.headers['x-many'], 'second, third')
  t.strictSame(answer.headers['set-cookie'], ['a=1', 'b=2'])
})

for (const [location, sent] of [
  ['/söme where', '/s%C3%B6me%20where'],
  ['https://x.test/a?b=c%20d&e=%C3%B6#f', 'https://x.test/a?b=c%20d&e=%C3%B6#f'],
  ['/a\r\nSet-Cookie: b', '/a%0D%0ASet-Cookie:%20b'],
  ['/100%', '/100%25'],
  ['/\uD800', '/%EF%BF%BD'],
] as const) {
  t.test(`a location of ${JSON.stringify(location)} is percent-encoded (HTTP-10)`, async (t) => {
    const { headers } = await answer(t, { result: {}, change: { http: { location } } })
    t.equal(headers.location, sent)
    t.equal(headers['set-cookie'], undefined)
  })
}

/** What HTTP can not carry, or JSON. */
const IMPOSSIBLE: Readonly<Record<string, Case>> = {
  'a line break in a header': { change: { http: { headers: { 'x-a': 'a\r\nSet-Cookie: s=1' } } } },
  'a line break in one of several values': {
    change: { http: { headers: { 'x-a': ['b', 'a\r\nSet-Cookie: s=1'] } } },
  },
  'a header name with a space': { change: { http: { headers: { 'x a': 'b' } } } },
  'a header name with a colon': { change: { http: { headers: { 'x:a': 'b' } } } },
  'a header beyond Latin-1': { change: { http: { headers: { 'x-a': '☃' } } } },
  'a header that says where the answer ends': {
    change: { http: { headers: { 'Transfer-Encoding': 'chunked' } } },
  },
  'a status beyond HTTP': { change: { http: { status: 1_000 } } },
  'a status that is no number': { change: { http: { status: 'ok' as unknown as number } } },
  'a status of 100': { change: { http: { status: 100 } } },
  'a status of 101': { change: { http: { status: 101 } } },
  'a status of 103': { change: { http: { status: 103 } } },
  'a status of 600': { change: { http: { status: 600 } } },
  'a status with a fraction': { change: { http: { status: 200.5 } } },
}

for (const mode of MODES) {
  for (const [title, { change }] of Object.entries(IMPOSSIBLE)) {
    t.test(`${title} answers a generic 500, ${mode} (HTTP-10)`, async (t) => {
      const server = await startServer(t, mode, {
        services(app) {
          const headers = { 'x-first': '1', ...change?.http?.headers }
          addService(app, { a: 1 }, { http: { ...change?.http, headers } })
        },
      })
      const { status, body, headers } = await server.request('/case')
      t.strictSame([status, body], [500, GENERIC])
      t.equal(headers['set-cookie'], undefined)
      t.equal(headers['x-first'], undefined, 'nothing of the hook is on an error')
      t.equal(server.logged.length, 1)
    })
  }
}

const circular: Record<string, unknown> = {}
circular['self'] = circular
const UNSENDABLE: Readonly<Record<string, unknown>> = {
  'an object in a circle': circular,
  'a bigint': 1n,
  'an object with a bigint': { value: 1n },
  'an object whose toJSON throws': {
    toJSON() {
      throw new TypeError('not for clients')
    },
  },
}

for (const result of [() => 1, Symbol('x'), { toJSON: () => undefined }]) {
  t.test(`a ${typeof result} that JSON has nothing for answers a generic 500`, async (t) => {
    for (const method of ['GET', 'POST']) {
      const { status, body } = await answer(t, { result }, method)
      t.strictSame([status, body], [500, GENERIC])
    }
  })
}

for (const [title, result] of Object.entries(UNSENDABLE)) {
  t.test(`${title} answers a generic 500`, async (t) => {
    const { status, body } = await answer(t, { result }, 'POST')
    t.strictSame([status, body], [500, GENERIC])
  })

  t.test(`${title} in the data of an error is left out`, async (t) => {
    const server = await injectServer(t, {
      services: (app) =>
        app.use('case', {
          find: async () => Promise.reject(new BadRequest('Bad', { result })),
        }),
    })
    const { status, body } = await server.request('/case')
    t.equal(status, 400)
    t.strictSame(body, { name: 'BadRequest', message: 'Bad', code: 400, className: 'bad-request' })
  })
}

t.test('context.http is not for errors', async (t) => {
  const server = await injectServer(t, {
    services(app) {
      addService(app, {}, {})
      app.service('case').hooks({
        after: {
          all: (context) => {
            context.http = { status: 202, location: '/x', headers: { 'x-a': 'b' } }
            throw new BadRequest('No')
          },
        },
      })
    },
  })
  const { status, headers } = await server.request('/case')
  t.strictSame([status, headers.location, headers['x-a']], [400, undefined, undefined])
})

t.test('a formatter reads reply.data and reply.hook, and sends', async (t) => {
  const server = await injectServer(t, {
    services: (app) =>
      addService(app, { a: 1 }, { http: { status: 203, headers: { 'x-a': 'b' } } }),
    formatter: (_request, reply) =>
      reply.type('text/plain').send(`${reply.hook?.path} ${JSON.stringify(reply.data)}`),
  })
  const { status, text, headers } = await server.request('/case')
  t.strictSame([status, text, headers['x-a']], [203, 'case {"a":1}', 'b'])
})

t.test('a formatter negotiates: what JSON can not meet is its business', async (t) => {
  const server = await injectServer(t, {
    services: (app) => addService(app, { a: 1 }, {}),
    formatter: (request, reply) =>
      request.headers.accept === 'text/csv'
        ? reply.type('text/csv').send('a\n1')
        : reply.send(reply.data),
  })
  const csv = await server.request('/case', { headers: { accept: 'text/csv' } })
  t.strictSame([csv.status, csv.headers['content-type'], csv.text], [200, 'text/csv', 'a\n1'])
  t.strictSame((await server.request('/case')).body, { a: 1 })
})

for (const [title, formatter] of [
  [
    'throws',
    () => {
      throw new BadRequest('Not in this format')
    },
  ],
  ['rejects', async () => Promise.reject(new BadRequest('Not in this format'))],
] as const) {
  t.test(`a formatter that ${title} answers its error`, async (t) => {
    const change = { http: { headers: { 'content-type': 'text/csv', 'x-a': 'b' } } }
    const { status, body, headers } = await answer(t, { result: {}, change }, 'GET', { formatter })
    t.match({ status, body }, { status: 400, body: { message: 'Not in this format' } })
    t.equal(headers['x-a'], undefined)
  })
}

t.test('an Accept header that excludes JSON answers 406 and calls nothing', async (t) => {
  const calls: unknown[] = []
  const server = await injectServer(t, {
    services: (app) =>
      app.use('case', { find: async () => [], create: async (data: unknown) => calls.push(data) }),
  })
  for (const accept of ['text/csv', 'image/*', 'application/json;q=0', '*/*;q=0, text/html']) {
    const { status } = await server.request('/case', { data: {}, headers: { accept } })
    t.equal(status, 406, accept)
  }
  t.strictSame(calls, [])
  for (const accept of [
    '*/*',
    'application/*',
    'text/csv, application/json;q=0.1',
    '',
    'APPLICATION/JSON',
  ]) {
    t.equal((await server.request('/case', { headers: { accept } })).status, 200, accept)
  }
  const { body } = await server.request('/case', { headers: { accept: 'text/csv' } })
  t.match(body, { name: 'NotAcceptable', code: 406, className: 'not-acceptable' })
})

/** Answers that are no JSON, or need none, by what the hook after `find` makes of the call. */
const OTHERS: readonly (readonly [status: number, result: unknown, http: HookContext['http']])[] = [
  [200, '<p>Hello</p>', { headers: { 'Content-Type': 'text/html; charset=utf-8' } }],
  [200, Buffer.from('a\n1'), { headers: { 'content-type': 'text/csv' } }],
  [303, { seen: true }, { location: '/home' }],
  [302, null, { status: 302, headers: { Location: '/home' } }],
  [204, null, {}],
]

t.test('what needs no JSON is sent to those who exclude it, and errors as a page', async (t) => {
  let last: (typeof OTHERS)[number] = OTHERS[4] ?? [204, null, {}]
  const server = await injectServer(t, {
    services: (app) => {
      app.use('case', {
        find: async () => last[1],
        get: async (id: string) => Promise.reject(new NotFound(`There is no ${id}`)),
      })
      app.service('case').hooks({
        after: { find: [(context: HookContext) => void Object.assign(context, { http: last[2] })] },
      })
    },
  })
  const headers = { accept: 'text/html' }
  for (last of OTHERS) {
    t.equal((await server.request('/case', { headers })).status, last[0], String(last[0]))
  }
  for (const accept of ['text/html', 'text/*', 'TEXT/HTML;q=0.1']) {
    const { status, text } = await server.request('/case/9', { headers: { accept } })
    t.equal(status, 404, accept)
    t.match(text, /^<!doctype html>[\s\S]*There is no 9/, accept)
  }
  const csv = await server.request('/case/9', { headers: { accept: 'text/csv' } })
  t.match(csv.body, { code: 404 }, 'who accepts neither gets JSON')
})
