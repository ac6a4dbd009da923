import { randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { InvalidApiKey } from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import type { IdObject } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { hashString } from '../../core/secrets/opaque-token.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { createRefusal, orNull } from '../auth-errors.ts'

/** The section of the API key strategy. */
export interface ApiKeyConfiguration {
  /** The path of the service that stores the keys, a `MongoDBService`. */
  readonly service: string
  /** The prefix of keys, by which people and scanners recognize the issuer: `'acme'`. */
  readonly prefix: string
  /** The header with the key. Default: `'X-API-Key'`. */
  readonly header: string
  /** The scopes that keys may have. Default: none. */
  readonly scopes: readonly string[]
  /** The maximum number of keys per user. Default: 50. */
  readonly maxPerUser: number
}

export const API_KEY_DEFAULTS: Pick<ApiKeyConfiguration, 'header' | 'scopes' | 'maxPerUser'> = {
  header: 'X-API-Key',
  scopes: [],
  maxPerUser: 50,
}

/** Headers that hold other credentials. */
const TAKEN: ReadonlySet<string> = new Set(['authorization', 'cookie', 'set-cookie'])

export const API_KEY_RULES: Readonly<Record<keyof ApiKeyConfiguration, OptionRule>> = {
  service: { expected: 'the path of a service', isValid: isNonEmptyString },
  prefix: {
    expected: 'up to 20 letters, digits and underscores, a letter first and no underscore last',
    isValid: (value) => typeof value === 'string' && /^[A-Za-z](\w{0,18}[A-Za-z\d])?$/.test(value),
  },
  header: {
    expected: 'the name of a header that nothing else uses',
    isValid: (value) =>
      typeof value === 'string' && /^[\w-]+$/.test(value) && !TAKEN.has(value.toLowerCase()),
  },
  scopes: OPTION.stringList,
  maxPerUser: OPTION.positiveInteger,
}

/** An API key as internal calls see it. The record has additional fields for use by the package only. */
export interface ApiKeyRecord {
  /** The claim `keyId` of the key: an `ObjectId`, a string over HTTP. */
  readonly _id: IdObject & {
    /** Returns the id as it is sent over HTTP. */
    toJSON(): string
  }
  /** The claim `sub` of its user's access tokens, `null` for a key without a user. */
  readonly userId: string | null
  /** The name that its user chose. */
  readonly name: string
  /** The setting `prefix` when the key was created. */
  readonly prefix: string
  /** The scopes of the key. */
  readonly scopes: readonly string[]
  /** When it was created. */
  readonly createdAt: Date
  /** When it expires, `null` for never. */
  readonly expiresAt: Date | null
  /** When it was last used, to the minute. */
  readonly usedAt: Date | null
}

/** An API key as it is stored. */
export interface StoredApiKey extends ApiKeyRecord {
  /** The SHA-256 of its secret: 256 random bits cannot be guessed, so a slow hash would add nothing. */
  readonly secretHash: string
}

/**
 * The part of a `MongoDBService` that stores the keys. Keys are read by the methods with hooks, so that a key hidden by
 * `softDelete()` is invalid. The methods `_patch` and `_remove` emit no events.
 */
export interface ApiKeyService {
  get(id: string, params: object): Promise<unknown>
  find(params: object): Promise<unknown>
  _patch(id: string, data: object, params: object): Promise<unknown>
  _remove(id: string): Promise<unknown>
}

/**
 * `<prefix>_<id>_<256 random bits><checksum>`: letters, digits and underscores, which a double click selects. The
 * checksum lets scanners and the server tell a key from a string of the same form, without a database lookup.
 */
const FORMAT = /^([A-Za-z]\w{0,19})_([\da-f]{24})_([\dA-Za-z]{43})([\da-z]{7})$/

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 43

/** The message for every unknown key, whatever the reason. */
export const UNKNOWN_KEY = 'Invalid API key'

/** Returns 256 random bits as letters and digits. */
export function createSecret(): string {
  return Array.from({ length: SECRET_LENGTH }, () => DIGITS[randomInt(DIGITS.length)]).join('')
}

/** The parts at the beginning of a key. */
interface KeyParts {
  readonly prefix: string
  readonly _id: unknown
}

/** Returns the beginning of a key, which is not secret. */
export function toStart({ prefix, _id }: KeyParts): string {
  return `${prefix}_${_id}`
}

/** Returns a key in the form that its user receives. */
export function formatApiKey(key: KeyParts, secret: string): string {
  const text = `${toStart(key)}_${secret}`
  return text + toChecksum(text)
}

/** Returns 32 bits as 7 digits. */
function toChecksum(text: string): string {
  return crc32(text).toString(36).padStart(7, '0')
}

/**
 * Resolves to the record of a key.
 * @throws {NotAuthenticated} it is not a key, or an unknown one
 * @throws {TypeError} hooks of the service have removed the hash
 */
export async function findApiKey(text: unknown, service: ApiKeyService): Promise<StoredApiKey> {
  const [, prefix, id, secret, checksum] = (typeof text === 'string' && FORMAT.exec(text)) || []
  if (id === undefined || secret === undefined || typeof text !== 'string') {
    throw createRefusal(UNKNOWN_KEY, 'it has not the form of a key', InvalidApiKey)
  }
  if (toChecksum(text.slice(0, -7)) !== checksum) {
    throw createRefusal(UNKNOWN_KEY, 'its checksum is wrong', InvalidApiKey)
  }
  const refuse = (reason: string): never => {
    throw createRefusal(UNKNOWN_KEY, { reason, keyId: id }, InvalidApiKey)
  }
  const record = (await orNull(service.get(id, {}), 404)) as StoredApiKey | null
  if (record === null) return refuse('it was removed, or never made')
  if (typeof record.secretHash !== 'string') {
    throw new HookError(
      "A hook has removed 'secretHash' from an API key: external callers never see it, so leave it in internal calls",
    )
  }
  const [given, stored] = [hashString(secret), record.secretHash].map((hash) => Buffer.from(hash))
  const isSame = timingSafeEqual(given as Buffer, stored as Buffer)
  return isSame && record.prefix === prefix ? record : refuse('its secret is wrong')
}
