import { findOperatorPlaces } from '../core/checked-query.ts'
import {
  ConditionRequired,
  InvalidData,
  InvalidQuery,
  MethodNotOffered,
} from '../core/errors/coded-errors.ts'
import { findServiceEntry } from '../core/index.ts'
import { allowsMany, createMultiError } from '../core/services/multi-option.ts'
import type { TransportFacts, TransportParams } from '../core/transport-facts.ts'
import { CALL_RULES, TRANSPORT_FACTS } from '../core/transport-facts.ts'
import type { CallFacts } from './adapter-call.ts'
import { readFacts } from './adapter-call.ts'
import type { CalledService, FindMethods } from './call-feature.ts'
import { CALL_FEATURES } from './call-feature.ts'
import { hasLazySignal } from './connection/read-signal.ts'
import type { MongoDBSettings, MultiMethod } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { getGivenOptions } from './mongodb-params.ts'
import { checkHiddenQuery, checkRawQuery } from './queries/hidden-field-check.ts'
import { withNamedSearch, withTextCondition } from './queries/query-filters.ts'
import { sanitizeQuery } from './queries/query-operators.ts'
import { isEmptyFilter } from './queries/split-query.ts'
import { checkChange, checkNewRecords, checkReservedNames } from './writes/data-check.ts'
import type { WriteData } from './writes/write-data.ts'
import { createFieldError } from './writes/write-data.ts'

/**
 * Returns params whose query is a checked copy.
 * @param service the called service: query schemas may allow operators for it
 */
export function sanitizeParams<P extends MongoDBParams>(
  params: P | undefined,
  service: CalledService,
  facts: CallFacts = readFacts(service, params),
): P {
  const { settings, isExternal, hidden } = facts
  const named = findOperatorPlaces(params, service)
  const allowed = named.length === 0 ? settings : withNamedSearch(settings, named)
  const patternLength = isExternal ? settings.limits.patternLength : null
  const query = sanitizeQuery(params?.query ?? {}, allowed, named, patternLength)
  if (hidden.length > 0) checkHiddenQuery(query, allowed)
  // From here on, the call's settings no longer include what schemas allow.
  return withQuery(params, allowed === settings ? query : withTextCondition(query))
}

/**
 * Returns a copy of params with another query, for the next step of a call. It keeps what protects records,
 * even if params inherit it, as with `Object.create(params)`.
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

/** Params that keep the signal of the original, which a spread would lose. */
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

/** @throws {BadRequest} there is no id, or the data is a list: `update` replaces one record */
export function checkOne(id: unknown, data: unknown): void {
  if (id !== null && !Array.isArray(data)) return
  throw new InvalidData("You can not replace multiple instances. Did you mean 'patch'?")
}

/**
 * Checks the data of `create`, and the `$select` of its query: nothing else in the query is used. Only
 * external data is checked in full.
 * @throws {BadRequest} data that is not allowed, or a hidden field is selected
 */
export function checkNewData(
  service: CalledService,
  { settings, isExternal }: CallFacts,
  data: unknown,
  params: MongoDBParams | undefined,
): void {
  if (!isExternal) {
    checkReservedNames(data)
    return
  }
  if (settings.hidden.length > 0) checkRawQuery({ $select: params?.query?.['$select'] }, settings)
  const own = (service[CALL_FEATURES] ?? []).flatMap(({ ownField }) => {
    const field = ownField === undefined ? undefined : settings[ownField]
    return field === undefined ? [] : [String(field)]
  })
  checkNewRecords(data, settings, own)
}

/**
 * Checks the data of `update` or `patch`. Only external data is checked in full.
 * @throws {BadRequest} data that is not allowed, or an upsert that would use the caller's id without the
 *   option `allowClientId`
 * @throws as {@link checkPreconditions}
 */
export function checkChangeData(
  service: CalledService,
  facts: CallFacts,
  id: unknown,
  data: unknown,
  params: MongoDBParams | undefined,
): void {
  if (!facts.isExternal) {
    checkReservedNames(data)
    return
  }
  const { settings } = facts
  const { upsert } = getGivenOptions(params) ?? {}
  if (upsert && !settings.allowClientId) throw createFieldError(settings.id)
  checkChange(data, id, settings)
  checkPreconditions(service, facts, params, data as WriteData)
}

/**
 * Lets the features of a service check an external write.
 * @throws {ServiceError} one of them does not allow it
 */
export function checkPreconditions(
  service: CalledService,
  facts: CallFacts,
  params: MongoDBParams = {},
  data: WriteData = {},
): void {
  if (!facts.isExternal) return
  for (const feature of service[CALL_FEATURES] ?? []) feature.checkExternal?.(facts, params, data)
}

/** @throws {MethodNotAllowed} the option `multi` does not allow the method to write many records */
export function checkMulti(method: MultiMethod, settings: MongoDBSettings): void {
  if (!allowsMany(method, settings)) throw createMultiError(method)
}

/**
 * Checks a call that writes to all records of its checked query.
 * @throws {MethodNotAllowed} as {@link checkMulti}
 * @throws {BadRequest} an external call would reach every record of the collection, or has a `$limit`, which
 *   does not apply here
 */
export function checkWriteToMany(
  method: MultiMethod,
  { settings, isExternal }: CallFacts,
  params: MongoDBParams,
): void {
  checkMulti(method, settings)
  if (!isExternal) return
  const { $limit, $skip, $sort, $select, ...conditions } = params.query ?? {}
  if ($limit !== undefined) {
    throw new InvalidQuery(`$limit is not possible in ${method} of many: name the ids by $in`)
  }
  if (!settings.allowEmptyFilter && isEmptyFilter(conditions)) {
    throw new ConditionRequired(`Cannot ${method} all entries: the query has no condition`)
  }
}

/**
 * Whether a subclass or the application has replaced this package's `find`: only the replacement knows what
 * it returns.
 */
export function hasOwnFind(service: FindMethods, own: FindMethods): boolean {
  const { original = service.find } = findServiceEntry(service)?.methods.get('find') ?? {}
  return original !== own.find || service._find !== own._find
}

/**
 * Checks that a service has not replaced this package's `find`: a stream reads the same records without calling it.
 * @throws {MethodNotAllowed} the service has its own `find`
 */
export function checkFind(service: FindMethods, own: FindMethods): void {
  if (!hasOwnFind(service, own)) return
  throw new MethodNotOffered('A service with its own find has no streams of records')
}
