import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import feathersExpress, { errorHandler, json, notFound, rest } from '@feathersjs/express'
import { feathers } from '@feathersjs/feathers'
import { socketio } from '../../../src/transport/socketio/index.ts'
import type { Mode, TestScope } from '../../support/http.ts'
import { PREFIX, startServer } from '../../support/http.ts'
import { addFeathersAccounts, addRemexAccounts } from './accounts.ts'
import { answerOddly, createServices, ODD_PATH, toServerParams } from './services.ts'

/** The package is this function, and its types say that it has it. */
const express = feathersExpress as unknown as typeof feathersExpress.default

/** Starts a server with the services of the suite. Resolves to the URL that they are below. */
type StartServer = (t: TestScope) => Promise<string>

/** Every kind of server: the suite runs once for each. */
export const SERVERS = {
  'Remex, a server of its own': (t) => startRemex(t, 'standalone'),
  'Remex, a plugin of Fastify': (t) => startRemex(t, 'plugin'),
  'Feathers on Express': startFeathers,
} as const satisfies Readonly<Record<string, StartServer>>

export type ServerName = keyof typeof SERVERS

async function startRemex(t: TestScope, mode: Mode): Promise<string> {
  const services = await createServices()
  let addUser: (() => Promise<void>) | undefined
  const { url } = await startServer(t, mode, {
    server(fastify) {
      fastify.addHook('onRequest', async ({ feathers, method, url, headers }) => {
        // A request of the host itself has no params.
        if (feathers) Object.assign(feathers, toServerParams(method, url, headers.authorization))
      })
      const path = mode === 'plugin' ? PREFIX + ODD_PATH : ODD_PATH
      fastify.get<{ Params: { id: string } }>(path, async ({ params }, reply) => {
        reply.hijack()
        answerOddly(params.id, reply.raw)
      })
    },
    services(app) {
      app.configure(socketio())
      app.on('connection', (connection: object) => app.channel('everyone').join(connection))
      app.publish(() => app.channel('everyone'))
      addUser = addRemexAccounts(app)
      for (const { path, service, methods } of services) {
        app.use(path, service, { methods })
      }
    },
  })
  await addUser?.()
  return url
}

async function startFeathers(t: TestScope): Promise<string> {
  const app = express(feathers())
  app.use(json())
  app.use((request, _response, next) => {
    const { method, originalUrl, headers } = request
    const params = toServerParams(method, originalUrl, headers.authorization)
    request.feathers = { ...request.feathers, ...params }
    next()
  })
  app.configure(rest())
  // The type of `get` knows the one of settings alone.
  app.route(ODD_PATH).get(({ params }, response) => answerOddly(params['id'] ?? '', response))
  for (const { path, service, methods } of await createServices()) {
    app.use(path, service, { methods: [...methods] })
  }
  await addFeathersAccounts(app)
  app.use(notFound())
  app.use(errorHandler({ logger: false }))
  const server = await app.listen(0)
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  if (!server.listening) await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
