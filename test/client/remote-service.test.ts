import { feathers } from '@feathersjs/feathers'
import t from 'tap'
import type { FetchFunction, FetchOptions, RemoteServiceClass } from '../../src/client/index.ts'
import { FetchClient, RemoteService, rest } from '../../src/client/index.ts'
import { setAuthorizer } from '../../src/client/sent-call.ts'
import type { AnyService, Query } from '../../src/core/index.ts'
import { BadRequest, createApp } from '../../src/core/index.ts'
import { pluck } from '../support/pluck.ts'

interface SentRequest extends FetchOptions {
  readonly url: string
}

/** Returns a remote service, and what it sends; it is answered by `{}`. */
function record(path: string, Service: RemoteServiceClass = FetchClient) {
  const sent: SentRequest[] = []
  const answer: FetchFunction = async (url, options) => {
    sent.push({ ...options, url })
    return new Response('{}')
  }
  const connection = rest('http://a').fetch(answer, {}, Service)
  return { service: connection.service(path) as unknown as RemoteService, sent }
}

t.test('sends each method by its verb, with id, query and body where they belong', async (t) => {
  const { service, sent } = record('users')
  const query = { a: 1 }
  const data = { name: 'Ann' }
  await service.find()
  await service.find({ query })
  await service.get('1', { query })
  await service.create(data)
  await service.update(1, data)
  await service.update(null, data, { query })
  await service.patch('1', data)
  await service.patch(null, data, { query })
  await service.remove('1')
  await service.remove(null, { query })
  t.strictSame(
    sent.map(({ method, url, body }) => `${method} ${url} ${body}`),
    [
      'GET http://a/users null',
      'GET http://a/users?a=1 null',
      'GET http://a/users/1?a=1 null',
      'POST http://a/users {"name":"Ann"}',
      'PUT http://a/users/1 {"name":"Ann"}',
      'PUT http://a/users?a=1 {"name":"Ann"}',
      'PATCH http://a/users/1 {"name":"Ann"}',
      'PATCH http://a/users?a=1 {"name":"Ann"}',
      'DELETE http://a/users/1 null',
      'DELETE http://a/users?a=1 null',
    ],
  )
})

t.test('sends custom methods by a header, and JSON only where there is a body', async (t) => {
  const { service, sent } = record('users')
  service.methods('invite')
  const { invite } = service as unknown as { invite(data?: unknown): Promise<unknown> }
  await invite({ a: 1 })
  await invite()
  await service.find()
  const accept = 'application/json'
  t.strictSame(
    sent.map(({ method, headers }) => ({ method, ...headers })),
    [
      { method: 'POST', accept, 'content-type': accept, 'x-service-method': 'invite' },
      { method: 'POST', accept, 'x-service-method': 'invite' },
      { method: 'GET', accept },
    ],
  )
})

t.test('refuses an id that is none before anything is sent', async (t) => {
  const { service, sent } = record('users')
  const call = async (method: string, id: unknown): Promise<unknown> =>
    (service as unknown as AnyService)[method]?.(id)
  for (const method of ['get', 'update', 'patch', 'remove']) {
    for (const id of [undefined, '']) {
      await t.rejects(call(method, id), { message: `id for .${method} is required` })
    }
    for (const id of ['.', '..', {}, [], true, Number.NaN, '\ud800', () => 1]) {
      await t.rejects(call(method, id), BadRequest, String(id))
    }
  }
  await t.rejects(call('get', null), { message: 'id for .get is required' })
  t.strictSame(sent, [])
})

t.test('refuses params and queries that are none, as all records would be meant', async (t) => {
  const { service, sent } = record('users')
  const app = createApp().configure(rest('http://a').fetch(() => Promise.reject(new Error('sent'))))
  const users = [service as unknown as AnyService, app.service('users')]
  for (const one of users) {
    for (const query of [null, [], [{ a: 1 }], 'a=1', 1]) {
      const params = { query } as object
      await t.rejects(one.remove(null, params), { message: 'params.query must be an object' })
    }
  }
  await t.rejects(service.remove(null, [{ query: { a: 1 } }]), /params must be an object/)
  t.strictSame(sent, [])
})

t.test('takes ids that stand for strings', async (t) => {
  const { service, sent } = record('users')
  await service.get({ toHexString: () => 'ab' })
  await service.get(0)
  await service.get(-1.5)
  await service.get(10n as unknown as number)
  t.strictSame(
    pluck(sent, 'url'),
    ['ab', '0', '-1.5', '10'].map((id) => `http://a/users/${id}`),
  )
})

t.test('refuses data that JSON can not hold', async (t) => {
  const { service, sent } = record('users')
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const files = [new FormData(), new Blob(['a']), new Uint8Array(1), new Map(), /a/]
  for (const data of [...files, () => 1, Symbol('a'), 1n, circle]) {
    await t.rejects(service.create(data), BadRequest, String(data))
  }
  await t.rejects(service.create(new FormData()), {
    message: 'data is an object of the class FormData, which JSON cannot hold',
  })
  t.strictSame(sent, [])
})

t.test('refuses data of which JSON would leave out a part, and names it', async (t) => {
  const { service, sent } = record('users')
  const lost: readonly [unknown, string][] = [
    [{ m: new Map() }, 'data.m is an object of the class Map'],
    [[{ a: [1, new Set([1])] }], 'data[0].a[1] is an object of the class Set'],
    [{ file: new Blob(['a']) }, 'data.file is an object of the class Blob'],
    [{ bytes: new Uint8Array(1) }, 'data.bytes is an object of the class Uint8Array'],
    [{ bytes: Buffer.from('a') }, 'data.bytes is an object of the class Buffer'],
    [{ bytes: new ArrayBuffer(1) }, 'data.bytes is an object of the class ArrayBuffer'],
    [{ later: Promise.resolve(1) }, 'data.later is an object of the class Promise'],
    [{ price: Number.NaN }, 'data.price is NaN'],
    [{ a: { b: -Infinity } }, 'data.a.b is -Infinity'],
    [{ at: new Date('x') }, 'data.at is an invalid date'],
    [{ call: () => 1 }, 'data.call is a function'],
    [{ big: 1n }, 'data.big is a bigint'],
    [new Date('x'), 'data is an invalid date'],
    [Number.NaN, 'data is NaN'],
  ]
  for (const [data, message] of lost) {
    const error = { name: 'BadRequest', message: `${message}, which JSON cannot hold` }
    await t.rejects(service.patch(1, data), error, message)
  }
  t.strictSame(sent, [])
})

t.test('sends data as JSON has it', async (t) => {
  class Todo {
    text = 'a'
  }
  const id = { toHexString: () => 'ab', toJSON: () => 'ab' }
  const shared = { a: undefined, b: null, list: [], none: {}, empty: Object.create(null) }
  const all = [shared, shared, new Todo(), id, new Date(0), 'a', 1.5, true, -0]
  for (const data of [all, { all }, null, 0, '', [], {}, JSON.parse('{"__proto__":{"a":1}}')]) {
    const { service, sent } = record('users')
    await service.create(data)
    t.equal(sent[0]?.body, JSON.stringify(data))
  }
})

t.test('refuses headers that can not be sent, without their values', async (t) => {
  const { service, sent } = record('users')
  const names = ['a b', '', 'ä', 'a:']
  for (const name of names) await t.rejects(service.find({ headers: { [name]: 'x' } }), BadRequest)
  for (const value of ['secret\r\nx: y', 'secret\u2603', 1, null, {}]) {
    const error = { name: 'BadRequest', message: /^(?!.*secret).*'authorization'/ }
    await t.rejects(service.find({ headers: { authorization: value } }), error)
  }
  t.strictSame(sent, [])
})

t.test('refuses headers of an incoming request that was handed on', async (t) => {
  const { service, sent } = record('users')
  for (const name of ['Host', 'content-length', 'connection', 'transfer-encoding']) {
    await t.rejects(service.find({ headers: { [name]: 'x' } }), /belongs to one connection/)
  }
  t.strictSame(sent, [])
})

t.test('refuses the header that would turn one method into another', async (t) => {
  const { service, sent } = record('users')
  service.methods('invite')
  const headers = { 'X-Service-Method': 'wipe' }
  const { invite } = service as unknown as AnyService
  const message = /'x-service-method' follows from the method that is called/
  await t.rejects(service.create({}, { headers }), message)
  await t.rejects(invite?.({}, { connection: { headers } }) as Promise<unknown>, message)
  t.throws(() => rest('http://a').fetch(fetch, { headers }), message)
  t.strictSame(sent, [])
})

t.test('headers that can be read once alone are sent, and win over those of a login', async (t) => {
  const { service, sent } = record('users')
  const given: object[] = []
  setAuthorizer(service, (call) => {
    given.push(call.headers)
    return call.send({})
  })
  await service.find({ headers: new Map([['Authorization', 'own']]).entries() })
  t.match(given, [{ authorization: 'own' }])
  t.match(sent, [{ headers: { authorization: 'own' } }])
})

t.test('headers of the method win over options, those of the call over both', async (t) => {
  const sent: unknown[] = []
  const answer: FetchFunction = async (_url, { headers }) => {
    sent.push([headers['content-type'], headers['accept']])
    return new Response('{}')
  }
  const headers = { 'Content-Type': 'of/options', ACCEPT: 'a/b' }
  const app = createApp().configure(rest('http://a').fetch(answer, { headers }))
  app.use('users', rest('http://a').fetch(answer, { headers }).service('users'), {
    methods: ['invite'],
  })
  const users = app.service('users')
  await users['invite']?.({})
  await users['invite']?.({}, { headers: { 'content-TYPE': 'of/params' } })
  await users['invite']?.(
    {},
    {
      headers: { 'content-type': 'of/params' },
      connection: { headers: [['Content-type', 'of/connection']] },
    },
  )
  t.strictSame(sent, [
    ['application/json', 'a/b'],
    ['of/params', 'a/b'],
    ['of/connection', 'a/b'],
  ])
})

t.test('sends a header of any name that is one', async (t) => {
  const { service, sent } = record('users')
  await service.find({ headers: JSON.parse('{"__proto__":"a","toString":"b","x-1":"c"}') })
  const names = ['accept', '__proto__', 'tostring', 'x-1']
  t.strictSame(Object.keys(sent[0]?.headers ?? {}), names)
})

t.test('a header that is undefined is not given', async (t) => {
  const { service, sent } = record('users')
  await service.find({ headers: { accept: undefined, 'x-a': undefined } })
  t.strictSame(sent[0]?.headers, { accept: 'application/json' })
})

t.test('hands options of the library on, and refuses those that contradict the call', async (t) => {
  const { service, sent } = record('users')
  await service.find({ connection: { credentials: 'include', redirect: 'error' } })
  t.match(sent[0], { credentials: 'include', redirect: 'error', method: 'GET' })
  const refused = [
    'auth',
    'transformRequest',
    'method',
    'body',
    'url',
    'data',
    'query',
    'retry',
    'timeout',
    'baseURL',
  ]
  for (const name of refused) {
    const message = new RegExp(`params.connection cannot hold '${name}'`)
    await t.rejects(service.find({ connection: { [name]: 1 } }), message)
  }
  await t.rejects(service.find({ connection: { timeoutMs: 0 } }), /'timeoutMs' must be/)
  await t.rejects(service.find({ connection: { responseType: 'arraybuffer' } }), /must be one of/)
  await t.rejects(service.find({ connection: { signal: {} } }), /must be an AbortSignal/)
  await t.rejects(service.find({ connection: 'x' }), /must be an object, not string/)
  await t.rejects(service.find('x' as unknown as object), /params must be an object/)
  t.equal(sent.length, 1)
})

t.test('does not follow redirects of writes, which would become reads on the way', async (t) => {
  const { service, sent } = record('users')
  await service.find()
  await service.create({})
  t.strictSame(pluck(sent, 'redirect'), ['follow', 'manual'])
})

t.test('a query is written in a way of its own by a subclass', async (t) => {
  class JSONQueries extends FetchClient {
    override getQuery(query: Query): string {
      return Object.keys(query).length === 0
        ? ''
        : `?q=${encodeURIComponent(JSON.stringify(query))}`
    }
  }
  const { service, sent } = record('users', JSONQueries)
  await service.find({ query: { deletedAt: null } })
  await service.find()
  t.strictSame(pluck(sent, 'url'), [
    `http://a/users?q=${encodeURIComponent('{"deletedAt":null}')}`,
    'http://a/users',
  ])
})

t.test('calls a fetch function that may be no method', async (t) => {
  let self: unknown = 'never called'
  const bound = async function (this: unknown): Promise<Response> {
    self = this
    return new Response('1')
  }
  t.equal(await createApp().configure(rest().fetch(bound)).service('a').find(), 1)
  t.equal(self, undefined)
})

t.test('works through objects that are derived from it, and through proxies', async (t) => {
  const { service, sent } = record('users')
  await Object.create(service).find()
  await new Proxy(service, {}).get(1)
  t.strictSame(pluck(sent, 'url'), ['http://a/users', 'http://a/users/1'])
})

t.test('is a connection for an application of Feathers, too', async (t) => {
  const sent: string[] = []
  const answer: FetchFunction = async (url) => {
    sent.push(url)
    return new Response('{"id":1}')
  }
  const connection = rest('http://a').fetch(answer)
  const app = feathers().configure(connection)
  app.use('users', connection.service('users') as object, { methods: ['get', 'invite'] })
  const users = app.service('users') as unknown as AnyService
  t.strictSame(await users.get(1), { id: 1 })
  t.strictSame(await users['invite']?.({}), { id: 1 })
  t.strictSame(await app.service('notes').find(), { id: 1 })
  t.strictSame(sent, ['http://a/users/1', 'http://a/users', 'http://a/notes'])
})

t.test('a path of the page stays one', async (t) => {
  const urls: string[] = []
  const answer: FetchFunction = async (url) => {
    urls.push(url)
    return new Response('1')
  }
  for (const base of ['', '/api/']) {
    const app = createApp().configure(rest(base).fetch(answer))
    await app.service('users').get(1)
    await app.service('/').find()
  }
  t.strictSame(urls, ['/users/1', '/', '/api/users/1', '/api'])
})

t.test('refuses names that no custom method can have', (t) => {
  const { service } = record('users')
  for (const name of [
    'find',
    'setup',
    'toString',
    'hooks',
    'methods',
    'sendRequest',
    'options',
    'then',
  ]) {
    t.throws(() => service.methods(name), /cannot be the name of a custom method/, name)
  }
  t.ok(service instanceof RemoteService)
  t.end()
})
