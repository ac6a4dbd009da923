import { decodePercent } from '../routing/request-path.ts'

/** Replaces each secret. */
const REDACTED = '[redacted]'

/** Longest URL that is logged or repeated in an error. */
const LONGEST_URL = 2_048

/** In a URL, `code` is the authorization code of an OAuth login; elsewhere it is a status. */
const LOGIN_CODE = 'code'

/**
 * Name and equals sign of a parameter of a URL, or of a setting in a string: ` password=`.
 * Separator and equals sign may be percent-encoded, as in a URL inside a URL.
 */
const PARAMETER =
  /(?:^|[?&;#\s]|%(?:25)*(?:26|3[bf]|23))((?:[^?&;#=%\s]|%(?!(?:25)*(?:26|3[bdf]|23)))*)(?:=|%(?:25)*3d)/gi

/** From `eyJ`, as JSON begins in base64, to the last of three parts, five where it is encrypted. */
const JWT = /eyJ(?:(?!eyJ)[\w-])*(?:(?:\.|%2[Ee])[\w-]*){2,4}/g

/** The header with its value: in quotes, or up to the end of the line. */
const AUTHORIZATION =
  /(authorization["']?\s*[:=]\s*)(?:"[^"\r\n]*"?|'[^'\r\n]*'?|[^\s"'&][^\r\n&]*)/gi

/** Credentials after their scheme: text with a digit, an equals sign or letters of both cases. */
const CREDENTIALS =
  /\b([Bb]earer|BEARER|[Bb]asic|BASIC)(\s+)(?=[\w.~+/-]*(?:\d|=|[a-z][A-Z]))[\w.~+/=-]{6,}/g

/** An API key of `ApiKeyStrategy` after its prefix: its id is kept, so that the key can be found. */
const API_KEY = /(_[\da-f]{24}_)[\dA-Za-z]{50}/g

/** A refresh token, or an emailed token of `AccountService`: 256 random bits after a dot, and what follows. */
const OPAQUE_TOKEN = /\.[\w-]{43}(?:\.[\w-]*\.\d{1,9}\.[\w-]{22})?(?![\w-])/g

/** Matches a part of each secret, so that one search clears most strings. */
const SUSPICIOUS = /\/\/|2f|=|3d|eyJ|authorization|bearer|basic|_[\da-f]{24}_|\.[\w-]{43}/i

/** Returns a URL without its fragment and without secrets, cut at 2 kB. */
export function redactUrl(url: string): string {
  const hash = url.indexOf('#')
  const redacted = redactText(hash === -1 ? url : url.slice(0, hash))
  // Shortened last: half a secret would no longer be recognized.
  if (redacted.length <= LONGEST_URL) return redacted
  return `${redacted.slice(0, LONGEST_URL)}… (${url.length} characters)`
}

/**
 * Returns a string without the secrets in the URLs, tokens, headers and settings that it quotes.
 */
export function redactText(text: string): string {
  if (!SUSPICIOUS.test(text)) return text
  let redacted = text
  if (redacted.search(AT) !== -1) redacted = redacted.replace(WORD, redactUserInfo)
  redacted = redacted.replace(API_KEY, `$1${REDACTED}`)
  if (redacted.includes('eyJ')) redacted = redacted.replace(JWT, REDACTED)
  redacted = redacted.replace(OPAQUE_TOKEN, `.${REDACTED}`)
  if (/=|3d/i.test(redacted)) redacted = redactAfter(redacted, PARAMETER, findParameterEnd)
  if (/authorization/i.test(redacted)) redacted = redacted.replace(AUTHORIZATION, `$1${REDACTED}`)
  if (/bearer|basic/i.test(redacted)) redacted = redacted.replace(CREDENTIALS, `$1$2${REDACTED}`)
  return redacted
}

/**
 * Returns the JSON form of the data of an error, without the values of secret keys. An error at such a key is kept,
 * because it says what is wrong with the field: resolvers put it there.
 * @throws if JSON cannot represent the data
 */
export function redactData(data: unknown): unknown {
  if (isOpen(data)) return data
  return toPlain(data, (key, value) => {
    return isSecretField(key) && !isErrorJSON(value) ? REDACTED : value
  })
}

/** The names in the JSON of an error. */
const ERROR_NAMES = ['name', 'message', 'code', 'className', 'data', 'errors']

function isErrorJSON(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const hasMessage = typeof (value as { message?: unknown }).message === 'string'
  return hasMessage && Object.keys(value).every((name) => ERROR_NAMES.includes(name))
}

/** Returns whether data is a plain object of strings without secret keys, which JSON would not change. */
function isOpen(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  if (Object.getPrototypeOf(data) !== Object.prototype) return false
  for (const [key, value] of Object.entries(data)) {
    if (typeof value !== 'string' || isSecretField(key)) return false
  }
  return true
}

/**
 * Returns the JSON form of the `errors` of an error. There a key names a field, and a string under it says what is
 * wrong with that field: strings are kept, other values of secret keys are removed.
 * @throws if JSON cannot represent the errors
 */
export function redactErrors(errors: unknown): unknown {
  return toPlain(errors, (key, value) => {
    return isSecretField(key) && !isMessage(value) ? REDACTED : value
  })
}

/**
 * Returns the loggable form of a value: without the values of secret keys, and without secrets quoted in strings. A
 * value that JSON cannot represent is reduced to its primitive properties.
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

/** Returns the loggable form of the value of a key, which may name a secret. */
export function redactNamed(key: string, value: unknown): unknown {
  return isSecretName(key) ? REDACTED : redactLogged(value)
}

function redactEntry(key: string, value: unknown): unknown {
  if (value === undefined) return undefined
  if (isSecretName(key)) return REDACTED
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? redactText(value) : value
}

/** Returns the primitive properties of an object that JSON cannot represent, for example a circular one. */
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

/**
 * Returns a string without the text after matches of an expression.
 * @param findEnd returns where that text ends, -1 if it is not a secret
 */
function redactAfter(
  text: string,
  pattern: RegExp,
  findEnd: (start: number, match: RegExpExecArray) => number,
): string {
  let redacted = ''
  let from = 0
  for (const match of text.matchAll(pattern)) {
    if (match.index < from) continue
    const start = match.index + match[0].length
    const end = findEnd(start, match)
    if (end === -1) continue
    redacted += text.slice(from, start) + REDACTED
    from = end
  }
  return redacted + text.slice(from)
}

function findParameterEnd(start: number, match: RegExpExecArray): number {
  const { 0: before, 1: name = '', input } = match
  const decoded = decodePercent(name)
  const isCode = /^[?&;#%]/.test(before) && decoded.toLowerCase() === LOGIN_CODE
  return isCode || isSecretName(decoded) ? start + input.slice(start).search(/[&#\s]|$/) : -1
}

/** Text between spaces and quotes, such as a URL. */
const WORD = /[^\s"'`<>]+/g

/** Colon and slashes of a URL, perhaps percent-encoded as in a URL inside a URL, or twice. */
const SCHEME_END = /(?::|%(?:25)*3a)(?:\/|%((?:25)*)2f)(?:\/|%(?:25)*2f)/gi

const AT = /@|%(?:25)*40/gi

/** A host and its port, if any, in the place of user and password. */
const HOST = /^(?:\[[^\]]*\]|[^:]*)(?::\d*)?$/

/**
 * Returns a word without user and password in its URLs. It also finds a password with an unencoded slash, as people
 * write them into connection strings. The effort is linear: each part of the word is visited a fixed number of times.
 */
function redactUserInfo(word: string): string {
  const lastAt = findLastAt(word)
  if (lastAt === -1) return word
  return redactAfter(word, SCHEME_END, (start, { 1: level }) => {
    const rest = word.slice(start)
    const authority = rest.slice(0, rest.search(toAuthorityEnd(level)))
    const at = findLastAt(authority)
    if (at === -1 && isHosts(authority)) return -1
    const end = at === -1 ? lastAt : start + at
    return end > start ? end : -1
  })
}

/**
 * Returns an expression for the end of the authority of a URL, in plain form or encoded as often as its slashes are.
 * @param level what is between the percent sign and the code of a slash, `undefined` for `/`
 */
function toAuthorityEnd(level: string | undefined): RegExp {
  if (level === undefined) return /[/?#]|$/
  // Limited, as the sender of a URL must not control the length of an expression.
  return new RegExp(`[/?#&]|%${level.slice(0, 4)}(?:2f|3f|23|26)|$`, 'i')
}

function findLastAt(text: string): number {
  let last = -1
  for (const { index } of text.matchAll(AT)) last = index
  return last
}

/** Returns whether an authority is a host, or several as in database URLs. */
function isHosts(authority: string): boolean {
  const plain = authority.replace(/%(?:25)*3a/gi, ':')
  return plain.split(',').every((host) => HOST.test(host))
}

/** Keys whose values are never logged, at any depth. */
export const SECRET_KEYS: readonly string[] = [
  ...['password', 'passwd', 'passphrase', 'passcode', 'pass', 'pwd', 'pin', 'otp', 'secret'],
  ...['accessToken', 'access_token', 'refreshToken', 'refresh_token', 'idToken', 'id_token'],
  ...['token', 'jwt', 'authorization', 'auth', 'cookie', 'cookies', 'apiKey', 'api_key', 'apikey'],
  ...['key', 'privateKey', 'private_key', 'clientSecret', 'client_secret', 'credentials'],
  ...['session', 'sessionId', 'session_id', 'sid', 'sig', 'signature'],
]

/** A name that contains one of these is that of a secret. */
const SECRET_PART =
  /token|secret|passw(?:or)?d|passphrase|passcode|pwd|credential|jwt|api[_-]?key|authorization|cookie|signature|sessionid|sessid/i

/** Short words that occur within others (`monkey`, `compass`): they count only as a whole word of a name. */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  ...['pass', 'otp', 'totp', 'pin', 'sig', 'session', 'sid', 'auth', 'bearer', 'authcode'],
  ...['accesskey', 'authkey', 'passkey', 'privatekey', 'sessionkey', 'signingkey', 'userpass'],
])

/** Words before `key` that make it a secret; other keys name a field or a translation. */
const KEY_KINDS: ReadonlySet<string> = new Set([
  ...['access', 'auth', 'encryption', 'master', 'private', 'session', 'shared', 'signing'],
])

const MAY_HAVE_WORD = /pass|otp|pin|sig|session|sid|auth|bearer|key/i

/**
 * Returns whether the name of a parameter or a logged value is that of a secret: `userPass`, `x-key` and
 * `X-Amz-Signature` are, `passenger` is not.
 */
function isSecretName(name: string): boolean {
  return isSecret(name, () => true)
}

/**
 * Returns whether the name of a field in the data of an error is that of a secret. Clients read it, and `key` may be
 * that of a translation: only `privateKey` and the like are secrets there.
 */
function isSecretField(name: string): boolean {
  return isSecret(name, (before) => KEY_KINDS.has(before))
}

/** @param isSecretKey returns whether the word `key` is secret after another word, `''` for none */
function isSecret(name: string, isSecretKey: (before: string) => boolean): boolean {
  if (SECRET_PART.test(name)) return true
  if (!MAY_HAVE_WORD.test(name)) return false
  return toWords(name).some((word, index, words) => {
    return word === 'key' ? isSecretKey(words[index - 1] ?? '') : SECRET_WORDS.has(word)
  })
}

/** `X-OTPCode2` is `x`, `otp` and `code`. */
function toWords(name: string): readonly string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
}
