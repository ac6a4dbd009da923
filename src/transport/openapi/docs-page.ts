import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LiveDocument } from './live-document.ts'

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
