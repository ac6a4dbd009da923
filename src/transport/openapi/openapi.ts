import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { toRequiredProof } from '../../auth/hooks/open-methods.ts'
import type { AnyApplication, Application } from '../../core/index.ts'
import { stripSlashes, toServicePath } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { isKnownTag } from '../../core/versions/entity-tag.ts'
import { isProbe } from '../middleware.ts'
import { escapeHtml } from '../replies/html.ts'
import type { RestTransport } from '../rest-transport.ts'
import type { OpenApiDocument, OpenApiDocumentOptions } from './document.ts'
import {
  addServices,
  checkDocumentOptions,
  createDocument,
  DOCUMENT_RULES,
  OPENAPI_VERSION,
  transformDocument,
} from './document.ts'
import type { SecurityRequirement, SecuritySchemes } from './security.ts'
import { toSecurity } from './security.ts'

/** Options of `openapi()`. */
export interface OpenApiOptions extends OpenApiDocumentOptions {
  /** Where the page is; the document is at `<path>/json`. Default: `'/docs'`. */
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

/** Where an application keeps its documentation: it may have a server of its own, or the plugin. */
const DOCS: unique symbol = Symbol('remex.docs')

interface Documented {
  [DOCS]?: Docs
  /** The server of an application that has one. */
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
  const configure = createConfigurator('openapi', options, (app: AnyApplication & Documented) => {
    const { [DOCS]: docs, fastify } = app
    if (docs?.isServed === true || fastify?.server.listening === true) {
      throw new TypeError('openapi(): the application has started: configure it before')
    }
    if (docs !== undefined) throw new TypeError('openapi(): the application has openapi() already')
    app[DOCS] = new Docs(options, fastify)
  })
  checkDocumentOptions('openapi()', options, RULES)
  return configure
}

/** Returns the documentation of an application that is served now, `null` without one. */
export function findDocs(app: object | undefined): Docs | null {
  return (app as Documented | undefined)?.[DOCS] ?? null
}

/** In the schema of a route: `@fastify/swagger` leaves it out. */
const HIDDEN = Object.freeze({ hide: true })

/** The documentation of one application. */
class Docs {
  isServed = false
  readonly #options: OpenApiOptions
  readonly #path: string
  /** The routes that the server got before `@fastify/swagger` was loaded. */
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
   * Has `@fastify/swagger` document the routes of a server, unless somebody has done so. Call it before
   * the services get theirs.
   */
  async addTo(server: FastifyInstance, app: Application): Promise<void> {
    this.isServed = true
    if (server.hasDecorator('swagger')) return
    // Loaded only where it is wanted, as `openapi()` is by few servers.
    const { default: swagger } = await import('@fastify/swagger')
    // The plugin looks up what the `security` of a route names.
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
  async serve(scope: FastifyInstance, transport: RestTransport): Promise<void> {
    const { app } = transport
    const path = this.#path
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
    const { methodPaths = false, queryBodies = false } = transport.options
    const options = { ...this.#options, prefix: scope.prefix, methodPaths, queryBodies }
    const read = keepDocument(scope, app, async () => {
      const tellFailure = (error: unknown, path: string): void => {
        // The start fails by itself then; one that is added later answers each call with an error.
        app.logger.error({ err: error, path }, 'openapi(): the document lacks a service')
      }
      const routes = this.#readRoutes(scope)
      const document = await addServices(routes, app, options, tellFailure, this.#routeSchemes)
      // A copy, which the application may change: that of the routes is kept by its plugin.
      return transformDocument('openapi()', options, structuredClone(document))
    })
    await scope.register(async (own) => {
      await addDocsPage(own, path, this.#options.info.title, read)
      // After the services are set up: what is wrong with a document is told at the start.
      own.addHook('onReady', async () => {
        this.#warnOfExcluded(app)
        await read()
      })
    })
  }

  /** Returns the `security` of a route that `authenticateRequest` guards, nothing for others. */
  #readSecurity(
    app: Application,
    route: RouteOptions,
  ): Partial<Record<'security', readonly SecurityRequirement[]>> {
    const { onRequest, preParsing, preValidation, preHandler } = route
    const functions = [onRequest, preParsing, preValidation, preHandler].flat()
    const proof = toRequiredProof(
      app,
      functions.filter((one) => one !== undefined),
    )
    const { requirements = [] } = toSecurity(app, proof, this.#routeSchemes) ?? {}
    return requirements.length > 0 ? { security: requirements } : {}
  }

  /** Returns the document of the routes that a server has beside those of services. */
  #readRoutes(server: FastifyInstance): OpenApiDocument {
    const own = createDocument(this.#options)
    const document = server.swagger() as Partial<OpenApiDocument>
    // A server that documents its routes by itself may do so in an older version. Of that before 3.0
    // nothing fits.
    if (document.openapi === undefined) return own
    return { ...own, ...document, openapi: OPENAPI_VERSION, info: own.info }
  }

  /** Warns of names that no service has: one that was mistyped is in the document. */
  #warnOfExcluded({ entries, logger }: Application): void {
    const excluded = (this.#options.exclude ?? []).map(toServicePath)
    const services = excluded.filter((path) => !entries.has(path))
    if (services.length === 0) return
    logger.warn({ services }, "openapi(): no service has a path of the option 'exclude'")
  }
}

/** Keeps the routes of a scope out of the document of the server: services are documented as such. */
export function hideRoutes(scope: FastifyInstance): void {
  if (!scope.hasDecorator('swagger')) return
  scope.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, ...HIDDEN }
  })
}

type RouteHook = (this: FastifyInstance, route: RouteOptions) => void

/**
 * Has a plugin see the routes that were there before it, by the hook that it adds for routes. It is
 * loaded only when the server starts, and by then applications have added their routes.
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

/** What the page may load: its own files. The styles of its parts stand in the page itself. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "base-uri 'self'",
  "frame-ancestors 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "script-src 'self'",
  "script-src-attr 'none'",
  "style-src 'self' 'unsafe-inline'",
].join('; ')

/** Without one, browsers ask for `/favicon.ico`. */
const EMPTY_ICON = {
  filename: 'icon.svg',
  rel: 'icon',
  type: 'image/svg+xml',
  sizes: 'any',
  content: '<svg xmlns="http://www.w3.org/2000/svg"/>',
}

/** Serves a document at `<path>/json`, and a page to read it and to try it out at `<path>`. */
async function addDocsPage(
  scope: FastifyInstance,
  path: string,
  title: string,
  read: DocumentReader,
): Promise<void> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  await scope.register(swaggerUi, {
    routePrefix: path,
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: { title: escapeHtml(title), favicon: [EMPTY_ICON] },
    logo: null as never,
    // The layout without a bar at the top, which has a logo that is not the application's.
    uiConfig: {
      layout: 'BaseLayout',
      deepLinking: true,
      tryItOutEnabled: true,
      displayRequestDuration: true,
    },
    uiHooks: {
      // Not before that: functions of `app.use()` that guard the page come first.
      preHandler: async (request, reply) => {
        // The path of the route differs from that of the URL where routers are lenient.
        const route = request.routeOptions.url?.replace(/\/$/, '') ?? ''
        const [own = ''] = request.url.split('?', 1)
        if (route.endsWith(path) && !own.endsWith('/')) {
          // With a slash at its end the page finds its files and the document by relative paths,
          // whatever a proxy has put before the path or taken from it.
          return reply.redirect(request.url.replace(/^(?:[^?]*\/)?([^/?]*)/, './$1/'), 308)
        }
        return sendDocument(route, read, request, reply)
      },
    },
  })
}

/** Sends the document in place of the handlers of the page, which would write it for each request. */
async function sendDocument(
  route: string,
  read: DocumentReader,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  reply.header('x-content-type-options', 'nosniff')
  // Services come and go: a cache has to ask whether it still has the document of now.
  reply.header('cache-control', 'no-cache')
  const [, form] = /\/(json|yaml)$/.exec(route) ?? []
  if (form === undefined) return undefined
  const { json, yaml, tag } = await read()
  reply.header('etag', tag)
  if (isKnownTag(request.headers['if-none-match'], tag)) return reply.code(304).send()
  if (form === 'json') return reply.type('application/json; charset=utf-8').send(json)
  return reply.type('application/x-yaml').send(await yaml())
}

/** A document as it is sent, written once for all requests. */
interface WrittenDocument {
  readonly json: string
  /** Resolves to the document as YAML. A large one takes a third of a second the first time. */
  readonly yaml: () => Promise<string>
  /** The entity tag of the document. @see RFC 9110 §8.8.3 */
  readonly tag: string
}

/** Resolves to the document of the services that are there now. */
type DocumentReader = () => Promise<WrittenDocument>

/** Returns what reads a document, which is made anew when services have come or gone. */
function keepDocument(
  scope: FastifyInstance,
  app: Application,
  create: () => Promise<OpenApiDocument>,
): DocumentReader {
  let written: Promise<WrittenDocument> | null = null
  const stop = app.observe(() => {
    written = null
  })
  scope.addHook('onClose', async () => stop())
  return () => {
    if (written !== null) return written
    const writing = create().then(writeDocument)
    written = writing
    writing.catch(() => {
      // The next request tries again: the function `transform` may depend on more than the document.
      if (written === writing) written = null
    })
    return writing
  }
}

function writeDocument(document: OpenApiDocument): WrittenDocument {
  const json = JSON.stringify(document)
  const hash = createHash('sha256').update(json).digest('base64url')
  let yaml: Promise<string> | null = null
  return { json, yaml: () => (yaml ??= toYAML(json)), tag: `"${hash}"` }
}

/**
 * Returns the same document as YAML, which has forms for dates and maps that JSON has not. Its package is
 * loaded only where somebody asks for it, as few do.
 */
async function toYAML(json: string): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(JSON.parse(json), { aliasDuplicateObjects: false })
}
