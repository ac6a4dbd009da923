import type { FastifyInstance, HTTPMethods } from 'fastify'

/** Scheme and host, which proxies and old clients send before the path. */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** Longest id or route value, which may be a token; the request line limits them anyway. */
export const MAX_PARAM_LENGTH = 16_384

/** How a server reads paths: options of Fastify that our routers must follow. */
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
 * Returns how a server reads paths. An option may be set at the top or in `routerOptions`, and
 * Fastify fills in the defaults of both: a value that is not the default was set.
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

/** Returns whether a server itself has a route for a path below its prefix. */
export function hasRoute(server: FastifyInstance, method: HTTPMethods, path: string): boolean {
  return server.hasRoute({ method, url: `${server.prefix.replace(/\/$/, '')}${path}` })
}

/** Returns whether a path has one slash before each segment: a guard for `/admin` may miss `//admin`. */
export function isCanonical(path: string): boolean {
  return path.startsWith('/') && !path.includes('//')
}

/**
 * Returns the path of a request target, still percent-encoded, without query and origin.
 * @see RFC 9112 §3.2.2
 */
export function toPath(target: string, { useSemicolonDelimiter }: Routing): string {
  const local = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  const end = local.search(useSemicolonDelimiter ? /[?#;]/ : /[?#]/)
  const path = end === -1 ? local : local.slice(0, end)
  return path === '' ? '/' : path
}

/** Returns the segments of a path, without empty ones: `//admin/` is `admin` to guards. */
export function splitPath(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** Returns a segment in lower case if case makes no difference. */
export function fold(segment: string, { caseSensitive }: Routing): string {
  return caseSensitive ? segment : segment.toLowerCase()
}

/** Returns a percent-decoded string; one with invalid percent-encoding is returned as it is. */
export function decodePercent(encoded: string): string {
  if (!encoded.includes('%')) return encoded
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

/** Returns a decoded name or value of a query or a form, where a plus sign stands for a space. */
export function decodeParameter(encoded: string): string {
  return decodePercent(encoded.includes('+') ? encoded.replaceAll('+', ' ') : encoded)
}

/** A host name or address and perhaps a port: no user, no path, nothing that needs encoding. */
const AUTHORITY = String.raw`(?:[\w.~-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?`

const HOST = new RegExp(`^${AUTHORITY}$`, 'i')

/** The authority, and then a path, a query, or nothing. */
const ABSOLUTE = new RegExp(`^https?://${AUTHORITY}(?![^/?])`, 'i')

/** The message of the error for a target that is neither a path nor an absolute URL. */
export const MALFORMED_TARGET =
  'The request target must begin with a slash, or with http:// and a host'

const SLASH = '/'.charCodeAt(0)

/** Returns whether the value of a `Host` header names one host or, as is allowed, none. */
export function isHost(host: string): boolean {
  return host === '' || HOST.test(host)
}

/**
 * Returns whether a request target starts with a path, or with `http` or `https` and a host. Fastify's router skips the
 * first character whatever it is, and reads `*admin` as `/admin`.
 * @see RFC 9112 §3.2
 */
export function isPathTarget(target: string | undefined): target is string {
  return target !== undefined && (target.charCodeAt(0) === SLASH || ABSOLUTE.test(target))
}

/** Returns whether a request target means the server as a whole. */
export function isServerTarget(method: string | undefined, target: string | undefined): boolean {
  return method === 'OPTIONS' && target === '*'
}
