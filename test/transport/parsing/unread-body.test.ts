import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { connect as connectTLS } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Application, Middleware } from '../../../src/transport/index.ts'
import {
  bodyParsers,
  createApp,
  Forbidden,
  NotAuthenticated,
  remex,
  rest,
} from '../../../src/transport/index.ts'
import { createCertificate } from '../../support/certificate.ts'
import { holdTimers } from '../../support/clock.ts'
import type { ListeningServer, Mode, TestScope } from '../../support/http.ts'
import { MODES, startServer } from '../../support/http.ts'
import { openApp, openHost, startOwnServer } from '../../support/own-server.ts'
import { laterTurns, until } from '../../support/until.ts'

const MEBIBYTE = 2 ** 20

/** Most bytes of a body that are read after its response, and most milliseconds. */
const MAX_BYTES = 16 * MEBIBYTE
const MAX_MS = 30_000

/** The data of the calls of `create`. */
const calls: object[] = []

const services = (app: Application): void => {
  const create = async (data: object) => {
    calls.push(data)
    return data
  }
  app.use('files', { get: async (id: string) => ({ id }), create })
}

/** Rejects some requests before their bodies are read, as guards of users do. */
const guards = (server: FastifyInstance): void => {
  server.addHook('onRequest', async (request, reply) => {
    const { reject } = request.headers
    if (reject === 'throw') throw new NotAuthenticated('Not yet')
    if (reject === 'send') return reply.code(403).send({ own: true })
    return undefined
  })
  server.addHook('preParsing', async ({ headers }) => {
    if (headers['reject'] === 'parsing') throw new Forbidden('No')
  })
}

/** Opens a connection that reads. */
function open(t: TestScope, socket: Socket) {
  const got = { text: '', isEnded: false, isClosed: false, errors: [] as unknown[] }
  socket.on('data', (chunk: Buffer) => {
    got.text += chunk.toString('latin1')
  })
  socket.on('error', (error) => got.errors.push(error))
  socket.on('end', () => Object.assign(got, { isEnded: true }))
  socket.on('close', () => Object.assign(got, { isClosed: true }))
  t.teardown(() => socket.destroy())
  /** Resolves to the status of the response of this number, once it is there as a whole. */
  const response = async (number: number): Promise<number> => {
    const find = (): RegExpMatchArray[] => [...got.text.matchAll(RESPONSE)]
    await until(() => find().length >= number || got.isClosed)
    return Number(find()[number - 1]?.[1])
  }
  return { socket, got, response }
}

/** The head of a response, and the end of its JSON. */
const RESPONSE = /HTTP\/1\.1 (\d+) [^{]*\r\n\r\n\{[^}]*\}/g

interface Early {
  readonly status: number
  readonly type?: string
  readonly path?: string
  readonly header?: string
  /** Default: the mode of both. */
  readonly only?: Mode
  readonly length?: number
}

/** Requests that are rejected before their bodies are read, or without reading them. */
const EARLY: Readonly<Record<string, Early>> = {
  'a form': { status: 415, type: 'multipart/form-data; boundary=x' },
  text: { status: 415, type: 'text/plain' },
  'a content type that is none': { status: 415, type: 'none' },
  'another charset': { status: 415, type: 'application/json; charset=latin1' },
  'a compressed body': { status: 415, header: 'Content-Encoding: gzip\r\n' },
  'a body of more than 1 MiB': { status: 413, length: 2 * MEBIBYTE },
  'a form of more than 1 MiB': {
    status: 413,
    type: 'application/x-www-form-urlencoded',
    length: 2 * MEBIBYTE,
  },
  'a form for a method that is not there': {
    status: 415,
    type: 'multipart/form-data; boundary=x',
    path: '/files/1',
  },
  'a form for a path that is not there': {
    status: 404,
    type: 'multipart/form-data; boundary=x',
    path: '/nothing',
    only: 'standalone',
  },
  'what a hook of the server throws': {
    status: 401,
    header: 'Reject: throw\r\n',
    only: 'standalone',
  },
  'what a hook of the server sends': {
    status: 403,
    header: 'Reject: send\r\n',
    only: 'standalone',
  },
  'what a hook throws before parsing': {
    status: 403,
    header: 'Reject: parsing\r\n',
    only: 'standalone',
  },
  'what the server itself rejects': { status: 400, header: 'Host: b\r\n', only: 'standalone' },
}

const toHead = (
  prefix: string,
  { type = 'application/json', path = '/files', header = '' }: Omit<Early, 'status'>,
  more: string,
) =>
  `POST ${prefix}${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\n${header}${more}\r\n\r\n`

for (const mode of MODES) {
  const start = (t: TestScope): Promise<ListeningServer> =>
    startServer(t, mode, { services, server: guards })
  const connectTo = (t: TestScope, { port }: ListeningServer) => open(t, connect(port, '127.0.0.1'))

  for (const [title, early] of Object.entries(EARLY)) {
    const { status, only = mode, length = 200_000 } = early
    if (only !== mode) continue
    t.test(`${mode}: ${title} can be written to its end, and the connection stays`, async (t) => {
      const server = await start(t)
      const { socket, got, response } = connectTo(t, server)
      socket.write(toHead(server.prefix, early, `Content-Length: ${length}`))
      t.equal(await response(1), status)
      const next = `GET ${server.prefix}/files/next HTTP/1.1\r\nHost: a\r\n\r\n`
      socket.write('x'.repeat(length) + next)
      t.equal(await response(2), 200)
      t.match([got.errors, got.isClosed, got.text], [[], false, /"id":"next"/])
    })
  }

  t.test(`${mode}: a last response is followed by the rest of the body`, async (t) => {
    const server = await start(t)
    const form = { type: 'multipart/form-data; boundary=x', status: 415 }
    for (const more of [
      'Connection: close\r\nContent-Length: 100000',
      'Transfer-Encoding: chunked',
      `Content-Length: ${MAX_BYTES + 1}`,
    ]) {
      const { socket, got, response } = open(
        t,
        connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true }),
      )
      socket.write(toHead(server.prefix, form, more))
      t.equal(await response(1), 415)
      await until(() => got.isEnded)
      t.match(got.text, /connection: close/i)
      // The server has closed its side only: each of these arrives.
      for (let sent = 0; sent < 5; sent += 1) {
        await new Promise((resolve) =>
          socket.write(more.includes('chunked') ? '3\r\nabc\r\n' : 'abc', resolve),
        )
        await laterTurns(2)
      }
      t.strictSame([got.errors, got.isClosed], [[], false], more)
      if (more.includes('chunked')) socket.write('0\r\n\r\n')
      else if (more.startsWith('Connection')) socket.write('x'.repeat(100_000 - 15))
      else socket.end()
      await until(() => got.isClosed || socket.readableEnded)
      socket.end()
      await until(() => got.isClosed)
      t.strictSame(got.errors, [])
    }
  })

  t.test(`${mode}: a request behind the last response does not run`, async (t) => {
    const server = await start(t)
    const form = { type: 'text/plain' }
    const post = `${toHead(server.prefix, {}, 'Content-Length: 2')}{}`
    for (const [more, rest] of [
      ['Transfer-Encoding: chunked', '0\r\n\r\n'],
      ['Connection: close\r\nContent-Length: 3', 'abc'],
    ] as const) {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
      const { got, response } = open(t, socket)
      const { length } = calls
      socket.write(toHead(server.prefix, form, more))
      t.equal(await response(1), 415)
      await until(() => got.isEnded)
      socket.write(rest + post)
      socket.end()
      await until(() => got.isClosed)
      await laterTurns(2)
      t.equal(calls.length, length, more)
    }
  })

  t.test(`${mode}: a body is not read for ever after its response`, async (t) => {
    const timers = holdTimers(t, MAX_MS)
    const server = await start(t)
    const form = { type: 'text/plain', status: 415 }
    const { socket, got, response } = connectTo(t, server)
    socket.write(toHead(server.prefix, form, 'Content-Length: 1000'))
    t.equal(await response(1), 415)
    socket.write('x')
    t.equal(timers.size, 1)
    timers.fire()
    await until(() => got.isClosed)
    t.notMatch(got.text, /408/)
    const done = connectTo(t, server)
    done.socket.write(toHead(server.prefix, form, 'Content-Length: 1000'))
    t.equal(await done.response(1), 415)
    done.socket.write('x'.repeat(1_000))
    await until(() => timers.size === 0)
    t.notOk(done.got.isClosed)
  })

  t.test(`${mode}: of a body without a length, so much is read after its response`, async (t) => {
    const server = await start(t)
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    const { got, response } = open(t, socket)
    socket.write(toHead(server.prefix, { type: 'text/plain' }, 'Transfer-Encoding: chunked'))
    t.equal(await response(1), 415)
    const chunk = Buffer.concat([
      Buffer.from('100000\r\n'),
      Buffer.alloc(MEBIBYTE),
      Buffer.from('\r\n'),
    ])
    let sent = 0
    while (!socket.destroyed && sent < 100) {
      sent += 1
      await new Promise((resolve) => socket.write(chunk, resolve))
    }
    t.ok(sent >= 16 && sent < 100, `${sent} MiB`)
    await until(() => got.isClosed)
  })
}

/** Limits that end no request by themselves, and are checked often. */
const LIMITS = { requestTimeout: 600_000, headersTimeout: 300_000 }
const OFTEN = { ...LIMITS, connectionsCheckingInterval: 50 }

/** Ends the time for a request whose response is sent: the connection closes without a second response. */
async function runOutOfTime(
  t: Test,
  { fastify: { server } }: ListeningServer,
  got: { readonly isClosed: boolean; readonly text: string },
): Promise<void> {
  Object.assign(server, { headersTimeout: 1, requestTimeout: 2 })
  await until(() => got.isClosed)
  Object.assign(server, LIMITS)
  t.notMatch(got.text, /408/)
}

t.test('a body that takes longer than a request may is not answered a second time', async (t) => {
  const server = await startOwnServer(t, services, { fastify: OFTEN })
  const { socket, got, response } = open(t, connect(server.port, '127.0.0.1'))
  socket.write(toHead('', { type: 'text/plain' }, 'Content-Length: 1000'))
  t.equal(await response(1), 415)
  await runOutOfTime(t, server, got)
})

t.test('a form that nothing reads to its end is not answered a second time', async (t) => {
  const server = await startOwnServer(t, { fastify: OFTEN }, (app) => {
    // Reads the body until nothing takes it any more.
    const read: Middleware = (request) => {
      request.raw.pipe(new Writable({ highWaterMark: 1, write: () => undefined }))
    }
    const parsers = bodyParsers((routes) => {
      routes.addContentTypeParser('text/plain', (_request, _payload, done) => done(null))
    })
    app.use('forms', parsers, read, { create: async () => ({}) })
  })
  const { socket, got, response } = open(t, connect(server.port, '127.0.0.1'))
  const form = { type: 'text/plain', path: '/forms' }
  socket.write(toHead('', form, 'Content-Length: 1000000') + 'x'.repeat(500_000))
  t.equal(await response(1), 201)
  await runOutOfTime(t, server, got)
})

t.test('a body over TLS can be written to its end', async (t) => {
  const https = await createCertificate(t)
  if (https === null) return t.comment('without openssl there is no certificate')
  const app = openApp(t, { https })
  app.configure(rest())
  services(app as never)
  await app.listen()
  const { port } = app.server.address() as { port: number }
  for (const more of ['', 'Connection: close\r\n']) {
    const socket = connectTLS({ port, host: '127.0.0.1', ca: https.cert })
    const { got, response } = open(t, socket)
    socket.write(toHead('', { type: 'text/plain', header: more }, 'Content-Length: 200000'))
    t.equal(await response(1), 415)
    socket.write('x'.repeat(200_000))
    if (more === '') {
      socket.write('GET /files/next HTTP/1.1\r\nHost: a\r\n\r\n')
      t.equal(await response(2), 200)
    } else await until(() => got.isClosed)
    t.strictSame(got.errors, [])
  }
})

t.test('a host that closes does not wait for the request behind a rejected body', async (t) => {
  const app = createApp()
  services(app as never)
  const host = openHost(t)
  host.register(remex, { app })
  await host.listen()
  const { port } = host.server.address() as { port: number }
  const { socket, got, response } = open(t, connect(port, '127.0.0.1'))
  socket.write(toHead('', { type: 'text/plain' }, 'Content-Length: 1000'))
  t.equal(await response(1), 415)
  t.match(got.text, /connection: keep-alive/i)
  const closed = host.close()
  await until(() => !host.server.listening)
  socket.write('x'.repeat(1_000))
  await until(() => got.isClosed)
  await closed
  t.strictSame(got.errors, [])
})
