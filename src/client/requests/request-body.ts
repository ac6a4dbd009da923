import { InvalidCall } from '../../core/errors/coded-errors.ts'
import { BadRequest } from '../../core/errors/index.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'

/**
 * Returns data as JSON, `undefined` for no data.
 * @throws {BadRequest} names the first part that JSON cannot hold: a file or form, a `Map`, bytes, a function, a number
 *   such as `NaN`, a circular reference
 */
export function toBody(data: unknown): string | undefined {
  if (data === undefined) return undefined
  const paths = new WeakMap<object, string>()
  /** Called by JSON with each value, after its owner. */
  function check(this: Record<string, unknown>, key: string, sent: unknown): unknown {
    const owner = paths.get(this)
    const part = /^\d+$/.test(key) ? `[${key}]` : `.${key}`
    const path = owner === undefined ? 'data' : owner + part
    // The original value, before `toJSON` made a string or an object of it.
    const given = this[key]
    if (isLost(given, sent)) {
      throw new InvalidCall(`${path} is ${describeValue(given)}, which JSON cannot hold`)
    }
    if (isObject(sent)) paths.set(sent, path)
    return sent
  }
  try {
    return JSON.stringify(data, check)
  } catch (cause) {
    if (cause instanceof BadRequest) throw cause
    throw new InvalidCall('The data cannot be sent as JSON', undefined, { cause })
  }
}

/** Returns the description of a value that cannot be sent. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null || typeof value === 'number') return String(value)
  if (value instanceof Date) return 'an invalid date'
  if (!isObject(value)) return `a ${typeof value}`
  const { name = 'unknown' } = (value.constructor ?? {}) as { name?: string }
  return `an object of the class ${name}`
}

/** Returns whether JSON would drop a value or change it: `{}` for a `Map`, `null` for `NaN`. */
function isLost(given: unknown, sent: unknown): boolean {
  if (typeof sent === 'number') return !Number.isFinite(sent)
  if (['function', 'symbol', 'bigint'].includes(typeof sent)) return true
  // An invalid date becomes null.
  if (sent === null || sent === undefined) return given !== sent
  if (ArrayBuffer.isView(given)) return true
  if (!isObject(sent) || Array.isArray(sent) || isPlainObject(sent)) return false
  // JSON unwraps `new String('a')`.
  const isBoxed = [String, Number, Boolean].some((Boxed) => (sent as object) instanceof Boxed)
  return !isBoxed && Object.keys(sent).length === 0
}
