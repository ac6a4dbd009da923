import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { ArgumentError, OrderError } from '../../core/errors/setup-errors.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { RestOptions } from '../rest-options.ts'

/** The members that `fastifyApp()` gives an application and that configurators use. */
export interface WithServer {
  /** The Fastify server behind the application: for custom routes, hooks and plugins. */
  readonly fastify: FastifyInstance
  /** Whether the server was created for the application; an existing one keeps its own handlers. */
  readonly ownsServer: boolean
  /** The configuration of the server before it starts. */
  readonly serverSetup: ServerSetup
}

/** Part of an application's set-up, for `app.configure()`. */
export type Configurator = (app: WithServer) => void

/** Adds something to the server before the services are added. */
export type ServerPlugin = (server: FastifyInstance) => unknown

/** Features that a server can have only once. */
type UniqueName = 'rest' | 'cors' | 'compress'

/** The key of a server's features of this kind: several applications may share the server. */
const CONFIGURED: unique symbol = Symbol('remex.configured')

type ConfiguredServer = FastifyInstance & { [CONFIGURED]?: readonly UniqueName[] }

/** The configuration by `app.configure()` and `app.use()` for a server that has not started yet. */
export class ServerSetup {
  /** Options of the REST transport; `rest()`, `errorHandler()` and others add to them. */
  restOptions: RestOptions = {}
  readonly #server: ConfiguredServer
  /** Plugins that are not loaded yet. */
  #pending: ServerPlugin[] = []
  #hasStarted = false

  constructor(server: FastifyInstance) {
    this.#server = server
  }

  /**
   * Adds to the options of the REST transport.
   * @throws {TypeError} the application has started, so they would have no effect
   */
  addRestOptions(options: RestOptions): void {
    if (this.#hasStarted) {
      throw new OrderError('The application has started: configure it before listen()')
    }
    this.restOptions = { ...this.restOptions, ...options }
  }

  /** Returns the options of the REST transport for the start; after that none can be added. */
  readRestOptions(): RestOptions {
    this.#hasStarted = true
    return this.restOptions
  }

  /** @throws {TypeError} the server already has it */
  configureOnce(name: UniqueName): void {
    const server = this.#server
    // A nested server inherits the property of the outer one.
    const configured = (Object.hasOwn(server, CONFIGURED) ? server[CONFIGURED] : undefined) ?? []
    if (configured.includes(name)) {
      throw new OrderError(`${name}() is configured already, and a server can have it once`)
    }
    server[CONFIGURED] = [...configured, name]
  }

  /** Adds a plugin that is loaded before the services, so that its hooks run for them too. */
  addPlugin(plugin: ServerPlugin): void {
    this.#pending.push(plugin)
    this.#server.register(fastifyPlugin((server: FastifyInstance) => this.loadPlugins(server)))
  }

  /** Loads the plugins that are not loaded yet. */
  async loadPlugins(server: FastifyInstance): Promise<void> {
    const plugins = this.#pending
    this.#pending = []
    for (const plugin of plugins) await plugin(server)
  }
}

/**
 * Returns a function for `app.configure()` that needs a server.
 * @throws {TypeError} as {@link createConfigurator}; when configured, the application has no server
 */
export function createServerConfigurator(
  factory: string,
  options: unknown,
  configure: (app: WithServer) => void,
): Configurator {
  return createConfigurator(factory, options, (app: WithServer) => {
    if ((app as Partial<WithServer>).serverSetup !== undefined) return configure(app)
    throw new ArgumentError('The application has no server: make one with fastifyApp(app)')
  })
}
