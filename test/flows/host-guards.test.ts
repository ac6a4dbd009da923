import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t from 'tap'
import type { Application } from '../../src/transport/index.ts'
import { createApp, NotFound, openapi, remex } from '../../src/transport/index.ts'
import type { TestScope } from '../support/http.ts'
import { sendRaw } from '../support/http.ts'
import { openHost } from '../support/own-server.ts'

const PREFIX = '/staff'
const INFO = { title: 'Staff', version: '1' }

interface Opened {
  readonly app: Application
  readonly calls: string[]
  /** Resolves to the status of the answer to a target as it stands. */
  ask(line: string, headers?: string): Promise<number>
}

/** Opens a host with services and their page; `guard` adds the guard and registers the plugin. */
async function open(
  t: TestScope,
  guard: (host: FastifyInstance, register: (scope: FastifyInstance) => unknown) => unknown,
): Promise<Opened> {
  const app: Application = createApp()
  const calls: string[] = []
  const createService = (): object => ({
    find: async () => calls.push('find'),
    get: async () => calls.push('get'),
    create: async () => calls.push('create'),
    patch: async () => calls.push('patch'),
    remove: async () => calls.push('remove'),
    greet: async () => calls.push('greet'),
  })
  const methods = ['find', 'get', 'create', 'patch', 'remove', 'greet']
  app.use('orders', createService(), { methods })
  app.configure(openapi({ info: INFO }))
  const host = openHost(t)
  await guard(host, (scope) =>
    scope.register(remex, { app, prefix: PREFIX, methodPaths: true, health: true }),
  )
  await host.listen({ port: 0, host: '127.0.0.1' })
  app.use('late', createService(), { methods })
  const { port } = host.server.address() as AddressInfo
  const ask = async (line: string, headers = ''): Promise<number> => {
    const text = await sendRaw(
      port,
      `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n${headers}\r\n`,
    )
    return Number(text.split(' ')[1])
  }
  return { app, calls, ask }
}

/** The guard that the documentation advises for all services and their page. */
function guardScope(host: FastifyInstance, register: (scope: FastifyInstance) => unknown): unknown {
  return host.register(async (scope) => {
    scope.addHook('onRequest', refuse)
    await register(scope)
  })
}

async function refuse({ headers }: FastifyRequest): Promise<void> {
  if (headers['x-staff-key'] !== 'letmein') throw new NotFound('Page not found')
}

const KEY = 'X-Staff-Key: letmein\r\n'
const LONG = 'x'.repeat(101)

const SERVICE_TARGETS: readonly string[] = [
  ...['GET', 'HEAD'].flatMap((verb) =>
    ['orders', 'late'].flatMap((path) =>
      ['', '/', '/1', '/1/', `/${LONG}`, `/${'x'.repeat(9_000)}`, `/${LONG}/`].map(
        (end) => `${verb} ${PREFIX}/${path}${end}`,
      ),
    ),
  ),
  ...['PATCH', 'DELETE'].flatMap((verb) => [
    `${verb} ${PREFIX}/orders/${LONG}`,
    `${verb} ${PREFIX}/late/1`,
  ]),
  `GET ${PREFIX}/%6frders/1`,
  `GET /st%61ff/%6f%72ders/${LONG}`,
  `GET ${PREFIX}/l%61te`,
  `GET http://a${PREFIX}/orders/${LONG}`,
  `POST ${PREFIX}/orders/greet`,
  `POST ${PREFIX}/late/greet`,
]

const PAGE_TARGETS: readonly string[] = ['GET', 'HEAD'].flatMap((verb) =>
  ['', '/', '/json', '/yaml', '/json?x', '/static/swagger-ui.css', '/%6ason']
    .map((end) => `${verb} ${PREFIX}/docs${end}`)
    .concat(`${verb} /st%61ff/d%6fcs/yaml`, `${verb} http://a${PREFIX}/docs/json`),
)

t.test('a guard of the scope that the plugin is in holds for every way to it', async (t) => {
  const { ask, calls } = await open(t, guardScope)
  for (const target of [...SERVICE_TARGETS, ...PAGE_TARGETS])
    t.equal(await ask(target), 404, target)
  for (const path of ['orders', 'late', 'orders/1']) {
    const target = `POST ${PREFIX}/${path}`
    t.equal(await ask(target, 'X-Service-Method: greet\r\n'), 404, target)
  }
  for (const target of [`OPTIONS ${PREFIX}/late`, `GET ${PREFIX}/health/ready`, `GET ${PREFIX}`]) {
    t.equal(await ask(target), 404, target)
  }
  t.strictSame(calls, [])
})

t.test('whoever has the key gets through it by all of them', async (t) => {
  const { ask, calls } = await open(t, guardScope)
  for (const target of SERVICE_TARGETS) {
    t.match(String(await ask(target, KEY)), /^20[01]$/, target)
  }
  t.equal(calls.length, SERVICE_TARGETS.length)
  for (const target of PAGE_TARGETS) t.match(String(await ask(target, KEY)), /^(200|308)$/, target)
})

t.test('a guard by the URL of the route holds for the page, and not for services', async (t) => {
  const guarded = (path: string) => async (request: FastifyRequest) => {
    if (request.routeOptions.url?.startsWith(`${PREFIX}${path}`)) await refuse(request)
  }
  const { ask, calls } = await open(t, (host, register) => {
    host.addHook('onRequest', guarded('/docs')).addHook('onRequest', guarded('/orders'))
    return register(host)
  })
  for (const target of PAGE_TARGETS) t.equal(await ask(target), 404, target)
  t.equal(await ask(`GET ${PREFIX}/orders/1`), 404)
  t.strictSame(calls, [])
  t.equal(await ask(`GET ${PREFIX}/orders/${LONG}`), 200)
  t.strictSame(calls, ['get'], 'as the documentation warns')
})
