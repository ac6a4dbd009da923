import type { Server } from 'node:http'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import fastify from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { DeclaredMembers } from '../../core/declared-types.ts'
import type { AnyApplication, AnyServices, MethodName, ServiceOptions } from '../../core/index.ts'
import { Application } from '../../core/index.ts'
import { checkOptionNames, withDefaults } from '../../core/options/option-check.ts'
import type { Named, ServiceInput, Unserved } from '../../core/services/service-map.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Middleware } from '../middleware.ts'
import { addDecorators } from '../request-params.ts'
import type { ServiceLookup } from '../routing/service-router.ts'
import { createLookup } from '../routing/service-router.ts'
import { addLifecycle, isServed } from '../services-plugin.ts'
import { createUse } from './app-use.ts'
import { addRequestGuard } from './request-guard.ts'
import type { CloseOptions } from './server-lifecycle.ts'
import { GracefulClose, ServerLifecycle } from './server-lifecycle.ts'
import type { ServerOptions } from './server-options.ts'
import { hasQueryParser, toServerOptions } from './server-options.ts'
import type { WithServer } from './server-setup.ts'
import { ServerSetup } from './server-setup.ts'
import { addWriteTimeout, trackSockets } from './server-sockets.ts'

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
   * Sets the services up, then listens, once. Resolves to the Node server; rejects when the setup
   * or the binding of the port fails or it is closed meanwhile, and leaves nothing open then.
   * @param options a port, as a number or string, or Fastify's options. Default: any free port
   * @param host Default: 127.0.0.1
   */
  listen(options?: number | string | FastifyListenOptions, host?: string): Promise<Server>
  /**
   * Answers what is in flight, closes the server and tears the services down.
   * `teardown()` does so too, where the server was opened.
   * @throws {Unavailable} requests had to be cut off; everything is closed then too
   */
  close(): Promise<void>
  // Fits that of Feathers, which never declares `null`; nobody can call it.
  /** @internal */ lookup(this: never): never
  /**
   * Returns what a request to a path below the prefix would reach, `null` for no service:
   * `{ service, params: { userId: '1', __id: '7' } }` for `/users/1/notes/7`.
   */
  lookup(path: string): ServiceLookup | null
  /** Registers functions that run before every request, for REST only. */
  use(...functions: Handlers[]): this
  /**
   * Registers functions that run before every request below a path, with the prefix of `rest()` and
   * without.
   */
  use(path: `/${string}`, ...functions: Handlers[]): this
  /** Registers the services of another application below a path, with functions before them. */
  use(path: string, ...parts: (Handlers | AnyApplication)[]): this
  /** Registers a service with the options that the map names, with functions before and after it. */
  use<Path extends keyof Services & string, const Options>(
    path: Path,
    ...parts: [...(Handlers | Services[Path])[], options: Named<Services[Path], Options>]
  ): this
  /** Registers a service, with functions before and after it. */
  use<Path extends keyof Services & string>(path: Path, ...parts: Part<Services[Path]>[]): this
  /** Registers a service, with functions before and after it and, last, its options. */
  use<Path extends keyof Services & string>(
    path: Path,
    first: Part<Services[Path]>,
    ...others: [...Part<Services[Path]>[], ServiceOptions<MethodName<Services[Path]>> & NoService]
  ): this
}

/** A service whose options the map does not name, or a function around it. */
type Part<S> = Handlers | Unserved<S, ServiceInput<S>>

/** Tells options from services: a service can have `events`, as they do, and no options beside. */
interface NoService {
  readonly find?: never
  readonly get?: never
  readonly create?: never
  readonly update?: never
  readonly patch?: never
  readonly remove?: never
}

type Handlers = Middleware | readonly Handlers[]

/** An application with an HTTP server of its own. */
export type FastifyApplication<Services = AnyServices, Settings = Record<string, unknown>> =
  // First, so that its `use` is tried first: a function would be taken for a service object.
  ServerMembers<Services> &
    Application<Services, Settings> &
    DeclaredMembers<ServerMembers<Services> & Application<Services, Settings>>

/** Returns a plain Fastify server. */
export function fastifyApp(): FastifyInstance
/**
 * Returns the application, extended by `listen`, `close` and the Fastify server behind it. Without
 * an application it returns a plain Fastify server.
 * @param server options for a new Fastify server, or an existing one, which keeps its own limits,
 *   and its own answers to errors and unknown paths outside of services
 * @throws {TypeError} an option that can't have its value, or a server that speaks HTTP/2
 */
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
  const given: unknown = server
  if (!isObject(given)) {
    throw new TypeError('fastifyApp() takes a Fastify instance, or an object of its options')
  }
  if ('route' in server) return addMembers(app, checkProtocol(server), null)
  const { closeDelayMs, closeTimeoutMs, writeTimeoutMs = 60_000, ...serverOptions } = server
  const instance = checkProtocol(fastify(toServerOptions(serverOptions, app)))
  if (instance.log.level !== undefined) app.logger = instance.log
  const sockets = trackSockets(instance)
  const closing = new GracefulClose(app, instance, sockets, { closeDelayMs, closeTimeoutMs })
  addRequestGuard(instance, closing, !hasQueryParser(serverOptions))
  addWriteTimeout(instance, sockets, writeTimeoutMs)
  return addMembers(app, instance, closing)
}

/** Those without overloads. */
type Members = Omit<ServerMembers<AnyServices>, 'use' | 'lookup'> &
  Pick<Application, 'setup' | 'teardown'>

/** @param closing `null` for an existing server, which its owner closes */
function addMembers(
  app: Application,
  instance: FastifyInstance,
  closing: GracefulClose | null,
): FastifyApplication {
  addDecorators(instance)
  const services = { setup: app.setup.bind(app), teardown: app.teardown.bind(app) }
  const lifecycle = new ServerLifecycle(app, instance, services, closing)
  // Also without `rest()`: services are set up before the port opens.
  instance.register(
    fastifyPlugin(async (server) => {
      addLifecycle(server, app, lifecycle)
      server.addHook('onReady', async () => warnUnserved(app))
    }),
  )
  const serverSetup = new ServerSetup(instance)
  const members: Members = {
    fastify: instance,
    ownsServer: closing !== null,
    server: instance.server as Server,
    serverSetup,
    listen: async (options = {}, host = '127.0.0.1') => {
      return lifecycle.listen(toListenOptions(options, host))
    },
    close: () => lifecycle.close(),
    async setup(server) {
      if (isOtherServer(server, instance)) {
        await instance.ready()
        server.on('request', instance.routing)
      } else await lifecycle.setup(server)
      return app
    },
    async teardown(server) {
      await lifecycle.end(server)
      return app
    },
  }
  const others = { use: createUse(app, serverSetup), lookup: createLookup(app, instance) }
  return Object.assign(app, members, others) as FastifyApplication
}

/** Warns of services that no request reaches; routes of Fastify alone need no `rest()`. */
function warnUnserved(app: Application): void {
  const services = [...app.entries.keys()]
  if (services.length === 0 || isServed(app)) return
  app.logger.warn({ services }, 'No request reaches the services: app.configure(rest()) is missing')
}

/** Whether a server was created by the user, for HTTPS for example: its requests are led here. */
function isOtherServer(server: unknown, instance: FastifyInstance): server is Server {
  return typeof (server as Server | undefined)?.on === 'function' && server !== instance.server
}

const LISTEN_NAMES: readonly string[] = [
  ...['port', 'host', 'path', 'fd', 'backlog', 'exclusive', 'ipv6Only', 'reusePort', 'signal'],
  ...['readableAll', 'writableAll', 'listenTextResolver'],
]

function toListenOptions(
  options: number | string | FastifyListenOptions,
  host: string,
): FastifyListenOptions {
  if (typeof options !== 'object') return { port: toPort(options), host }
  checkOptionNames('listen()', options, LISTEN_NAMES)
  return options.path === undefined ? withDefaults({ port: 0, host }, options) : options
}

/** @throws {RangeError} no port, `''` for example, which `Number()` reads as any free one */
function toPort(value: number | string): number {
  const port = value === '' ? Number.NaN : Number(value)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  const message = `listen(): the port '${value}' must be a whole number from 0 to 65535`
  // The error of Node for ports in options.
  throw Object.assign(new RangeError(message), { code: 'ERR_SOCKET_BAD_PORT' })
}

/**
 * Returns a server that speaks HTTP/1.1 alone. The time limits of Node do not hold over HTTP/2, so that
 * slow and silent clients would stay. An option, a server that is there already and the option
 * `serverFactory` all end here.
 * @throws {TypeError} the server speaks HTTP/2
 */
function checkProtocol(instance: FastifyInstance): FastifyInstance {
  // Servers for HTTP/2 alone have this method; their classes are not exported.
  if (!('updateSettings' in instance.server)) return instance
  throw new TypeError(
    'fastifyApp(): a server with http2 has no time limits for slow clients. Let a proxy (nginx, Caddy) ' +
      'speak HTTP/2 in front of one without, or register the plugin on a Fastify server of yours, ' +
      'whose limits are yours: server.register(remex, { app })',
  )
}
