import { createContext, findServiceEntry, runMethod } from '../../core/index.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { toInternalParams } from '../authentication-params.ts'
import type { Entity } from '../entity-service.ts'
import { isRecord } from '../value-kind.ts'
import { proveAuthentication } from './proof.ts'
import type { AuthenticationBaseStrategy } from './strategy.ts'

/** Returns the records of a page, an array, or a single record. */
export function toEntities(result: unknown): readonly unknown[] {
  if (Array.isArray(result)) return result
  if (!isRecord(result)) return []
  const { data, total } = result
  return Array.isArray(data) && total !== undefined ? data : [result]
}

/** Returns params to read an entity with, inside this process: nothing of the request's query. */
export function toEntityParams(
  params: AuthenticationParams,
  query: Record<string, unknown>,
): AuthenticationParams {
  const copy = toInternalParams(params)
  copy.query = query
  return copy
}

/**
 * Returns an entity as callers outside may see it: what an external `get` of it answers, for only
 * the hooks of its service know what they let through.
 */
export async function toExternalEntity(
  strategy: AuthenticationBaseStrategy,
  entity: Entity,
  id: unknown,
  params: AuthenticationParams,
): Promise<unknown> {
  const service = strategy.entityService
  if (service === null) return undefined
  const name = String(strategy.configuration['entity'])
  // Whose entity this is was proven, which is enough for every hook of the entity service. What they
  // call of other services asks for more: that it was proven by the service that is named there.
  const proof = {
    service: strategy.authentication,
    entityService: service,
    strategy: null,
    entity,
    entityName: name,
  }
  const external: AuthenticationParams & Record<string, unknown> = {
    ...params,
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
