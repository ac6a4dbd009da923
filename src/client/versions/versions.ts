import type { Application } from '../../core/app.ts'
import { InvalidVersion } from '../../core/errors/coded-errors.ts'
import type { HookContext, Next } from '../../core/hooks/hook-context.ts'
import type { OptionRule } from '../../core/options/option-rules.ts'
import { STRING_OPTION } from '../../core/options/option-rules.ts'
import { isObject } from '../../core/value-kind.ts'
import type { VersionParams } from '../../core/versions/version-tag.ts'
import { EXPECTED_VERSION, isVersion, toVersionTag } from '../../core/versions/version-tag.ts'
import { toSentForm } from '../requests/service-url.ts'

/** The options of a connection about versions. */
export interface VersionOptions {
  /**
   * The field with the version of records, as in the option `version` of the server's services. A record may then take
   * the place of its id: `patch(task, changes)` requires the version in that record. Default: none.
   */
  readonly version?: string | undefined
}

export const VERSION_RULES: Readonly<Record<keyof VersionOptions, OptionRule>> = {
  version: STRING_OPTION,
}

/** Lets the services of a client accept records as ids, if a connection names the version field. */
export function useVersions(client: Application, { version }: VersionOptions): void {
  if (version !== undefined) client.hooks({ around: { all: [takeRecords(version)] } })
}

/**
 * Returns a hook that accepts a record as an id: the call then requires the version of that record. It throws
 * `BadRequest` if the record has no version.
 * @param field the version field
 */
function takeRecords(field: string): (context: HookContext, next: Next) => Promise<void> {
  return (context, next) => {
    const record: unknown = context.id
    // A value with its own form in JSON is an id: an `ObjectId`.
    if (!isObject(record) || toSentForm(record) !== undefined) return next()
    const version = record[field]
    if (!isVersion(version)) {
      throw new InvalidVersion(
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
 * Returns the `If-Match` header of a write that requires a version, otherwise `undefined`.
 * @throws {BadRequest} `params.version` is not a version
 */
export function toIfMatch({ version }: VersionParams): { 'if-match': string } | undefined {
  if (version === undefined) return undefined
  const versions: readonly unknown[] = [version].flat()
  const isValid = versions.length > 0 && versions.every(isVersion)
  if (!isValid && version !== '*') throw new InvalidVersion(EXPECTED_VERSION)
  return { 'if-match': isValid ? versions.map(toVersionTag).join(', ') : '*' }
}
