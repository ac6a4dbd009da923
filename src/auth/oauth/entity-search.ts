import { GeneralError } from '../../core/index.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
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
 * @throws {NotAuthenticated} the query has half of a character in a string
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
  // Databases store all halves as the same U+FFFD: the entity of another profile would be found.
  if (!isWellFormed(query)) {
    const reason = 'what the entity is looked for by is not well-formed Unicode'
    throw createNotAuthenticated('The provider does not say who you are', undefined, { reason })
  }
  const entity = findFirst(
    await entityService.find(toEntityParams(params, { $limit: 1, ...query })),
  )
  if (entity === undefined || entity === null) return null
  if (isObject(entity) && entity[entityId] != null) return entity
  throw new GeneralError(`The entities of the service have no '${entityId}'`)
}

/** Whether no string of a query has half of a character, at any depth. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  const isNested = Array.isArray(value) || isPlainObject(value)
  return !isNested || Object.values(value).every(isWellFormed)
}

/** Returns the first record of a list or a page. */
function findFirst(result: unknown): unknown {
  if (Array.isArray(result)) return result[0]
  const { data } = (result ?? {}) as { data?: unknown }
  return Array.isArray(data) ? data[0] : result
}
