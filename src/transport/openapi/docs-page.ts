import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../../core/index.ts'
import { isHash, namesTag } from '../../core/tag-comparison.ts'
import { askToInstall } from '../missing-package.ts'
import { escapeHtml } from '../replies/html.ts'
import type { OpenApiDocument } from './document.ts'

/** The packages that applications install for the page. */
export const PAGE_PACKAGES = ['@fastify/swagger', '@fastify/swagger-ui', 'yaml'] as const

/** The page may load only its own files. Its styles are inline. */
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

/** Long paths of services are headings, which the page would cut off on a phone. */
const STYLE = {
  filename: 'page.css',
  content: '.swagger-ui .opblock-tag { overflow-wrap: anywhere }',
}

/** The page has dark colours, and chooses them only by a button of the top bar. */
const SCRIPT = {
  filename: 'page.js',
  content: `const scheme = matchMedia('(prefers-color-scheme: dark)')
const apply = () => document.documentElement.classList.toggle('dark-mode', scheme.matches)
scheme.addEventListener('change', apply)
apply()
`,
}

/** Serves a document at `<path>/json`, and a page to read and try it at `<path>`. */
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
    theme: { title: escapeHtml(title), favicon: [EMPTY_ICON], css: [STYLE], js: [SCRIPT] },
    logo: null as never,
    // The layout without the top bar, whose logo is not the application's.
    uiConfig: {
      layout: 'BaseLayout',
      deepLinking: true,
      tryItOutEnabled: true,
      displayRequestDuration: true,
    },
    uiHooks: {
      // Runs after functions of `app.use()` that guard the page.
      preHandler: async (request, reply) => {
        // With lenient routers, the path of the route differs from that of the URL.
        const route = request.routeOptions.url?.replace(/\/$/, '') ?? ''
        const [own = ''] = request.url.split('?', 1)
        if (route.endsWith(path) && !own.endsWith('/')) {
          // With a trailing slash the page finds its files and the document by relative paths, whatever a proxy has
          // added to or removed from the path.
          return reply.redirect(request.url.replace(/^(?:[^?]*\/)?([^/?]*)/, './$1/'), 308)
        }
        return sendDocument(route, read, request, reply)
      },
    },
  })
}

/** Sends the document instead of the page's handlers, which would write it for each request. */
async function sendDocument(
  route: string,
  read: DocumentReader,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  reply.header('x-content-type-options', 'nosniff')
  // Services may be added and removed: a cache must ask whether its document is current.
  reply.header('cache-control', 'no-cache')
  const [, form] = /\/(json|yaml)$/.exec(route) ?? []
  if (form === undefined) return undefined
  const { json, yaml, tag } = await read()
  reply.header('etag', tag)
  if (namesTag(request.headers['if-none-match'], tag, isHash)) return reply.code(304).send()
  if (form === 'json') return reply.type('application/json; charset=utf-8').send(json)
  return reply.type('application/x-yaml').send(await yaml())
}

/** A document as it is sent, serialized once for all requests. */
interface WrittenDocument {
  readonly json: string
  /** Resolves to the document as YAML. A large one takes a third of a second the first time. */
  readonly yaml: () => Promise<string>
  /** The entity tag of the document. @see RFC 9110 §8.8.3 */
  readonly tag: string
}

/** Resolves to the document of the current services. */
type DocumentReader = () => Promise<WrittenDocument>

/** Returns a reader of a document, which is rebuilt when services were added or removed. */
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
      // The next request tries again: the function `transform` may depend on other things than the document.
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
 * Returns the document as YAML, which has forms for dates and maps that JSON lacks. Its package is loaded only on
 * request, since few ask for it.
 */
async function toYAML(json: string): Promise<string> {
  const { stringify } = await import('yaml').catch(
    askToInstall('The document of openapi() as YAML', 'yaml'),
  )
  return stringify(JSON.parse(json), { aliasDuplicateObjects: false })
}
