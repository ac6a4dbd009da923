import { BadRequest } from '../../core/errors/index.ts'
import { stripSlashes, toServicePath } from '../../core/services/service-path.ts'
import { isObject } from '../../core/value-kind.ts'
import { encodeSegment } from './percent-encoding.ts'

/** A segment of a service's path: one that is always the same, or the name of a placeholder. */
type Segment = { readonly literal: string } | { readonly placeholder: string }

/** The URL of a service, which is complete once its placeholders have values. */
export interface ServiceURL {
  /** The URL with the names of its placeholders, for errors: values may be secret. */
  readonly pattern: string
  /**
   * Returns the URL for the values of the placeholders.
   * @throws {BadRequest} a value is missing, or belongs to no placeholder
   */
  fill(route: unknown): string
}

/**
 * Returns the URL that services are below, without a slash at its end; `''` for the origin of the
 * page that a browser shows.
 * @throws {TypeError} neither an `http` or `https` URL nor a path, or with more than a path in it
 */
export function toBaseURL(baseURL: unknown): string {
  if (typeof baseURL !== 'string' || !/^(?:https?:\/\/[^/]|\/(?!\/)|$)/i.test(baseURL)) {
    // Of `//`, browsers make a URL of another host.
    throw new TypeError(
      "The base URL must begin with 'http://', 'https://' or, in browsers, with one '/'",
    )
  }
  // Browsers take a backslash for a slash, and leave out line breaks: it would be another URL.
  if (/[\\\p{Cc}]/u.test(baseURL) || !URL.canParse(baseURL, 'http://localhost')) {
    throw new TypeError('The base URL is no valid URL')
  }
  // The value is not repeated: it may hold a password.
  if (/^[^/]*\/\/[^/]*@/.test(baseURL)) {
    throw new TypeError('The base URL can not hold a user name or password: send them as a header')
  }
  if (/[?#]/.test(baseURL)) throw new TypeError('The base URL ends before `?` and `#`')
  // The colon keeps the slash that the URL may begin with.
  return stripSlashes(`:${baseURL}`).slice(1)
}

/**
 * Returns the URL of a service below a base URL.
 * @throws {TypeError} the path has a segment that a URL can not hold
 */
export function createServiceURL(base: string, path: string): ServiceURL {
  const servicePath = toServicePath(path)
  const segments = servicePath === '/' ? [] : servicePath.split('/').map(toSegment)
  const names = segments.flatMap((one) => ('placeholder' in one ? [one.placeholder] : []))
  const fixed = names.length === 0 ? base + joinSegments(segments, {}, servicePath) : undefined
  return {
    pattern: servicePath === '/' ? base || '/' : `${base}/${servicePath}`,
    fill(route) {
      checkRoute(route, names, servicePath)
      const values = isObject(route) ? route : {}
      return fixed ?? base + joinSegments(segments, values, servicePath)
    },
  }
}

function toSegment(segment: string): Segment {
  if (segment.startsWith(':')) return { placeholder: segment.slice(1) }
  if (segment === '.' || segment === '..') {
    throw new TypeError(`'${segment}' is no segment of a service path`)
  }
  // As servers write their paths: `@` and `$` stay.
  return { literal: encodeURI(segment).replaceAll('?', '%3F').replaceAll('#', '%23') }
}

function joinSegments(
  segments: readonly Segment[],
  route: Readonly<Record<string, unknown>>,
  path: string,
): string {
  const encoded = segments.map((segment) => {
    if ('literal' in segment) return `/${segment.literal}`
    const name = segment.placeholder
    const value = Object.hasOwn(route, name) ? route[name] : undefined
    return `/${encodeSegment(value, `params.route.${name} of '${path}'`)}`
  })
  return encoded.join('')
}

function checkRoute(route: unknown, names: readonly string[], path: string): void {
  if (route === undefined) return
  if (!isObject(route)) throw new BadRequest('params.route must be an object')
  const other = Object.keys(route).find((name) => !names.includes(name))
  if (other === undefined) return
  throw new BadRequest(`params.route.${other} has no place in the path '${path}'`)
}
