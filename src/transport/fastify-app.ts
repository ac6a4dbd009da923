import type { Server } from 'node:http'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import fastify from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { AnyApplication, AnyServices, MethodName, ServiceOptions } from '../core/index.ts'
import { Application, Unavailable } from '../core/index.ts'
import type { ServiceInput } from '../core/service-map.ts'
import type { WithServer } from './configurator.ts'
import type { CloseOptions } from './graceful-close.ts'
import { GracefulClose } from './graceful-close.ts'
import type { ServiceLookup } from './lookup.ts'
import { createLookup } from './lookup.ts'
import type { Middleware } from './middleware.ts'
import { addRequestGuard } from './request-guard.ts'
import { addDecorators } from './request-params.ts'
import type { ServerOptions } from './server-options.ts'
import { toServerOptions } from './server-options.ts'
import { addLifecycle } from './services-plugin.ts'
import { createUse } from './use.ts'
import { addWriteTimeout } from './write-timeout.ts'

/** Options of `fastifyApp()`: those of Fastify, limits, and how the server ends. */
export type FastifyAppOptions = ServerOptions &
  CloseOptions & {
    /** How long a client may leave an answer unread, 0 for ever. Default: 60,000. */
    readonly writeTimeoutMs?: number
  }

/** What an application gets from its HTTP server. */
export interface ServerMembers<Services> extends WithServer {
  /** The Node server, there from the start. */
  readonly server: Server
  /**
   * Sets the services up, then listens. Resolves to the Node server; rejects when the setup or the
   * binding of the port fails, and leaves nothing open then.
   * @param options a port, also as text, or Fastify's options. Default: any free port
   * @param host Default: 127.0.0.1
   */
  listen(options?: number | string | FastifyListenOptions, host?: string): Promise<Server>
  /**
   * Answers what is in flight, closes the server and tears the services down.
   * @throws {Unavailable} requests had to be cut off; everything is closed then too
   */
  close(): Promise<void>
  /**
   * Returns what a request to a path would reach, `null` for no service:
   * `{ service, params: { userId: '1', __id: '7' } }` for `/users/1/notes/7`.
   */
  lookup(path: string): ServiceLookup | null
  /** Registers functions that run before every request, for REST only. */
  use(...functions: Handlers[]): this
  /** Registers functions that run before every request below a path. */
  use(path: `/${string}`, ...functions: Handlers[]): this
  /** Registers the services of another application below a path, with functions before them. */
  use(path: string, ...parts: (Handlers | AnyApplication)[]): this
  /** Registers a service, with functions before and after it and, last, its options. */
  use<Path extends keyof Services & string>(
    path: Path,
    ...parts: (
      | Handlers
      | ServiceInput<Services[Path]>
      | ServiceOptions<MethodName<Services[Path]>>
    )[]
  ): this
}

type Handlers = Middleware | readonly Handlers[]

/** An application with an HTTP server of its own. */
export type FastifyApplication<Services = AnyServices, Settings = Record<string, unknown>> =
  // First, as its `use` is tried first then: a function is an object, and no service.
  ServerMembers<Services> & Application<Services, Settings>

const DEFAULT_HOST = '127.0.0.1'

/**
 * Returns the application, extended by `listen`, `close` and the Fastify server behind it. Without
 * an application it returns a plain Fastify server.
 * @param server options for a new Fastify server, or an existing one, which keeps its own limits, and
 *   its own answers to errors and unknown paths outside of services
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
  if (!(app instanceof Application)) {
    throw new TypeError('fastifyApp() needs an application made by createApp()')
  }
  if (isFastify(server)) return addMembers(app, server, null)
  const {
    closeDelayMs = 0,
    closeTimeoutMs = 10_000,
    writeTimeoutMs = 60_000,
    ...serverOptions
  } = server
  const instance = fastify(toServerOptions(serverOptions, app))
  if (instance.log.level !== undefined) app.logger = instance.log
  const closing = new GracefulClose(app, instance, { closeDelayMs, closeTimeoutMs })
  addRequestGuard(instance, closing)
  addWriteTimeout(instance, writeTimeoutMs)
  return addMembers(app, instance, closing)
}

/** @param closing `null` for a server that somebody else made, and closes in a way of his own */
function addMembers(
  app: Application,
  instance: FastifyInstance,
  closing: GracefulClose | null,
): FastifyApplication {
  addDecorators(instance)
  // With or without `rest()`: services have their setup before the port opens.
  instance.register(fastifyPlugin(async (server) => addLifecycle(server, app)))
  const setUpServices = app.setup.bind(app)
  const members: Omit<ServerMembers<AnyServices>, 'use'> & Pick<Application, 'setup'> = {
    fastify: instance,
    ownsServer: closing !== null,
    server: instance.server as Server,
    restOptions: {},
    lookup: createLookup(app, instance),
    async listen(options = {}, host = DEFAULT_HOST) {
      try {
        await instance.listen(toListenOptions(options, host))
      } catch (error) {
        await instance.close()
        throw error
      }
      return instance.server as Server
    },
    async close() {
      await instance.close()
      const cutOff = closing?.cutOff ?? 0
      if (cutOff > 0) throw new Unavailable(`${cutOff} requests in flight were cut off`)
    },
    async setup(server) {
      if (!isOtherServer(server, instance)) return setUpServices(server)
      await instance.ready()
      server.on('request', instance.routing)
      return app
    },
  }
  return Object.assign(app, members, { use: createUse(app, instance) }) as FastifyApplication
}

/** Whether requests have to be led from a server that the user made, for HTTPS for example. */
function isOtherServer(server: unknown, instance: FastifyInstance): server is Server {
  return typeof (server as Server | undefined)?.on === 'function' && server !== instance.server
}

function toListenOptions(
  options: number | string | FastifyListenOptions,
  host: string,
): FastifyListenOptions {
  if (typeof options !== 'object') return { port: Number(options), host }
  return options.path === undefined ? { port: 0, host, ...options } : options
}

function isFastify(value: object): value is FastifyInstance {
  return typeof (value as FastifyInstance).route === 'function'
}
