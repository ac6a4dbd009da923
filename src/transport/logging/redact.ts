import { decodePercent } from '../routing/request-path.ts'
import { isSecretField, isSecretName } from './secret-name.ts'

/** Replaces each secret. */
export const REDACTED = '[redacted]'

/** Longest URL that is logged or repeated in an error. */
const LONGEST_URL = 2_048

/** In a URL it holds the authorization code of an OAuth login; elsewhere it is a status. */
const LOGIN_CODE = 'code'

/**
 * Name and equals sign of a parameter of a URL, or of a setting in a string: ` password=`.
 * Separator and equals sign may be percent-encoded, as in a URL inside a URL.
 */
const PARAMETER =
  /(?:^|[?&;#\s]|%(?:25)*(?:26|3[bf]|23))((?:[^?&;#=%\s]|%(?!(?:25)*(?:26|3[bdf]|23)))*)(?:=|%(?:25)*3d)/gi

/** From `eyJ`, as JSON begins in base64, to the last of three parts, five where it is encrypted. */
const JWT = /eyJ(?:(?!eyJ)[\w-])*(?:(?:\.|%2[Ee])[\w-]*){2,4}/g

/** The header with its value: in quotes, or to the end of the line. */
const AUTHORIZATION =
  /(authorization["']?\s*[:=]\s*)(?:"[^"\r\n]*"?|'[^'\r\n]*'?|[^\s"'&][^\r\n&]*)/gi

/** Credentials after their scheme: text with a digit, an equals sign or letters of both cases. */
const CREDENTIALS =
  /\b([Bb]earer|BEARER|[Bb]asic|BASIC)(\s+)(?=[\w.~+/-]*(?:\d|=|[a-z][A-Z]))[\w.~+/=-]{6,}/g

/** What each secret is told by, so that one search finds most strings to hold none. */
const SUSPICIOUS = /\/\/|2f|=|3d|eyJ|authorization|bearer|basic/i

/** Returns a URL without its fragment and without secrets, cut at 2 kB. */
export function redactUrl(url: string): string {
  const hash = url.indexOf('#')
  const redacted = redactText(hash === -1 ? url : url.slice(0, hash))
  // Cut last: half of a secret would no longer be recognised as one.
  if (redacted.length <= LONGEST_URL) return redacted
  return `${redacted.slice(0, LONGEST_URL)}… (${url.length} characters)`
}

/**
 * Returns a string without the secrets in the URLs, tokens, headers and settings that it quotes.
 */
export function redactText(text: string): string {
  if (!SUSPICIOUS.test(text)) return text
  let redacted = text
  if (/\/\/|2f/i.test(redacted)) redacted = redactUserInfo(redacted)
  if (redacted.includes('eyJ')) redacted = redacted.replace(JWT, REDACTED)
  if (/=|3d/i.test(redacted)) redacted = redactParameters(redacted)
  if (/authorization/i.test(redacted)) redacted = redacted.replace(AUTHORIZATION, `$1${REDACTED}`)
  if (/bearer|basic/i.test(redacted)) redacted = redacted.replace(CREDENTIALS, `$1$2${REDACTED}`)
  return redacted
}

/**
 * Returns what JSON keeps of the data of an error, without the values of keys that are secrets.
 * @throws what JSON can't hold
 */
export function redactData(data: unknown): unknown {
  if (isOpen(data)) return data
  return toPlain(data, (key, value) => (isSecretField(key) ? REDACTED : value))
}

/** Whether data is a plain object of strings without secret keys, which JSON would not change. */
function isOpen(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  if (Object.getPrototypeOf(data) !== Object.prototype) return false
  for (const [key, value] of Object.entries(data)) {
    if (typeof value !== 'string' || isSecretField(key)) return false
  }
  return true
}

/**
 * Returns what JSON keeps of the `errors` of an error. There a key names a field, and a string
 * under it says what is wrong with that field: strings stay, any other value under the name of a
 * secret goes.
 * @throws what JSON can't hold
 */
export function redactErrors(errors: unknown): unknown {
  return toPlain(errors, (key, value) => {
    return isSecretField(key) && !isMessage(value) ? REDACTED : value
  })
}

/**
 * Returns what may be logged of a value: without the values of secret keys, and without the secrets
 * that its strings quote. A value that JSON can't hold is reduced to its primitive properties.
 */
export function redactLogged(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  try {
    return toPlain(value, redactEntry)
  } catch {
    return toShallow(value)
  }
}

function redactEntry(key: string, value: unknown): unknown {
  if (value === undefined) return undefined
  if (isSecretName(key)) return REDACTED
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? redactText(value) : value
}

/**
 * Returns the primitive properties of an object that JSON can't hold: one with circles,
 * for example.
 */
function toShallow(value: object): unknown {
  try {
    const entries = Object.entries(value).filter(([, one]) => typeof one !== 'object')
    return Object.fromEntries(entries.map(([key, one]) => [key, redactEntry(key, one)]))
  } catch {
    return '[unreadable]'
  }
}

function toPlain(value: unknown, redact: (key: string, value: unknown) => unknown): unknown {
  const text = JSON.stringify(value, redact)
  return text === undefined ? undefined : JSON.parse(text)
}

function isMessage(value: unknown): boolean {
  return [value].flat().every((one) => typeof one === 'string')
}

function redactUserInfo(text: string): string {
  let redacted = ''
  let from = 0
  for (const { start, end } of findUserInfo(text)) {
    redacted += text.slice(from, start) + REDACTED
    from = end
  }
  return redacted + text.slice(from)
}

function redactParameters(text: string): string {
  let redacted = ''
  let from = 0
  for (const { 0: start, 1: name = '', index } of text.matchAll(PARAMETER)) {
    const isOfUrl = /^[?&;#%]/.test(start)
    if (index < from || !isSecretParameter(name, isOfUrl)) continue
    const valueAt = index + start.length
    redacted += text.slice(from, valueAt) + REDACTED
    from = valueAt + text.slice(valueAt).search(/[&#\s]|$/)
  }
  return redacted + text.slice(from)
}

function isSecretParameter(name: string, isOfUrl: boolean): boolean {
  const decoded = decodePercent(name)
  return isSecretName(decoded) || (isOfUrl && decoded.toLowerCase() === LOGIN_CODE)
}

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
interface UserInfo {
  readonly start: number
  readonly end: number
}

/**
 * Returns where URLs in a string hold a user and a password, in order. A password with a slash that
 * is not encoded, as people write them into connection strings, is found as well. The effort is
 * linear: each part of the string is looked at a fixed number of times.
 */
function findUserInfo(text: string): readonly UserInfo[] {
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
