import { BadRequest } from '../../core/errors/index.ts'
import { isObject } from '../../core/value-kind.ts'

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
  const segment = toSegment(value)
  if (segment === undefined) throw new BadRequest(`${label} must be a string or a number`)
  if (segment === '') throw new BadRequest(`${label} is required`)
  // A dot can not be percent-encoded: URLs are resolved as paths of files are, `%2E` included.
  if (segment === '.' || segment === '..') {
    throw new BadRequest(`${label} can not be '${segment}': a URL means another path by it`)
  }
  return encodeString(segment, label)
}

function toSegment(value: unknown): string | undefined {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'bigint' || Number.isFinite(value)) return String(value)
  const form = isObject(value) ? toSentForm(value) : undefined
  return typeof form === 'string' || Number.isFinite(form) ? String(form) : undefined
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
