import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../../core/index.ts'
import type { OpenApiDocument, OpenApiDocumentOptions, ServicePlace } from './document.ts'
import { addServices, transformDocument } from './document.ts'

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

/** Serves a document at `<path>/json`, and a page to read it and to try it out at `<path>`. */
export async function addDocsPage(
  scope: FastifyInstance,
  path: string,
  live: LiveDocument,
): Promise<void> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  await scope.register(swaggerUi, {
    routePrefix: path,
    staticCSP: CONTENT_SECURITY_POLICY,
    uiConfig: { deepLinking: true, tryItOutEnabled: true, displayRequestDuration: true },
    uiHooks: {
      // Not before that: functions of `app.use()` that guard the page come first.
      preHandler: async (request, reply) =>
        redirectToSlash(path, request, reply) ?? sendDocument(live, request, reply),
    },
  })
}

/**
 * Leads to the page with a slash at its end. From there it finds its files and the document by relative
 * paths, whatever a proxy has put before the path or taken from it.
 */
function redirectToSlash(
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  const [own = ''] = request.url.split('?', 1)
  if (own.endsWith('/') || !readRoute(request).endsWith(path)) return undefined
  const name = own.slice(own.lastIndexOf('/') + 1)
  return reply.redirect(`./${name}/${request.url.slice(own.length)}`, 308)
}

/** Returns the path of the route, which differs from that of the URL where routers are lenient. */
function readRoute({ routeOptions }: FastifyRequest): string {
  return routeOptions.url?.replace(/\/$/, '') ?? ''
}

/** Sends the document in place of the handlers of the page, which would write it for each request. */
async function sendDocument(
  live: LiveDocument,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  reply.header('x-content-type-options', 'nosniff')
  // Services come and go: a cache has to ask whether it still has the document of now.
  reply.header('cache-control', 'no-cache')
  const [, form] = /\/(json|yaml)$/.exec(readRoute(request)) ?? []
  if (form === undefined) return undefined
  const { json, yaml, tag } = await live.read()
  reply.header('etag', tag)
  if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send()
  if (form === 'json') return reply.type('application/json; charset=utf-8').send(json)
  return reply.type('application/x-yaml').send(await yaml())
}

/** Whether a caller has the document of a tag: by weak comparison, as proxies that compress weaken tags. */
function isKnown(header: string | undefined, tag: string): boolean {
  const tags = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  return tags.includes(tag) || tags.includes('*')
}

/** A document as it is sent, written once for all requests. */
interface WrittenDocument {
  readonly json: string
  /** Resolves to the document as YAML. A large one takes a third of a second the first time. */
  readonly yaml: () => Promise<string>
  /** The entity tag of the document. @see RFC 9110 §8.8.3 */
  readonly tag: string
}

/** The document of a server, written anew when services have come or gone. */
export class LiveDocument {
  readonly #app: Application
  readonly #options: OpenApiDocumentOptions
  readonly #place: ServicePlace
  /** Returns what the routes of the server add. */
  readonly #readRoutes: () => OpenApiDocument
  readonly #stop: () => void
  #written: Promise<WrittenDocument> | null = null

  constructor(
    app: Application,
    options: OpenApiDocumentOptions,
    place: ServicePlace,
    readRoutes: () => OpenApiDocument,
  ) {
    this.#app = app
    this.#options = options
    this.#place = place
    this.#readRoutes = readRoutes
    this.#stop = app.observe(() => {
      this.#written = null
    })
  }

  /** Resolves to the document of the services that are there now. */
  read(): Promise<WrittenDocument> {
    const writing = this.#written ?? this.#write()
    this.#written = writing
    writing.catch(() => {
      // The next request tries again: the function `transform` may depend on more than the document.
      if (this.#written === writing) this.#written = null
    })
    return writing
  }

  /** Ends the watch over services. */
  close(): void {
    this.#stop()
  }

  async #write(): Promise<WrittenDocument> {
    const { document, failures } = await addServices(this.#readRoutes(), this.#app, this.#place)
    // The start fails by itself then; one that is added later answers each call with an error.
    for (const { path, error } of failures) {
      this.#app.logger.error({ err: error, path }, 'openapi(): the document lacks a service')
    }
    // A copy, which the application may change: that of the routes is kept by its plugin.
    const written = transformDocument('openapi()', this.#options, structuredClone(document))
    const json = JSON.stringify(written)
    const hash = createHash('sha256').update(json).digest('base64url')
    let yaml: Promise<string> | null = null
    return { json, yaml: () => (yaml ??= toYAML(json)), tag: `"${hash}"` }
  }
}

/**
 * Returns the same document as YAML, which has forms for dates and maps that JSON has not. Its package is
 * loaded only where somebody asks for it, as few do.
 */
async function toYAML(json: string): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(JSON.parse(json), { aliasDuplicateObjects: false })
}
