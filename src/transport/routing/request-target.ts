/** A host name or address and perhaps a port: no user, no path, nothing that needs encoding. */
const AUTHORITY = String.raw`(?:[\w.~-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?`

const HOST = new RegExp(`^${AUTHORITY}$`, 'i')

/** The authority, and then a path, a query, or nothing. */
const ABSOLUTE = new RegExp(`^https?://${AUTHORITY}(?![^/?])`, 'i')

/** The message of the error for a target that is neither a path nor an absolute URL. */
export const MALFORMED_TARGET =
  'The request target must begin with a slash, or with http:// and a host'

const SLASH = '/'.charCodeAt(0)

/** Whether the value of a `Host` header names one host, or, as it may, none. */
export function isHost(host: string): boolean {
  return host === '' || HOST.test(host)
}

/**
 * Whether a request target begins with a path, or with `http` or `https` and a host. The router of
 * Fastify skips the first character whatever it is, and takes `*admin` for `/admin`.
 * @see RFC 9112 §3.2
 */
export function isPathTarget(target: string | undefined): target is string {
  return target !== undefined && (target.charCodeAt(0) === SLASH || ABSOLUTE.test(target))
}

/** Whether a request target asks about the server as a whole. */
export function isServerTarget(method: string | undefined, target: string | undefined): boolean {
  return method === 'OPTIONS' && target === '*'
}
