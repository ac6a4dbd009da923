import type { Collection, ObjectId } from 'mongodb'
import type { Upload } from '../../core/files/file-content.ts'
import { callDatabase } from '../driver-error.ts'
import type { FileStorage } from './file-storage.ts'
import { gridFSStorage } from './grid-fs.ts'
import { PendingFiles } from './pending-files.ts'
import type { CheckedFacts, UploadLimits } from './upload-check.ts'
import { CheckedUpload } from './upload-check.ts'

/** A file whose creation or removal has begun: its id, and that of the note that says so. */
export interface BegunFile {
  readonly file: ObjectId
  readonly note: ObjectId
}

/** How many notes a sweep reads at a time. */
const BATCH = 100

/** The bytes of the files of a collection: none stay without a record, whatever fails, and whenever a process ends. */
export class FileBytes {
  readonly #openRecords: () => Promise<Collection>
  readonly #limits: UploadLimits
  readonly #pending: PendingFiles
  #storage: FileStorage | undefined

  constructor(
    openRecords: () => Promise<Collection>,
    limits: UploadLimits,
    storage: FileStorage | undefined,
  ) {
    this.#openRecords = openRecords
    this.#limits = limits
    this.#storage = storage
    this.#pending = new PendingFiles(openRecords)
  }

  /** Resolves to the storage: by default GridFS, next to the records. */
  async openStorage(): Promise<FileStorage> {
    if (this.#storage === undefined) {
      const { db, collectionName } = await this.#openRecords()
      this.#storage ??= gridFSStorage(db, { bucketName: collectionName })
    }
    return this.#storage
  }

  /** Notes that the bytes of a file may be there without a record: call it before the first step. */
  async begin(file: ObjectId): Promise<BegunFile> {
    return { file, note: await this.#pending.add(file) }
  }

  /** Stores the bytes of a begun file. Resolves to what was found in them. */
  async write({ file }: BegunFile, upload: Upload): Promise<CheckedFacts> {
    const storage = await this.openStorage()
    const checked = new CheckedUpload(upload, this.#limits)
    await storage.write(String(file), checked.read())
    return checked.toFacts()
  }

  /** Ends a begun file whose record and bytes are both there. */
  async confirm({ note }: BegunFile): Promise<void> {
    await this.#pending.remove(note)
  }

  /** Ends a begun file by removing whatever is there of it. */
  async discard(begun: BegunFile): Promise<void> {
    const records = await this.#openRecords()
    await callDatabase(() => records.deleteOne({ _id: begun.file }))
    await this.settle(begun)
  }

  /** Ends a begun file: without a record, its bytes are removed. */
  async settle({ file, note }: BegunFile): Promise<void> {
    const records = await this.#openRecords()
    const options = { projection: { _id: 1 }, readPreference: 'primary' } as const
    const record = await callDatabase(() => records.findOne({ _id: file }, options))
    if (record === null) await (await this.openStorage()).remove(String(file))
    await this.#pending.remove(note)
  }

  /** Settles the files that were begun at least this long ago, in ms. Resolves to their number. */
  async sweep(minAgeMs: number): Promise<number> {
    for (let settled = 0; ; ) {
      const old = await this.#pending.list(minAgeMs, BATCH)
      if (old.length === 0) return settled
      for (const { _id: note, file } of old) await this.settle({ file, note })
      settled += old.length
    }
  }
}
