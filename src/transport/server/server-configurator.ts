import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { RestOptions } from '../rest-transport.ts'

/** What `fastifyApp()` gives an application that configurators write to. */
export interface WithServer {
  /** The Fastify server behind the application: for routes, hooks and plugins of one's own. */
  readonly fastify: FastifyInstance
  /** Whether the server was made for the application; one that was there keeps its own handlers. */
  readonly ownsServer: boolean
  /** Options of the REST transport; `rest()`, `errorHandler()` and others write them. */
  restOptions: RestOptions
}

/** Part of an application's set-up, for `app.configure()`. */
export type Configurator = (app: WithServer) => void

/** Adds something to the server that has to be there before the services are. */
export type ServerPlugin = (server: FastifyInstance) => unknown

const PENDING = new WeakMap<FastifyInstance, ServerPlugin[]>()

/**
 * Returns the configurator for a plugin of the server. Whatever the order of `configure` calls, it
 * is loaded before the services, so that its hooks run for them too.
 */
export function addServerPlugin(plugin: ServerPlugin): (app: Pick<WithServer, 'fastify'>) => void {
  return (app) => {
    checkServer(app)
    PENDING.set(app.fastify, [...(PENDING.get(app.fastify) ?? []), plugin])
    app.fastify.register(fastifyPlugin(loadServerPlugins))
  }
}

/** Loads the plugins of a server that have been configured and are not loaded yet. */
export async function loadServerPlugins(server: FastifyInstance): Promise<void> {
  const plugins = PENDING.get(server) ?? []
  PENDING.delete(server)
  for (const plugin of plugins) await plugin(server)
}

/** The applications whose options have been read. */
const SEALED = new WeakSet<object>()

/**
 * Adds to the options of the REST transport.
 * @throws {TypeError} the application has no server, or has started: nobody would read them
 */
export function setRestOptions(app: WithServer, options: RestOptions): void {
  checkServer(app)
  if (SEALED.has(app)) {
    throw new TypeError('The application has started: configure it before listen()')
  }
  app.restOptions = { ...app.restOptions, ...options }
}

/** Ends the time for {@link setRestOptions}. */
export function sealRestOptions(app: WithServer): void {
  SEALED.add(app)
}

/** @throws {TypeError} the application has no server */
export function checkServer(app: Partial<WithServer>): void {
  if (app.fastify !== undefined) return
  throw new TypeError('The application has no server: make one with fastifyApp(app)')
}
