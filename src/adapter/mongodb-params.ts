import type { Params, Query } from '../core/params.ts'
import { hasLazySignal } from './connection/read-signal.ts'
import type { DriverParams } from './driver-options.ts'
import type { MongoDBOptions, MongoDBSettings, Paginate } from './mongodb-options.ts'

/** The last argument of the methods of a MongoDB service. */
export interface MongoDBParams<Q = Query> extends Params<Q>, DriverParams {
  /** Page sizes for this call, `false` for all records. */
  paginate?: Paginate | false | undefined
  /** Options of the service for this call; they win over `paginate`. */
  adapter?: Partial<Omit<MongoDBOptions, 'events' | 'indexes'>> | undefined
}

/** Returns whether a call comes from outside, through a transport. */
export function isExternal(params: MongoDBParams | undefined): boolean {
  return params?.provider !== undefined
}

/** Returns the fields that a call must not return: those that are hidden from callers outside. */
export function getHiddenFields(
  settings: MongoDBSettings,
  params: MongoDBParams | undefined,
): readonly string[] {
  return isExternal(params) ? settings.hidden : []
}

/** Returns a copy of params with another query, for the next step of a call. */
export function withQuery<P extends MongoDBParams>(params: P | undefined, query: P['query']): P {
  if (params === undefined) return { query } as P
  if (!hasLazySignal(params)) return { ...params, query }
  return Object.assign(new FollowedParams(params), params, { query }) as unknown as P
}

/** Params that know the signal of the original, which a spread of it would lose. */
class FollowedParams {
  readonly #original: MongoDBParams

  constructor(original: MongoDBParams) {
    this.#original = original
  }

  get signal(): AbortSignal | undefined {
    return this.#original.signal
  }
}
