import type { Server } from 'node:http'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import fastify from 'fastify'
import type { AnyServices, Application, ServiceOptions } from '../core/index.ts'
import type { WithServer } from './configurator.ts'
import type { CloseOptions } from './graceful-close.ts'
import { addGracefulClose } from './graceful-close.ts'
import type { Middleware } from './middleware.ts'
import { addDecorators } from './request-params.ts'
import { addRequestGuard } from './request-guard.ts'
import type { ServerOptions } from './server-options.ts'
import { toServerOptions } from './server-options.ts'
import { createUse } from './use.ts'

/** Options of `fastifyApp()`: those of Fastify, limits, and how the server ends. */
export type FastifyAppOptions = ServerOptions & CloseOptions

/** What an application gets from its HTTP server. */
export interface ServerMembers<Services> extends WithServer {
  /** The Node server, there from the start. */
  readonly server: Server
  /**
   * Sets the services up, then listens, on 127.0.0.1 unless a host is given. Resolves to the Node
   * server; rejects when the setup or the binding of the port fails, and leaves nothing open then.
   */
  listen(options?: number | string | FastifyListenOptions): Promise<Server>
  /** Answers what is in flight, closes the server and tears the services down. */
  close(): Promise<void>
  /** Registers functions that run before every request, for REST only. */
  use(...functions: Handlers[]): this
  /** Registers functions that run before every request below a path. */
  use(path: `/${string}`, ...functions: Handlers[]): this
  /** Registers a service, with functions before and after it and, last, its options. */
  use<Path extends keyof Services & string>(
    path: Path,
    ...parts: (Handlers | Services[Path] | ServiceOptions)[]
  ): this
}

type Handlers = Middleware | readonly Handlers[]

/** An application with an HTTP server of its own. */
export type FastifyApplication<
  Services = AnyServices,
  Settings = Record<string, unknown>,
> = Application<Services, Settings> & ServerMembers<Services>

const DEFAULT_HOST = '127.0.0.1'

/**
 * Returns the application, extended by `listen`, `close` and the Fastify server behind it. Without
 * an application it returns a plain Fastify server.
 * @param server options for a new Fastify server, or an existing one, which keeps its own limits
 */
export function fastifyApp(): FastifyInstance
export function fastifyApp<Services, Settings>(
  app: Application<Services, Settings>,
  server?: FastifyAppOptions | FastifyInstance,
): FastifyApplication<Services, Settings>
export function fastifyApp(
  app?: Application,
  server: FastifyAppOptions | FastifyInstance = {},
): FastifyInstance | FastifyApplication {
  if (app === undefined) return fastify()
  if (typeof app?.use !== 'function' || typeof app.service !== 'function') {
    throw new TypeError('fastifyApp() needs an application made by createApp()')
  }
  const instance = isFastify(server) ? server : createServer(app, server)
  addDecorators(instance)
  return Object.assign(app, createMembers(app, instance)) as FastifyApplication
}

function createServer(app: Application, options: FastifyAppOptions): FastifyInstance {
  const { closeTimeoutMs, ...serverOptions } = options
  const instance = fastify(toServerOptions(serverOptions))
  if (instance.log.level !== undefined) app.logger = instance.log
  addRequestGuard(instance)
  addGracefulClose(instance, closeTimeoutMs === undefined ? {} : { closeTimeoutMs })
  return instance
}

function createMembers(app: Application, instance: FastifyInstance): object {
  const setUpServices = app.setup.bind(app)
  const members: Omit<ServerMembers<AnyServices>, 'use'> & Pick<Application, 'setup'> = {
    fastify: instance,
    server: instance.server as Server,
    restOptions: {},
    async listen(options = {}) {
      await instance.listen(toListenOptions(options))
      return instance.server as Server
    },
    async close() {
      await instance.close()
    },
    async setup(server) {
      if (!isOtherServer(server, instance)) return setUpServices(server)
      await instance.ready()
      server.on('request', instance.routing)
      return app
    },
  }
  return { ...members, use: createUse(app, instance) }
}

/** Whether requests have to be led from a server that the user made, for HTTPS for example. */
function isOtherServer(server: unknown, instance: FastifyInstance): server is Server {
  return typeof (server as Server | undefined)?.on === 'function' && server !== instance.server
}

function toListenOptions(options: number | string | FastifyListenOptions): FastifyListenOptions {
  if (typeof options !== 'object') return { port: Number(options), host: DEFAULT_HOST }
  return options.path === undefined ? { host: DEFAULT_HOST, ...options } : options
}

function isFastify(value: object): value is FastifyInstance {
  return typeof (value as FastifyInstance).route === 'function'
}
