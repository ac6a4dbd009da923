import type { AddressInfo } from 'node:net'
import type { FastifyServerOptions } from 'fastify'
import fastify from 'fastify'
import type { Collection } from 'mongodb'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { AuthenticationService, OAuthSettings } from '../../../src/auth/index.ts'
import { authenticate, OAuthStrategy, oauth } from '../../../src/auth/index.ts'
import type { Application, Params } from '../../../src/core/index.ts'
import { createApp, fastifyApp, remex, rest } from '../../../src/transport/index.ts'
import { addAccounts } from '../accounts.ts'

export interface OAuthAppOptions {
  /** Where users are stored; it gets a unique index for the id of each provider. */
  readonly users: Collection
  /** The section `authentication.oauth`. */
  readonly oauth: OAuthSettings
  /** Over the other settings of the authentication service. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** By the name of the provider; `new OAuthStrategy()` for those that are missing. */
  readonly strategies?: Readonly<Record<string, OAuthStrategy>>
  /** Options of Fastify. */
  readonly server?: FastifyServerOptions
  /** Where the plugin serves it in a host. Default: it is a server of its own. */
  readonly prefix?: string
  /** Where it is mounted in another application. Default: it is served by itself. */
  readonly mount?: string
  /** Adds hooks and services before the start. */
  readonly extend?: (app: Application) => unknown
}

export interface OAuthApp {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The same with the prefix, below which the services are. */
  readonly url: string
  readonly app: Application
  readonly authentication: AuthenticationService
  /** Each line that was logged, as one string of JSON. */
  readonly log: readonly string[]
  /** Calls `GET /me`, which only users with a valid access token may do. */
  getMe(accessToken: string): Promise<{ readonly status: number; readonly body: unknown }>
  close(): Promise<unknown>
}

/** Names of keys of the section that are no provider. */
const OWN_KEYS = new Set(['redirect', 'origins', 'allowLoopbackPorts', 'defaults'])

/** Starts an application in which people log in by OAuth, with users in a collection. */
export async function startOAuthApp(options: OAuthAppOptions): Promise<OAuthApp> {
  const { users, oauth: section, settings, strategies = {}, extend } = options
  const app = createApp()
  const serve = prepareServer(app, options)
  const log: string[] = []
  const write = (details: object, message?: string) =>
    void log.push(JSON.stringify({ ...details, message }))
  app.logger = { error: write, warn: write, info: write }
  const names = Object.keys(section).filter((key) => !OWN_KEYS.has(key))
  for (const name of names) {
    await users.createIndex({ [`${name}Id`]: 1 }, { unique: true, sparse: true })
  }
  const providers = names.map((name) => [name, strategies[name] ?? new OAuthStrategy()])
  const { authentication } = addAccounts(app, {
    users: new MongoDBService({ Model: users, paginate: { default: 10, max: 10 } }),
    settings: { oauth: section, ...settings },
    strategies: { local: undefined, ...Object.fromEntries(providers) },
  })
  app.configure(oauth())
  app.use('me', { find: async (params?: Params) => ({ user: params?.user }) })
  app.service('me').hooks({ before: { find: [authenticate('jwt')] } })
  extend?.(app)
  const { port, close } = await serve()
  const origin = `http://127.0.0.1:${port}`
  const url = `${origin}${options.prefix ?? ''}${options.mount ?? ''}`
  return {
    origin,
    url,
    app,
    authentication,
    log,
    async getMe(accessToken) {
      const headers = { authorization: `Bearer ${accessToken}` }
      const response = await fetch(`${url}/me`, { headers })
      return { status: response.status, body: await response.json() }
    },
    close,
  }
}

/** Returns a function that starts the server, once the services are registered. */
function prepareServer(app: Application, { server = {}, prefix, mount }: OAuthAppOptions) {
  const toServed = (): Application => {
    if (mount === undefined) return app
    const outer = createApp().use(mount, app)
    outer.logger = app.logger
    return outer
  }
  if (prefix !== undefined) {
    return async () => {
      const host = fastify(server).register(remex, { app: toServed(), prefix })
      await host.listen({ port: 0, host: '127.0.0.1' })
      return { port: (host.server.address() as AddressInfo).port, close: () => host.close() }
    }
  }
  return async () => {
    const own = fastifyApp(toServed(), server).configure(rest())
    const listening = await own.listen(0)
    return { port: (listening.address() as AddressInfo).port, close: () => own.close() }
  }
}
