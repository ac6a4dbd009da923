// Two applications behind one Node server, selected by host; over HTTPS if TLS_KEY and TLS_CERT name a
// key and a certificate: `npx tsx node_modules/remex/examples/servers.ts`.
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'

function createShop(name: string): FastifyApplication {
  const app = fastifyApp(createApp()).configure(rest())
  app.use('about', { find: async () => ({ name }) })
  return app
}

const apps = new Map([
  ['books.localhost', createShop('Books')],
  ['music.localhost', createShop('Music')],
])

// Makes routes and sets services up, as listen() does.
for (const app of apps.values()) await app.fastify.ready()

function route(request: IncomingMessage, response: ServerResponse): void {
  const app = apps.get(request.headers.host?.split(':')[0] ?? '')
  if (app === undefined) response.writeHead(421).end()
  else app.fastify.routing(request, response)
}

const { TLS_KEY, TLS_CERT, PORT = '3030', HOST = '127.0.0.1' } = process.env
const server =
  TLS_KEY === undefined || TLS_CERT === undefined
    ? createServer(route)
    : createSecureServer({ key: readFileSync(TLS_KEY), cert: readFileSync(TLS_CERT) }, route)

server.listen(Number(PORT), HOST, () => {
  console.log(`Try curl -H 'host: books.localhost' http://${HOST}:${PORT}/about`)
})

// The server is yours to close; the applications end after it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => {
      for (const app of apps.values()) void app.close()
    })
    server.closeIdleConnections()
  })
}
