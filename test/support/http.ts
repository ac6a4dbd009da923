import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import type { FastifyInstance, FastifyServerOptions, InjectOptions } from 'fastify'
import fastify from 'fastify'

import type { Application, FastifyApplication, RestOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp, remex, rest } from '../../src/transport/index.ts'

/** The part of a tap test that opens things here. */
export interface TestScope {
  afterEach(check: () => unknown): void
  teardown(close: () => unknown): void
}

/** Both ways to serve an application: a suite runs once for each. */
export const MODES = ['standalone', 'plugin'] as const

export type Mode = (typeof MODES)[number]

/** Where services are below in a host, for {@link MODES} `plugin`. */
export const PREFIX = '/api/v1'

/** What the routes of the host answer, so that one sees who answered. */
export const HOST = Object.freeze({
  route: '/host',
  failing: '/host/fails',
  answer: { host: 'route' },
  error: { host: 'error handler' },
  notFound: { host: 'not found' },
})

/** An answer, over the socket and by injection alike. */
export interface Answer {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body, read as JSON where it is JSON; `undefined` where there is none. */
  readonly body: unknown
}

/** A request; `data` is sent as JSON, `body` as it is. */
export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly data?: unknown
  readonly body?: string | Buffer
  /** The error body is one's own: the shape is not checked, leaks are. */
  readonly ownErrorBody?: boolean
}

export interface ServerOptions extends RestOptions {
  /** Registers services; called before the start. */
  readonly services?: (app: Application) => unknown
  /** Adds hooks and routes to the Fastify server; called before the services are added to it. */
  readonly server?: (server: FastifyInstance) => unknown
  /** Options of the Fastify server. */
  readonly fastify?: FastifyServerOptions
}

/**
 * A running application. Every answer is recorded; INV-1 to INV-3 are asserted after each test that
 * uses it, and once more at its end.
 */
export interface TestServer {
  readonly mode: Mode
  readonly app: Application
  readonly fastify: FastifyInstance
  /** What was logged as an error, in its order. */
  readonly logged: readonly LoggedError[]
  /** Path that the services are below, `''` in standalone mode. */
  readonly prefix: string
  /** Sends a request to a path below the prefix. */
  request(path: string, options?: RequestOptions): Promise<Answer>
}

/** A running application with a port. */
export interface ListeningServer extends TestServer {
  readonly port: number
  /** URL that the services are below, without a slash at its end. */
  readonly url: string
  /**
   * Sends bytes as they are and resolves to what came back until the server closed the connection. A
   * request that keeps it open has to say `Connection: close`.
   */
  raw(bytes: string | Buffer): Promise<string>
}

/** An error that was logged, or a warning. */
export interface LoggedError {
  readonly details: object
  readonly message: string | undefined
}

interface Opened {
  readonly app: Application
  readonly fastify: FastifyInstance
  readonly logged: LoggedError[]
  readonly prefix: string
}

type Send = (path: string, options: RequestOptions) => Promise<Answer>

/** Opens an application on a port of its own; it is closed and checked at the end of the test. */
export async function startServer(
  t: TestScope,
  mode: Mode,
  options: ServerOptions = {},
): Promise<ListeningServer> {
  const opened = await open(mode, options)
  await listen(mode, opened)
  const { port } = opened.fastify.server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const send: Send = (path, request) => sendOverSocket(port, path, request)
  return {
    ...createTestServer(t, mode, opened, send),
    port,
    url: `${origin}${opened.prefix}`,
    raw: (bytes) => sendRaw(port, bytes),
  }
}

/** Opens an application without a port; requests are injected. The mode may come first. */
export async function injectServer(
  t: TestScope,
  mode: Mode,
  options: ServerOptions,
): Promise<TestServer>
export async function injectServer(
  t: TestScope,
  options?: ServerOptions,
  mode?: Mode,
): Promise<TestServer>
export async function injectServer(t: TestScope, first?: ServerOptions | Mode, last?: unknown) {
  const given = typeof first === 'string' ? [first, last] : [last, first]
  const [mode = 'standalone', options = {}] = given as [Mode?, ServerOptions?]
  const opened = await open(mode, options)
  await opened.fastify.ready()
  const send: Send = (path, request) => inject(opened.fastify, path, request)
  return createTestServer(t, mode, opened, send)
}

async function open(mode: Mode, options: ServerOptions): Promise<Opened> {
  const { services, server, fastify: serverOptions, ...restOptions } = options
  const app = createApp()
  const logged: LoggedError[] = []
  const error = (details: object, message?: string): void => {
    logged.push({ details, message })
  }
  app.logger = { error, warn: error, info: error }
  if (mode === 'standalone') {
    const own: FastifyApplication = fastifyApp(app, serverOptions)
    server?.(own.fastify)
    own.fastify.get(HOST.route, async () => HOST.answer)
    own.configure(rest(restOptions))
    await services?.(own)
    return { app, fastify: own.fastify, logged, prefix: '' }
  }
  const host = createHost(serverOptions)
  server?.(host)
  await services?.(app)
  host.register(remex, { app, prefix: PREFIX, ...restOptions })
  return { app, fastify: host, logged, prefix: PREFIX }
}

/** A server with routes, an error handler and a 404 of its own, none of which may change. */
function createHost(options: FastifyServerOptions = {}): FastifyInstance {
  const host = fastify(options)
  host.setErrorHandler((_error, _request, reply) => reply.code(500).send(HOST.error))
  host.setNotFoundHandler((_request, reply) => reply.code(404).send(HOST.notFound))
  host.get(HOST.route, async () => HOST.answer)
  host.get(HOST.failing, async () => {
    throw new Error('a route of the host failed')
  })
  return host
}

async function listen(mode: Mode, { app, fastify: server }: Opened): Promise<void> {
  if (mode === 'standalone') await (app as FastifyApplication).listen({ port: 0, host: LOOPBACK })
  else await server.listen({ port: 0, host: LOOPBACK })
}

const LOOPBACK = '127.0.0.1'

function createTestServer(t: TestScope, mode: Mode, opened: Opened, send: Send): TestServer {
  const answers: { readonly answer: Answer; readonly options: RequestOptions }[] = []
  const checkInvariants = async (): Promise<void> => {
    for (const { answer, options } of answers.splice(0)) checkErrorBody(answer, options)
    checkPrototypes()
    await checkAlive(send, opened)
  }
  t.afterEach(checkInvariants)
  t.teardown(async () => {
    try {
      await checkInvariants()
    } finally {
      await opened.fastify.close()
    }
  })
  return {
    mode,
    ...opened,
    async request(path, options = {}) {
      const answer = await send(`${opened.prefix}${path}`, options)
      answers.push({ answer, options })
      return answer
    },
  }
}

async function inject(
  server: FastifyInstance,
  path: string,
  options: RequestOptions,
): Promise<Answer> {
  const { method, headers, payload } = toMessage(options)
  const injected: InjectOptions = { url: path, method: method as 'GET', headers }
  if (payload !== undefined) injected.payload = payload
  const response = await server.inject(injected)
  const received = response.headers as IncomingHttpHeaders
  return toAnswer(method, path, response.statusCode, received, response.payload)
}

function sendOverSocket(port: number, path: string, options: RequestOptions): Promise<Answer> {
  const { method, headers, payload } = toMessage(options)
  return new Promise((resolve, reject) => {
    const request = sendRequest(
      { host: LOOPBACK, port, path, method, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve(toAnswer(method, path, response.statusCode ?? 0, response.headers, text))
        })
      },
    )
    request.on('error', reject)
    request.end(payload)
  })
}

/**
 * Sends bytes to a local port. Resolves to all that is answered until the connection closes.
 * @param next is sent after the first bytes of an answer
 */
export function sendRaw(port: number, bytes: string | Buffer, next = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: LOOPBACK })
    const chunks: Buffer[] = []
    if (next !== '') socket.once('data', () => socket.write(next))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    socket.write(bytes)
  })
}

interface Message {
  readonly method: string
  readonly headers: Record<string, string | string[]>
  readonly payload: Buffer | undefined
}

function toMessage({ method, headers, data, body }: RequestOptions): Message {
  const content = data === undefined ? body : JSON.stringify(data)
  // As bytes: Node would send the headers in the encoding of a text, and they are Latin-1.
  const payload = content === undefined ? undefined : Buffer.from(content)
  return {
    method: method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: {
      ...(data === undefined ? {} : { 'content-type': 'application/json' }),
      ...(payload === undefined ? {} : { 'content-length': String(payload.length) }),
      ...headers,
    },
    payload,
  }
}

function toAnswer(
  method: string,
  path: string,
  status: number,
  headers: IncomingHttpHeaders,
  text: string,
): Answer {
  return { method, path, status, headers, text, body: toBody(headers, text) }
}

function toBody(headers: IncomingHttpHeaders, text: string): unknown {
  if (text === '') return undefined
  return /\bjson\b/.test(headers['content-type'] ?? '') ? JSON.parse(text) : text
}

const PROTOTYPES = [Object.prototype, Array.prototype, Function.prototype] as const
const OWN_KEYS = PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype))

/** INV-1: no request has left anything on what all objects share. */
export function checkPrototypes(): void {
  for (const [index, prototype] of PROTOTYPES.entries()) {
    assert.deepEqual(Reflect.ownKeys(prototype), OWN_KEYS[index], 'INV-1: a prototype changed')
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined, 'INV-1: polluted')
}

/**
 * INV-2: the server still answers. That nothing was thrown or rejected outside of a test is the
 * business of tap, which fails the test on it.
 */
async function checkAlive(send: Send, { fastify: server, prefix }: Opened): Promise<void> {
  const health = `${prefix}/health/live`
  const hasHealth = server.hasRoute({ method: 'GET', url: health })
  for (const path of hasHealth ? [health, HOST.route] : [HOST.route]) {
    const { status } = await send(path, {})
    assert.equal(status, 200, `INV-2: ${path} no longer answers`)
  }
}

/** Stack frames, paths of files, and the words of the driver. */
const LEAKS: readonly RegExp[] = [
  /\bat .*:\d+:\d+/,
  /\.[cm]?[jt]s:\d+/,
  /node_modules|file:\/\//,
  /E11000|Mongo|BSON/,
]

/** INV-3: an error has the documented shape and tells nothing of the inside. */
function checkErrorBody(answer: Answer, { ownErrorBody, headers }: RequestOptions): void {
  const { method, path, status, text, body } = answer
  if (status < 400 || method === 'HEAD') return
  const label = `INV-3: ${method} ${path} answered ${status} ${text}`
  for (const leak of [...LEAKS, process.cwd()]) {
    const leaks = typeof leak === 'string' ? text.includes(leak) : leak.test(text)
    assert.equal(leaks, false, label)
  }
  const secret = headers?.['authorization']
  if (secret !== undefined) assert.equal(text.includes(String(secret)), false, label)
  const type = answer.headers['content-type']
  if (ownErrorBody) return
  if (type?.startsWith('text/html')) {
    assert.match(String(answer.headers['content-security-policy']), /default-src 'none'/, label)
    return
  }
  assert.equal(type, 'application/json; charset=utf-8', label)
  const { name, message, code, className, ...others } = body as Record<string, unknown>
  assert.deepEqual([typeof name, typeof message, code], ['string', 'string', status], label)
  assert.equal(typeof className, 'string', label)
  const further = Object.keys(others).filter((key) => key !== 'data' && key !== 'errors')
  assert.deepEqual(further, [], label)
}
