import type { IncomingMessage } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Application, Params } from '../../src/transport/index.ts'
import { createApp, fastifyApp, remex, rest, serveStatic } from '../../src/transport/index.ts'
import type { ListeningServer } from '../support/http.ts'
import { MODES, sendRaw, startServer } from '../support/http.ts'
import { openHost, startOwnServer } from '../support/own-server.ts'

let calls = 0

/** Counts its calls, whatever they are. */
const counted = {
  find: async () => ({ calls: ++calls }),
  get: async (id: string) => ({ id, calls: ++calls }),
  create: async () => ({ calls: ++calls }),
  remove: async () => ({ calls: ++calls }),
  greet: async () => ({ calls: ++calls }),
}

const METHODS = { methods: ['find', 'get', 'create', 'remove', 'greet'] }

function addServices(app: Application): void {
  app.use('admin', counted, METHODS).use('users/:userId/keys', counted).use('/', counted)
}

/** Sends one request line; resolves to the status and the body. */
async function send(
  server: ListeningServer,
  line: string,
  headers = '',
): Promise<{ status: number; body: string }> {
  const text = await server.raw(
    `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`,
  )
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), body }
}

/** Targets that the router of Fastify takes for `/admin` and others, but for those after the start. */
function toOddTargets(prefix: string): string[] {
  const paths = ['/admin', '/admin/1', '/admin/', '/late', '/late/1', '/users/1/keys', '/7', '/']
  return paths.map((path) => `*${`${prefix}${path}`.slice(1)}`)
}

/** Targets that are refused whatever is served. */
const NO_TARGETS = ['*', '*?a=1', '**', 'ftp://a/admin', 'http://u:p@a/admin', 'http://a\\b/admin']

for (const mode of MODES) {
  t.test(`a target that is no path reaches no service, ${mode}`, async (t) => {
    const server = await startServer(t, mode, { services: addServices })
    for (const isLate of [false, true]) {
      if (isLate) server.app.use('late', counted, METHODS)
      const before = calls
      for (const target of [...toOddTargets(server.prefix), ...NO_TARGETS]) {
        for (const verb of ['GET', 'HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS']) {
          if (verb === 'OPTIONS' && target === '*') continue
          const { status } = await send(server, `${verb} ${target}`)
          t.ok(
            status === 400 || (mode === 'plugin' && status === 404),
            `${verb} ${target} ${status}`,
          )
        }
        await send(server, `POST ${target}`, 'X-Service-Method: greet\r\n')
      }
      t.equal(calls, before)
    }
  })

  t.test(`an absolute target reaches what its path does, ${mode}`, async (t) => {
    const server = await startServer(t, mode, { services: addServices })
    for (const [target, status] of [
      [`http://a${server.prefix}/admin/1`, 200],
      [`HTTP://A.test:80${server.prefix}/admin?a=/b`, 200],
      [`https://[::1]${server.prefix}/admin`, 200],
      [`http://a/${server.prefix}/admin`, 404],
      [`http://a${server.prefix}//admin`, 404],
      [`http://a${server.prefix}/admin//1`, 404],
    ] as const) {
      t.equal((await send(server, `GET ${target}`)).status, status, target)
    }
  })
}

t.test('the refusal has the shape of every error, and the connection goes on', async (t) => {
  const server = await startOwnServer(t, addServices)
  const { body } = await send(server, 'GET *admin')
  t.strictSame(JSON.parse(body), {
    name: 'BadRequest',
    message: 'The request target must begin with a slash, or with http:// and a host',
    code: 400,
    className: 'bad-request',
  })
  const second = 'GET /admin/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const both = await server.raw(`GET *admin HTTP/1.1\r\nHost: a\r\n\r\n${second}`)
  t.strictSame(both.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 400', 'HTTP/1.1 200'])
})

t.test('functions, files, probes and routes of the server are not reached either', async (t) => {
  const root = t.testdir({ 'a.txt': 'file' })
  const runs: string[] = []
  const server = await startOwnServer(t, (app) => {
    app.use(() => void runs.push('function')).configure(serveStatic({ root, prefix: '/files/' }))
    app.fastify.get('/own', async () => runs.push('own'))
  })
  for (const target of ['*own', '*files/a.txt', '*health/live', '*health/ready', '*nothing']) {
    t.equal((await send(server, `GET ${target}`)).status, 400, target)
  }
  t.strictSame(runs, [])
})

t.test('OPTIONS * is a request that no service is for', async (t) => {
  const server = await startOwnServer(t, addServices)
  t.equal((await send(server, 'OPTIONS *')).status, 404)
})

t.test('what rewriteUrl makes of a target is looked at too', async (t) => {
  const rewriteUrl = ({ url = '' }: IncomingMessage): string => url.replace('/v1', '')
  const server = await startOwnServer(t, addServices, { fastify: { rewriteUrl } })
  t.equal((await send(server, 'GET /v1/admin')).status, 200)
  for (const target of ['/v1*admin', '/v1admin', '*/v1admin', '*', '*/v1'])
    t.equal((await send(server, `GET ${target}`)).status, 400, target)
})

/** Servers that are not ours: a plugin without prefix, and an application on a server of a user. */
const FOREIGN: Readonly<Record<string, (host: FastifyInstance) => Application>> = {
  'a plugin without prefix': (host) => {
    const app = createApp()
    addServices(app)
    host.register(remex, { app })
    return app
  },
  'an application on a server that was there': (host) => {
    const app = fastifyApp(createApp(), host).configure(rest())
    addServices(app)
    return app
  },
}

for (const [title, serve] of Object.entries(FOREIGN)) {
  t.test(`${title}: the routes of the host are its own, no service is reached`, async (t) => {
    const host = openHost(t)
    host.get('/host', async () => 'reached')
    const app = serve(host)
    await host.listen({ port: 0, host: '127.0.0.1' })
    const { port } = host.server.address() as { port: number }
    const ask = (line: string): Promise<string> =>
      sendRaw(port, `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    t.match(await ask('GET /host'), /^HTTP\/1.1 200/)
    // Up to find-my-way 9.10.1, the router of the host took this for `/host`.
    t.match(await ask('GET *host'), /^HTTP\/1.1 400/)
    for (const isLate of [false, true]) {
      if (isLate) app.use('late', counted)
      const before = calls
      for (const target of toOddTargets('')) {
        for (const verb of ['GET', 'POST', 'DELETE'])
          t.match(await ask(`${verb} ${target}`), /^HTTP\/1.1 40[04]/, `${verb} ${target}`)
      }
      t.equal(calls, before)
    }
  })
}

t.test('by HTTP/2 of a host the plugin refuses a path without its slash too', async (t) => {
  const app = createApp()
  app.use('admin', { find: async (_params: Params) => ({ calls: ++calls }) })
  const host = openHost(t, { http2: true })
  host.register(remex, { app })
  await host.listen({ port: 0 })
  const { port } = host.server.address() as { port: number }
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => session.close())
  const before = calls
  for (const path of ['*admin', 'xadmin', 'admin', '\\admin', '?/admin', '*']) {
    for (const scheme of ['http', 'ftp']) {
      const stream = session.request({ ':path': path, ':scheme': scheme })
      const status = await new Promise<unknown>((resolve) => {
        stream.on('response', (headers) => resolve(headers[':status']))
        // The protocol itself refuses some of them.
        stream.on('error', () => resolve('reset')).resume()
      })
      t.ok(status === 400 || status === 'reset', `${scheme} ${path} ${status}`)
    }
  }
  t.equal(calls, before)
})
