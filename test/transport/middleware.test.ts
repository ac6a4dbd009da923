import { request as sendRequest } from 'node:http'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { Middleware, Params } from '../../src/transport/index.ts'
import { Forbidden, NotFound } from '../../src/transport/index.ts'
import { Gate } from '../support/gate.ts'
import { startOwnServer } from '../support/own-server.ts'
import { laterTurns, until } from '../support/until.ts'

/** Answers with the params that middleware may have set. */
const echo = {
  get: async (id: string, params: Params & Record<string, unknown>) => ({
    id,
    steps: params['steps'] ?? [],
    provider: params.provider,
  }),
}

const FORMS: Readonly<Record<string, Middleware>> = {
  synchronous: (request) => {
    request.feathers['steps'] = ['done']
  },
  asynchronous: async (request) => {
    await new Promise(setImmediate)
    request.feathers['steps'] = ['done']
  },
  'with a callback': (request, _reply, done) => {
    setImmediate(() => {
      request.feathers['steps'] = ['done']
      done()
    })
  },
}

for (const [form, middleware] of Object.entries(FORMS)) {
  t.test(`a function that is ${form} sets params before all requests`, async (t) => {
    const server = await startOwnServer(t, (app) => app.use(middleware).use('echo', echo))
    t.match((await server.request('/echo/1')).body, { steps: ['done'], provider: 'rest' })
  })
  t.test(`a function that is ${form} sets params before a service`, async (t) => {
    const server = await startOwnServer(t, (app) => app.use('echo', middleware, echo))
    t.match((await server.request('/echo/1')).body, { steps: ['done'] })
  })
}

t.test('keeps the provider, whatever a function puts into the params', async (t) => {
  const server = await startOwnServer(t, (app) => {
    const forge: Middleware = (request) => {
      request.feathers = { provider: undefined, steps: ['forged'] }
    }
    app.use('echo', forge, echo)
  })
  t.match((await server.request('/echo/1')).body, { steps: ['forged'], provider: 'rest' })
})

/** Spellings of `/admin/1`; those with a slash too many reach nothing, and are refused all the same. */
const SPELLINGS = ['/admin/1', '//admin/1', '/admin//', '/%61dmin/1', '/admin/1?a=1', '/admin/?a']

t.test('a function at a path sees every spelling of it', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.use('/admin', (_request, reply) => reply.code(403).send({}))
    app.use('/users/:userId/keys', () => Promise.reject(new Forbidden('Not yours')))
    app.use('admin', echo).use('administrators', echo).use('users/:userId/keys', echo)
  })
  const options = { ownErrorBody: true }
  for (const path of SPELLINGS) t.equal((await server.request(path, options)).status, 403, path)
  const absolute = await server.raw(
    'GET http://a/admin/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  )
  t.match(absolute, /^HTTP\/1.1 403/)
  t.equal((await server.request('/administrators/1')).status, 200)
  t.equal((await server.request('/users/7/keys/1')).status, 403)
  t.equal((await server.request('/users/7')).status, 404)
})

/** Ways to answer without the service. */
const SENDERS: Readonly<Record<string, Middleware>> = {
  'sends an object': (_request, reply) => {
    reply.send({ from: 'middleware' })
  },
  'sends after a while': async (_request, reply) => {
    await new Promise(setImmediate)
    return reply.send({ from: 'middleware' })
  },
  'sends and never calls done': (_request, reply, _done) => {
    reply.send({ from: 'middleware' })
  },
  'sends a stream': (_request, reply) => {
    const stream = new PassThrough()
    reply.type('application/json').send(stream)
    setImmediate(() => stream.end('{"from":"middleware"}'))
  },
}

for (const [title, middleware] of Object.entries(SENDERS)) {
  t.test(`one that ${title} stops the rest and the formatter`, async (t) => {
    const calls: string[] = []
    const note: Middleware = () => void calls.push('note')
    const noted = { get: async () => calls.push('service') }
    const formatter = (): unknown => calls.push('formatter')
    const server = await startOwnServer(t, { formatter }, (app) => {
      app.fastify.addHook('onSend', async (_request, _reply, payload) => {
        await new Promise(setImmediate)
        return payload
      })
      app.use('before', middleware, note, noted)
      app.use('after', { get: async () => ({}) }, middleware, note)
      app.use('/all', middleware, note).use('all', noted)
    })
    for (const path of ['/before/1', '/after/1', '/all/1']) {
      const { status, body } = await server.request(path)
      t.strictSame([status, body], [200, { from: 'middleware' }], path)
    }
    t.strictSame(calls, [])
    t.strictSame(server.logged, [])
  })
}

t.test('answers what a function throws, and does not call the service', async (t) => {
  let called = 0
  const counted = { get: async () => ++called }
  const FAILURES: Readonly<Record<string, Middleware>> = {
    throws: () => {
      throw new Forbidden('Not you')
    },
    rejects: async () => Promise.reject(new Forbidden('Not you')),
    done: (_request, _reply, done) => done(new Forbidden('Not you')),
    status: () => Promise.reject(Object.assign(new Error('Not you'), { statusCode: 403 })),
  }
  const server = await startOwnServer(t, (app) => {
    for (const [path, middleware] of Object.entries(FAILURES)) {
      app.use(`before/${path}`, middleware, counted)
      app.use(`/all/${path}`, middleware).use(`all/${path}`, counted)
      app.use(`after/${path}`, { get: async () => ({}) }, middleware)
    }
    app.use('nothing', () => Promise.reject(null), counted)
    app.use('/all/nothing', () => Promise.reject(undefined)).use('all/nothing', counted)
  })
  for (const place of ['before', 'all', 'after']) {
    for (const path of Object.keys(FAILURES)) {
      const { status, body } = await server.request(`/${place}/${path}/1`)
      t.match([status, body], [403, { name: 'Forbidden', message: 'Not you' }], `${place} ${path}`)
    }
  }
  t.equal((await server.request('/nothing/1')).status, 500)
  t.equal((await server.request('/all/nothing/1')).status, 500)
  t.equal(called, 0)
})

t.test('functions after the service see and replace data; the status follows', async (t) => {
  const server = await startOwnServer(t, (app) => {
    const replace = (data: unknown): Middleware => {
      return (_request, reply) => {
        reply.data = data
      }
    }
    app.use('some', { get: async () => null }, replace({ some: true }))
    app.use('none', { get: async () => ({}) }, replace(null))
    app.use('created', { create: async () => null }, replace({ id: 1 }))
    app.use('own', { create: async () => ({}) }, (_request, reply) => {
      reply.code(202)
    })
  })
  const statuses = ['/some/1', '/none/1', '/created', '/own'].map(async (path) => {
    const data = path === '/created' || path === '/own' ? { data: {} } : {}
    const { status, body } = await server.request(path, data)
    return [status, body]
  })
  t.strictSame(await Promise.all(statuses), [
    [200, { some: true }],
    [204, undefined],
    [201, { id: 1 }],
    [202, {}],
  ])
})

t.test('reply.hook holds the context after a call, and after one that failed', async (t) => {
  const seen: unknown[] = []
  const server = await startOwnServer(t, (app) => {
    app.fastify.addHook('onResponse', async (request, { hook }) => {
      if (request.url.startsWith('/maybe')) seen.push([hook?.path, hook?.method, hook?.id])
    })
    app.use('maybe', {
      get: async (id: string) => (id === '1' ? {} : Promise.reject(new NotFound('No'))),
    })
  })
  await server.request('/maybe/1')
  await server.request('/maybe/2')
  await until(() => seen.length >= 2)
  t.strictSame(seen, [
    ['maybe', 'get', '1'],
    ['maybe', 'get', '2'],
  ])
})

t.test('a client that leaves while a function checks does not reach the service', async (t) => {
  let removed = 0
  let left = 0
  const gate = new Gate()
  const server = await startOwnServer(t, (app) => {
    const guard: Middleware = (request, _reply, done) => {
      request.raw.socket.once('close', () => {
        left += 1
      })
      void gate.pass().then(() => done(new Forbidden('Not you')))
    }
    app.use('/all', guard).use('all', { remove: async () => ++removed })
    app.use('one', guard, { remove: async () => ++removed })
  })
  for (const [index, path] of ['/all/1', '/one/1'].entries()) {
    const request = sendRequest({ port: server.port, method: 'DELETE', path })
    request.on('error', () => undefined).end()
    await gate.arrivals(index + 1)
    request.destroy()
  }
  await until(() => left >= 2)
  gate.open()
  await laterTurns()
  t.equal(removed, 0)
})

t.test('the type of a body is named in a hook of Fastify, functions come after it', async (t) => {
  const json = 'application/json'
  const server = await startOwnServer(t, (app) => {
    app.fastify.addHook('onRequest', async ({ headers }) => {
      if (headers['x-amz-sns-message-type'] !== undefined) headers['content-type'] = json
    })
    app.use(({ headers }) => {
      headers['content-type'] = json
    })
    app.use('notes', { create: async (data: object) => data })
  })
  const send = (headers: Record<string, string>) =>
    fetch(`${server.url}/notes`, { method: 'POST', headers, body: '{"a":1}' })
  t.equal((await send({ 'content-type': 'text/plain' })).status, 415)
  const named = await send({ 'content-type': 'text/plain', 'x-amz-sns-message-type': 'Notice' })
  t.strictSame([named.status, await named.json()], [201, { a: 1 }])
})
