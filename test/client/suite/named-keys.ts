import type { Test } from 'tap'

/** Types that stand for any of their values. */
const TYPES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
])

/**
 * Asserts that a value has what is expected, in full: strings are the same, and lists and objects
 * without keys have nothing else. Only keys that are not named may be there besides. A regular
 * expression stands for the strings that match it, `String` and `Number` for any.
 */
export function sameNamed(t: Test, value: unknown, expected: unknown, message = ''): void {
  t.strictSame(pickNamed(value, expected), expected, message)
}

/** Returns the part of a value that an expectation names: the expectation itself where that is met. */
export function pickNamed(value: unknown, expected: unknown): unknown {
  const type = TYPES.get(expected)
  if (type !== undefined) return typeof value === type ? expected : value
  if (expected instanceof RegExp) {
    return typeof value === 'string' && expected.test(value) ? expected : value
  }
  if (!isObject(expected) || !isObject(value)) return value
  if (Array.isArray(expected)) {
    if (!Array.isArray(value)) return value
    return value.map((one, index) => (index in expected ? pickNamed(one, expected[index]) : one))
  }
  const names = Object.keys(expected)
  if (names.length === 0) return value
  return Object.fromEntries(names.map((name) => [name, pickNamed(value[name], expected[name])]))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
