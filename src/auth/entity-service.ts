import { LoginEnded, LoginMisconfigured } from '../core/errors/coded-errors.ts'
import type { Application } from '../core/index.ts'
import { createContext, findServiceEntry, runMethod, toServicePath } from '../core/index.ts'
import { getFirst } from '../core/results.ts'
import { isObject } from '../core/value-kind.ts'
import type { Authentication } from './authentication.ts'
import type { AuthenticationParams } from './authentication-params.ts'
import { createInternalParams } from './authentication-params.ts'
import { proveAuthentication } from './proof.ts'

/** A stored record that can log in, usually a user. */
export type Entity = Record<string, unknown>

/** The methods that strategies call on the entity service. */
export interface EntityService {
  /** The name of the id of its records. */
  readonly id?: string
  /** Resolves to the entity with an id. */
  get(id: string, params: AuthenticationParams): Promise<unknown>
  /** Resolves to the entities that match `params.query`, or one page of them. */
  find(params: AuthenticationParams): Promise<unknown>
  /** Resolves to the stored entity. Called by logins that create accounts. */
  create?(data: Entity, params: AuthenticationParams): Promise<unknown>
  /** Resolves to the changed entity. Called by logins that keep accounts up to date. */
  patch?(id: unknown, data: Entity, params: AuthenticationParams): Promise<unknown>
}

/** Returns the service at a path, `null` if there is none. */
export function findEntityService(app: Application, path: unknown): EntityService | null {
  if (typeof path !== 'string') return null
  return (app.entries.get(toServicePath(path))?.service as EntityService | undefined) ?? null
}

/** A strategy that finds users by their ids, as `JwtStrategy` does. */
export interface UserFinder {
  readonly name: string
  /**
   * Resolves to a user.
   * @throws {NotAuthenticated} there is no such user, or the user may not log in
   */
  getEntity(id: string, params: AuthenticationParams): Promise<unknown>
}

/** Returns the strategy that finds the users of access tokens, `undefined` if there is none. */
export function findUserFinder(authentication: Authentication): UserFinder | undefined {
  const all = authentication.strategyNames.map((name) => authentication.getStrategy(name))
  const isFinder = (one: object | undefined): boolean => one !== undefined && 'getEntityId' in one
  return all.find(isFinder) as unknown as UserFinder | undefined
}

/** Returns the first record of a list or a page, or a single record; `null` if there is none. */
export function getFirstEntity(result: unknown): Entity | null {
  const first = getFirst(result)
  return isObject(first) ? first : null
}

/** Returns the value at a dotted path, following own properties only; `undefined` if there is none. */
export function getField(record: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }, record)
}

/** Returns params for an internal call that reads an entity, without the query of the request. */
export function createEntityParams(
  params: AuthenticationParams,
  query: Record<string, unknown>,
): AuthenticationParams {
  return createInternalParams(params, { query })
}

/** The part of a strategy that reading its entity needs. */
interface Finder {
  readonly name: string
  readonly authentication: object
  readonly configuration: Readonly<Record<string, unknown>>
  readonly entityService: EntityService | null
}

/** Returns the name of the id of a strategy's entities: the setting, otherwise that of their service. */
export function getEntityIdName(of: Pick<Finder, 'configuration' | 'entityService'>): string {
  return String(of.configuration['entityId'] ?? of.entityService?.id ?? 'id')
}

/**
 * Returns the subject of the token for a login: the id of its entity. `undefined` without an entity.
 * @throws {NotAuthenticated} the result has no entity, or the entity has no id
 */
export function getSubject(
  { app, configuration }: Authentication,
  result: Readonly<Record<string, unknown>>,
): string | undefined {
  const { entity, service } = configuration
  if (entity == null || service === undefined) return undefined
  const idName = getEntityIdName({ configuration, entityService: findEntityService(app, service) })
  const { [idName]: id } = (result[entity] ?? {}) as Record<string, unknown>
  if (id != null) return String(id)
  throw new LoginMisconfigured(`Can not set subject from ${entity}.${idName}`)
}

/**
 * Returns the entity for the result of a login. In external calls that is the result of an external `get`, as the hooks
 * of the service decide which fields external callers see.
 * @param id of the entity
 * @param missing the error message if there is no id
 * @throws {NotAuthenticated} there is no id
 */
export async function readResultEntity(
  strategy: Finder,
  entity: Entity,
  id: unknown,
  params: AuthenticationParams,
  missing: string,
): Promise<unknown> {
  if (id === undefined || id === null) throw new LoginEnded(missing)
  if (!params.provider) return entity
  const service = strategy.entityService
  if (service === null) return undefined
  const name = String(strategy.configuration['entity'])
  // The strategy has proven whose entity this is. That suffices for the hooks of the entity service, whichever
  // authentication service they name. Hooks of other services called from there accept it only if they name the service
  // of this strategy.
  const proof = {
    service: strategy.authentication,
    entityService: service,
    strategy: null,
    entity,
    entityName: name,
  }
  const { attempt: _attempt, proven: _proven, ...given } = params
  const external: AuthenticationParams & Record<string, unknown> = {
    ...given,
    query: {},
    authentication: proveAuthentication({ strategy: strategy.name }, proof),
    authenticated: true,
    [name]: entity,
  }
  const method = findServiceEntry(service)?.methods.get('get')
  if (method === undefined) return service.get(id as string, external)
  const context = createContext(method, service, [id, external])
  const result = await runMethod(method, context)
  return context.dispatch === undefined ? result : context.dispatch
}
