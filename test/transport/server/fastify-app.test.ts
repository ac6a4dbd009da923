import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { createServer, get } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer as createSecureHttp2Server,
} from 'node:http2'
import { createServer as createSecureServer, get as getSecurely } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import t from 'tap'
import type { FastifyApplication, FastifyAppOptions } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import { createCertificate } from '../../support/certificate.ts'
import type { TestScope } from '../../support/http.ts'
import { openApp } from '../../support/own-server.ts'

const notes = { get: async (id: string) => ({ id }) }

/** Opens an application and notes the setup and teardown of two services. */
function open(
  t: TestScope,
  options?: FastifyAppOptions,
): { app: FastifyApplication; steps: string[] } {
  const app = openApp(t, options).configure(rest())
  const steps: string[] = []
  for (const path of ['first', 'second']) {
    app.use(path, {
      ...notes,
      setup: async () => steps.push(`setup ${path}`),
      teardown: async () => steps.push(`teardown ${path}`),
    })
  }
  return { app, steps }
}

const BOTH_WAYS = ['setup first', 'setup second', 'teardown second', 'teardown first']

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port
}

t.test('listen() sets services up, then resolves to the Node server on 127.0.0.1', async (t) => {
  for (const options of [0, '0', { port: 0 }, { port: 0, host: '127.0.0.1' }]) {
    const { app, steps } = open(t)
    const server = await app.listen(options)
    t.ok(server.listening)
    t.equal(server, app.server)
    t.equal((server.address() as AddressInfo).address, '127.0.0.1')
    t.strictSame(steps, ['setup first', 'setup second'])
    const response = await fetch(`http://127.0.0.1:${portOf(server)}/first/1`)
    t.strictSame(await response.json(), { id: '1' })
    await app.close()
    t.strictSame(steps, BOTH_WAYS)
  }
})

t.test('listen() takes a host, a socket by its path, or nothing for any free port', async (t) => {
  const { app: anywhere } = open(t)
  t.ok(portOf(await anywhere.listen()) > 0)
  const { app: everywhere } = open(t)
  const { address } = (await everywhere.listen(0, '0.0.0.0')).address() as AddressInfo
  t.equal(address, '0.0.0.0')
  if (process.platform === 'win32') return
  const { app: local } = open(t)
  // The path of a socket may not be long.
  const folder = await mkdtemp(join(tmpdir(), 'remex-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'socket')
  t.equal((await local.listen({ path })).address(), path)
})

t.test('no request is answered before the setup is through', async (t) => {
  const { app } = open(t)
  let isSetUp = false
  app.use('slow', {
    ...notes,
    setup: async () => {
      await fetch('http://127.0.0.1:0').catch(() => undefined)
      isSetUp = !app.server.listening
    },
  })
  await app.listen(0)
  t.ok(isSetUp)
})

t.test('listen() rejects when the port is taken, and leaves nothing open', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  t.teardown(() => other.close())
  const { app, steps } = open(t)
  await t.rejects(app.listen(portOf(other)), { code: 'EADDRINUSE' })
  t.notOk(app.server.listening)
  t.strictSame(steps, BOTH_WAYS)
})

t.test('listen() rejects a port that is none', async (t) => {
  const { app } = open(t)
  await t.rejects(app.listen('many'), { code: 'ERR_SOCKET_BAD_PORT' })
  t.notOk(app.server.listening)
})

t.test('a setup that fails rejects listen, opens no port, closes the rest (START-3)', async (t) => {
  for (const setup of [
    async () => Promise.reject(new Error('no database')),
    () => {
      throw new Error('no database')
    },
  ]) {
    const { app, steps } = open(t)
    app.use('third', { ...notes, setup, teardown: async () => steps.push('teardown third') })
    app.use('fourth', { ...notes, setup: async () => steps.push('setup fourth') })
    await t.rejects(app.listen(0), /no database/)
    t.notOk(app.server.listening)
    t.strictSame(steps, BOTH_WAYS)
    await app.close()
    t.strictSame(steps, BOTH_WAYS, 'once')
  }
})

t.test('hooks around the teardown run once after a setup that fails (START-3)', async (t) => {
  const { app, steps } = open(t)
  app.hooks({ teardown: [async (_context, next) => steps.push('around') && next()] })
  app.use('third', { ...notes, setup: async () => Promise.reject(new Error('no')) })
  await t.rejects(app.listen(0), /no/)
  t.equal(steps.filter((step) => step === 'around').length, 1)
})

t.test('close() can be called twice, and before the start', async (t) => {
  const { app, steps } = open(t)
  await app.close()
  await app.close()
  t.strictSame(steps, [])
  const started = open(t)
  await started.app.listen(0)
  await Promise.all([started.app.close(), started.app.close()])
  t.strictSame(started.steps, BOTH_WAYS)
})

t.test('rest() may come before services and after them', async (t) => {
  for (const isFirst of [true, false]) {
    const app = fastifyApp(createApp())
    if (isFirst) app.configure(rest())
    app.use('notes', notes)
    if (!isFirst) app.configure(rest())
    t.strictSame((await app.fastify.inject('/notes/1')).json(), { id: '1' })
    await app.close()
  }
})

t.test('without rest() services are set up and work in the process; HTTP gives 404', async (t) => {
  const steps: string[] = []
  const app = fastifyApp(createApp())
  app.use('notes', {
    ...notes,
    setup: async () => steps.push('setup'),
    teardown: async () => steps.push('teardown'),
  })
  const server = await app.listen(0)
  t.strictSame(await app.service('notes').get('1'), { id: '1' })
  t.equal((await fetch(`http://127.0.0.1:${portOf(server)}/notes/1`)).status, 404)
  await app.close()
  t.strictSame(steps, ['setup', 'teardown'])
})

t.test('without an application it returns a plain Fastify server', async (t) => {
  const server = fastifyApp()
  server.get('/', async () => ({ plain: true }))
  t.strictSame((await server.inject('/')).json(), { plain: true })
  t.notOk('service' in server)
  await server.close()
})

t.test('refuses what is no application', (t) => {
  for (const value of [null, {}, 'app', fastify(), { use: () => 1, service: () => 1 }]) {
    t.throws(() => fastifyApp(value as never), /needs an application made by createApp\(\)/)
  }
  t.end()
})

t.test('refuses options that are no object', (t) => {
  for (const value of [null, 5, 'options', true]) {
    const start = () => fastifyApp(createApp(), value as never)
    t.throws(start, /takes a Fastify instance, or an object of its options/)
  }
  t.end()
})

t.test('an existing Fastify server keeps its routes, decorators and limits', async (t) => {
  const server = fastify({ bodyLimit: 10 })
  server.get('/own', async () => ({ own: true }))
  const app = openApp(t, server).configure(rest())
  app.use('notes', { ...notes, create: async (data: object) => data })
  t.equal(app.fastify, server)
  t.strictSame((await server.inject('/own')).json(), { own: true })
  t.strictSame((await server.inject('/notes/1')).json(), { id: '1' })
  const payload = { text: 'longer than ten bytes' }
  t.equal((await server.inject({ url: '/notes', method: 'POST', payload })).statusCode, 413)
})

t.test('an existing Fastify server keeps its answers to errors and unknown paths', async (t) => {
  const server = fastify()
  server.setNotFoundHandler(async () => ({ by: 'host' }))
  server.setErrorHandler(async () => ({ by: 'host' }))
  server.get('/failing', async () => {
    throw new Error('of a route of the host')
  })
  const app = openApp(t, server).configure(rest())
  app.logger = { ...app.logger, error: () => undefined }
  app.use('notes', { find: async () => Promise.reject(new Error('of a service')) })
  t.strictSame((await server.inject('/unknown')).json(), { by: 'host' })
  t.strictSame((await server.inject('/failing')).json(), { by: 'host' })
  t.match((await server.inject('/notes')).json(), { code: 500, className: 'general-error' })
})

function getJson(
  ca: Buffer | null,
  port: number,
  path: string,
  host = 'localhost',
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers: { host }, agent: false }
    const request =
      ca === null ? get(options) : getSecurely({ ...options, ca, servername: 'localhost' })
    request.on('error', reject).on('response', async (response) => {
      resolve(JSON.parse(Buffer.concat(await response.toArray()).toString()))
    })
  })
}

t.test('setup(server) leads the requests of an HTTPS server to the services', async (t) => {
  const tls = await createCertificate(t)
  const { app, steps } = open(t)
  const server: Server = tls === null ? createServer() : createSecureServer(tls)
  t.teardown(() => server.close())
  t.equal(await app.setup(server), app)
  t.strictSame(steps, ['setup first', 'setup second'])
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.strictSame(await getJson(tls?.cert ?? null, portOf(server), '/first/1'), { id: '1' })
})

t.test('the option https makes an HTTPS server of its own, with the same limits', async (t) => {
  const tls = await createCertificate(t)
  if (tls === null) {
    t.pass('there is no openssl here to make a certificate')
    return
  }
  const { app } = open(t, { https: tls })
  const server = await app.listen(0)
  t.strictSame(await getJson(tls.cert, portOf(server), '/first/1'), { id: '1' })
  t.strictSame([server.requestTimeout, server.headersTimeout], [30_000, 10_000])
  await t.resolves(app.close(), 'nothing has to be cut off')
})

t.test('one server leads requests to several applications, by their host', async (t) => {
  const apps = ['blog.test', 'shop.test'].map((name) => {
    const app = openApp(t).configure(rest())
    app.use('name', { find: async () => ({ name }) })
    return [name, app] as const
  })
  const byHost = new Map(apps)
  await Promise.all(apps.map(([, app]) => app.fastify.ready()))
  const server = createServer((request, response) => {
    const app = byHost.get(request.headers.host ?? '')
    if (app === undefined) response.writeHead(421).end('{}')
    else app.fastify.routing(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const port = portOf(server)
  t.strictSame(await getJson(null, port, '/name', 'blog.test'), { name: 'blog.test' })
  t.strictSame(await getJson(null, port, '/name', 'shop.test'), { name: 'shop.test' })
  t.strictSame(await getJson(null, port, '/name', 'other.test'), {})
})

t.test('https: null is a server without TLS', async (t) => {
  const options = { https: null } as object
  const app = openApp(t, options)
  t.notOk('setSecureContext' in app.server)
})

t.test('refuses HTTP/2, by an option, a server that is there, or a factory of servers', (t) => {
  const refusal = { name: 'TypeError', message: /proxy .*register\(remex, { app }\)/ }
  const options = [
    { http2: true },
    { http2: true, https: { allowHTTP1: true } },
    fastify({ http2: true }),
    { serverFactory: (handler: () => void) => createHttp2Server({}, handler) },
    { serverFactory: (handler: () => void) => createSecureHttp2Server({}, handler) },
  ]
  for (const one of options) {
    t.throws(() => fastifyApp(createApp(), one as FastifyAppOptions), refusal)
  }
  t.doesNotThrow(() => fastifyApp(createApp(), { http2: false } as FastifyAppOptions))
  t.end()
})

t.test('refuses a write timeout that is no time, and takes 0 for none', async (t) => {
  for (const writeTimeoutMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => fastifyApp(createApp(), { writeTimeoutMs }), { name: 'TypeError' })
  }
  const app = openApp(t, { writeTimeoutMs: 0 })
  t.ok(app.server)
})
