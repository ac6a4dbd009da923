import { GeneralError } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import { createNotAuthenticated } from '../auth-errors.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { Entity, EntityService } from '../entity-service.ts'
import { toEntityParams } from '../strategies/entity.ts'

/** What is read of a strategy. */
interface Searching {
  readonly entityId: string
  readonly entityService: EntityService | null
}

/**
 * Returns the entity that a query finds, `null` for none.
 * @throws {GeneralError} the service returns something that has no id
 */
export async function findOne(
  { entityId, entityService }: Searching,
  query: Readonly<Record<string, unknown>>,
  params: AuthenticationParams,
): Promise<Entity | null> {
  if (entityService === null) throw createNotAuthenticated('Could not find entity service')
  // A condition without a value matches those who have none: `email: null` of a profile.
  if (Object.values(query).some((value) => value === null || value === undefined)) return null
  const entity = findFirst(
    await entityService.find(toEntityParams(params, { $limit: 1, ...query })),
  )
  if (entity === undefined || entity === null) return null
  if (isObject(entity) && entity[entityId] != null) return entity
  throw new GeneralError(`The entities of the service have no '${entityId}'`)
}

/** Returns the first record of a list or a page. */
function findFirst(result: unknown): unknown {
  if (Array.isArray(result)) return result[0]
  const { data } = (result ?? {}) as { data?: unknown }
  return Array.isArray(data) ? data[0] : result
}
