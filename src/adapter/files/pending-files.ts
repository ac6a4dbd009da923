import type { Collection } from 'mongodb'
import { ObjectId } from 'mongodb'
import { callDatabase } from '../driver-error.ts'

/** Says that the bytes of a file may be there without its record. */
interface PendingFile {
  readonly _id: ObjectId
  /** The id of the file. */
  readonly file: ObjectId
  readonly at: Date
}

/**
 * Notes about files that are being created or removed, in a collection next to that of the records. A process that ends
 * in between leaves its note, by which a sweep finds the bytes in any storage.
 */
export class PendingFiles {
  readonly #open: () => Promise<Collection<PendingFile>>

  /** @param openRecords resolves to the collection of the records */
  constructor(openRecords: () => Promise<Collection>) {
    this.#open = async () => {
      const { db, collectionName } = await openRecords()
      return db.collection<PendingFile>(`${collectionName}.pending`)
    }
  }

  /** Stores a note, never as part of a transaction. Resolves to its id. */
  async add(file: ObjectId): Promise<ObjectId> {
    const _id = new ObjectId()
    const notes = await this.#open()
    // The time of the server: that of processes may differ.
    const note = { $set: { file }, $currentDate: { at: true } } as const
    await callDatabase(() => notes.updateOne({ _id }, note, { upsert: true }))
    return _id
  }

  /** Removes a note: either both the bytes and the record are there, or neither. */
  async remove(_id: ObjectId): Promise<void> {
    const notes = await this.#open()
    await callDatabase(() => notes.deleteOne({ _id }))
  }

  /** Resolves to the oldest notes that were stored at least this long ago. */
  async list(minAgeMs: number, limit: number): Promise<PendingFile[]> {
    const notes = await this.#open()
    const isOld = { $expr: { $lte: ['$at', { $subtract: ['$$NOW', minAgeMs] }] } }
    return callDatabase(() => notes.find(isOld).sort({ _id: 1 }).limit(limit).toArray())
  }
}
