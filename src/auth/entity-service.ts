import type { Application } from '../core/index.ts'
import { toServicePath } from '../core/index.ts'
import type { AuthenticationParams } from './authentication-params.ts'

/** A stored record of whoever can log in. */
export type Entity = Record<string, unknown>

/** The methods that strategies call on the service with the entities. */
export interface EntityService {
  /** The name of the id of its records. */
  readonly id?: string
  /** Resolves to the entity with an id. */
  get(id: string, params: AuthenticationParams): Promise<unknown>
  /** Resolves to the entities that match `params.query`, or one page of them. */
  find(params: AuthenticationParams): Promise<unknown>
  /** Resolves to the entity that it has stored; called by logins that make accounts. */
  create?(data: Entity, params: AuthenticationParams): Promise<unknown>
  /** Resolves to the entity with the changes; called by logins that keep accounts up to date. */
  patch?(id: unknown, data: Entity, params: AuthenticationParams): Promise<unknown>
}

/** Returns the service at a path, `null` where there is none. */
export function findEntityService(app: Application, path: unknown): EntityService | null {
  if (typeof path !== 'string') return null
  return (app.entries.get(toServicePath(path))?.service as EntityService | undefined) ?? null
}

/** Returns the name of the id that a service says its records have. */
export function getIdName(service: EntityService | null): string | undefined {
  const { id } = (service ?? {}) as { id?: unknown }
  return typeof id === 'string' ? id : undefined
}
