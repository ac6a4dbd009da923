import type { CallFacts } from './adapter-call.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { resolveCallSettings } from './resolve-options.ts'

/**
 * The key under which the params of the next step of a call carry its settings, where they are other than those of the
 * service. It is enumerable: copies of params keep it.
 */
const SETTLED: unique symbol = Symbol('remex.settled')

interface SettledParams extends MongoDBParams {
  /** Returns the settings, `undefined` for another service, or where params have other options. */
  // A function: a log of params does not show the collection.
  [SETTLED]?:
    | ((options: MongoDBSettings, params: MongoDBParams) => MongoDBSettings | undefined)
    | undefined
}

const NOTHING: readonly string[] = []

/**
 * Returns what is known of a call as soon as it begins.
 * @throws {TypeError} an option in its params is unknown, or has an invalid value
 */
export function readFacts(
  { options }: { readonly options: MongoDBSettings },
  params: MongoDBParams = {},
): CallFacts {
  const { adapter, paginate, provider, [SETTLED]: readSettled } = params as SettledParams
  const isUsual = adapter === undefined && paginate === undefined
  const settled = readSettled?.(options, params)
  const settings = isUsual ? options : (settled ?? resolveCallSettings(options, params))
  const isExternal = provider !== undefined
  return { settings, isExternal, hidden: isExternal ? settings.hidden : NOTHING }
}

/** Has params of our own carry the settings of their call. */
export function carrySettings(
  params: MongoDBParams,
  options: MongoDBSettings,
  settings: MongoDBSettings,
): void {
  const { adapter, paginate } = params
  ;(params as SettledParams)[SETTLED] = (given, other) =>
    given === options && other.adapter === adapter && other.paginate === paginate
      ? settings
      : undefined
}
