import { createContext, runMethod } from '../core/index.ts'
import { findServiceEntry } from '../core/service-entry.ts'
import { proveAuthentication } from './proof.ts'
import type { AuthenticationParams, EntityService } from './strategy.ts'
import { toInternalParams } from './strategy.ts'

/** What hooks of the entity service made of an entity for callers outside. */
const EXTERNAL_VIEWS = new WeakMap<object, unknown>()

/** A stored record of whoever can log in. */
export type Entity = Record<string, unknown>

/**
 * Calls the entity service for this process, and remembers what its hooks set as `dispatch`, so that
 * the entity need not be read again to be shown outside.
 */
export async function readEntity(
  service: EntityService,
  method: 'find' | 'get',
  args: readonly unknown[],
): Promise<unknown> {
  const entry = findServiceEntry(service)?.methods.get(method)
  if (entry === undefined) {
    const call = service[method] as (...all: unknown[]) => Promise<unknown>
    return call.apply(service, [...args])
  }
  const context = createContext(entry, service, args)
  const result = await runMethod(entry, context)
  if (context.dispatch !== undefined) {
    const views = toEntities(context.dispatch)
    for (const [index, entity] of toEntities(result).entries()) {
      const view = views[index]
      if (isEntity(entity) && isEntity(view)) EXTERNAL_VIEWS.set(entity, view)
    }
  }
  return result
}

/** Returns the records of a page, an array, or a single record. */
export function toEntities(result: unknown): readonly unknown[] {
  if (Array.isArray(result)) return result
  if (!isEntity(result)) return []
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
 * Returns an entity as callers outside may see it: what the hooks of its service said when it was
 * read, else what an external `get` returns.
 * @param name the name of the entity in params
 */
export async function toExternalEntity(
  service: EntityService,
  entity: Entity,
  { id, name, strategy }: { id: unknown; name: string; strategy: string },
  params: AuthenticationParams,
): Promise<unknown> {
  const view = EXTERNAL_VIEWS.get(entity)
  if (view !== undefined) return view
  // Any `authenticate` hook of the entity service may rely on it: whose entity this is was proven.
  const proof = { service: null, strategy: null, entity }
  const external: AuthenticationParams & Record<string, unknown> = {
    ...params,
    query: {},
    authentication: proveAuthentication({ strategy }, proof),
    authenticated: true,
    [name]: entity,
  }
  return service.get(id as string, external)
}

export function isEntity(value: unknown): value is Entity {
  return typeof value === 'object' && value !== null
}
