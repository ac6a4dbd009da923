import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LiveDocument, WrittenDocument } from './live-document.ts'

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

/** The document that a request is answered with. */
const WRITTEN = new WeakMap<FastifyRequest, WrittenDocument>()

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
      onRequest: addSlash.bind(null, path),
      preHandler: (request, reply) => readDocument(live, request, reply),
    },
    transformSpecification: (_routes, request) => WRITTEN.get(request)?.document ?? {},
    transformSpecificationClone: false,
  })
}

/**
 * Leads to the page with a slash at its end. From there it finds its files and the document by relative
 * paths, whatever a proxy has put before the path or taken from it.
 */
function addSlash(
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  const [own = '', query] = request.url.split('?')
  if (own.endsWith(path)) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    reply.redirect(`./${name}/${query === undefined ? '' : `?${query}`}`, 308)
  } else done()
}

async function readDocument(
  live: LiveDocument,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.header('x-content-type-options', 'nosniff')
  // Services come and go: a cache has to ask whether it still has the document of now.
  reply.header('cache-control', 'no-cache')
  if (!/\/(json|yaml)$/.test(request.url.split('?', 1)[0] ?? '')) return
  const written = await live.read()
  WRITTEN.set(request, written)
  reply.header('etag', written.tag)
  if (request.headers['if-none-match'] === written.tag) await reply.code(304).send()
}
