import type { Server } from 'node:http'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import fastify from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { DeclaredMembers } from '../../core/declared-types.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
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

/** Options of `fastifyApp()`: those of Fastify, limits, and how the server closes. */
export type FastifyAppOptions = ServerOptions &
  CloseOptions & {
    /** How long a client may leave a response unread, in milliseconds, 0 for no limit. Default: 60,000. */
    readonly writeTimeoutMs?: number
  }

/** The members that an application gets from its HTTP server. */
export interface ServerMembers<Services> extends WithServer {
  /** The Node server, there from the start. */
  readonly server: Server
  /**
   * Sets the services up, then listens, once. Resolves to the Node server. Rejects if the setup fails, the port cannot
   * be bound, or the server is closed meanwhile; nothing is open then.
   * @param options a port, as a number or string, or Fastify's options. Default: any free port
   * @param host Default: 127.0.0.1
   */
  listen(options?: number | string | FastifyListenOptions, host?: string): Promise<Server>
  /**
   * Waits for running requests, closes the server and tears the services down. `teardown()` does the same if the server
   * was opened.
   * @throws {Unavailable} requests had to be cut off; everything is closed then too
   */
  close(): Promise<void>
  // Fits that of Feathers, which never declares `null`; it cannot be called.
  /** @internal */ lookup(this: never): never
  /**
   * Returns the target of a request to a path below the prefix, `null` if there is no service: `{ service, params: {
   * userId: '1', __id: '7' } }` for `/users/1/notes/7`.
   */
  lookup(path: string): ServiceLookup | null
  /** Registers functions that run before every request, for REST only. */
  use(...functions: Handlers[]): this
  /** Registers functions that run before every request below a path, with and without the prefix of `rest()`. */
  use(path: `/${string}`, ...functions: Handlers[]): this
  /** Registers the services of another application below a path, with functions before them. */
  use(path: string, ...parts: (Handlers | AnyApplication)[]): this
  /** Registers a service with the options in the map, with functions before and after it. */
  use<Path extends keyof Services & string, const Options>(
    path: Path,
    ...parts: [...(Handlers | Services[Path])[], options: Named<Services[Path], Options>]
  ): this
  /** Registers a service, with functions before and after it. */
  use<Path extends keyof Services & string>(path: Path, ...parts: Part<Services[Path]>[]): this
  /** Registers a service, with functions before and after it, and its options last. */
  use<Path extends keyof Services & string>(
    path: Path,
    first: Part<Services[Path]>,
    ...others: [...Part<Services[Path]>[], ServiceOptions<MethodName<Services[Path]>> & NoService]
  ): this
}

/** A service whose options are not in the map, or a function around it. */
type Part<S> = Handlers | Unserved<S, ServiceInput<S>>

/** Distinguishes options from services: a service may have `events` like options, but no other option. */
interface NoService {
  readonly find?: never
  readonly get?: never
  readonly create?: never
  readonly update?: never
  readonly patch?: never
  readonly remove?: never
}

type Handlers = Middleware | readonly Handlers[]

/** An application with its own HTTP server. */
export type FastifyApplication<Services = AnyServices, Settings = Record<string, unknown>> =
  // First, so that its overloads of `use` are tried first: a function would be taken for a service object.
  ServerMembers<Services> &
    Application<Services, Settings> &
    DeclaredMembers<ServerMembers<Services> & Application<Services, Settings>>

/** Returns a plain Fastify server. */
export function fastifyApp(): FastifyInstance
/**
 * Returns the application, extended with `listen`, `close` and the Fastify server behind it. Without an application it
 * returns a plain Fastify server.
 * @param server options for a new Fastify server, or an existing one, which keeps its own limits and its own responses
 *   to errors and unknown paths outside of services
 * @throws {TypeError} an option is invalid, or the server speaks HTTP/2
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
    throw new ArgumentError('fastifyApp() needs an application made by createApp()')
  }
  const given: unknown = server
  if (!isObject(given)) {
    throw new ArgumentError('fastifyApp() takes a Fastify instance, or an object of its options')
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

/** The members without overloads. */
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

/** Warns of services that no request can reach; plain routes of Fastify need no `rest()`. */
function warnUnserved(app: Application): void {
  const services = [...app.entries.keys()]
  if (services.length === 0 || isServed(app)) return
  app.logger.warn({ services }, 'No request reaches the services: app.configure(rest()) is missing')
}

/** Returns whether a server was created by the user, for example for HTTPS; its requests are passed on. */
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

/** @throws {RangeError} the value is not a port, for example `''`, which `Number()` reads as any free one */
function toPort(value: number | string): number {
  const port = value === '' ? Number.NaN : Number(value)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  const message = `listen(): the port '${value}' must be a whole number from 0 to 65535`
  // Same as Node's error for ports in options.
  throw Object.assign(new RangeError(message), { code: 'ERR_SOCKET_BAD_PORT' })
}

/**
 * Returns the server if it speaks only HTTP/1.1. Node's time limits do not apply to HTTP/2, so slow and silent clients
 * would stay. Options, existing servers and the option `serverFactory` are all checked here.
 * @throws {TypeError} the server speaks HTTP/2
 */
function checkProtocol(instance: FastifyInstance): FastifyInstance {
  // HTTP/2 servers have this method; their classes are not exported.
  if (!('updateSettings' in instance.server)) return instance
  throw new ArgumentError(
    'fastifyApp(): a server with http2 has no time limits for slow clients. Let a proxy (nginx, Caddy) ' +
      'speak HTTP/2 in front of one without, or register the plugin on a Fastify server of yours, ' +
      'whose limits are yours: server.register(remex, { app })',
  )
}
