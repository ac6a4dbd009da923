import t from 'tap'
import { createClient } from '../../../src/client/index.ts'
import type { ServiceError } from '../../../src/core/index.ts'
import { BadRequest } from '../../../src/core/index.ts'
import type { Application } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import type { RequestOptions } from '../../support/http.ts'
import { injectServer, MODES, startServer } from '../../support/http.ts'

class SeatTaken extends BadRequest {
  override readonly errorCode = 'SEAT_TAKEN'
}

class Unsendable extends BadRequest {
  override readonly errorCode = 'two\r\nlines'
}

const addServices = (app: Application): unknown =>
  app.use('notes', {
    find: async () => [],
    get: async (id: unknown) => {
      if (id === 'seat') throw new SeatTaken('It is taken')
      if (id === 'odd') throw new Unsendable('No')
      if (id === 'plain') throw new BadRequest('No')
      throw new TypeError('a fault')
    },
    create: async (data: unknown) => data,
  })

const json = { 'content-type': 'application/json' }

const CASES: readonly [path: string, options: RequestOptions, errorCode: string | undefined][] = [
  ['/nothing', {}, 'SERVICE_NOT_FOUND'],
  ['/nothing', { headers: { accept: 'text/html' } }, 'SERVICE_NOT_FOUND'],
  ['/notes/fault', {}, 'INTERNAL_ERROR'],
  ['/notes/fault', { headers: { accept: 'text/html' } }, 'INTERNAL_ERROR'],
  ['/notes/seat', {}, 'SEAT_TAKEN'],
  ['/notes/odd', {}, undefined],
  ['/notes/plain', {}, undefined],
  ['/notes/1', { method: 'DELETE' }, 'METHOD_NOT_ALLOWED'],
  ['/notes?a=%ff', {}, 'INVALID_QUERY'],
  ['/notes', { method: 'POST', body: '{', headers: json }, 'INVALID_BODY'],
  [
    '/notes',
    { method: 'POST', body: 'a', headers: { 'content-type': 'text/x' } },
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  [
    '/notes',
    { method: 'POST', body: `"${'a'.repeat(2_000_000)}"`, headers: json },
    'BODY_TOO_LARGE',
  ],
  ['/notes', { headers: { accept: 'image/png' } }, 'NOT_ACCEPTABLE'],
  ['/notes', {}, undefined],
]

for (const mode of MODES) {
  t.test(`responses with errors have their codes, ${mode}`, async (t) => {
    const server = await injectServer(t, mode, { services: addServices })
    for (const [path, options, errorCode] of CASES) {
      const { headers } = await server.request(path, options)
      t.equal(headers['error-code'], errorCode, `${options.method ?? 'GET'} ${path} ${errorCode}`)
    }
  })
}

t.test('errors in the client have the codes of the server', async (t) => {
  const server = await startServer(t, 'standalone', { services: addServices })
  const notes = createClient({ baseURL: server.url }).service('notes')
  for (const [id, errorCode] of [
    ['seat', 'SEAT_TAKEN'],
    ['plain', undefined],
  ] as const) {
    const error = await notes.get(id).then(undefined, (error: ServiceError) => error)
    t.equal((error as ServiceError).errorCode, errorCode, id)
  }
})

t.test('the line of a request, and that of a fault, have the code', async (t) => {
  const lines: Record<string, unknown>[] = []
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) }
  const app = fastifyApp(createApp(), { logger: { level: 'info', stream } }).configure(rest())
  addServices(app)
  await app.setup()
  t.teardown(() => app.close())
  for (const url of ['/notes', '/notes/seat', '/notes/fault']) await app.fastify.inject({ url })
  t.match(lines, [
    { msg: 'request', statusCode: 200 },
    { msg: 'request', statusCode: 400, errorCode: 'SEAT_TAKEN' },
    { msg: 'Internal error', errorCode: 'INTERNAL_ERROR', service: 'notes', method: 'get' },
    { msg: 'request', statusCode: 500, errorCode: 'INTERNAL_ERROR' },
  ])
  t.notOk('errorCode' in (lines[0] ?? {}))
})

t.test('a responder that fails leaves the code of its fault', async (t) => {
  const server = await injectServer(t, 'standalone', {
    errorHandler: {
      json: () => {
        throw new Error('no page')
      },
    },
    services: addServices,
  })
  const { status, headers } = await server.request('/notes/seat')
  t.strictSame([status, headers['error-code']], [500, 'INTERNAL_ERROR'])
})
