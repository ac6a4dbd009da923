import { findServiceEntry } from '../core/service-entry.ts'
import type { Entity } from './entity.ts'
import { withField } from './field-path.ts'
import type { AuthenticationBaseStrategy } from './strategy.ts'

/** A hash that takes the place of an outdated one. */
export interface HashUpgrade {
  readonly entity: Entity
  /** The path of the hash in the entity. */
  readonly field: string
  /** The outdated hash. */
  readonly stored: unknown
  readonly hash: string
}

/**
 * Stores a new hash of the same password. The service's hooks don't run, which would hash the hash
 * and tell of a change that is none. A password that was changed meanwhile stays: the outdated hash
 * is part of the query. A failure is logged; the login was right in any case.
 */
export async function upgradeHash(
  strategy: AuthenticationBaseStrategy,
  { entity, field, stored, hash }: HashUpgrade,
): Promise<void> {
  const service = strategy.entityService
  const patch = service === null ? undefined : findServiceEntry(service)?.methods.get('patch')
  if (service === null || patch === undefined) return
  const id = entity[String(strategy.configuration['entityId'] ?? service.id ?? 'id')]
  try {
    const data = toChange(entity, field, hash)
    await patch.original.call(service, id, data, { query: { [field]: stored } })
  } catch (error) {
    strategy.app.logger.warn({ err: error }, 'An outdated password hash was not replaced')
  }
}

/** The outermost field that changes, with everything else in it. */
function toChange(entity: Entity, field: string, hash: string): Record<string, unknown> {
  const [outermost = ''] = field.split('.')
  const { [outermost]: value } = withField(entity, field, hash)
  return { [outermost]: value }
}
