import type { Collection } from 'mongodb'
import { ObjectId } from 'mongodb'
import type { Upload } from '../../core/files/file-content.ts'
import { callDatabase } from '../driver-error.ts'
import type { CheckedFacts, UploadLimits } from './checked-upload.ts'
import { CheckedUpload } from './checked-upload.ts'
import type { FileStorage } from './file-storage.ts'
import { gridFSStorage } from './grid-fs.ts'

/** A note that a file is being created or removed: its bytes may be there without its record. */
export interface BegunFile {
  readonly _id: ObjectId
  /** The id of the file. */
  readonly file: ObjectId
}

type Note = BegunFile & { readonly at: Date }

/** How many notes a sweep reads at a time. */
const BATCH = 100

/**
 * Keeps bytes and records together. A note in `<collection>.pending` is stored before the first byte; after a crash,
 * `sweep()` follows it and removes bytes without a record.
 */
export class FileBytes {
  readonly #openRecords: () => Promise<Collection>
  readonly #limits: UploadLimits
  readonly #readStreams: WeakSet<object> = new WeakSet()
  #storage: FileStorage | undefined

  constructor(
    openRecords: () => Promise<Collection>,
    limits: UploadLimits,
    storage: FileStorage | undefined,
  ) {
    this.#openRecords = openRecords
    this.#limits = limits
    this.#storage = storage
  }

  /** Resolves to the storage: by default GridFS, next to the records. */
  async openStorage(): Promise<FileStorage> {
    if (this.#storage === undefined) {
      const { db, collectionName } = await this.#openRecords()
      this.#storage ??= gridFSStorage(db, { bucketName: collectionName })
    }
    return this.#storage
  }

  async #openNotes(): Promise<Collection<Note>> {
    const { db, collectionName } = await this.#openRecords()
    return db.collection<Note>(`${collectionName}.pending`)
  }

  /** Stores a note, never as part of a transaction: call it before the first step. */
  async begin(file: ObjectId): Promise<BegunFile> {
    const _id = new ObjectId()
    const notes = await this.#openNotes()
    // The time of the server: that of processes may differ.
    const note = { $set: { file }, $currentDate: { at: true } } as const
    await callDatabase(() => notes.updateOne({ _id }, note, { upsert: true }))
    return { _id, file }
  }

  /** Stores the bytes of a begun file. Resolves to what was found in them. */
  async write({ file }: BegunFile, upload: Upload): Promise<CheckedFacts> {
    const storage = await this.openStorage()
    const checked = new CheckedUpload(upload, this.#limits, this.#readStreams)
    await storage.write(String(file), checked.read())
    return checked.toFacts()
  }

  /** Ends a begun file whose record and bytes are both there, or both gone. */
  async confirm({ _id }: BegunFile): Promise<void> {
    const notes = await this.#openNotes()
    await callDatabase(() => notes.deleteOne({ _id }))
  }

  /** Ends a begun file by removing whatever is there of it. */
  async discard(begun: BegunFile): Promise<void> {
    const records = await this.#openRecords()
    await callDatabase(() => records.deleteOne({ _id: begun.file }))
    await this.settle(begun)
  }

  /** Ends a begun file: without a record, its bytes are removed. */
  async settle(begun: BegunFile): Promise<void> {
    const { file } = begun
    const records = await this.#openRecords()
    const options = { projection: { _id: 1 }, readPreference: 'primary' } as const
    const record = await callDatabase(() => records.findOne({ _id: file }, options))
    if (record === null) await (await this.openStorage()).remove(String(file))
    await this.confirm(begun)
  }

  /**
   * Settles the files that were begun at least this long ago, in ms. Resolves to their number.
   * @param onFailure gets the error of each file that could not be settled
   */
  async sweep(minAgeMs: number, onFailure: (error: unknown) => void): Promise<number> {
    const isOld = { $expr: { $lte: ['$at', { $subtract: ['$$NOW', minAgeMs] }] } }
    const notes = await this.#openNotes()
    let settled = 0
    for (let last = {}; ; ) {
      const old = await callDatabase(() =>
        notes
          .find({ ...isOld, ...last })
          .sort({ _id: 1 })
          .limit(BATCH)
          .toArray(),
      )
      for (const note of old) {
        await this.settle(note).then(() => (settled += 1), onFailure)
      }
      const { _id } = old.at(-1) ?? {}
      if (_id === undefined) return settled
      // Notes that stay must not be read again.
      last = { _id: { $gt: _id } }
    }
  }
}
