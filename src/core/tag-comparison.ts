/** One entity tag of a list, and what stands between it and the next one. @see RFC 9110 §8.8.3 */
const LISTED_TAG = /[ \t]*(?:W\/)?"([\x21\x23-\x7E\x80-\xFF]*)"[ \t]*(?:,|$)/y

/** What proxies add to the tag of an answer that they compress. */
const COMPRESSION = /(?:--?|;)(?:gzip|br|deflate|zstd)$/

/** A hash of the whole answer. */
const HASH = /^[\w-]{43}$/

/** Whether what stands in the quotes of a tag is a hash of the answer, as this package makes it. */
export function isHash(tag: string): boolean {
  return HASH.test(tag)
}

/**
 * Whether a header, `If-None-Match`, names the tag of an answer, by weak comparison.
 * @param isOurs whether this package has made a tag: those of applications may end as those of proxies do
 */
export function namesTag(
  header: string | undefined,
  tag: string,
  isOurs: (tag: string) => boolean,
): boolean {
  const tags = header === undefined ? null : readTags(header)
  if (tags === null || tags === '*') return tags === '*'
  const own = tag.replace(/^W\//, '').slice(1, -1)
  const comparesEnd = isOurs(own)
  return tags.some((one) => one === own || (comparesEnd && withoutCompression(one) === own))
}

/** Returns what stands in the quotes of a tag without what proxies add to it. */
export function withoutCompression(tag: string): string {
  return tag.replace(COMPRESSION, '')
}

/** Returns what stands in the quotes of the tags of a header; `null` where it is malformed. */
export function readTags(header: string): readonly string[] | '*' | null {
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
