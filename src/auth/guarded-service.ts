import type { Application, AroundHook, HookContext, Query, ServiceEntry } from '../core/index.ts'
import { BadRequest, NotAcceptable, NotAuthenticated, toServicePath } from '../core/index.ts'
import { isObject } from '../core/value-kind.ts'
import type { Authentication } from './authentication.ts'
import { findEntityService, findUserFinder } from './entity-service.ts'
import { proveParams } from './hooks/authenticate.ts'
import { getTokenClaims } from './proof.ts'

/** Calls a function with the service at a path, and with each that takes its place later. */
export function followService(
  app: Application,
  path: string,
  follow: (entry: ServiceEntry) => void,
): void {
  const known = app.entries.get(path)
  if (known !== undefined) follow(known)
  app.observe((change, changed, entry) => {
    if (change === 'added' && changed === path) follow(entry)
  })
}

/** Adds an around hook to those of the named methods that a service has. */
export function addAround(entry: ServiceEntry, names: readonly string[], hook: AroundHook): void {
  const known = names.filter((name) => name === 'all' || entry.methods.has(name))
  entry.hooks.add({ around: Object.fromEntries(known.map((name) => [name, hook])) })
  entry.compile()
}

/** The key by which the entry of a service has what it keeps. */
const KEPT = Symbol('remex.kept')

/** Records of an authentication service or a strategy, and the service that keeps them. */
interface KeptRecords {
  readonly authentication: Authentication
  /** Whose they are. */
  readonly owner: object
  /** How errors name them. */
  readonly records: 'sessions' | 'API keys'
  /** The path of the service. */
  readonly service: string
  /** How errors name the settings: `'authentication.sessions'`. */
  readonly setting: string
  readonly indexes: readonly object[]
  /** The hook for all methods of the service. */
  readonly guard: AroundHook
}

/** The part of a `MongoDBService` by which it is recognized, and which creates indexes. */
interface IndexedService {
  readonly id?: unknown
  getModel?(): Promise<{ createIndexes(indexes: readonly object[]): Promise<unknown> }>
}

/**
 * Creates the indexes of a service that keeps records, and guards it, and each that takes its place later.
 * @throws {TypeError} it is no `MongoDBService`, keeps the records of another owner, or no strategy finds users
 */
export async function keepRecords(kept: KeptRecords): Promise<void> {
  const { authentication, owner, service, setting, indexes, guard } = kept
  const { app, configuration } = authentication
  const path = toServicePath(service)
  const checkOwner = (entry: ServiceEntry | undefined): void => {
    const other = entry?.attachments.get(KEPT) as KeptRecords | undefined
    if (other === undefined || other.owner === owner) return
    throw new TypeError(
      `The service '${path}' keeps the ${other.records} of another authentication service or strategy`,
    )
  }
  // Before its indexes are created, which those of other records may contradict.
  checkOwner(app.entries.get(path))
  const found = findEntityService(app, service) as IndexedService | null
  if (found?.getModel === undefined || found.id !== '_id') {
    throw new TypeError(`'${setting}.service' must name a MongoDBService whose id is '_id'`)
  }
  if (configuration.entity != null && findUserFinder(authentication) === undefined) {
    throw new TypeError(`'${setting}' needs a JwtStrategy, which finds users by their ids`)
  }
  const collection = await found.getModel()
  await collection.createIndexes(indexes)
  followService(app, path, (entry) => {
    checkOwner(entry)
    if (entry.attachments.has(KEPT)) return
    entry.attachments.set(KEPT, kept)
    addAround(entry, ['all'], guard)
  })
}

/**
 * Returns the service at a path, which keeps records.
 * @throws {TypeError} there is none any more
 */
export function findRecordService<Service>(
  app: Application,
  path: string,
  records: KeptRecords['records'],
): Service {
  const found = findEntityService(app, path)
  if (found !== null) return found as unknown as Service
  throw new TypeError(`The '${path}' service that keeps the ${records} does not exist`)
}

/** The query parameters that callers outside may send. */
const PAGING: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort'])

/** The claims of a token that names its user. */
export interface OwnerClaims {
  readonly sub: string
  readonly [claim: string]: unknown
}

/**
 * Resolves to the claims of a caller outside, who has to send an access token.
 * @param records names them in errors: `Sessions`
 * @throws {NotAcceptable} the caller asks for a stream
 * @throws {NotAuthenticated} there is no token, or it names no user
 */
export async function proveOwner(
  authentication: Authentication,
  context: HookContext,
  records: string,
): Promise<OwnerClaims> {
  // By a stream, a thief would see at once when the owner acts.
  if (/text\/event-stream/i.test(String(context.params.headers?.['accept']))) {
    throw new NotAcceptable(`${records} have no stream`)
  }
  await proveParams(authentication, context, authentication.configuration.authStrategies)
  const { sub, ...claims } = getTokenClaims(context.params.authentication)
  // Any proof but an access token names no user by a claim.
  if (typeof sub === 'string') return { ...claims, sub }
  throw new NotAuthenticated(`${records} are shown for an access token alone`)
}

/**
 * Has a call find the records of a user alone.
 * @param records names them in errors: `Sessions`
 * @throws {BadRequest} all are to be removed at once, or the query has conditions
 */
export function restrictToOwn(context: HookContext, userId: string, records: string): void {
  const query: Query = context.params.query ?? {}
  const other = Object.keys(query).find((name) => !PAGING.has(name))
  if (other !== undefined) throw new BadRequest(`${records} can not be queried by '${other}'`)
  if (context.method === 'remove' && context.id == null) {
    throw new BadRequest(`${records} are removed one by one, by their ids`)
  }
  context.params.query = { ...query, userId }
}

/** Replaces each record of a result by what callers may see, also where hooks have chosen what is sent. */
export function showOnly(context: HookContext, toShown: (record: never) => object): void {
  const { result } = context
  const show = toShown as (record: unknown) => object
  if (Array.isArray(result)) context.result = result.map(show)
  else if (isObject(result) && Array.isArray(result['data'])) {
    context.result = { ...result, data: result['data'].map(show) }
  } else context.result = show(result)
  context.dispatch = context.result
}
