import { hasLazySignal } from './connection/read-signal.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { overrideSettings } from './resolve-options.ts'

/**
 * Returns the options for one call: the service's, `params.paginate`, then `params.adapter`.
 * @throws {TypeError} an option in them is unknown, or has an invalid value
 */
export function toCallSettings(
  options: MongoDBSettings,
  params: MongoDBParams | undefined,
): MongoDBSettings {
  if (params?.paginate === undefined && params?.adapter === undefined) return options
  return (
    CallParams.findSettings(params, options) ??
    overrideSettings(options, params.paginate, params.adapter)
  )
}

/** Returns params for the next step of a call with these settings: a copy if they hold any. */
export function withSettings<P extends MongoDBParams>(
  params: P | undefined,
  options: MongoDBSettings,
  settings: MongoDBSettings,
): P | undefined {
  if (params === undefined || settings === options) return params
  return withQuery(params, params.query, options, settings)
}

/** Returns a copy of params with another query, for the next step of a call with these settings. */
export function withQuery<P extends MongoDBParams>(
  params: P | undefined,
  query: P['query'],
  options: MongoDBSettings,
  settings: MongoDBSettings,
): P {
  if (params === undefined) return { query } as P
  const hasSignal = hasLazySignal(params)
  if (settings === options && !hasSignal) return { ...params, query }
  const copy = hasSignal
    ? new FollowedParams(params, options, settings)
    : new CallParams(params, options, settings)
  return Object.assign(copy, params, { query }) as unknown as P
}

/**
 * Params that were copied for the next step of a call. The options in them were checked then, which
 * takes time and need not be done at each step.
 */
class CallParams {
  declare readonly adapter?: MongoDBParams['adapter']
  declare readonly paginate?: MongoDBParams['paginate']
  readonly #options: MongoDBSettings
  readonly #settings: MongoDBSettings
  readonly #adapter: object
  readonly #paginate: object
  readonly #hasPages: boolean

  constructor(params: MongoDBParams, options: MongoDBSettings, settings: MongoDBSettings) {
    this.#options = options
    this.#settings = settings
    this.#adapter = { ...params.adapter }
    this.#paginate = { ...params.paginate }
    this.#hasPages = params.paginate !== false
  }

  /** Returns the settings that are known for params, unless others were put into them since. */
  static findSettings(params: object, options: MongoDBSettings): MongoDBSettings | undefined {
    if (!(#settings in params) || params.#options !== options) return undefined
    const isSame =
      (params.paginate !== false) === params.#hasPages &&
      hasSameValues({ ...params.adapter }, params.#adapter) &&
      hasSameValues({ ...params.paginate }, params.#paginate)
    return isSame ? params.#settings : undefined
  }
}

/** Whether two objects have the same keys with the same values. */
function hasSameValues(one: object, other: object): boolean {
  const entries = Object.entries(one)
  if (entries.length !== Object.keys(other).length) return false
  return entries.every(([key, value]) => Object.is((other as Record<string, unknown>)[key], value))
}

/** Params that know the signal of the original, which a spread of it would lose. */
class FollowedParams extends CallParams {
  readonly #original: MongoDBParams

  constructor(original: MongoDBParams, options: MongoDBSettings, settings: MongoDBSettings) {
    super(original, options, settings)
    this.#original = original
  }

  get signal(): AbortSignal | undefined {
    return this.#original.signal
  }
}
