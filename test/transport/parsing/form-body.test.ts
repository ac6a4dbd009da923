import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import t from 'tap'

import { urlencoded } from '../../../src/transport/index.ts'
import type { Answer, ServerOptions, TestServer } from '../../support/http.ts'
import { injectServer, MODES } from '../../support/http.ts'

function open(t: Parameters<typeof injectServer>[0], options = {}): Promise<TestServer> {
  const services = (app: TestServer['app']) =>
    app.use('echo', { create: async (data: unknown) => ({ data }) })
  return injectServer(t, { ...options, services })
}

const FORM = 'application/x-www-form-urlencoded'

function post(server: TestServer, body: string | Buffer, type = FORM): Promise<Answer> {
  return server.request('/echo', { method: 'POST', body, headers: { 'content-type': type } })
}

/** Forms and the data that they are read as. */
const FORMS: readonly [body: string, data: unknown][] = [
  ['', {}],
  ['a=1&b=two+words', { a: '1', b: 'two words' }],
  ['a[]=1&a[]=2', { a: ['1', '2'] }],
  ['a=1&a=2', { a: ['1', '2'] }],
  ['user[name][first]=A&user%5Bage%5D=7', { user: { name: { first: 'A' }, age: '7' } }],
  ['caf%C3%A9=%E2%98%83', { café: '☃' }],
  ['a=%ZZ', { a: '%ZZ' }],
]

for (const [body, data] of FORMS) {
  t.test(`reads '${body}' as ${JSON.stringify(data)}`, async (t) => {
    const server = await open(t)
    for (const type of [FORM, `${FORM}; charset="utf-8"`, FORM.toUpperCase()]) {
      const answer = await post(server, body, type)
      t.strictSame([answer.status, answer.body], [201, { data }], type)
    }
  })
}

t.test('the limits of queries answer 400, never 500 (QS-5)', async (t) => {
  const server = await open(t)
  for (const [body, limit] of [
    [`a${'[b]'.repeat(11)}=1`, /deeper than 10 levels/],
    ['a&'.repeat(1_000), /more than 1000 parameters/],
    ['a[]&'.repeat(1_000), /more than 1000 parameters/],
  ] as const) {
    const answer = await post(server, body)
    t.match(answer, { status: 400, body: { name: 'BadRequest', message: limit } })
  }
})

t.test('a long list is a list, in each notation, up to the limit of parameters', async (t) => {
  const server = await open(t)
  const values = Array.from({ length: 1_000 }, (_, index) => String(index))
  for (const toName of [() => 'a', () => 'a[]', (index: number) => `a[${index}]`]) {
    const body = values.map((value, index) => `${toName(index)}=${value}`).join('&')
    t.strictSame((await post(server, body)).body, { data: { a: values } }, toName(0))
  }
})

t.test('what can not be passed on is refused and named (QS-6)', async (t) => {
  const server = await open(t)
  for (const [parameter, name] of [
    ['__proto__[polluted]=1', '__proto__[polluted]'],
    ['a[__proto__][polluted]=1', 'a[__proto__][polluted]'],
    ['constructor[prototype][polluted]=1', 'constructor[prototype][polluted]'],
    ['__proto__=1', '__proto__'],
    ['hasOwnProperty=1', 'hasOwnProperty'],
    ['=1', ''],
    ['a[0].role=1', 'a[0].role'],
  ] as const) {
    const answer = await post(server, `${parameter}&b=1`)
    const message = `The body parameter '${name}' `
    t.match(answer, { status: 400, body: { name: 'BadRequest', message } }, parameter)
  }
})

t.test('a form may be longer than a query, up to the limit of bodies', async (t) => {
  const server = await open(t)
  t.equal((await post(server, `a=${'x'.repeat(100_000)}`)).status, 201)
  const answer = await post(server, `a=${'x'.repeat(1_048_576)}`)
  t.match(answer, { status: 413, body: { name: 'PayloadTooLarge' } })
})

t.test('each limit is an option', async (t) => {
  const options = { urlencoded: { bodyLimit: 40, depth: 1, parameterLimit: 2, arrayLimit: 1 } }
  const server = await open(t, options)
  for (const [body, status] of [
    ['a[b][c]=1', 400],
    ['a&b&c', 400],
    ['a[b]=1&c=2', 201],
    [`a=${'x'.repeat(39)}`, 413],
  ] as const) {
    t.equal((await post(server, body)).status, status, body)
  }
  // A list never becomes an object: nothing would read it as a list again.
  for (const body of ['a=1&a=2', 'a[]=1&a[]=2', 'a[0]=1&a[1]=2', 'a[5]=1']) {
    const message = 'The body has a list of more than 1 items'
    t.match(await post(server, body), { status: 400, body: { message } }, body)
  }
})

t.test('bytes that are no UTF-8 are rejected, escapes of no byte are text (HTTP-7)', async (t) => {
  const server = await open(t)
  for (const body of [
    'a=M%FCller',
    'b=1&%FF=2',
    'a=%C3',
    'a[b]=%ED%A0%80',
    'a=%zz%80',
    'a[]=%C0%AE',
  ]) {
    const answer = await post(server, body)
    t.match(
      answer,
      { status: 400, body: { message: /^The body parameter .* is not valid UTF-8$/ } },
      body,
    )
  }
  t.strictSame((await post(server, 'a=100%&b=%EF%BF%BD')).body, {
    data: { a: '100%', b: '\ufffd' },
  })
})

t.test('what is not UTF-8 is refused, as in JSON (HTTP-7)', async (t) => {
  const server = await open(t)
  t.equal((await post(server, Buffer.from([0x61, 0x3d, 0xff, 0xfe]))).status, 400)
  for (const charset of ['latin1', '"utf-16"']) {
    const answer = await post(server, Buffer.from([0x61]), `${FORM}; charset=${charset}`)
    t.match(answer, { status: 415, body: { name: 'UnsupportedMediaType' } })
  }
})

t.test('errors speak of the body', async (t) => {
  const server = await open(t, { urlencoded: { depth: 1, parameterLimit: 2 } })
  for (const [body, message] of [
    ['a&b&c', 'The body has more than 2 parameters'],
    ['a[b][c]=1', 'The body is nested deeper than 1 levels'],
  ] as const) {
    t.match((await post(server, body)).body, { message })
  }
})

t.test('a limit that is undefined is the default, and an unusable one is refused', async (t) => {
  const server = await open(t, { urlencoded: { depth: undefined, parameterLimit: undefined } })
  for (const body of [`a${'[b]'.repeat(11)}=1`, 'a&'.repeat(1_000)]) {
    t.equal((await post(server, body)).status, 400)
  }
  t.throws(() => urlencoded({ depth: -1 }), /urlencoded\(\): the option 'depth' must be a number/)
})

t.test("a parser of queries of one's own reads forms too", async (t) => {
  const query = (raw: string) => {
    if (raw.includes('!')) throw new Error('internal')
    return { raw }
  }
  const server = await open(t, { query })
  t.strictSame((await post(server, 'a=1&b=2')).body, { data: { raw: 'a=1&b=2' } })
  const refused = await post(server, 'a!')
  t.match(refused, { status: 400, body: { message: 'The body cannot be parsed' } })
})

t.test('U+FFFD is what wrong bytes are read as, so it has to be encoded (HTTP-7)', async (t) => {
  const server = await open(t)
  const refused = await post(server, 'a=\ufffd')
  t.match(refused, { status: 400, body: { message: /not valid UTF-8, or holds a U\+FFFD/ } })
  t.strictSame((await post(server, 'a=%EF%BF%BD')).body, { data: { a: '\ufffd' } })
  t.strictSame((await post(server, 'a=é😀')).body, { data: { a: 'é😀' } })
})

for (const mode of MODES) {
  t.test(`a server that has formbody itself keeps its own, ${mode}`, async (t) => {
    const ownRoutes: ServerOptions['server'] = (server: FastifyInstance) => {
      server.register(formbody, { parser: (text) => ({ own: text }) })
      server.register(async (scope) => scope.post('/own', async ({ body }) => body))
    }
    const services = (app: TestServer['app']) =>
      app.use('echo', { create: async (data: unknown) => ({ data }) })
    const server = await injectServer(t, { server: ownRoutes, services }, mode)
    t.strictSame((await post(server, 'a[b]=1')).body, { data: { a: { b: '1' } } })
    const own = await server.fastify.inject({
      ...{ method: 'POST', url: '/own', payload: 'a[b]=1', headers: { 'content-type': FORM } },
    })
    t.strictSame(own.json(), { own: 'a[b]=1' })
  })
}

t.test('a server without formbody reads no forms on routes of its own', async (t) => {
  const server = await open(t, {
    server: (own: FastifyInstance) => own.post('/own', async ({ body }) => body),
  })
  const headers = { 'content-type': FORM }
  const answer = await server.request('/own', {
    method: 'POST',
    body: 'a=1',
    headers,
    ownErrorBody: true,
  })
  t.equal(answer.status, 415)
})
