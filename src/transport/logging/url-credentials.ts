/** Colon and slashes of a URL, perhaps percent-encoded as in a URL inside a URL, or twice. */
const SCHEME_END = /(?::|%(?:25)*3a)(?:\/|%((?:25)*)2f)(?:\/|%(?:25)*2f)/gi

const AT = /@|%(?:25)*40/gi

/** A host and its port, if any, in the place of user and password. */
const HOST = /^(?:\[[^\]]*\]|[^:]*)(?::\d*)?$/

/** What ends a URL inside a string. */
const TEXT_END = /[\s"'`<>]/

/**
 * The authority of a URL that stands as it is, and of URLs that are encoded once, twice and more.
 */
const AUTHORITY = /[^/?#\s"'`<>]*/y
const ENCODED_AUTHORITIES: readonly RegExp[] = ['', '25', '2525'].map(
  (level) => new RegExp(`(?:[^/?#&\\s"'\`<>%]|%(?!${level}(?:2f|3f|23|26)))*`, 'iy'),
)

/** Where user and password of a URL stand, up to the `@`. */
export interface UserInfo {
  readonly start: number
  readonly end: number
}

/**
 * Returns where URLs in a string hold a user and a password, in order. A password with a slash that
 * is not encoded, as people write them into connection strings, is found as well. The effort is
 * linear: each part of the string is looked at a fixed number of times.
 */
export function findUserInfo(text: string): readonly UserInfo[] {
  const found: UserInfo[] = []
  const quote = new QuotedUrl(text)
  let end = 0
  for (const { 0: scheme, 1: level, index } of text.matchAll(SCHEME_END)) {
    const start = index + scheme.length
    if (start < end) continue
    const authority = readAuthority(text, start, level)
    const at = findLastAt(authority)
    if (at !== -1) end = start + at
    else if (isHosts(authority)) continue
    else end = quote.findLastAt(start)
    if (end > start) found.push({ start, end })
  }
  return found
}

/**
 * The rest of the URL, up to a space or a quote, that was searched last, so that none is
 * searched twice.
 */
class QuotedUrl {
  readonly #text: string
  #end = -1
  #at = -1

  constructor(text: string) {
    this.#text = text
  }

  /** Returns where the last `@` before the end of the URL stands, -1 for none after the start. */
  findLastAt(start: number): number {
    if (start > this.#end) {
      const length = this.#text.slice(start).search(TEXT_END)
      this.#end = length === -1 ? this.#text.length : start + length
      const at = findLastAt(this.#text.slice(start, this.#end))
      this.#at = at === -1 ? -1 : start + at
    }
    return this.#at
  }
}

/**
 * @param level what stands between the percent sign and the code of a slash, `undefined` for `/`
 */
function readAuthority(text: string, start: number, level: string | undefined): string {
  const encoded = ENCODED_AUTHORITIES[Math.min((level ?? '').length / 2, 2)] as RegExp
  const regex = level === undefined ? AUTHORITY : encoded
  regex.lastIndex = start
  return regex.exec(text)?.[0] ?? ''
}

function findLastAt(text: string): number {
  let last = -1
  for (const { index } of text.matchAll(AT)) last = index
  return last
}

/** Whether an authority is a host, or several as databases have them. */
function isHosts(authority: string): boolean {
  const plain = authority.replace(/%(?:25)*3a/gi, ':')
  return plain.split(',').every((host) => HOST.test(host))
}
