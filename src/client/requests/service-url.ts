import { InvalidCall } from '../../core/errors/coded-errors.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import { stripSlashes, toServicePath } from '../../core/services/service-input.ts'
import { isObject } from '../../core/value-kind.ts'

/** The URL of a service, completed with the values of its placeholders. */
export interface ServiceURL {
  /** The URL with the names of its placeholders, for errors: values may be secret. */
  readonly pattern: string
  /**
   * Returns the URL with the values of the placeholders.
   * @throws {BadRequest} a value is missing or belongs to no placeholder
   */
  fill(route: unknown): string
}

/**
 * Returns the base URL of services, without a trailing slash; `''` for the origin of the page in a browser.
 * @throws {TypeError} neither an `http` or `https` URL nor a path, or it has a query or a fragment
 */
export function toBaseURL(baseURL: unknown): string {
  if (typeof baseURL !== 'string' || !/^(?:https?:\/\/[^/]|\/(?!\/)|$)/i.test(baseURL)) {
    // Browsers read `//` as the start of another host.
    throw new ArgumentError(
      "The base URL must begin with 'http://', 'https://' or, in browsers, with one '/'",
    )
  }
  // Browsers read a backslash as a slash and drop line breaks: the URL would change.
  if (/[\\\p{Cc}]/u.test(baseURL) || !URL.canParse(baseURL, 'http://localhost')) {
    throw new ArgumentError('The base URL is not valid')
  }
  // The value is not repeated: it may contain a password.
  if (/^[^/]*\/\/[^/]*@/.test(baseURL)) {
    throw new ArgumentError('The base URL cannot hold a user name or password')
  }
  if (/[?#]/.test(baseURL)) throw new ArgumentError('The base URL ends before `?` and `#`')
  // The colon keeps a leading slash of the URL.
  return stripSlashes(`:${baseURL}`).slice(1)
}

/**
 * Returns the URL of a service below a base URL.
 * @throws {TypeError} the path has a segment that a URL cannot hold
 */
export function createServiceURL(base: string, path: string): ServiceURL {
  const servicePath = toServicePath(path)
  const segments = servicePath === '/' ? [] : servicePath.split('/').map(encodeLiteral)
  return {
    pattern: servicePath === '/' ? base || '/' : `${base}/${servicePath}`,
    fill(route = {}) {
      if (!isObject(route)) throw new InvalidCall('params.route must be an object')
      const other = Object.keys(route).find((name) => !segments.includes(`:${name}`))
      if (other !== undefined) {
        throw new InvalidCall(`params.route.${other} has no place in the path '${servicePath}'`)
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

/** Returns a segment as servers write their paths: `@`, `$` and placeholders are kept. */
function encodeLiteral(segment: string): string {
  if (segment.startsWith(':')) return segment
  if (segment === '.' || segment === '..') {
    throw new ArgumentError(`'${segment}' is no segment of a service path`)
  }
  return encodeURI(segment).replaceAll('?', '%3F').replaceAll('#', '%23')
}

/**
 * Returns a string percent-encoded.
 * @param label names the value in the error
 * @throws {BadRequest} the string has a lone surrogate, which UTF-8 cannot hold
 */
export function encodeString(value: string, label: string): string {
  if (value.isWellFormed()) return encodeURIComponent(value)
  throw new InvalidCall(`${label} is not well-formed Unicode`)
}

/**
 * Returns an id or a route value as a segment of a path. It may be a string, a number, or an object with such a form:
 * an `ObjectId` becomes its hexadecimal digits.
 * @param label names the value in the error
 * @throws {BadRequest} the value would not be a segment, or a different one: `''`, `'..'`, an object
 */
export function encodeSegment(value: unknown, label: string): string {
  const form = isObject(value) ? toSentForm(value) : (value ?? '')
  if (typeof form !== 'string' && typeof form !== 'bigint' && !Number.isFinite(form)) {
    throw new InvalidCall(`${label} must be a string or a number`)
  }
  const segment = String(form)
  if (segment === '') throw new InvalidCall(`${label} is required`)
  // A dot cannot be percent-encoded: URLs are resolved like file paths, even with `%2E`.
  if (segment === '.' || segment === '..') {
    throw new InvalidCall(`${label} cannot be '${segment}': a URL means another path by it`)
  }
  return encodeString(segment, label)
}

/**
 * Returns the form in which an object with its own JSON form is sent: the digits of an `ObjectId`, the ISO 8601 time of
 * a `Date`. `undefined` for other objects.
 */
export function toSentForm(value: object): unknown {
  const { toHexString, toJSON } = value as Record<'toHexString' | 'toJSON', unknown>
  if (typeof toHexString === 'function') return toHexString.call(value)
  return typeof toJSON === 'function' ? toJSON.call(value, '') : undefined
}
