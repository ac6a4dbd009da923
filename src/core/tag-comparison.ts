/** One entity tag of a list, and what separates it from the next one. @see RFC 9110 §8.8.3 */
const LISTED_TAG = /[ \t]*(?:W\/)?"([\x21\x23-\x7E\x80-\xFF]*)"[ \t]*(?:,|$)/y

/** The suffix that proxies add to the tag of a response that they compress. */
const COMPRESSION = /(?:--?|;)(?:gzip|br|deflate|zstd)$/

/** A hash of the whole response. */
const HASH = /^[\w-]{43}$/

/** Whether the text in the quotes of a tag is a hash of the response made by this package. */
export function isHash(tag: string): boolean {
  return HASH.test(tag)
}

/**
 * Whether an `If-None-Match` header names the tag of a response, by weak comparison.
 * @param isOurs whether this package made a tag: tags of applications may end like those of proxies
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

/** Returns the text in the quotes of a tag without the suffix that proxies add. */
export function withoutCompression(tag: string): string {
  return tag.replace(COMPRESSION, '')
}

/** Returns the texts in the quotes of a header's tags; `null` if it is malformed. */
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
