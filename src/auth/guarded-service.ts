import type { Application, HookContext, Page, Query } from '../core/index.ts'
import { BadRequest, NotAcceptable, NotAuthenticated } from '../core/index.ts'
import type { ResultOf } from '../core/method-arguments.ts'
import { PAGING_NAMES } from '../core/query-names.ts'
import { replaceRecords } from '../core/results.ts'
import { PAGING_SCHEMAS } from '../core/schema/queries/described-names.ts'
import type { JSONSchema, MethodSchemas } from '../core/services/service-schemas.ts'
import { isEventStream } from '../core/transport-facts.ts'
import type { Authentication } from './authentication.ts'
import { findEntityService } from './entity-service.ts'
import { proveParams } from './hooks/authenticate.ts'
import type { MethodDescription } from './method-description.ts'
import { getTokenClaims } from './proof.ts'

/**
 * Returns the service at a path that stores records of the authentication.
 * @param records how errors name them: `API keys`
 * @throws {TypeError} the service no longer exists
 */
export function findRecordService<Service>(
  app: Application,
  path: string,
  records: string,
): Service {
  const found = findEntityService(app, path)
  if (found !== null) return found as unknown as Service
  throw new TypeError(`The '${path}' service that keeps the ${records} does not exist`)
}

/** The query for a caller's own records: the size and the order of a page. */
export interface PagingQuery<T> {
  /** The maximum number of records. */
  readonly $limit?: number
  /** The number of records to skip. */
  readonly $skip?: number
  /** The fields to sort by, in order: 1 ascending, -1 descending. */
  readonly $sort?: { readonly [Name in keyof T & string]?: 1 | -1 }
}

/** A query without parameters. */
export type NoQuery = Record<string, never>

/** The result of `find` of a service, a page or a list, with records as their owner sees them. */
export type OwnFound<S, T> = ResultOf<S, 'find'> extends readonly unknown[] ? T[] : Page<T>

/**
 * Returns the description of a method of a service whose records are shown to their owners.
 * @param record the schema of a record as its owner sees it
 */
export function describeOwn(
  authentication: Authentication,
  record: JSONSchema,
  schemas: Partial<MethodSchemas> = {},
): MethodDescription {
  const query = { type: 'object', properties: PAGING_SCHEMAS, additionalProperties: false }
  return {
    proof: { strategies: authentication.configuration.authStrategies, authentication },
    schemas: { data: undefined, query, result: record, ...schemas },
  }
}

/** The claims of a token that identifies its user. */
export interface OwnerClaims {
  readonly sub: string
  readonly [claim: string]: unknown
}

/**
 * Resolves to the claims of an external caller, who must send an access token.
 * @param records names them in errors: `API keys`
 * @throws {NotAcceptable} the caller asks for a stream of events
 * @throws {NotAuthenticated} there is no token, or it does not identify a user
 */
export async function proveOwner(
  authentication: Authentication,
  context: HookContext,
  records: string,
): Promise<OwnerClaims> {
  // A stream would show a thief at once when the owner acts.
  if (isEventStream(context.params)) throw new NotAcceptable(`${records} have no stream`)
  await proveParams(authentication, context, authentication.configuration.authStrategies)
  const { sub, ...claims } = getTokenClaims(context.params.authentication)
  // Only an access token identifies its user in a claim.
  if (typeof sub === 'string') return { ...claims, sub }
  throw new NotAuthenticated(`${records} require an access token`)
}

/**
 * Restricts a call to the records of a user.
 * @param records names them in errors: `API keys`
 * @throws {BadRequest} the call would remove all at once, or the query has conditions
 */
export function restrictToOwn(context: HookContext, userId: string, records: string): void {
  const query: Query = context.params.query ?? {}
  const other = Object.keys(query).find((name) => !PAGING_NAMES.includes(name))
  if (other !== undefined) throw new BadRequest(`${records} cannot be queried by '${other}'`)
  if (context.method === 'remove' && context.id == null) {
    throw new BadRequest(`${records} are removed one by one, by their ids`)
  }
  context.params.query = { ...query, userId }
}

/** Replaces each record of a result with the view for callers, even if hooks have set what is sent. */
export function showOnly(context: HookContext, toShown: (record: never) => object): void {
  const show = toShown as (record: unknown) => object
  context.result = replaceRecords(context.method, context.result, (records) =>
    Array.isArray(records) ? records.map(show) : show(records),
  )
  context.dispatch = context.result
}
