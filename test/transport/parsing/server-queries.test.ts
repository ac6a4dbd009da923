import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import t from 'tap'

import type { Params } from '../../../src/transport/index.ts'
import { remex } from '../../../src/transport/index.ts'
import type { ServerOptions, TestScope, TestServer } from '../../support/http.ts'
import { injectServer } from '../../support/http.ts'

const ECHO = { find: async ({ query }: Params) => ({ query }) }

/** A server with a service and a plain route, both of which answer the query that they get. */
function open(t: TestScope, options: ServerOptions = {}): Promise<TestServer> {
  return injectServer(t, {
    ...options,
    services: (app) => app.use('echo', ECHO),
    server(server) {
      addPlain(server)
      options.server?.(server)
    },
  })
}

function addPlain(server: FastifyInstance): void {
  server.get('/plain', async ({ query }) => ({ query }))
}

async function read(server: TestServer, raw: string): Promise<unknown[]> {
  const answers = [await server.request(`/echo?${raw}`), await server.request(`/plain?${raw}`)]
  return answers.map(({ body }) => (body as { query?: unknown }).query)
}

t.test('a plain route and a hook see the query that a service gets', async (t) => {
  const seen: unknown[] = []
  const server = await open(t, {
    server: (own) =>
      own.addHook('onRequest', async ({ query }) => {
        seen.push(structuredClone(query))
      }),
  })
  const query = { tenant: ['7'], age: { $gt: '18' }, name: 'a b' }
  const raw = 'tenant[]=7&age%5B%24gt%5D=18&name=a+b'
  t.strictSame(await read(server, raw), [query, query])
  t.strictSame(seen, [query, query])
  t.strictSame(await read(server, ''), [{}, {}])
  t.strictSame((await server.request('/plain')).body, { query: {} })
})

t.test('what a hook of Fastify makes of the query is what the service gets', async (t) => {
  const server = await open(t, {
    server: (own) =>
      own.addHook('preHandler', async (request) => {
        if (request.url.endsWith('new')) request.query = { tenant: '1' }
        else Object.assign(request.query as object, { tenant: '2' })
      }),
  })
  t.strictSame((await server.request('/echo?new')).body, { query: { tenant: '1' } })
  t.strictSame((await server.request('/echo?a=1')).body, { query: { a: '1', tenant: '2' } })
})

t.test('the options of rest() count for both', async (t) => {
  const server = await open(t, { query: (raw) => ({ raw }) })
  t.strictSame(await read(server, 'a[b]=1'), [{ raw: 'a[b]=1' }, { raw: 'a[b]=1' }])
  const flat = await open(t, { query: { depth: 1 } })
  t.equal((await flat.request('/echo?a[b][c]=1')).status, 400)
})

/** What a service refuses, and how a plain route reads it all the same. */
const REFUSED: readonly [raw: string, plain: Record<string, unknown>][] = [
  ['toString=2', { toString: '2' }],
  ['__proto__=1&a=1', { ['__proto__']: '1', a: '1' }],
  ['a[__proto__][x]=1', { 'a[__proto__][x]': '1' }],
  ['a[x]=1&a=', { 'a[x]': '1', a: '' }],
  [`a=${'x'.repeat(12_288)}`, { a: 'x'.repeat(12_288) }],
]

for (const [raw, plain] of REFUSED) {
  t.test(`QS-1: a service refuses ${raw.slice(0, 20)}, a plain route reads it`, async (t) => {
    const server = await open(t)
    t.equal((await server.request(`/echo?${raw}`)).status, 400)
    const { status, text } = await server.request(`/plain?${raw}`)
    t.strictSame([status, text], [200, JSON.stringify({ query: plain })])
  })
}

t.test('a plain route reads a refused query as plain Fastify does', async (t) => {
  const plain = fastify()
  addPlain(plain)
  t.teardown(() => plain.close())
  const server = await open(t)
  const part = fc.constantFrom('a', 'b[c]', '=', '&', '%20', '+', '1', '%zz', '%C3%A9')
  const texts = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(texts, async (raw) => {
      const url = `/plain?toString=1&${raw}`
      t.equal((await server.request(url)).text, (await plain.inject(url)).body, url)
    }),
    { numRuns: 200, seed: 11 },
  )
})

t.test(
  'QS-1: a fragment is no part of a query, a semicolon begins one where it is told to',
  async (t) => {
    const server = await open(t)
    t.strictSame(await read(server, 'a=1#b=2'), [{ a: '1' }, { a: '1' }])
    const routerOptions = { useSemicolonDelimiter: true } as object
    const semicolon = await open(t, { fastify: { routerOptions } })
    t.strictSame((await semicolon.request('/echo;a=1')).body, { query: { a: '1' } })
    const host = fastify({ routerOptions })
    t.teardown(() => host.close())
    host.register(remex, { app: semicolon.app, prefix: '/api' })
    t.strictSame((await host.inject('/api/echo;a=1?b=2')).json(), { query: { a: '1?b=2' } })
  },
)

t.test(
  'a parser that the server was given stays, and services read the query themselves',
  async (t) => {
    const parse = (raw: string): object => ({ length: raw.length })
    for (const options of [
      { querystringParser: parse },
      { routerOptions: { querystringParser: parse } },
    ]) {
      const server = await open(t, { fastify: options as object })
      t.strictSame(await read(server, 'a[b]=1'), [{ a: { b: '1' } }, { length: 6 }])
    }
  },
)
