import type { FastifyInstance } from 'fastify'

/** What proxies and old clients put in front of the path. */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** Ids and route values may be as long as a token; what limits them is the request line. */
export const MAX_PARAM_LENGTH = 16_384

/** How a server reads paths: options of Fastify, which our routers have to follow. */
export interface Routing {
  readonly caseSensitive: boolean
  readonly ignoreDuplicateSlashes: boolean
  readonly ignoreTrailingSlash: boolean
  /** Whether `;` ends a path as `?` does. */
  readonly useSemicolonDelimiter: boolean
}

/** How Fastify reads paths unless it is told otherwise. */
export const DEFAULT_ROUTING: Routing = Object.freeze({
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
  useSemicolonDelimiter: false,
})

/**
 * Returns how a server reads paths. Its options stand at the top or among those of the router, and
 * Fastify fills both with defaults: what is none of those was set.
 */
export function getRouting({ initialConfig }: FastifyInstance): Routing {
  const config: Partial<Routing> & { routerOptions?: Partial<Routing> } = initialConfig
  const isSet = (name: keyof Routing, value: boolean): boolean =>
    config[name] === value || config.routerOptions?.[name] === value
  return {
    caseSensitive: !isSet('caseSensitive', false),
    ignoreDuplicateSlashes: isSet('ignoreDuplicateSlashes', true),
    ignoreTrailingSlash: isSet('ignoreTrailingSlash', true),
    useSemicolonDelimiter: isSet('useSemicolonDelimiter', true),
  }
}

/** Whether a path has one slash before each segment; a guard of `/admin` may not see `//admin`. */
export function isCanonical(path: string): boolean {
  return path.startsWith('/') && !path.includes('//')
}

/**
 * Returns the path of a request target, still percent-encoded: without query, and without the origin
 * where one was sent.
 * @see RFC 9112 §3.2.2
 */
export function toPath(target: string, { useSemicolonDelimiter }: Routing): string {
  const local = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  const end = local.search(useSemicolonDelimiter ? /[?#;]/ : /[?#]/)
  const path = end === -1 ? local : local.slice(0, end)
  return path === '' ? '/' : path
}

/**
 * Returns the segments of the path in a URL as routers compare them: percent-decoded, without empty
 * ones, so that `//%61dmin` is `admin`; in lower case where that makes no difference.
 */
export function toSegments(path: string, routing: Routing): readonly string[] {
  // Only after decoding: what was encoded may be in upper case as well.
  return splitPath(path).map((segment) => fold(decode(segment), routing))
}

/** Returns the segments of a path, without empty ones. */
export function splitPath(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** Returns a segment in lower case where that makes no difference. */
export function fold(segment: string, { caseSensitive }: Routing): string {
  return caseSensitive ? segment : segment.toLowerCase()
}

/** What is not percent-encoded in a valid way matches no route, and is kept as it stands. */
export function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
