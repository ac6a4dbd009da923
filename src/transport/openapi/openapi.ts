import type { FastifyInstance } from 'fastify'
import type { AnyApplication } from '../../core/index.ts'
import { stripSlashes } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { RestTransport } from '../rest-transport.ts'
import { addDocsPage } from './docs-page.ts'
import { LiveDocument } from './live-document.ts'
import type { OpenApiOptions, ResolvedOpenApiOptions } from './openapi-options.ts'
import { resolveOpenApiOptions } from './openapi-options.ts'
import { documentRoutes, EarlyRoutes, readRoutes } from './server-routes.ts'

/**
 * The documentation of applications. In the module, as an application knows nothing of transports: it
 * may be served by a server of its own or by the plugin.
 */
const DOCS = new WeakMap<object, Docs>()

/** An application that may have a server of its own. */
interface WithServer {
  readonly fastify?: FastifyInstance
}

/**
 * Describes all services in an OpenAPI document, with a page to read it and to try it out:
 * `app.configure(openapi({ info: { title: 'Countries', version: '1.0.0' } }))`. The page is at
 * `/docs`, the document at `/docs/json`; below the prefix of `rest()` or the plugin, where there is one.
 * @throws {TypeError} an unknown option, or no `info`; when configured, a second time, or after the
 *   start
 */
export function openapi(options: OpenApiOptions): (app: AnyApplication) => void {
  const configure = createConfigurator('openapi', options, (app: AnyApplication) => {
    const docs = DOCS.get(app)
    const { fastify } = app as WithServer
    if (docs?.isServed === true || fastify?.server.listening === true) {
      throw new TypeError('openapi(): the application has started: configure it before')
    }
    if (docs !== undefined) throw new TypeError('openapi(): the application has openapi() already')
    DOCS.set(app, new Docs(resolved, fastify))
  })
  const resolved = resolveOpenApiOptions(options)
  return configure
}

/** Returns the documentation of an application that is served now, `null` without one. */
export function findDocs(app: object): Docs | null {
  return DOCS.get(app) ?? null
}

/** The documentation of one application. */
export class Docs {
  isServed = false
  readonly #options: ResolvedOpenApiOptions
  readonly #early = new EarlyRoutes()

  /** @param server that of the application, where it has one */
  constructor(options: ResolvedOpenApiOptions, server: FastifyInstance | undefined) {
    this.#options = options
    if (server !== undefined) this.#early.watch(server)
  }

  /** Has the routes of a server documented. Call it before the services get theirs. */
  async addTo(server: FastifyInstance): Promise<void> {
    this.isServed = true
    await documentRoutes(server, this.#early, this.#options)
  }

  /**
   * Serves the document and its page.
   * @param scope that of the services
   * @throws {TypeError} there is a service or a route at the path
   */
  async serve(scope: FastifyInstance, { app, options }: RestTransport): Promise<void> {
    const { path } = this.#options
    if (app.entries.has(stripSlashes(path))) {
      throw new TypeError(`openapi(): there is a service at '${path}': set the option 'path'`)
    }
    const taken = ['', '/', '/json', '/yaml']
      .map((end) => `${scope.prefix}${path}${end}`)
      .find((url) => scope.hasRoute({ method: 'GET', url }))
    // The plugin of the page would throw where nobody can catch it.
    if (taken !== undefined) {
      throw new TypeError(`openapi(): there is a route at '${taken}': set the option 'path'`)
    }
    const { methodPaths = false } = options
    const live = new LiveDocument(app, this.#options, { prefix: scope.prefix, methodPaths }, () =>
      readRoutes(scope, this.#options),
    )
    scope.addHook('onClose', async () => live.close())
    await scope.register(async (own) => {
      await addDocsPage(own, path, live)
      // After the services are set up: what is wrong with a document is told at the start.
      own.addHook('onReady', async () => {
        this.#warnOfExcluded(app)
        await live.read()
      })
    })
  }

  /** Warns of names that no service has: one that was mistyped is in the document. */
  #warnOfExcluded({ entries, logger }: RestTransport['app']): void {
    const services = this.#options.exclude.filter((path) => !entries.has(path))
    if (services.length === 0) return
    logger.warn({ services }, "openapi(): no service has a path of the option 'exclude'")
  }
}
