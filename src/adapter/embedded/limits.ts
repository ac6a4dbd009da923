import vm from 'node:vm'
import { CommandError, notSupported } from '../matching/command-error.ts'
import { isRegex } from '../matching/regular-expression.ts'

const REGEX_TIME_LIMIT_MS = 1000
const LOOP_TIME_LIMIT_MS = 30_000
/**
 * From this limit on, a command without patterns and loops needs no guard, which costs a tenth of a
 * millisecond: it reads each record only once.
 */
const UNGUARDED_MS = 1000
const MAX_ITEMS = 2_000_000

/** Operators and stages that repeat work for each item: a command with one has a time limit. */
const LOOPS: ReadonlySet<string> = new Set([
  ...['$map', '$filter', '$reduce', '$range', '$lookup', '$graphLookup', '$unwind', '$facet'],
])

/**
 * How many items the running command may still create. One variable per process is enough, since a command
 * computes its results without yielding to another one.
 */
let itemsLeft = MAX_ITEMS

/**
 * Counts items that a command creates in addition to the stored ones: nested loops could fill the memory of
 * the process.
 * @throws {CommandError} 146 the command has created too many
 */
export function spendItems(count: number): void {
  itemsLeft -= count
  if (itemsLeft >= 0) return
  throw notSupported(`A command that makes more than ${MAX_ITEMS} items`, 146)
}

/**
 * Returns what `compute` returns. Stops it after `maxTimeMS`, or after one second if the request contains a
 * regular expression: JavaScript's engine can need years for one, and would block the process. `vm` can
 * interrupt code that never yields; unlike V8's flag against excessive backtracking, it affects nothing
 * outside this call and covers back-references. `compute` may be stopped anywhere, so it must not change
 * stored data.
 * @throws {CommandError} 50 MaxTimeMSExpired
 */
export function withTimeLimit<Result>(
  request: object,
  maxTimeMs: unknown,
  compute: () => Result,
): Result {
  const own = typeof maxTimeMs === 'number' && maxTimeMs > 0 ? maxTimeMs : Number.POSITIVE_INFINITY
  const risk = limitOf(request)
  const limit = Math.min(own, risk)
  itemsLeft = MAX_ITEMS
  if (risk === Number.POSITIVE_INFINITY && own >= UNGUARDED_MS) return computeWithin(own, compute)
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

/**
 * For computations that always end: not interrupted, but a result that comes too late is rejected in the same
 * way.
 */
function computeWithin<Result>(limit: number, compute: () => Result): Result {
  const end = performance.now() + limit
  const result = compute()
  if (performance.now() <= end) return result
  throw new CommandError(50, 'operation exceeded time limit')
}

interface Guard {
  readonly script: vm.Script
  readonly context: { run: () => unknown }
}

/** Shared by the process and created on first use: creating a context costs more than most filters. */
let guard: Guard | undefined

function createGuard(): Guard {
  const context = { run: () => undefined }
  vm.createContext(context)
  return { script: new vm.Script('run()'), context }
}

function limitOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return Number.POSITIVE_INFINITY
  if (isRegex(value)) return REGEX_TIME_LIMIT_MS
  let limit = Number.POSITIVE_INFINITY
  for (const [name, child] of Object.entries(value)) {
    if (name.startsWith('$regex')) return REGEX_TIME_LIMIT_MS
    limit = Math.min(limit, LOOPS.has(name) ? LOOP_TIME_LIMIT_MS : limit, limitOf(child))
  }
  return limit
}

/** The largest document, in bytes. Drivers read these limits in the reply to `hello`. */
export const MAX_DOCUMENT_BYTES: number = 16_777_216

/** The largest message, in bytes. */
export const MAX_MESSAGE_BYTES: number = 48_000_000

/** The most statements of one write command. */
export const MAX_WRITE_BATCH: number = 100_000
