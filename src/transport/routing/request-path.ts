import type { FastifyInstance } from 'fastify'
import { decodePercent } from './percent-encoding.ts'

/** Scheme and host, which proxies and old clients send before the path. */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Longest id or route value. They may be as long as a token; the request line limits them anyway.
 */
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

/** Whether a path has one slash before each segment; a guard of `/admin` may not see `//admin`. */
export function isCanonical(path: string): boolean {
  return path.startsWith('/') && !path.includes('//')
}

/**
 * Returns the path of a request target, still percent-encoded: without query, and without the
 * origin where one was sent.
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
  // Folded after decoding, since encoded letters may be in upper case.
  return splitPath(path).map((segment) => fold(decodePercent(segment), routing))
}

/** Returns the segments of a path, without empty ones. */
export function splitPath(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** Returns a segment in lower case where that makes no difference. */
export function fold(segment: string, { caseSensitive }: Routing): string {
  return caseSensitive ? segment : segment.toLowerCase()
}
