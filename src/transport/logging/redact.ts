import { decodePercent } from '../routing/request-path.ts'
import { isSecretField, isSecretName } from './secret-name.ts'
import { findUserInfo } from './url-credentials.ts'

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
