/** Keys whose values never reach a log, wherever they stand in what is logged. */
export const SECRET_KEYS: readonly string[] = [
  ...['password', 'secret', 'accessToken', 'access_token', 'refreshToken', 'refresh_token'],
  ...['token', 'jwt', 'authorization', 'cookie', 'apiKey', 'api_key'],
]

/** What stands in the place of a secret. */
export const REDACTED = '[redacted]'

const SECRET_NAME =
  /token|secret|passw(?:or)?d|passphrase|pwd|credential|jwt|api[_-]?key|authorization|cookie/i

/** In a URL it is what a login by a third party comes back with; elsewhere it is a status. */
const LOGIN_CODE = 'code'

/** Name and equals sign of a parameter, either mark perhaps percent-encoded as in a URL inside a URL. */
const PARAMETER = /(?:[?&;#]|%(?:26|3[bf]|23))((?:[^?&;#=%\s]|%(?!26|3[bdf]|23))*)(?:=|%3d)/gi

/** From `eyJ`, as JSON begins in base64, to the last of three parts, five where it is encrypted. */
const JWT = /eyJ(?:(?!eyJ)[\w-])*(?:(?:\.|%2[Ee])[\w-]*){2,4}/g

/** Returns a URL without its fragment, without tokens, and without parameters that are secrets. */
export function redactUrl(url: string): string {
  const hash = url.indexOf('#')
  return redactText(hash === -1 ? url : url.slice(0, hash))
}

/** Returns text without what is secret in the URLs and tokens that it quotes. */
export function redactText(text: string): string {
  const tokenless = text.includes('eyJ') ? text.replace(JWT, REDACTED) : text
  return /=|%3d/i.test(tokenless) ? redactParameters(tokenless) : tokenless
}

/**
 * Returns what JSON keeps of the data of an error, without the values of keys that are secrets.
 * @throws what JSON can't hold
 */
export function redactData(data: unknown): unknown {
  return toPlain(data, (key, value) => (SECRET_NAME.test(key) ? REDACTED : value))
}

/**
 * Returns what JSON keeps of the `errors` of an error. There a key names a field, and text under it
 * says what is wrong with that: it stays; anything else under the name of a secret goes.
 * @throws what JSON can't hold
 */
export function redactErrors(errors: unknown): unknown {
  return toPlain(errors, (key, value) => {
    return SECRET_NAME.test(key) && !isMessage(value) ? REDACTED : value
  })
}

function toPlain(value: unknown, redact: (key: string, value: unknown) => unknown): unknown {
  const text = JSON.stringify(value, redact)
  return text === undefined ? undefined : JSON.parse(text)
}

function isMessage(value: unknown): boolean {
  return [value].flat().every((one) => typeof one === 'string')
}

function redactParameters(text: string): string {
  let redacted = ''
  let from = 0
  for (const { 0: start, 1: name = '', index } of text.matchAll(PARAMETER)) {
    if (index < from || !isSecretParameter(name)) continue
    const valueAt = index + start.length
    redacted += text.slice(from, valueAt) + REDACTED
    from = valueAt + text.slice(valueAt).search(/[&#\s]|$/)
  }
  return redacted + text.slice(from)
}

function isSecretParameter(name: string): boolean {
  const decoded = decode(name)
  return SECRET_NAME.test(decoded) || decoded.toLowerCase() === LOGIN_CODE
}

function decode(name: string): string {
  if (!name.includes('%')) return name
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
