import { InvalidVersion } from '../errors/coded-errors.ts'
import { isHash, namesTag, readTags, withoutCompression } from '../tag-comparison.ts'

/** The versions that a write accepts for its record; `'*'`: any, if the record exists. */
export type ExpectedVersion = number | readonly number[] | '*'

/** The params in which a call names versions. */
export interface VersionParams {
  /**
   * The version that the record of a write must have, one of several, or `'*'` for any. External callers send it as
   * `If-Match`.
   */
  version?: ExpectedVersion | undefined
}

/** The tag of a version, optionally with a hash of the response. */
const VERSION = /^v-(0|[1-9]\d{0,14})(?:-[0-9a-f]{16})?$/

/** Returns the entity tag of a version: `"v-7"`. */
export function toVersionTag(version: number): string {
  return `"v-${version}"`
}

/** What `params.version` may be, for errors. */
export const EXPECTED_VERSION =
  "params.version must be a whole number from 0 on, a list of them, or '*'"

/** Whether a value can be the version of a record: a whole number from 0 on. */
export function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/**
 * Returns the versions that an `If-Match` header names, none for other kinds of tags. Weak tags count too,
 * since compressing proxies weaken tags.
 * @throws {BadRequest} the header is neither `*` nor a list of entity tags
 */
export function readExpectedVersion(header: string): ExpectedVersion {
  const tags = readTags(header)
  if (tags === null) throw new InvalidVersion('If-Match must be * or a list of entity tags')
  if (tags === '*') return tags
  return tags.flatMap((tag) => {
    const [, version] = VERSION.exec(withoutCompression(tag)) ?? []
    return version === undefined ? [] : [Number(version)]
  })
}

/** Whether an `If-None-Match` header names the tag of a response, by weak comparison. */
export function isKnownTag(header: string | undefined, tag: string): boolean {
  return namesTag(header, tag, (own) => VERSION.test(own) || isHash(own))
}
