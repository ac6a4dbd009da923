import { BadRequest } from '../errors/index.ts'

/** The versions of which a write expects its record to have one; `'*'`: any, if the record is there. */
export type ExpectedVersion = number | readonly number[] | '*'

/** The params by which a call names versions. */
export interface VersionParams {
  /**
   * The version that the record of a write must have, one of several, or `'*'` for any. External callers send it as
   * `If-Match`.
   */
  version?: ExpectedVersion | undefined
}

/** One entity tag of a list, and what stands between it and the next one. @see RFC 9110 §8.8.3 */
const LISTED_TAG = /[ \t]*(?:W\/)?"([\x21\x23-\x7E\x80-\xFF]*)"[ \t]*(?:,|$)/y

/** What proxies add to the tag of an answer that they compress. */
const COMPRESSION = /(?:--?|;)(?:gzip|br|deflate|zstd)$/

/** The tag of a version, perhaps with a hash of the answer. */
const VERSION = /^v-(0|[1-9]\d{0,14})(?:-[0-9a-f]{16})?$/

/** A hash of the whole answer. */
const HASH = /^[\w-]{43}$/

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
 * Returns the versions that an `If-Match` header names: none for tags of another kind. Proxies that
 * compress weaken tags, so that a weak one stands for its version, too.
 * @throws {BadRequest} the header is neither `*` nor a list of entity tags
 */
export function readExpectedVersion(header: string): ExpectedVersion {
  const tags = readTags(header)
  if (tags === null) throw new BadRequest('If-Match must be * or a list of entity tags')
  if (tags === '*') return tags
  return tags.flatMap((tag) => {
    const [, version] = VERSION.exec(withoutCompression(tag)) ?? []
    return version === undefined ? [] : [Number(version)]
  })
}

/** Whether an `If-None-Match` header names the tag of an answer, by weak comparison. */
export function isKnownTag(header: string | undefined, tag: string): boolean {
  const tags = header === undefined ? null : readTags(header)
  if (tags === null || tags === '*') return tags === '*'
  const own = tag.replace(/^W\//, '').slice(1, -1)
  // Tags that applications have made may end as those of proxies do.
  const isOurs = VERSION.test(own) || HASH.test(own)
  return tags.some((one) => one === own || (isOurs && withoutCompression(one) === own))
}

function withoutCompression(tag: string): string {
  return tag.replace(COMPRESSION, '')
}

/** Returns what stands in the quotes of the tags of a header; `null` where it is malformed. */
function readTags(header: string): readonly string[] | '*' | null {
  if (header.trim() === '*') return '*'
  const tags: string[] = []
  const listed = new RegExp(LISTED_TAG)
  while (listed.lastIndex < header.length) {
    const [, tag] = listed.exec(header) ?? []
    if (tag === undefined) return null
    tags.push(tag)
  }
  return tags.length === 0 ? null : tags
}
