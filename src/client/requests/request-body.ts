import { BadRequest } from '../../core/errors/index.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'

/**
 * Returns data as JSON, `undefined` for no data.
 * @throws {BadRequest} names the first part that JSON can not hold: a file or form, a `Map`, bytes, a
 *   function, a number that is none, a circle
 */
export function toBody(data: unknown): string | undefined {
  if (data === undefined) return undefined
  if (isPlainData(data, 0)) return JSON.stringify(data)
  const paths = new WeakMap<object, string>()
  /** Called by JSON with each value, whose owner has been there before. */
  function check(this: Record<string, unknown>, key: string, sent: unknown): unknown {
    const path = toPath(paths.get(this), key)
    // What stood there before `toJSON` made a string or an object of it.
    const given = this[key]
    if (isLost(given, sent)) {
      throw new BadRequest(`${path} is ${toKind(given)}, which JSON can not hold`)
    }
    if (isObject(sent)) paths.set(sent, path)
    return sent
  }
  return stringify(data, check)
}

/** Deeper data may be a circle. */
const MAX_PLAIN_DEPTH = 20

/**
 * Whether data has nothing that JSON would change: then nobody has to look on while it is written,
 * which takes JSON several times as long.
 */
function isPlainData(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (!isObject(value) || depth > MAX_PLAIN_DEPTH || 'toJSON' in value) return value === undefined
  if (Array.isArray(value)) return value.every((item) => isPlainData(item, depth + 1))
  return isPlainObject(value) && Object.values(value).every((item) => isPlainData(item, depth + 1))
}

function stringify(
  data: unknown,
  check: (this: Record<string, unknown>, key: string, sent: unknown) => unknown,
): string | undefined {
  try {
    return JSON.stringify(data, check)
  } catch (error) {
    if (error instanceof BadRequest) throw error
    throw new BadRequest('The data can not be sent as JSON', undefined, { cause: error })
  }
}

/** Whether JSON would have nothing of a value, or something else: `{}` of a `Map`, `null` of `NaN`. */
function isLost(given: unknown, sent: unknown): boolean {
  if (typeof sent === 'number') return !Number.isFinite(sent)
  if (typeof sent === 'function' || typeof sent === 'symbol' || typeof sent === 'bigint')
    return true
  // An invalid date is null.
  if (sent === null || sent === undefined) return given !== sent
  if (ArrayBuffer.isView(given)) return true
  if (!isObject(sent) || Array.isArray(sent) || isPlainObject(sent)) return false
  return !isBoxed(sent) && Object.keys(sent).length === 0
}

/** Whether JSON makes a plain value of an object: `new String('a')`. */
function isBoxed(value: object): boolean {
  return value instanceof String || value instanceof Number || value instanceof Boolean
}

function toPath(owner: string | undefined, key: string): string {
  if (owner === undefined) return 'data'
  return /^\d+$/.test(key) ? `${owner}[${key}]` : `${owner}.${key}`
}

function toKind(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (value instanceof Date) return 'an invalid date'
  if (!isObject(value)) return `a ${typeof value}`
  const { name = 'unknown' } = (value.constructor ?? {}) as { name?: string }
  return `an object of the class ${name}`
}
