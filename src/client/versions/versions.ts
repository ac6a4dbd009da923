import type { Application } from '../../core/app.ts'
import { BadRequest } from '../../core/errors/index.ts'
import type { HookContext, Next } from '../../core/hooks/hook-context.ts'
import type { OptionRule } from '../../core/options/option-rules.ts'
import { STRING_OPTION } from '../../core/options/option-rules.ts'
import { isObject } from '../../core/value-kind.ts'
import type { VersionParams } from '../../core/versions/version-tag.ts'
import { EXPECTED_VERSION, isVersion, toVersionTag } from '../../core/versions/version-tag.ts'
import { toSentForm } from '../requests/service-url.ts'

/** What a connection says of versions. */
export interface VersionOptions {
  /**
   * The field of the version of records, as the option `version` of the server's services. A record may
   * then stand in the place of its id: `patch(task, changes)` is for the version that it has. Default:
   * none.
   */
  readonly version?: string | undefined
}

export const VERSION_RULES: Readonly<Record<keyof VersionOptions, OptionRule>> = {
  version: STRING_OPTION,
}

/** Has the services of a client take records in the place of ids, where a connection names the field of versions. */
export function useVersions(client: Application, { version }: VersionOptions): void {
  if (version !== undefined) client.hooks({ around: { all: [takeRecords(version)] } })
}

/**
 * Returns a hook that takes a record in the place of an id: the call is then for the version that the
 * record has. It throws `BadRequest` where the record has none.
 * @param field the field of the version
 */
function takeRecords(field: string): (context: HookContext, next: Next) => Promise<void> {
  return (context, next) => {
    const record: unknown = context.id
    // A value with its own form for JSON is an id: an `ObjectId`.
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
 * Returns the `If-Match` header for what a write expects, if it expects something.
 * @throws {BadRequest} `params.version` is no version
 */
export function toIfMatch({ version }: VersionParams): { 'if-match': string } | undefined {
  if (version === undefined) return undefined
  const versions: readonly unknown[] = [version].flat()
  const isValid = versions.length > 0 && versions.every(isVersion)
  if (!isValid && version !== '*') throw new BadRequest(EXPECTED_VERSION)
  return { 'if-match': isValid ? versions.map(toVersionTag).join(', ') : '*' }
}
