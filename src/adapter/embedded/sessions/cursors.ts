import type { Document } from 'bson'
import { calculateObjectSize, Long } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import { MAX_DOCUMENT_BYTES } from '../limits.ts'
import { readCount } from '../protocol/read-fields.ts'
import type { Session } from './sessions.ts'

const FIRST_BATCH_SIZE = 101
/**
 * A client blocks while it decodes a batch: 10 ms for 256 kB of small documents, 70 ms for 2 MB. Larger
 * batches are not faster either.
 */
const MAX_BATCH_BYTES = 256_000
const IDLE_MS = 600_000

interface Cursor {
  readonly namespace: string
  readonly session: Session | undefined
  readonly documents: readonly Document[]
  position: number
  usedAt: number
}

/** How the first batch of a command is cut. */
export interface BatchOptions {
  readonly batchSize: unknown
  readonly singleBatch?: boolean
  /** A cursor belongs to the session of its command, and ends with it. */
  readonly context: { readonly session: Session | undefined }
}

/** The results of commands that clients have not fetched yet. */
export class Cursors {
  readonly #cursors: Map<number, Cursor> = new Map()
  readonly #now: () => number
  #lastId = 0

  /** `now` returns the time in ms. */
  constructor(now: () => number) {
    this.#now = now
  }

  get count(): number {
    return this.#cursors.size
  }

  /** Returns the reply of a command that found these documents. */
  open(namespace: string, documents: readonly Document[], options: BatchOptions): Document {
    const { session } = options.context
    const cursor = { namespace, session, documents, position: 0, usedAt: this.#now() }
    const size = readCount('batchSize', options.batchSize, FIRST_BATCH_SIZE)
    const isSingle = options.singleBatch === true
    // Documents that do not fit into a single batch are lost, so it may be as large as MongoDB allows.
    const firstBatch = takeBatch(cursor, size, isSingle ? MAX_DOCUMENT_BYTES : MAX_BATCH_BYTES)
    const isDone = cursor.position >= documents.length || isSingle
    const id = isDone ? 0 : this.#keep(cursor)
    return { cursor: { id: Long.fromNumber(id), ns: namespace, firstBatch }, ok: 1 }
  }

  /** Returns the reply of `getMore`. @throws {CommandError} 43 there is no such cursor */
  next(id: unknown, namespace: string, batchSize: unknown, session: Session | undefined): Document {
    const cursor = this.#cursors.get(Number(id))
    if (cursor === undefined) throw new CommandError(43, `cursor id ${String(id)} not found`)
    if (cursor.session !== session) {
      throw new CommandError(13, `cursor id ${String(id)} belongs to another session`)
    }
    if (cursor.namespace !== namespace) {
      throw new CommandError(13, `cursor id ${String(id)} is not one of ${namespace}`)
    }
    cursor.usedAt = this.#now()
    const size = readCount('batchSize', batchSize, Number.POSITIVE_INFINITY)
    const nextBatch = takeBatch(cursor, size, MAX_BATCH_BYTES)
    const isDone = cursor.position >= cursor.documents.length
    if (isDone) this.#cursors.delete(Number(id))
    return {
      cursor: { id: Long.fromNumber(isDone ? 0 : Number(id)), ns: namespace, nextBatch },
      ok: 1,
    }
  }

  /** Removes a cursor and returns whether there was one. */
  kill(id: unknown): boolean {
    return this.#cursors.delete(Number(id))
  }

  /** Ends the cursors of a session. */
  killOf(session: Session): void {
    for (const [id, cursor] of this.#cursors) {
      if (cursor.session === session) this.#cursors.delete(id)
    }
  }

  clear(): void {
    this.#cursors.clear()
  }

  #keep(cursor: Cursor): number {
    for (const [id, { usedAt }] of this.#cursors) {
      if (this.#now() - usedAt > IDLE_MS) this.#cursors.delete(id)
    }
    this.#lastId += 1
    this.#cursors.set(this.#lastId, cursor)
    return this.#lastId
  }
}

/** Takes as many documents as fit into a batch, and at least one. */
function takeBatch(cursor: Cursor, size: number, maxBytes: number): Document[] {
  const batch: Document[] = []
  let bytes = 0
  while (batch.length < size) {
    const document = cursor.documents[cursor.position]
    if (document === undefined) break
    // An array item has a type byte, and its index as a zero-terminated name.
    bytes += 2 + `${batch.length}`.length + calculateObjectSize(document, { ignoreUndefined: true })
    if (bytes > maxBytes && batch.length > 0) break
    batch.push(document)
    cursor.position += 1
  }
  return batch
}
