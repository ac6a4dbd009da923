import { BadRequest } from '../../core/errors/index.ts'
import { stripSlashes, toServicePath } from '../../core/services/service-input.ts'
import { isObject } from '../../core/value-kind.ts'

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
    throw new TypeError('The base URL can not hold a user name or password')
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
  const segments = servicePath === '/' ? [] : servicePath.split('/').map(encodeLiteral)
  return {
    pattern: servicePath === '/' ? base || '/' : `${base}/${servicePath}`,
    fill(route = {}) {
      if (!isObject(route)) throw new BadRequest('params.route must be an object')
      const other = Object.keys(route).find((name) => !segments.includes(`:${name}`))
      if (other !== undefined) {
        throw new BadRequest(`params.route.${other} has no place in the path '${servicePath}'`)
      }
      const filled = segments.map((segment) => {
        if (!segment.startsWith(':')) return segment
        const name = segment.slice(1)
        const value = Object.hasOwn(route, name) ? route[name] : undefined
        return encodeSegment(value, `params.route.${name} of '${servicePath}'`)
      })
      return [base, ...filled].join('/')
    },
  }
}

/** Returns a segment as servers write their paths: `@` and `$` stay, and so do placeholders. */
function encodeLiteral(segment: string): string {
  if (segment.startsWith(':')) return segment
  if (segment === '.' || segment === '..') {
    throw new TypeError(`'${segment}' is no segment of a service path`)
  }
  return encodeURI(segment).replaceAll('?', '%3F').replaceAll('#', '%23')
}

/**
 * Returns a string percent-encoded.
 * @param label what it is, for the error
 * @throws {BadRequest} half of a surrogate pair, which UTF-8 can not hold
 */
export function encodeString(value: string, label: string): string {
  if (value.isWellFormed()) return encodeURIComponent(value)
  throw new BadRequest(`${label} is not well-formed Unicode`)
}

/**
 * Returns an id or a route value as a segment of a path. It may be a string, a number, or an object
 * that stands for one of these: an `ObjectId` is its hexadecimal digits.
 * @param label what it is, for the error
 * @throws {BadRequest} anything that would be no segment, or another one: `''`, `'..'`, an object
 */
export function encodeSegment(value: unknown, label: string): string {
  const form = isObject(value) ? toSentForm(value) : (value ?? '')
  if (typeof form !== 'string' && typeof form !== 'bigint' && !Number.isFinite(form)) {
    throw new BadRequest(`${label} must be a string or a number`)
  }
  const segment = String(form)
  if (segment === '') throw new BadRequest(`${label} is required`)
  // A dot can not be percent-encoded: URLs are resolved as paths of files are, `%2E` included.
  if (segment === '.' || segment === '..') {
    throw new BadRequest(`${label} can not be '${segment}': a URL means another path by it`)
  }
  return encodeString(segment, label)
}

/**
 * Returns what an object with a form for JSON is sent as: the digits of an `ObjectId`, the time of
 * a `Date` in the format of ISO 8601. `undefined` for objects without one.
 */
export function toSentForm(value: object): unknown {
  const { toHexString, toJSON } = value as Record<'toHexString' | 'toJSON', unknown>
  if (typeof toHexString === 'function') return toHexString.call(value)
  return typeof toJSON === 'function' ? toJSON.call(value, '') : undefined
}
