/** Keys whose values never reach a log, wherever they stand in what is logged. */
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

/**
 * Short words that others contain (`monkey`, `compass`): they count only as a whole word of a name.
 */
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
 * Whether the name of a parameter or of a logged value is that of a secret: `userPass`, `x-key` and
 * `X-Amz-Signature` are, `passenger` is not.
 */
export function isSecretName(name: string): boolean {
  return isSecret(name, () => true)
}

/**
 * Whether the name of a field in the data of an error is that of a secret. Clients read it, and
 * `key` may be that of a translation: there only `privateKey` and its like are secrets.
 */
export function isSecretField(name: string): boolean {
  return isSecret(name, (before) => KEY_KINDS.has(before))
}

/** @param isSecretKey whether the word `key` is that of a secret after another word, `''` for none */
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
