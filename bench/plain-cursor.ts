import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'

// Keyset pages as a program would write them by hand, with cursors that are encrypted as those of a service.

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The order of these pages. */
export const KEYSET_SORT = { age: 1, _id: 1 } as const

/** Returns the key that a secret stands for. */
export function toPlainKey(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest()
}

/** Returns the sort values of a record, encrypted. */
export function toCursor(record: Document | null | undefined, key: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const text = JSON.stringify([record?.['age'], record?.['_id']])
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url')
}

/** Returns the condition on the records behind a cursor. */
export function toBehind(cursor: string, key: Uint8Array): Document[] {
  const bytes = Buffer.from(cursor, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const sealed = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
  const text = Buffer.concat([decipher.update(sealed), decipher.final()]).toString()
  const [age, _id] = JSON.parse(text)
  return [{ age: { $gt: age } }, { age, _id: { $gt: new ObjectId(String(_id)) } }]
}

/** Returns the page that begins with these records, of which the one behind its limit tells of a next page. */
export function toPage(found: Document[], limit: number, key: Uint8Array) {
  const data = found.slice(0, limit)
  const hasNext = found.length > data.length
  return { limit, data, hasNext, nextCursor: hasNext ? toCursor(data.at(-1), key) : null }
}
