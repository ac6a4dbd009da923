import { BadRequest } from '../../core/errors/index.ts'
import type { HookContext, Next } from '../../core/hooks/hook-context.ts'
import { isObject } from '../../core/value-kind.ts'
import type { ExpectedVersion } from '../../core/versions/entity-tag.ts'
import { EXPECTED_VERSION, isVersion, toVersionTag } from '../../core/versions/entity-tag.ts'
import { toSentForm } from './service-url.ts'

/**
 * Returns a hook that takes a record in the place of an id: the call is then for the version that the
 * record has. It throws `BadRequest` where the record has none.
 * @param field the field of the version
 */
export function takeRecords(field: string): (context: HookContext, next: Next) => Promise<void> {
  return (context, next) => {
    const record: unknown = context.id
    // What has a form of its own for JSON is an id: an `ObjectId`.
    if (!isObject(record) || toSentForm(record) !== undefined) return next()
    const version = record[field]
    if (!isVersion(version)) {
      throw new BadRequest(
        `The record has no version in its field '${field}': does a schema of the server leave it out?`,
      )
    }
    context.id = (record['_id'] ?? record['id']) as HookContext['id']
    const { params } = context
    context.params = { ...params, version: params.version ?? version }
    return next()
  }
}

/**
 * Returns the `If-Match` header for what a write expects.
 * @throws {BadRequest} it is no version
 */
export function toIfMatch(expected: unknown): string {
  if (expected === '*') return expected
  const versions: readonly unknown[] = [expected as ExpectedVersion].flat()
  if (versions.length > 0 && versions.every(isVersion)) return versions.map(toVersionTag).join(', ')
  throw new BadRequest(EXPECTED_VERSION)
}
