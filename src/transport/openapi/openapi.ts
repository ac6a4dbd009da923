import type { FastifyInstance, RouteOptions } from 'fastify'
import { toRequiredProof } from '../../auth/hooks/open-methods.ts'
import { OptionError, OrderError } from '../../core/errors/setup-errors.ts'
import type { AnyApplication, Application } from '../../core/index.ts'
import { stripSlashes, toServicePath } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { isProbe } from '../middleware.ts'
import { askToInstall } from '../missing-package.ts'
import type { RestTransport } from '../rest-transport.ts'
import type { ScopePart } from '../scope-parts.ts'
import { addScopePart, listScopeParts } from '../scope-parts.ts'
import { addDocsPage, keepDocument, PAGE_PACKAGES } from './docs-page.ts'
import type { OpenApiDocument, OpenApiDocumentOptions } from './document.ts'
import {
  addServices,
  checkDocumentOptions,
  createDocument,
  DOCUMENT_RULES,
  OPENAPI_VERSION,
  transformDocument,
} from './document.ts'
import type { SecuritySchemes } from './security.ts'
import { toSecurity } from './security.ts'

/** Options of `openapi()`. */
export interface OpenApiOptions extends OpenApiDocumentOptions {
  /** The path of the page; the document is at `<path>/json`. Default: `'/docs'`. */
  readonly path?: string
}

const RULES: OptionRules = {
  ...DOCUMENT_RULES,
  path: {
    expected: "a path of plain segments, '/docs' for example",
    isValid: (value) =>
      typeof value === 'string' && /^\/[A-Za-z0-9._~/-]+$/.test(value) && !value.includes('//'),
  },
}

interface WithServer {
  /** The server of an application that has one. */
  readonly fastify?: FastifyInstance
}

/**
 * Returns a function for `app.configure()` that describes all services in an OpenAPI document, with a page to read and
 * try it: `app.configure(openapi({ info: { title: 'Countries', version: '1.0.0' } }))`. The page is at `/docs`, the
 * document at `/docs/json`, below the prefix of `rest()` or the plugin, if there is one. Needs the packages
 * `@fastify/swagger` and `@fastify/swagger-ui`, and `yaml` for `/docs/yaml`.
 * @throws {TypeError} an option is unknown or `info` is missing; `app.configure()` also throws the second time, and
 *   after the start
 */
export function openapi(options: OpenApiOptions): (app: AnyApplication) => void {
  const configure = createConfigurator('openapi', options, (app: AnyApplication & WithServer) => {
    const { fastify } = app
    const docs = listScopeParts(app).find((part) => part instanceof Docs)
    if (docs?.isServed === true || fastify?.server.listening === true) {
      throw new OrderError('openapi(): the application has started: configure it before')
    }
    if (docs !== undefined) throw new OrderError('openapi(): the application has openapi() already')
    addScopePart(app, new Docs(options, fastify))
  })
  checkDocumentOptions('openapi()', options, RULES)
  return configure
}

/** Put in the schema of a route, it makes `@fastify/swagger` leave the route out. */
const HIDDEN = Object.freeze({ hide: true })

/** The documentation of one application. */
class Docs implements ScopePart {
  isServed = false
  readonly #options: OpenApiOptions
  readonly #path: string
  /** The routes that were added to the server before `@fastify/swagger` was loaded. */
  readonly #earlyRoutes: RouteOptions[] = []
  /** The security schemes of the routes of the server. */
  readonly #routeSchemes: SecuritySchemes = {}

  /** @param server that of the application, where it has one */
  constructor(options: OpenApiOptions, server: FastifyInstance | undefined) {
    this.#options = options
    this.#path = `/${stripSlashes(options.path ?? '/docs')}`
    server?.addHook('onRoute', (route) => {
      if (!this.isServed) this.#earlyRoutes.push(route)
    })
  }

  /**
   * Makes `@fastify/swagger` document the routes of a server, unless it already does. Call it before the routes of
   * services are added.
   */
  async prepare(server: FastifyInstance, app: Application): Promise<void> {
    this.isServed = true
    if (server.hasDecorator('swagger')) return
    // Loaded only if it is used, as few servers use `openapi()`.
    const { default: swagger } = await import('@fastify/swagger').catch(
      askToInstall('openapi()', ...PAGE_PACKAGES),
    )
    // The plugin looks up the schemes that the `security` of a route names.
    const components = { securitySchemes: this.#routeSchemes }
    const options = {
      openapi: { ...createDocument(this.#options), components } as object,
      transform: ({ schema, url, route }) => ({
        schema: isProbe(route) ? HIDDEN : { ...this.#readSecurity(app, route), ...schema },
        url,
      }),
    } satisfies Parameters<typeof swagger>[1]
    await replayRoutes(server, this.#earlyRoutes, async () => server.register(swagger, options))
  }

  /**
   * Serves the document and its page.
   * @param scope that of the services
   * @throws {TypeError} there is a service or a route at the path
   */
  async addBefore(scope: FastifyInstance, transport: RestTransport): Promise<void> {
    const { app } = transport
    const path = this.#path
    if (app.entries.has(stripSlashes(path))) {
      throw new OptionError(`openapi(): there is a service at '${path}': set the option 'path'`)
    }
    const taken = ['', '/', '/json', '/yaml']
      .map((end) => `${scope.prefix}${path}${end}`)
      .find((url) => scope.hasRoute({ method: 'GET', url }))
    // The plugin of the page would throw an error that nothing can catch.
    if (taken !== undefined) {
      throw new OptionError(`openapi(): there is a route at '${taken}': set the option 'path'`)
    }
    const { methodPaths = false, queryBodies = false } = transport.options
    const options = { ...this.#options, prefix: scope.prefix, methodPaths, queryBodies }
    const read = keepDocument(scope, app, async () => {
      const tellFailure = (error: unknown, path: string): void => {
        // At the start such an error fails the start itself; a service added later returns an error for each call.
        app.logger.error({ err: error, path }, 'openapi(): the document lacks a service')
      }
      const routes = this.#readRoutes(scope)
      const document = await addServices(routes, app, options, tellFailure, this.#routeSchemes)
      // A copy, which the application may change: the plugin keeps the document of the routes.
      return transformDocument('openapi()', options, structuredClone(document))
    })
    await scope.register(async (own) => {
      await addDocsPage(own, path, this.#options.info.title, read)
      // After the services are set up, so that mistakes in a document are reported at the start.
      own.addHook('onReady', async () => {
        this.#warnOfExcluded(app)
        await read()
      })
    })
  }

  /** Returns the `security` of a route that `authenticateRequest` guards, an empty object for other routes. */
  #readSecurity(
    app: Application,
    { onRequest = [], preParsing = [], preValidation = [], preHandler = [] }: RouteOptions,
  ): object {
    const functions = [onRequest, preParsing, preValidation, preHandler].flat()
    const security = toSecurity(app, toRequiredProof(app, functions), this.#routeSchemes) ?? []
    return security.length > 0 ? { security } : {}
  }

  /** Returns the document of those routes of a server that belong to no service. */
  #readRoutes(server: FastifyInstance): OpenApiDocument {
    const own = createDocument(this.#options)
    const document = server.swagger() as Partial<OpenApiDocument>
    // A server that documents its own routes may use an older version of OpenAPI. Versions before 3.0 do not fit.
    if (document.openapi === undefined) return own
    return { ...own, ...document, openapi: OPENAPI_VERSION, info: own.info }
  }

  /** Warns of names that no service has: a misspelled service stays in the document. */
  #warnOfExcluded({ entries, logger }: Application): void {
    const excluded = (this.#options.exclude ?? []).map(toServicePath)
    const services = excluded.filter((path) => !entries.has(path))
    if (services.length === 0) return
    logger.warn({ services }, "openapi(): no service has a path of the option 'exclude'")
  }
}

type RouteHook = (this: FastifyInstance, route: RouteOptions) => void

/**
 * Passes earlier routes to a plugin through the hook that it adds for routes. The plugin is loaded only when the server
 * starts, after applications have added their routes.
 */
async function replayRoutes(
  server: FastifyInstance,
  routes: readonly RouteOptions[],
  load: () => PromiseLike<unknown>,
): Promise<void> {
  const { addHook } = server
  const seeing = function (this: FastifyInstance, name: string, hook: RouteHook) {
    if (name === 'onRoute') for (const route of routes) hook.call(server, route)
    return (addHook as (...values: unknown[]) => FastifyInstance).call(this, name, hook)
  }
  server.addHook = seeing as FastifyInstance['addHook']
  try {
    await load()
  } finally {
    server.addHook = addHook
  }
}
