import { InvalidCall } from '../../core/errors/coded-errors.ts'
import { isObject } from '../../core/value-kind.ts'

/** Headers of a request: an object, a `Headers` of the platform, or pairs of name and value. */
export type RequestHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [name: string, value: string]>

/** The name of a header, in lower case. */
export const HEADER_NAME: RegExp = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Headers for a single connection, which must not be passed on. They are present if the headers of an incoming request
 * are forwarded.
 */
const OF_ONE_CONNECTION =
  /^(?:connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/

/** The header that names the custom method to call. */
export const SERVICE_METHOD = 'x-service-method'

/** The header of a write that the server performs once, however often it is sent. */
export const IDEMPOTENCY_KEY = 'idempotency-key'

/** Returns a new key. Pages without TLS have no `crypto.randomUUID()`. */
export function createKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * Returns headers with lower-case names; later sources override earlier ones. A value of `undefined` is ignored.
 * @throws {BadRequest} a name or a value is invalid, or the header belongs to a single connection, or names a custom
 *   method, which would turn one method into another
 */
export function mergeHeaders(
  ...sources: readonly (RequestHeaders | undefined)[]
): Readonly<Record<string, string>> {
  // The record has no prototype: `__proto__` is a valid name of a header.
  const merged: Record<string, string> = Object.create(null)
  for (const source of sources) {
    if (source === undefined) continue
    for (const [given, value] of toEntries(source)) {
      if (value === undefined) continue
      const name = String(given).toLowerCase()
      if (!HEADER_NAME.test(name)) {
        throw new InvalidCall('A header has a name that no header can have')
      }
      if (name === SERVICE_METHOD) {
        throw new InvalidCall(`The header '${name}' follows from the method that is called`)
      }
      if (OF_ONE_CONNECTION.test(name)) {
        throw new InvalidCall(`The header '${name}' belongs to one connection`)
      }
      merged[name] = toValue(given, value)
    }
  }
  return merged
}

function toEntries(source: unknown): Iterable<readonly [string, unknown]> {
  if (!isObject(source)) throw new InvalidCall('Headers must be an object')
  if (Symbol.iterator in source) return source as unknown as Iterable<readonly [string, unknown]>
  return Object.entries(source)
}

/** Errors do not repeat the value, which may be a token. */
function toValue(name: unknown, given: unknown): string {
  const value = Array.isArray(given) ? given.join(', ') : given
  if (typeof value === 'string' && VALUE.test(value)) return value
  throw new InvalidCall(`The header '${name}' must be a string of one line, in Latin-1`)
}
