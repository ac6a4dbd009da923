import { EventEmitter } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'

import type { Application, HookContext, Params } from '../../src/transport/index.ts'
import { RequestFacts } from '../../src/transport/request-params.ts'
import type { ServerOptions } from '../support/http.ts'
import { injectServer, MODES } from '../support/http.ts'
import { until } from '../support/until.ts'

type Seen = Params & Record<string, unknown>

/** Keeps the params and the context of the last call of every method. */
function createProbe() {
  const calls: HookContext[] = []
  const method = async () => ({})
  const services = (app: Application): void => {
    for (const path of ['probe', 'users/:userId/messages']) {
      app.use(
        path,
        { find: method, get: method, create: method, patch: method, ping: method },
        {
          methods: ['find', 'get', 'create', 'patch', 'ping'],
        },
      )
      app.service(path).hooks({ before: { all: [(context) => void calls.push(context)] } })
    }
  }
  const last = (): HookContext => {
    const context = calls.at(-1)
    if (context === undefined) throw new Error('nothing was called')
    return context
  }
  return { services, last, params: () => last().params as Seen }
}

for (const mode of MODES) {
  t.test(`params are query, headers, route and provider, ${mode}`, async (t) => {
    const probe = createProbe()
    const server = await injectServer(t, mode, { services: probe.services })
    for (const [path, options] of [
      ['/users/a%20b/messages?a[b]=1', {}],
      ['/users/a%20b/messages/7?a[b]=1', {}],
      ['/users/a%20b/messages?a[b]=1', { data: {} }],
      ['/users/a%20b/messages/7?a[b]=1', { method: 'PATCH', data: {} }],
      ['/users/a%20b/messages?a[b]=1', { data: {}, headers: { 'x-service-method': 'ping' } }],
    ] as const) {
      await server.request(path, {
        ...options,
        headers: { ...('headers' in options ? options.headers : {}), 'X-Test': 'Hi' },
      })
      const params = probe.params()
      t.strictSame(Object.keys(params).sort(), ['headers', 'provider', 'query', 'route'])
      t.strictSame(params.query, { a: { b: '1' } })
      t.strictSame(params.route, { userId: 'a b' })
      t.equal(params.provider, 'rest')
      t.equal(params.headers?.['x-test'], 'Hi')
    }
  })

  t.test(`requestUrl and requestMethod are those that the client has sent, ${mode}`, async (t) => {
    const probe = createProbe()
    const server: ServerOptions['server'] = (fastify) =>
      fastify.addHook('onRequest', async (request) => {
        Object.assign(request.feathers, { requestUrl: 'https://forged.test/', requestMethod: 'GO' })
      })
    const { request } = await injectServer(t, mode, { services: probe.services, server })
    const headers = { host: 'notes.test:8080', 'x-forwarded-host': 'forged.test' }
    for (const path of ['/probe?a=1', '/users/a%20b/messages']) {
      await request(path, { headers })
      t.equal(
        probe.params().requestUrl,
        `http://notes.test:8080${mode === 'plugin' ? '/api/v1' : ''}${path}`,
      )
      t.equal({ ...probe.params() }.requestUrl, undefined, 'a copy is to name it')
      t.equal(probe.params().requestMethod, 'GET')
    }
    await request('/probe', { method: 'HEAD' })
    t.equal(probe.params().requestMethod, 'HEAD')
  })

  t.test(`the context says what was called, ${mode}`, async (t) => {
    const probe = createProbe()
    const server = await injectServer(t, mode, { services: probe.services })
    for (const [path, options, expected] of [
      ['/probe', {}, { method: 'find', id: undefined, data: undefined }],
      ['/probe/7', {}, { method: 'get', id: '7', data: undefined }],
      ['/probe', { data: { a: 1 } }, { method: 'create', id: undefined, data: { a: 1 } }],
      ['/probe/7', { data: { a: 1 } }, { method: 'create', id: undefined, data: { a: 1 } }],
      ['/probe', { method: 'PATCH', data: {} }, { method: 'patch', id: null, data: {} }],
    ] as const) {
      await server.request(path, options)
      const { method, id, data } = probe.last()
      t.strictSame({ method, id, data }, expected)
      t.strictSame(probe.last().http, {})
      t.equal(probe.last().path, 'probe')
    }
  })

  t.test(`nothing in a request forges params, ${mode} (INJ-19)`, async (t) => {
    const probe = createProbe()
    const server = await injectServer(t, mode, { services: probe.services })
    const forged = {
      provider: '',
      authentication: { strategy: 'jwt' },
      user: { id: 1 },
      route: { userId: '2' },
      userId: '2',
      headers: { 'x-forged': '1' },
    }
    const query =
      'provider=&user[id]=1&authentication[strategy]=jwt&route[userId]=2&userId=2&headers[x-forged]=1&__id=3'
    const headers = {
      provider: 'none',
      user: '1',
      authentication: 'jwt',
      route: '2',
      feathers: '{}',
    }
    for (const [path, options] of [
      ['/users/1/messages', {}],
      ['/users/1/messages/7', {}],
      ['/users/1/messages', { data: { ...forged, params: forged } }],
      ['/users/1/messages', { data: forged, headers: { 'x-service-method': 'ping' } }],
    ] as const) {
      await server.request(`${path}?${query}`, {
        ...options,
        headers: { ...headers, ...('headers' in options ? options.headers : {}) },
      })
      const params = probe.params()
      t.equal(params.provider, 'rest')
      t.strictSame(params.route, { userId: '1' })
      t.equal(params.user, undefined)
      t.equal(params.authentication, undefined)
      t.equal(params.headers?.['x-forged'], undefined)
    }
  })

  t.test(`request.feathers becomes part of the params, above the rest, ${mode}`, async (t) => {
    const probe = createProbe()
    const server: ServerOptions['server'] = (fastify) =>
      fastify.addHook('onRequest', async (request) => {
        request.feathers['tenant'] = 'a'
        request.feathers['query'] = { set: 'by the hook' }
        request.feathers['user'] = { id: 1 }
      })
    const { request } = await injectServer(t, mode, { services: probe.services, server })
    for (const path of ['/probe?a=1', '/probe/?a=1', '/users/1/messages?a=1']) {
      await request(path)
      const { tenant, query, user, provider, route } = probe.params()
      t.strictSame(
        { tenant, query, user, provider },
        {
          tenant: 'a',
          query: { set: 'by the hook' },
          user: { id: 1 },
          provider: 'rest',
        },
      )
      t.ok(route)
    }
  })

  t.test(`a hook replacing request.feathers removes no provider, ${mode} (INJ-19)`, async (t) => {
    const probe = createProbe()
    const replacements: Record<string, unknown>[] = [
      {},
      { provider: undefined },
      { provider: '' },
      { provider: null },
      JSON.parse('{"__proto__":{"provider":""},"tenant":"a"}'),
      Object.create({ provider: 'inherited' }),
    ]
    let replacement = 0
    const { request } = await injectServer(t, mode, {
      services: probe.services,
      server: (fastify) =>
        fastify.addHook('onRequest', async (request) => {
          request.feathers = replacements[replacement] ?? {}
        }),
    })
    for (replacement = 0; replacement < replacements.length; replacement += 1) {
      t.equal((await request('/probe/1')).status, 200)
      t.equal(probe.params().provider, 'rest', `replacement ${replacement}`)
      t.ok(probe.params().headers)
    }
  })

  t.test(`request.feathers starts with the provider and is no one else's, ${mode}`, async (t) => {
    const probe = createProbe()
    const seen: object[] = []
    const { request } = await injectServer(t, mode, {
      services: probe.services,
      server: (fastify) =>
        fastify.addHook('onRequest', async (request) => {
          if (request.url.includes('first')) request.feathers['leak'] = true
          seen.push({ ...request.feathers })
        }),
    })
    await request('/probe?first=1')
    await request('/probe')
    t.strictSame(seen.slice(0, 2), [{ provider: 'rest', leak: true }, { provider: 'rest' }])
    t.equal('leak' in probe.params(), false)
  })
}

t.test('a call from inside has no provider', async (t) => {
  const probe = createProbe()
  const server = await injectServer(t, { services: probe.services })
  await server.app.service('probe').find()
  t.strictSame(probe.params(), {})
})

t.test('params have the id of the request and a signal', async (t) => {
  const probe = createProbe()
  const server = await injectServer(t, { services: probe.services })
  await server.request('/probe')
  const { signal, requestId } = probe.params()
  t.ok(signal instanceof AbortSignal)
  t.type(requestId, 'string')
})

t.test('params that a hook copies and changes keep what they say', async (t) => {
  const probe = createProbe()
  const server = await injectServer(t, { services: probe.services })
  server.app.service('probe').hooks({
    before: {
      all: (context) => {
        context.params = { ...context.params, user: { id: 1 } }
      },
    },
  })
  await server.request('/probe?a=1')
  t.match(probe.params(), { query: { a: '1' }, provider: 'rest', user: { id: 1 } })
})

t.test('a copy of params in their place knows what the server knows of the request', async (t) => {
  const probe = createProbe()
  const server = await injectServer(t, { services: probe.services })
  const copies: ((params: Seen) => Seen)[] = [
    (params) => ({ ...params, query: {} }),
    (params) => Object.assign(Object.create(Object.getPrototypeOf(params)), params),
    (params) => ({ ...params, address: 'given' }),
  ]
  for (const [index, copy] of copies.entries()) {
    server.app.hooks({
      before: (context) => {
        if (context.params.headers?.['x-case'] !== String(index)) return
        context.params = copy(copy(context.params as Seen))
      },
    })
  }
  const keys = ['headers', 'provider', 'query', 'route']
  for (const index of copies.keys()) {
    await server.request('/probe', { headers: { 'X-Case': String(index) } })
    const params = probe.params()
    t.equal(params.address, index === 2 ? 'given' : '127.0.0.1')
    t.match(params.requestId, /^req-/)
    t.type(params.signal, AbortSignal)
    t.strictSame(
      Object.keys(params)
        .sort()
        .filter((key) => key !== 'address'),
      keys,
    )
  }
})

t.test('what the server knows of one request reaches no params of another call', async (t) => {
  const probe = createProbe()
  const { app, request } = await injectServer(t, { services: probe.services })
  let kept: Params | undefined
  app.service('probe').hooks({
    before: {
      find: (context) => {
        const { headers } = context.params
        kept ??= { ...context.params }
        context.params = { ...context.params, ...kept, headers }
      },
      get: [(context) => void Object.assign(context.params, kept)],
      create: [(context) => ({ ...context, params: { ...context.params, user: 1 } })],
    },
  })
  const ids: unknown[] = []
  for (const path of ['/probe', '/probe', '/probe/1']) {
    await request(path)
    ids.push(probe.params().requestId)
  }
  t.equal(new Set(ids).size, 3, String(ids))
  // A call inside with a copy: docs/reference/server.md has it given the signal by name.
  await app.service('probe').create({}, { ...kept, provider: undefined })
  t.equal('signal' in probe.params(), false)
})

t.test('params of another kind in their place are left as they are', async (t) => {
  const probe = createProbe()
  const server = await injectServer(t, { services: probe.services })
  const shared: Params = { user: 1 }
  server.app.hooks({ before: (context) => void Object.assign(context, { params: shared }) })
  await server.request('/probe')
  t.equal(probe.params(), shared)
  t.strictSame(Reflect.ownKeys(shared), ['user'])

  const frozen = await injectServer(t, { services: probe.services })
  frozen.app.hooks({
    before: (context) => {
      context.params = Object.freeze({ ...context.params })
    },
  })
  await frozen.request('/probe')
  t.equal(probe.params().provider, 'rest')
})

t.test('there is no requestUrl without a valid host, or with another scheme', async (t) => {
  const getUrl = (protocol: string, host: string): string | undefined => {
    const request = { protocol, host, originalUrl: '/notes?a=1', headers: {} } as FastifyRequest
    return new RequestFacts(request, {} as FastifyReply).requestUrl
  }
  for (const host of ['', ' ', 'a b', 'a/b', 'a@b', 'a?b', 'a#b', 'a\\b', 'a:b', '[::1', 'a%']) {
    t.equal(getUrl('https', host), undefined, `'${host}'`)
  }
  for (const protocol of ['', 'javascript', 'ftp', 'file', 'http:', 'https://x', 'ws']) {
    t.equal(getUrl(protocol, 'notes.test'), undefined, `'${protocol}'`)
  }
  for (const origin of ['https://notes.test', 'http://[::1]:3030', 'HTTPS://127.0.0.1:80']) {
    const [protocol = '', host = ''] = origin.split('://')
    t.equal(getUrl(protocol, host), `${origin}/notes?a=1`)
  }
})

t.test('a call that lasts keeps its signal only while something listens to it', (t) => {
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableEnded: false })
  const facts = new RequestFacts({} as FastifyRequest, { raw } as unknown as FastifyReply)
  const first = facts.signal
  facts.release()
  t.equal(raw.listenerCount('close'), 0)
  const second = facts.signal
  t.not(second, first)
  let heard = 0
  second.addEventListener('abort', () => {
    heard += 1
  })
  facts.release()
  t.equal(facts.signal, second)
  raw.emit('close')
  t.equal(heard, 1)
  facts.release()
  t.ok(facts.signal.aborted, 'who asks later hears of it too')
  t.end()
})

t.test('a released signal takes no memory while its call lasts', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableEnded: false })
  const facts = new RequestFacts({} as FastifyRequest, { raw } as unknown as FastifyReply)
  const signal = new WeakRef(facts.signal)
  facts.release()
  await until(() => {
    collect()
    return signal.deref() === undefined
  })
  // The call is still there.
  facts.release()
})
