import { stripSlashes } from '../core/index.ts'

/** What proxies and old clients put in front of the path. */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Returns the path of a request target, still percent-encoded: without query, and without the origin
 * where one was sent.
 * @see RFC 9112 §3.2.2
 */
export function toPath(target: string): string {
  const local = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  const end = local.search(/[?#]/)
  return end === -1 ? local : local.slice(0, end)
}

/**
 * Returns the segments of a path as routers compare them: percent-decoded, without empty ones, so
 * that `//%61dmin` is `admin`.
 */
export function toSegments(path: string): readonly string[] {
  return stripSlashes(path)
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode)
}

/** What is not percent-encoded in a valid way matches no route, and is kept as it stands. */
function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
