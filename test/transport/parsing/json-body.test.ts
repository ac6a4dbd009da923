import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'

import { rest } from '../../../src/transport/index.ts'
import type { Answer, RequestOptions, TestServer } from '../../support/http.ts'
import { injectServer, MODES, startServer } from '../../support/http.ts'

/** Answers the data that a method was called with. */
const ECHO = {
  create: async (data: unknown) => ({ data }),
  patch: async (id: unknown, data: unknown) => ({ id, data }),
  remove: async (id: unknown) => ({ id }),
  find: async () => [],
}

function open(t: Parameters<typeof injectServer>[0], options = {}): Promise<TestServer> {
  return injectServer(t, { ...options, services: (app) => app.use('echo', { ...ECHO }) })
}

function post(server: TestServer, body: string | Buffer, type = 'application/json') {
  return server.request('/echo', { method: 'POST', body, headers: { 'content-type': type } })
}

/** Bodies that are no data, each with the status that it is answered with. */
const REFUSED: readonly [title: string, body: string | Buffer, status: number, name: string][] = [
  ['null', 'null', 400, 'BadRequest'],
  ['a number', '1', 400, 'BadRequest'],
  ['a text', '"x"', 400, 'BadRequest'],
  ['true', 'true', 400, 'BadRequest'],
  ['half an object', '{"a":', 400, 'BadRequest'],
  ['two values', '{} {}', 400, 'BadRequest'],
  ['a comment', '{/* */}', 400, 'BadRequest'],
  ['NaN', '{"a":NaN}', 400, 'BadRequest'],
  ['only spaces', '  ', 400, 'BadRequest'],
  ['__proto__', '{"__proto__":{"polluted":1}}', 400, 'BadRequest'],
  ['__proto__ further down', '{"a":[{"__proto__":{"polluted":1}}]}', 400, 'BadRequest'],
  ['an escaped __proto__', '{"\\u005f_proto__":{"polluted":1}}', 400, 'BadRequest'],
  ['constructor.prototype', '{"constructor":{"prototype":{"polluted":1}}}', 400, 'BadRequest'],
  ['overlong UTF-8', Buffer.from([0x22, 0xc0, 0x80, 0x22]), 400, 'BadRequest'],
  ['a byte that is not UTF-8', Buffer.from('7b2261223a22ff227d', 'hex'), 400, 'BadRequest'],
  ['a cut sequence', Buffer.from('7b2261223a22e298227d', 'hex'), 400, 'BadRequest'],
  ['51 objects in each other', nest('{"a":', '1', '}', 51), 400, 'BadRequest'],
  ['51 arrays in each other', nest('[', '', ']', 51), 400, 'BadRequest'],
  ['100,000 arrays in each other', nest('[', '', ']', 100_000), 400, 'BadRequest'],
  ['10,001 keys', toKeys(10_001), 400, 'BadRequest'],
  ['10,001 items', `[${'0,'.repeat(10_000)}0]`, 400, 'BadRequest'],
  ['more than 1 MiB', `"${'x'.repeat(1_048_575)}"`, 413, 'PayloadTooLarge'],
]

function nest(open: string, inner: string, close: string, depth: number): string {
  return open.repeat(depth) + inner + close.repeat(depth)
}

function toKeys(count: number): string {
  return JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i])))
}

for (const [title, body, status, name] of REFUSED) {
  t.test(`refuses ${title} with ${status}`, async (t) => {
    const server = await open(t)
    const answer = await post(server, body)
    t.match(answer, { status, body: { name, code: status } })
  })
}

t.test('says whether a body is no JSON or has a name that is refused', async (t) => {
  const server = await open(t)
  for (const [title, body] of REFUSED.filter((one) => /proto/.test(one[0]))) {
    const message = /^The body has a name that is not allowed: '__proto__', or/
    t.match(await post(server, body), { body: { message } }, title)
    t.match(await post(server, `\uFEFF${body}`), { body: { message } }, `${title}, byte order mark`)
    t.match(await post(server, `${body}}`), { body: { message: /not valid JSON/ } }, title)
  }
})

t.test('what is refused never reaches the service, nor the log', async (t) => {
  const calls: unknown[] = []
  const server = await injectServer(t, {
    services: (app) => app.use('echo', { create: async (data: unknown) => calls.push(data) }),
  })
  for (const [, body] of REFUSED) await post(server, body)
  t.strictSame(calls, [])
  t.strictSame(server.logged, [])
})

/** Bodies that are data. */
const ACCEPTED: readonly [title: string, body: string, data: unknown][] = [
  ['an object', '{"a":1}', { a: 1 }],
  ['an array', '[{"a":1},2]', [{ a: 1 }, 2]],
  ['an empty object', '{}', {}],
  ['an empty array', '[]', []],
  ['unicode', '{"☃":"\\u2603 😀"}', { '☃': '☃ 😀' }],
  ['a byte order mark', '\uFEFF{"a":1}', { a: 1 }],
  ['a constructor without prototype', '{"constructor":"x"}', { constructor: 'x' }],
  ['names of methods', '{"toString":1,"hasOwnProperty":2}', { toString: 1, hasOwnProperty: 2 }],
]

for (const [title, body, data] of ACCEPTED) {
  t.test(`reads ${title}`, async (t) => {
    const server = await open(t)
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json; charset="UTF-8"',
      'application/json;x="a;charset=latin1"',
      'application/json; x="\\";charset=latin1"; charset="utf-8"',
      'Application/JSON',
    ]) {
      const answer = await post(server, body, type)
      t.strictSame([answer.status, answer.text], [201, JSON.stringify({ data })], type)
    }
  })
}

/** Bodies with text that no UTF-8 can hold, which a database would store as something else. */
const MALFORMED: readonly [body: string, name: string][] = [
  ['{"name":"ann\\ud800"}', "'name'"],
  ['{"name":"\\uDC00ann"}', "'name'"],
  ['{"name":"\\udfff\\ud800"}', "'name'"],
  ['{"a":[{"b":["\\uDBFF"]}]}', "'0'"],
  ['["\\ud83d\\u0041"]', "'0'"],
  ['{"\\ud800":1}', 'A name'],
  ['{"a":[{"\\udc00x":{}}]}', 'A name'],
  ['{"\\u0061\\u0062":"\\\\\\ud800"}', "'ab'"],
  [`{"${'x'.repeat(300)}":"\\ud800"}`, `'${'x'.repeat(50)}…'`],
]

for (const [body, name] of MALFORMED) {
  t.test(`refuses ${body.slice(0, 40)}, which is no well-formed Unicode (HTTP-7)`, async (t) => {
    const server = await open(t)
    const { status, body: error } = await post(server, body)
    t.match([status, error], [400, { name: 'BadRequest' }])
    const { message } = error as { message: string }
    t.ok(message.includes(name), message)
    t.ok(message.includes('well-formed Unicode'), message)
  })
}

t.test('escapes that are well-formed are read as ever', async (t) => {
  const server = await open(t)
  for (const body of [
    '{"a":"\\ud83d\\ude00","\\uD83D\\uDE00":1,"b":"\\\\ud800","c":"\\u0000"}',
    '["\\ufffd","\\uffff","\\ud7ff","\\ue000"]',
  ]) {
    t.strictSame((await post(server, body)).body, { data: JSON.parse(body) })
  }
})

t.test('50 levels and 10,000 keys are not too much', async (t) => {
  const server = await open(t)
  for (const body of [nest('{"a":', '1', '}', 50), nest('[', '', ']', 50), toKeys(10_000)]) {
    t.equal((await post(server, body)).status, 201)
  }
})

t.test('a text of many digits, keys twice and -0 are read as JSON.parse does', async (t) => {
  const server = await open(t)
  const body = '{"a":1,"a":2,"b":9007199254740993,"c":-0,"d":1e400}'
  t.strictSame((await post(server, body)).text, JSON.stringify({ data: JSON.parse(body) }))
})

t.test('each limit is an option that the answer names', async (t) => {
  const server = await open(t, { json: { maxDepth: 2, maxKeys: 3, bodyLimit: 20 } })
  for (const [body, status, message] of [
    ['{"a":{"b":{}}}', 400, /deeper than 2 levels/],
    ['[1,2,3,4]', 400, /more than 3 keys/],
    ['{"a":"123456789012"}', 201, undefined],
    ['{"a":"1234567890123"}', 413, /./],
  ] as const) {
    const answer = await post(server, body)
    t.equal(answer.status, status, body)
    if (message) t.match((answer.body as { message: string }).message, message)
  }
})

t.test('a limit that is undefined is the default, and an unusable one is refused', async (t) => {
  const server = await open(t, { json: { maxDepth: undefined, maxKeys: undefined } })
  for (const body of [nest('[', '', ']', 51), toKeys(10_001)]) {
    t.equal((await post(server, body)).status, 400)
  }
  for (const name of ['maxDepth', 'maxKeys', 'bodyLimit']) {
    for (const limit of [Number.NaN, -1, '10', null]) {
      const message = `rest(): the option 'json.${name}' must be`
      t.throws(() => rest({ json: { [name]: limit as number } }), { name: 'TypeError', message })
    }
  }
  // Fastify would take it for no limit of one's own.
  for (const options of [{ json: { bodyLimit: 0 } }, { urlencoded: { bodyLimit: 0 } }]) {
    const message = ".bodyLimit' must be a number of bytes from 1 on"
    t.throws(() => rest(options), { name: 'TypeError', message })
  }
})

/** Media types other than JSON and URL-encoded forms. */
const TYPES = [
  ...['text/plain', 'text/html', 'application/xml', 'application/octet-stream'],
  ...['multipart/form-data; boundary=x', 'application/vnd.api+json', 'application/jsonx'],
  ...['application/json; charset=utf-16', 'application/json;charset="latin1"'],
  ...['application/json; x="a;b"; CHARSET=latin1', 'application/json;;charset="utf-8;"'],
  ...['application/json\u00a0;charset=utf-8'],
  `application/json;${' '.repeat(8_000)}charset=utf-8`,
  ...['a/b;=', ';', 'application', '/', '*/*', `a/${'b'.repeat(5_000)}`],
]

t.test('answers 415 to every other media type (HTTP-6)', async (t) => {
  const server = await open(t)
  for (const type of TYPES) {
    const answer = await post(server, '{"a":1}', type)
    t.match(answer, { status: 415, body: { name: 'UnsupportedMediaType', code: 415 } }, type)
  }
})

for (const mode of MODES) {
  t.test(`a body that is missing is an empty object, ${mode}`, async (t) => {
    const server = await startServer(t, mode, { services: (app) => app.use('echo', { ...ECHO }) })
    const json = { 'content-type': 'application/json' }
    const requests: readonly [RequestOptions, unknown][] = [
      [{ method: 'POST' }, { data: {} }],
      [{ method: 'POST', headers: json }, { data: {} }],
      [{ method: 'POST', headers: { ...json, 'content-length': '0' } }, { data: {} }],
      [{ method: 'POST', headers: { ...json, 'transfer-encoding': 'chunked' } }, { data: {} }],
      [
        { method: 'PATCH', headers: json },
        { id: null, data: {} },
      ],
      [{ method: 'DELETE', headers: json }, { id: null }],
      [{ method: 'DELETE', headers: { ...json, 'content-length': '0' } }, { id: null }],
      [{ method: 'DELETE', headers: json, body: '{"a":1}' }, { id: null }],
      [{ method: 'GET', headers: json }, []],
    ]
    for (const [options, body] of requests) {
      const answer: Answer = await server.request('/echo', options)
      t.strictSame(answer.body, body, JSON.stringify(options))
    }
  })

  t.test(`a body that is too large is refused as it comes, ${mode} (RES-1)`, async (t) => {
    const server = await startServer(t, mode, { services: (app) => app.use('echo', { ...ECHO }) })
    const answer = await server.raw(
      `POST ${server.prefix}/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
        'Content-Length: 99999999\r\n\r\n{',
    )
    t.match(answer, /^HTTP\/1\.1 413 /)
    t.match(answer, /"className":"payload-too-large"/)
  })
}

t.test('a body that is shorter than said does not reach the service (HTTP-8)', async (t) => {
  const calls: unknown[] = []
  const server = await startServer(t, 'standalone', {
    services: (app) => app.use('echo', { create: async (data: unknown) => calls.push(data) }),
  })
  const socket = connect({ port: server.port, host: '127.0.0.1' })
  socket.end(
    'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
      'Content-Length: 20\r\n\r\n{}',
  )
  await once(socket.resume(), 'close')
  t.strictSame(calls, [])
})
