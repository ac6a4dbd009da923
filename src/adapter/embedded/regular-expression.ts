import vm from 'node:vm'
import { BSONRegExp } from 'bson'
import { CommandError, notSupported } from './errors.ts'

const REGEX_TIME_LIMIT_MS = 1000

/** Returns whether a value is a regular expression, decoded from BSON or native. */
export function isRegex(value: unknown): value is BSONRegExp | RegExp {
  return value instanceof BSONRegExp || value instanceof RegExp
}

/**
 * Returns a native RegExp; inline flags at the start such as `(?i)` are understood.
 * @throws {CommandError} the pattern or an option cannot be expressed
 */
export function toRegExp(value: unknown, options?: unknown): RegExp {
  if (value instanceof RegExp && options === undefined) return value
  const source =
    value instanceof BSONRegExp ? value.pattern : value instanceof RegExp ? value.source : value
  const ownFlags =
    value instanceof BSONRegExp ? value.options : value instanceof RegExp ? value.flags : ''
  if (typeof source !== 'string') throw new CommandError(2, '$regex has to be a string')
  const inline = /^\(\?([imsx]+)\)/.exec(source)
  const flags = new Set(`${options ?? ownFlags}${inline?.[1] ?? ''}`)
  if (flags.has('x')) throw notSupported("The regular expression option 'x'", 51108)
  const pattern = inline === null ? source : source.slice(inline[0].length)
  // Named classes such as \p{L} exist in JavaScript only with the flag u.
  if (pattern.includes('\\p{')) flags.add('u')
  try {
    return new RegExp(pattern, [...flags].join(''))
  } catch (error) {
    const message = `Regular expression is invalid: ${(error as Error).message}`
    throw new CommandError(51091, message, {}, { cause: error })
  }
}

/**
 * Returns what `compute` returns, stopped after `maxTimeMS`, or after one second where the request
 * holds a regular expression: JavaScript's engine can need years for one, and the whole process
 * would stand still. `vm` can interrupt code that never yields, and unlike V8's flag against
 * excessive backtracking it changes nothing outside this call and covers back-references too.
 * `compute` may be stopped anywhere, so it must not change stored data.
 * @throws {CommandError} 50 MaxTimeMSExpired
 */
export function withTimeLimit<Result>(
  request: object,
  maxTimeMs: unknown,
  compute: () => Result,
): Result {
  const own = typeof maxTimeMs === 'number' && maxTimeMs > 0 ? maxTimeMs : Number.POSITIVE_INFINITY
  const limit = Math.min(own, holdsRegex(request) ? REGEX_TIME_LIMIT_MS : Number.POSITIVE_INFINITY)
  if (limit === Number.POSITIVE_INFINITY) return compute()
  guard ??= createGuard()
  guard.context.run = compute
  try {
    return guard.script.runInContext(guard.context, { timeout: Math.ceil(limit) }) as Result
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new CommandError(50, 'operation exceeded time limit', {}, { cause: error })
  } finally {
    guard.context.run = () => undefined
  }
}

interface Guard {
  readonly script: vm.Script
  readonly context: { run: () => unknown }
}

/** Made once, at the first need: a context costs more than most filters. */
let guard: Guard | undefined

function createGuard(): Guard {
  const context = { run: () => undefined }
  vm.createContext(context)
  return { script: new vm.Script('run()'), context }
}

function holdsRegex(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (isRegex(value)) return true
  return Object.entries(value).some(
    ([name, child]) => name.startsWith('$regex') || holdsRegex(child),
  )
}
