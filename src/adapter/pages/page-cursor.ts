import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import { BSON } from 'mongodb'
import { BadRequest } from '../../core/errors/index.ts'
import { findServiceEntry } from '../../core/index.ts'
import { isProduction } from '../../core/node-env.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'

const CIPHER = 'aes-256-gcm'
/** The first byte of each cursor. */
const VERSION = 1
const NONCE_END = 13
const TAG_BYTES = 16
/** Characters: it has to fit into a URL. */
const MAX_CURSOR_LENGTH = 4_096

/** Makes cursors from the sort values of a record, and reads them again. */
export interface PageCursors {
  /**
   * Returns the cursor of a record.
   * @throws {BadRequest} the values are too long for a URL
   */
  seal(values: readonly unknown[]): string
  /**
   * Returns the values.
   * @param name how errors name the cursor
   * @throws {BadRequest} it is none, or one of another sort, service, version or key
   */
  open(name: string, cursor: string): readonly unknown[]
}

/** A service as its cursors know it. */
type CursorService = object & { readonly options: MongoDBSettings }

/**
 * Returns the cursors of a service. They are encrypted, since resolvers may hide what is sorted by.
 * @param settings those of the call
 * @param scope what cursors are for: those of another scope are refused
 */
export function createPageCursors(
  service: CursorService,
  settings: MongoDBSettings,
  scope: readonly unknown[],
): PageCursors {
  const [first, ...others] = listKeys(service, settings)
  const bound = Buffer.from(JSON.stringify([findServiceEntry(service)?.path, ...scope]))
  return {
    seal(values) {
      const nonce = randomBytes(NONCE_END - 1)
      const cipher = createCipheriv(CIPHER, first, nonce).setAAD(bound)
      const sealed = [cipher.update(BSON.serialize({ values })), cipher.final()]
      const parts = [Buffer.of(VERSION), nonce, ...sealed, cipher.getAuthTag()]
      const cursor = Buffer.concat(parts).toString('base64url')
      if (cursor.length <= MAX_CURSOR_LENGTH) return cursor
      throw new BadRequest('The values that $sort sorts by are too long for a cursor')
    },
    open(name, cursor) {
      if (cursor.length <= MAX_CURSOR_LENGTH) {
        const bytes = Buffer.from(cursor, 'base64url')
        // Other characters, which the decoder skips, would make many cursors of one.
        const isWhole = bytes[0] === VERSION && bytes.toString('base64url') === cursor
        for (const key of isWhole ? [first, ...others] : []) {
          const values = decrypt(bytes, key, bound)
          if (values !== null) return values
        }
      }
      throw new BadRequest(`${name} is not a cursor of this service and this $sort`)
    },
  }
}

/** Returns the values of a cursor, `null` where it was made by another key, or changed. */
function decrypt(bytes: Buffer, key: Uint8Array, bound: Buffer): readonly unknown[] | null {
  try {
    const nonce = bytes.subarray(1, NONCE_END)
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(bound).setAuthTag(bytes.subarray(-TAG_BYTES))
    const sealed = decipher.update(bytes.subarray(NONCE_END, -TAG_BYTES))
    return BSON.deserialize(Buffer.concat([sealed, decipher.final()]))['values']
  } catch {
    return null
  }
}

/** The part of an application that has its settings. */
interface WithSettings {
  get?(name: string): unknown
}

/** Returns the key that makes cursors, and those that still open some. */
function listKeys(
  service: CursorService,
  settings: MongoDBSettings,
): [Uint8Array, ...Uint8Array[]] {
  const { app } = findServiceEntry(service) ?? {}
  const [own] = [settings, service.options].flatMap(({ paginate }) =>
    paginate ? (paginate.secret ?? []) : [],
  )
  const authentication = (app as WithSettings | undefined)?.get?.('authentication')
  const { secret } = isObject(authentication) ? authentication : {}
  // Of a list, the first signs tokens, and the others still verify them.
  const secrets: readonly unknown[] = own === undefined ? [secret].flat().filter(isSecret) : [own]
  const [first, ...others] = secrets.filter(isNonEmptyString).map(deriveKey)
  if (first !== undefined) return [first, ...others]
  if (ownKey === undefined && isProduction()) {
    app?.logger.warn(
      {},
      "Cursors of pages end with this process, and hold in no other one: set 'paginate.secret'",
    )
  }
  ownKey ??= randomBytes(32)
  return [ownKey]
}

/** Whether a value is none of the public keys in PEM format that tokens may be verified by. */
function isSecret(value: unknown): boolean {
  const text = String(value)
  return !text.includes('-----BEGIN ') || text.includes('PRIVATE KEY-----')
}

/** The key of cursors where no secret is set: each process has its own. */
let ownKey: Uint8Array | undefined

/** So that tokens and cursors share no key. It is derived in each call, for which HKDF takes too long. */
function deriveKey(secret: string): Uint8Array {
  return hash('sha256', `remex page-cursor\0${secret}`, 'buffer')
}
