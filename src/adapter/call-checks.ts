import { findOperatorPlaces } from '../core/checked-query.ts'
import { BadRequest } from '../core/errors/index.ts'
import { allowsMany, createMultiError } from '../core/services/multi-option.ts'
import type { TransportFacts, TransportParams } from '../core/transport-facts.ts'
import { CALL_RULES, TRANSPORT_FACTS } from '../core/transport-facts.ts'
import { createRequiredError } from '../core/versions/record-version.ts'
import { hasLazySignal } from './connection/read-signal.ts'
import type { MongoDBSettings, MultiMethod } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { getGivenOptions, getHiddenFields, isExternal } from './mongodb-params.ts'
import { checkHiddenQuery, checkRawQuery } from './queries/hidden-field-check.ts'
import { withNamedSearch, withTextCondition } from './queries/query-filters.ts'
import { sanitizeQuery } from './queries/query-operators.ts'
import { isEmptyFilter } from './queries/split-query.ts'
import { resolveCallSettings } from './resolve-options.ts'
import type { WriteData } from './writes/write-data.ts'
import {
  checkChange,
  checkNewRecords,
  checkReservedNames,
  createFieldError,
} from './writes/write-data.ts'

/**
 * Returns params whose query is a checked copy.
 * @param service the one that is called, for which schemas of the query may allow operators
 * @param settings those of the call
 */
export function sanitizeParams<P extends MongoDBParams>(
  params: P | undefined,
  service: { readonly options: MongoDBSettings },
  settings: MongoDBSettings = resolveCallSettings(service.options, params),
): P {
  const named = findOperatorPlaces(params, service)
  const allowed = withNamedSearch(settings, named)
  const patternLength = isExternal(params) ? settings.limits.patternLength : null
  const query = sanitizeQuery(params?.query ?? {}, allowed, named, patternLength)
  if (getHiddenFields(settings, params).length > 0) checkHiddenQuery(query, allowed)
  // The settings that are known for the call from here on are without what schemas allow.
  return withQuery(params, allowed === settings ? query : withTextCondition(query))
}

/**
 * Returns a copy of params with another query, for the next step of a call. It has what protects records also where
 * params inherit that, as those of `Object.create(params)` do.
 */
export function withQuery<P extends MongoDBParams>(params: P | undefined, query: P['query']): P {
  if (params === undefined) return { query } as P
  const { provider, [CALL_RULES]: rules } = params as TransportParams
  const copy: TransportParams = hasLazySignal(params)
    ? Object.assign(new FollowedParams(params), params, { query })
    : { ...params, query }
  if (provider !== undefined) copy.provider = provider
  if (rules !== undefined) copy[CALL_RULES] = rules
  return copy as P
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

  get [TRANSPORT_FACTS](): TransportFacts | undefined {
    return (this.#original as TransportParams)[TRANSPORT_FACTS]
  }
}

/** @throws {BadRequest} no id or a list of data: `update` replaces one record by one */
export function checkOne(id: unknown, data: unknown): void {
  if (id !== null && !Array.isArray(data)) return
  throw new BadRequest("You can not replace multiple instances. Did you mean 'patch'?")
}

/**
 * Checks the data of `create`, that of a caller outside in full, and of his query the `$select`: nothing
 * else of it is used.
 * @throws {BadRequest} data that is not allowed, or a hidden field is selected
 */
export function checkNewData(
  settings: MongoDBSettings,
  data: unknown,
  params: MongoDBParams | undefined,
): void {
  if (!isExternal(params)) {
    checkReservedNames(data)
    return
  }
  if (settings.hidden.length > 0) checkRawQuery({ $select: params?.query?.['$select'] }, settings)
  checkNewRecords(data, settings)
}

/**
 * Checks the data of `update` or `patch`, that of a caller outside in full.
 * @throws {BadRequest} data that is not allowed, or an upsert that would take the caller's id, which
 *   the option `allowClientId` does not let callers choose
 * @throws as {@link checkPreconditions}
 */
export function checkChangeData(
  settings: MongoDBSettings,
  id: unknown,
  data: unknown,
  params: MongoDBParams | undefined,
): void {
  if (!isExternal(params)) {
    checkReservedNames(data)
    return
  }
  const { upsert } = getGivenOptions(params) ?? {}
  if (upsert && !settings.allowClientId) throw createFieldError(settings.id)
  checkChange(data, id, settings)
  checkPreconditions(settings, params, data as WriteData)
}

/**
 * Checks the conditions of a caller outside on what is there before a write.
 * @param data what is written, in which the version may stand
 * @throws {PreconditionRequired} the option `requireVersion` is set, and no version is named
 * @throws {BadRequest} an `If-None-Match` header, which a write would not heed
 */
export function checkPreconditions(
  settings: MongoDBSettings,
  params: MongoDBParams | undefined,
  data: WriteData = {},
): void {
  if (!isExternal(params)) return
  if (params?.headers?.['if-none-match'] !== undefined) {
    throw new BadRequest('If-None-Match is for reads: name the version by If-Match')
  }
  const { requireVersion, version } = settings
  if (!requireVersion || version === undefined || params?.version !== undefined) return
  if (data[version] === undefined) throw createRequiredError()
}

/** @throws {MethodNotAllowed} the option `multi` does not allow the method to write many records */
export function checkMulti(method: MultiMethod, settings: MongoDBSettings): void {
  if (!allowsMany(method, settings)) throw createMultiError(method)
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
  const { $limit, $skip, $sort, $select, ...conditions } = params.query ?? {}
  if ($limit !== undefined) {
    throw new BadRequest(`$limit is not possible in ${method} of many: name the ids by $in`)
  }
  if (!settings.allowEmptyFilter && isEmptyFilter(conditions)) {
    throw new BadRequest(`Can not ${method} all entries: the query has no condition`)
  }
}
