import type { Logger } from '../../core/index.ts'
import { findServiceEntry } from '../../core/services/service-entry.ts'
import type { Entity, EntityService } from '../entity-service.ts'
import { withField } from '../field-path.ts'

/** What is read of the strategy that has checked the password. */
interface Strategy {
  readonly app: { readonly logger: Logger }
  readonly configuration: { readonly entityId?: unknown }
  readonly entityService: EntityService | null
}

/** A hash that takes the place of an outdated one. */
export interface HashUpgrade {
  readonly entity: Entity
  /** The path of the hash in the entity. */
  readonly field: string
  /** The outdated hash. */
  readonly stored: unknown
  /** Computes the new hash. */
  readonly hash: () => Promise<string>
}

/**
 * Stores a new hash of the same password. The hooks of the service don't run: they would hash
 * the hash, and emit an event for a user who has changed nothing. A password that was changed
 * meanwhile stays, as the outdated hash is part of the query. A failure is logged: the login
 * itself went well.
 */
export async function upgradeHash(
  strategy: Strategy,
  { entity, field, stored, hash }: HashUpgrade,
): Promise<void> {
  const service = strategy.entityService
  const methods = service === null ? undefined : findServiceEntry(service)?.methods
  const get = methods?.get('get')
  const patch = methods?.get('patch')
  if (service === null || get === undefined || patch === undefined) return
  const id = entity[String(strategy.configuration.entityId ?? service.id ?? 'id')]
  const params = { query: { [field]: stored } }
  try {
    // First, since it takes long, and what is read afterwards may change meanwhile.
    const newHash = await hash()
    // The outermost field is read once more as it is stored: hooks may have changed it in the
    // entity.
    const isNested = field.includes('.')
    const record = isNested ? await get.original.call(service, id, { ...params }) : entity
    const change = toChange(record as Entity, field, newHash)
    await patch.original.call(service, id, change, params)
  } catch (error) {
    strategy.app.logger.warn({ err: error }, 'An outdated password hash was not replaced')
  }
}

/** The outermost field that changes, with everything else in it. */
function toChange(record: Entity, field: string, hash: string): Record<string, unknown> {
  const [outermost = ''] = field.split('.')
  const { [outermost]: value } = withField(record, field, hash)
  return { [outermost]: value }
}
