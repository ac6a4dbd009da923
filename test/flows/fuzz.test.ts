import assert from 'node:assert/strict'
import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import { openDatabase } from '../support/database.ts'
import { checkPrototypes, startServer } from '../support/http.ts'
import { body, deepQuery, OPEN_OPERATORS, path, request, soup, verb, word } from './fuzz-inputs.ts'

// Hints to the author of an application are no errors of the server, and are not logged in production.
process.env.NODE_ENV = 'production'

const SEED = 20_261_121
const SOUP_RUNS = 1_000
const QUERY_RUNS = 1_000
const INJECTED_RUNS = 1_500
const RAW_RUNS = 1_500

const { db, empty } = await openDatabase(t)
const CANARY = { _id: 'canary' as unknown as never, song: 'tweet', notes: [{ a: 1 }] }
const canaries = await empty('canaries')
await canaries.insertOne(CANARY)
const notes = await empty('notes')

/** A service without state, which says what it was asked. */
const echo = {
  find: async ({ query }: { query?: object }) => query,
  get: async (id: unknown) => ({ id }),
  create: async (data: unknown) => data,
  update: async (id: unknown, data: unknown) => ({ id, data }),
  patch: async (id: unknown, data: unknown) => ({ id, data }),
  remove: async (id: unknown) => ({ id }),
  shout: async (data: unknown) => ({ data }),
}
const METHODS = ['find', 'get', 'create', 'update', 'patch', 'remove', 'shout']

const server = await startServer(t, 'standalone', {
  services(app) {
    app.use('echo', echo, { methods: METHODS })
    app.use('tenants/:tenant/echo', echo)
    const options = { Model: notes, multi: true, paginate: { default: 10, max: 50 } }
    app.use('notes', new MongoDBService(options))
    app.use('open', new MongoDBService({ ...options, operators: OPEN_OPERATORS }))
    app.use('commands', { run: echo.create, stop: echo.create }, { methods: ['run', 'stop'] })
    app.use('/', echo)
  },
})

const LEAKS = /\bat .*:\d+:\d+|\.[cm]?[jt]s:\d+|node_modules|E11000|Mongo|BSON/

/** INV-3 for one answer, and INV-1. */
function check(status: number, text: string, isPage: boolean): void {
  assert.ok(status >= 200 && status < 500, `status ${status}: ${text}`)
  checkPrototypes()
  if (status < 400 || text === '' || isPage) return
  const error: unknown = JSON.parse(text)
  assert.equal((error as { code: unknown }).code, status, text)
  const { data, ...said } = error as { data?: unknown }
  assert.doesNotMatch(JSON.stringify(said), LEAKS)
}

async function inject(method: string, url: string, rest: object = {}): Promise<void> {
  const answer = await server.fastify.inject({ method: method as 'GET', url, ...rest })
  const isPage = String(answer.headers['content-type']).startsWith('text/html')
  check(answer.statusCode, method === 'HEAD' ? '' : answer.payload, isPage)
  const { statusCode } = await server.fastify.inject('/health/live')
  assert.equal(statusCode, 200, 'INV-2')
}

/** Sends bytes, ends the sending side, and resolves to everything that came back. */
function send(bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
    socket.end(bytes)
  })
}

t.before(() => t.comment(`seed ${SEED}`))

t.afterEach(async () => {
  assert.deepEqual(server.logged, [], 'an error of the server was logged')
  assert.deepEqual(await canaries.find().toArray(), [CANARY], 'the canary changed')
  const names = (await db.listCollections().toArray()).map(({ name }) => name)
  assert.deepEqual(names.sort(), ['canaries', 'notes'])
})

t.test(`${SOUP_RUNS} bracket soups, in queries and forms, give no 5xx (QS-2)`, async (t) => {
  const place = fc.constantFrom('/echo', '/notes', '/open', '/tenants/1/echo', '/nothing/at/all')
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const property = fc.asyncProperty(place, soup, fc.boolean(), async (url, text, isForm) => {
    if (isForm) await inject('POST', url, { payload: text, headers: form })
    else await inject('GET', `${url}?${text}`)
  })
  await fc.assert(property, { seed: SEED, numRuns: SOUP_RUNS })
  t.pass('none did')
})

t.test(`${QUERY_RUNS} queries with operators give no 5xx on the database`, async (t) => {
  const method = fc.constantFrom('GET', 'GET', 'GET', 'PATCH', 'DELETE')
  const place = fc.constantFrom('/notes', '/open', '/open', '/open/1')
  const property = fc.asyncProperty(method, place, deepQuery, async (verb, url, query) => {
    if (verb === 'DELETE') await notes.insertMany([{ a: ['1', 'a'] }, { a: { a: 1 }, b: { c: 2 } }])
    await inject(verb, `${url}?${query}`, verb === 'PATCH' ? { payload: { a: '1' } } : {})
  })
  await fc.assert(property, { seed: SEED, numRuns: QUERY_RUNS })
  t.pass('none did')
})

t.test(`${INJECTED_RUNS} requests of any kind give no 5xx and lose nothing`, async (t) => {
  const property = fc.asyncProperty(request, async ({ verb, path, query, headers, body }) => {
    const payload = body === undefined ? {} : { payload: body }
    await inject(verb, query === '' ? path : `${path}?${query}`, { headers, ...payload })
  })
  await fc.assert(property, { seed: SEED, numRuns: INJECTED_RUNS - 300 })
  // From now on every request is led by the router of ours.
  server.app.use('late', { ...echo }, { methods: METHODS })
  await fc.assert(property, { seed: SEED + 1, numRuns: 300 })
  t.pass('none did')
})

t.test(`${RAW_RUNS} requests as raw bytes give no 5xx and no hang`, async (t) => {
  const line = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('host: a', 'connection: close', 'x: y') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('host: b', 'content-length: 3', 'transfer-encoding: x'),
    },
    { weight: 1, arbitrary: fc.tuple(word, word).map((parts) => parts.join(':')) },
  )
  const property = fc.asyncProperty(
    fc.oneof(verb, verb, word),
    fc.oneof(path, path, word),
    soup,
    fc.array(line, { maxLength: 5 }),
    fc.oneof(fc.constant(''), body),
    fc.double({ min: 0, max: 1 }),
    async (method, target, query, lines, content, cut) => {
      const type = 'content-type: application/json\r\nhost: test'
      const length = `content-length: ${Buffer.byteLength(content)}`
      const head = [`${method} ${target}?${query} HTTP/1.1`, type, length, ...lines].join('\r\n')
      const bytes = Buffer.from(`${head}\r\n\r\n${content}`)
      const isWhole = cut < 0.7
      const answer = await send(isWhole ? bytes : bytes.subarray(0, Math.floor(bytes.length * cut)))
      for (const [, status] of answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm))
        check(Number(status), '', false)
      await inject('GET', '/echo')
    },
  )
  await fc.assert(property, { seed: SEED, numRuns: RAW_RUNS })
  t.pass('none did')
})
