import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Params } from '../../../src/transport/index.ts'
import { remex } from '../../../src/transport/index.ts'
import type { ServerOptions, TestScope, TestServer } from '../../support/http.ts'
import { injectServer, startServer } from '../../support/http.ts'
import { openHost } from '../../support/own-server.ts'

const ECHO = { find: async ({ query }: Params) => ({ query }) }

/** A server with a service and a plain route, both of which answer the query that they get. */
function open(t: TestScope, options: ServerOptions = {}): Promise<TestServer> {
  return injectServer(t, toOptions(options))
}

function toOptions(options: ServerOptions): ServerOptions {
  return {
    ...options,
    services: (app) => app.use('echo', ECHO),
    server(server) {
      addPlain(server)
      options.server?.(server)
    },
  }
}

function addPlain(server: FastifyInstance): void {
  server.get('/plain', async ({ query }) => ({ query }))
}

async function read(server: TestServer, raw: string): Promise<unknown[]> {
  const answers = [await server.request(`/echo?${raw}`), await server.request(`/plain?${raw}`)]
  return answers.map(({ body }) => (body as { query?: unknown }).query)
}

t.test('a hook of Fastify sees the query that a service gets, late services too', async (t) => {
  const seen: unknown[] = []
  const server = await open(t, {
    server: (own) =>
      own.addHook('onRequest', async ({ query }) => {
        seen.push(structuredClone(query))
      }),
  })
  server.app.use('late', ECHO)
  const query = { tenant: ['7'], age: { $gt: '18' }, name: 'a b' }
  const raw = 'tenant[]=7&age%5B%24gt%5D=18&name=a+b'
  for (const path of ['/echo', '/echo/', '/late']) {
    t.strictSame((await server.request(`${path}?${raw}`)).body, { query }, path)
  }
  t.strictSame((await server.request('/echo')).body, { query: {} })
  t.strictSame(seen, [query, query, query, {}])
})

t.test('plain routes get no brackets, as from Fastify (INJ-1)', async (t) => {
  const server = await open(t)
  const plain = openHost(t)
  addPlain(plain)
  const raws = ['email[$ne]=', 'a=1&a=2', 'toString=1', '__proto__=1', '%zz=%20+', '', 'a[b]=1#c']
  for (const raw of raws) {
    const url = `/plain?${raw}`
    t.equal((await server.request(url)).text, (await plain.inject(url)).body, url)
  }
  t.equal((await server.request('/plain')).text, (await plain.inject('/plain')).body)
})

t.test('what a hook of Fastify makes of the query is what the service gets', async (t) => {
  const server = await open(t, {
    server: (own) =>
      own.addHook('preHandler', async (request) => {
        if (request.url.endsWith('new')) request.query = { tenant: '1' }
        else if (request.url.endsWith('none')) request.query = null
        else if (request.url.endsWith('moved')) request.raw.url = '/echo?a[b]=2'
        else Object.assign(request.query as object, { tenant: '2' })
      }),
  })
  for (const [path, query] of [
    ['/echo?new', { tenant: '1' }],
    ['/echo?a[b]=1', { a: { b: '1' }, tenant: '2' }],
    ['/echo', { tenant: '2' }],
    ['/echo?none', { none: '' }],
    ['/echo?moved', { a: { b: '2' } }],
  ] as const) {
    t.strictSame((await server.request(path)).body, { query }, path)
  }
})

t.test('the options of rest() count', async (t) => {
  const server = await open(t, { query: (raw) => ({ raw }) })
  t.strictSame(await read(server, 'a[b]=1'), [{ raw: 'a[b]=1' }, { 'a[b]': '1' }])
  t.strictSame((await server.request('/echo')).body, { query: { raw: '' } })
  const shallow = await open(t, { query: { depth: 1 } })
  t.equal((await shallow.request('/echo?a[b][c]=1')).status, 400)
})

const REFUSED = ['toString=2', '__proto__=1&a=1', 'a[x]=1&a=', `a=${'x'.repeat(12_288)}`]

for (const raw of REFUSED) {
  t.test(`a query that services refuse stays refused: ${raw.slice(0, 20)} (QS-1)`, async (t) => {
    const server = await open(t, {
      server(own) {
        own.addHook('preHandler', async (request) => {
          request.query = { ...(request.query as object), seen: '1' }
        })
        own.get('/versioned', { constraints: { version: '1.0.0' } }, async () => ({}))
      },
    })
    t.equal((await server.request(`/echo?${raw}`)).status, 400)
    // With it no route matches, and the router of 404s has parsers of its own.
    const headers = { 'accept-version': '9.0.0' }
    t.equal((await server.request(`/echo?${raw}`, { headers })).status, 400)
    const nested = await server.request('/echo?a[b]=1', { headers })
    t.strictSame(nested.body, { query: { a: { b: '1' } } })
    t.equal((await server.request(`/plain?${raw}`)).status, 200)
  })
}

t.test('a fragment is no part of a query (QS-1)', async (t) => {
  const server = await startServer(t, 'standalone', toOptions({}))
  for (const [target, query] of [
    ['/echo?a=1#b=2', { a: '1' }],
    ['/echo#a=1', {}],
    ['/echo#x?b=1', { b: '1' }],
  ] as const) {
    const answer = await server.raw(
      `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
    t.match(answer, JSON.stringify({ query }), target)
  }
})

t.test('a semicolon begins a query where the server is told so', async (t) => {
  const routerOptions = { useSemicolonDelimiter: true } as object
  const server = await open(t, { fastify: { routerOptions } })
  t.strictSame((await server.request('/echo;a[b]=1')).body, { query: { a: { b: '1' } } })
  const host = openHost(t, { routerOptions })
  host.register(remex, { app: server.app, prefix: '/api' })
  t.strictSame((await host.inject('/api/echo;a=1?b=2')).json(), { query: { a: '1?b=2' } })
})

t.test('a parser that the server was given stays, and services read queries', async (t) => {
  const querystringParser = (raw: string): object => ({ length: raw.length })
  for (const options of [{ querystringParser }, { routerOptions: { querystringParser } }]) {
    const server = await open(t, { fastify: options as object })
    t.strictSame(await read(server, 'a[b]=1'), [{ a: { b: '1' } }, { length: 6 }])
  }
})
