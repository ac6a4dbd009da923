import { randomBytes } from 'node:crypto'
import { BSON } from 'mongodb'
import { InvalidCursor } from '../../core/errors/coded-errors.ts'
import { findServiceEntry } from '../../core/index.ts'
import { isProduction } from '../../core/node-env.ts'
import { NONCE_BYTES, seal, TAG_BYTES, unseal } from '../../core/secrets/sealing.ts'
import { hashToKey, listSecrets } from '../../core/secrets/secret.ts'
import { isObject } from '../../core/value-kind.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'

/** The first byte of each cursor. */
const VERSION = 1
const NONCE_END = 1 + NONCE_BYTES
/** In characters: a cursor has to fit into a URL. */
const MAX_CURSOR_LENGTH = 4_096

/** Makes encrypted cursors from the sort values of a record, and reads them again. */
export interface PageCursors {
  /**
   * Returns the cursor of a record.
   * @throws {BadRequest} the values are too long for a URL
   */
  seal(values: readonly unknown[]): string
  /**
   * Returns the values.
   * @param name how errors name the cursor
   * @throws {BadRequest} it is not a cursor, or belongs to another sort, service, version or key
   */
  open(name: string, cursor: string): readonly unknown[]
}

/** The part of a service that its cursors need. */
type CursorService = object & { readonly options: MongoDBSettings }

/**
 * Returns the cursors of a service. They are encrypted, since resolvers may hide the sort fields.
 * @param settings those of the call
 * @param scope what the cursors are for: those of another scope are rejected
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
      const { nonce, text, tag } = seal(BSON.serialize({ values }), first, bound)
      const cursor = Buffer.concat([Buffer.of(VERSION), nonce, text, tag]).toString('base64url')
      if (cursor.length <= MAX_CURSOR_LENGTH) return cursor
      throw new InvalidCursor('The values that $sort sorts by are too long for a cursor')
    },
    open(name, cursor) {
      if (cursor.length <= MAX_CURSOR_LENGTH) {
        const bytes = Buffer.from(cursor, 'base64url')
        // The decoder skips other characters, so several strings would be the same cursor.
        const isWhole = bytes[0] === VERSION && bytes.toString('base64url') === cursor
        const sealed = {
          nonce: bytes.subarray(1, NONCE_END),
          text: bytes.subarray(NONCE_END, -TAG_BYTES),
          tag: bytes.subarray(-TAG_BYTES),
        }
        for (const key of isWhole ? [first, ...others] : []) {
          const data = unseal(sealed, key, bound)
          if (data !== null) return BSON.deserialize(data)['values']
        }
      }
      throw new InvalidCursor(`${name} is not a cursor of this service and this $sort`)
    },
  }
}

/** The part of an application that has its settings. */
interface WithSettings {
  get?(name: string): unknown
}

/** Returns the key that makes cursors, and those that can still open older ones. */
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
  // The first secret of a list signs tokens, the others still verify them.
  const secrets = own === undefined ? listSecrets(secret) : [own]
  const [first, ...others] = secrets.map((one) => hashToKey('page-cursor', one))
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

/** The key of cursors if no secret is set: each process has its own. */
let ownKey: Uint8Array | undefined
