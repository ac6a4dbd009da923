import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../../core/index.ts'
import { isHash, namesTag } from '../../core/tag-comparison.ts'
import { askToInstall } from '../missing-package.ts'
import { escapeHtml } from '../replies/html.ts'
import type { OpenApiDocument } from './document.ts'

/** What applications install for the page. */
export const PAGE_PACKAGES = ['@fastify/swagger', '@fastify/swagger-ui', 'yaml'] as const

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
export async function addDocsPage(
  scope: FastifyInstance,
  path: string,
  title: string,
  read: DocumentReader,
): Promise<void> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui').catch(
    askToInstall('openapi()', ...PAGE_PACKAGES),
  )
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
  if (namesTag(request.headers['if-none-match'], tag, isHash)) return reply.code(304).send()
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
export function keepDocument(
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
  const { stringify } = await import('yaml').catch(
    askToInstall('The document of openapi() as YAML', 'yaml'),
  )
  return stringify(JSON.parse(json), { aliasDuplicateObjects: false })
}
