import { withHint } from '../core/errors/hint.ts'
import { BadRequest, MethodNotAllowed } from '../core/errors/index.ts'
import type { Params, Query } from '../core/params.ts'
import { allowsMany } from '../core/services/multi-option.ts'
import type { DriverParams } from './driver-options.ts'
import type { MongoDBOptions, MongoDBSettings, MultiMethod, Paginate } from './mongodb-options.ts'
import { isEmptyFilter, splitQuery } from './queries/split-query.ts'
import { createIdError } from './writes/write-data.ts'

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

/**
 * Checks a call from outside that may add a record with the id of its caller.
 * @throws {BadRequest} `upsert` is set, and the option `allowClientId` does not let callers
 *   choose ids
 */
export function checkUpsert(settings: MongoDBSettings, params: MongoDBParams | undefined): void {
  const { upsert } = params?.docdb ?? params?.mongodb ?? {}
  if (upsert && !settings.allowClientId) throw createIdError(settings.id)
}

/** Returns the fields that a call must not return: those that are hidden from callers outside. */
export function toHidden(
  settings: MongoDBSettings,
  params: MongoDBParams | undefined,
): readonly string[] {
  return isExternal(params) ? settings.hidden : []
}

/** @throws {MethodNotAllowed} the option `multi` does not allow the method to write many records */
export function checkMulti(method: MultiMethod, settings: MongoDBSettings): void {
  if (allowsMany(method, settings)) return
  const hint = `allow it by the option multi: ['${method}'] of the service`
  throw new MethodNotAllowed(`Can not ${method} multiple entries`, undefined, withHint(hint))
}

/**
 * Checks a call that writes to all records of its checked query.
 * @throws {MethodNotAllowed} as {@link checkMulti}
 * @throws {BadRequest} a caller outside would reach every record of the collection, or more records
 *   than its `$limit`, which does not count here
 */
export function checkWriteToMany(
  method: MultiMethod,
  settings: MongoDBSettings,
  params: MongoDBParams,
): void {
  checkMulti(method, settings)
  if (!isExternal(params)) return
  if (params.query?.['$limit'] !== undefined) {
    throw new BadRequest(`$limit is not possible in ${method} of many: name the ids by $in`)
  }
  if (settings.allowEmptyFilter) return
  if (isEmptyFilter(splitQuery(params.query ?? {}, settings).filter)) {
    throw new BadRequest(`Can not ${method} all entries: the query has no condition`)
  }
}
