import { hash, randomBytes } from 'node:crypto'
import type { Collection } from 'mongodb'
import { ObjectId } from 'mongodb'
import { InvalidBody } from '../../core/errors/coded-errors.ts'
import { OptionError } from '../../core/errors/setup-errors.ts'
import type { SentUpload, Upload } from '../../core/files/file-content.ts'
import { callDatabase } from '../driver-error.ts'
import type { CheckedFacts, UploadLimits } from './checked-upload.ts'
import { CheckedUpload } from './checked-upload.ts'
import type { DirectUpload, NewUpload } from './direct-upload.ts'
import type { FileStorage } from './file-storage.ts'
import { gridFSStorage } from './grid-fs.ts'

/** A note that a file is being created or removed: its bytes may be there without its record. */
export interface BegunFile {
  readonly _id: ObjectId
  /** The id of the file. */
  readonly file: ObjectId
  /** What its client has declared, if it sends the bytes to the storage itself. */
  readonly sent?: NewUpload
}

type Note = BegunFile & {
  readonly at: Date
  /** The hash of the token of a direct upload, until it is used. */
  readonly token?: string
}

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
  async begin(file: ObjectId, facts: Pick<Note, 'sent' | 'token'> = {}): Promise<BegunFile> {
    const _id = new ObjectId()
    const notes = await this.#openNotes()
    // The time of the server: that of processes may differ.
    const note = { $set: { file, ...facts }, $currentDate: { at: true } } as const
    await callDatabase(() => notes.updateOne({ _id }, note, { upsert: true }))
    return { _id, file }
  }

  /** Begins a file whose bytes a client sends to the storage. If it never creates the file, the sweep removes them. */
  async beginDirect(upload: Required<NewUpload>, expiresInMs: number): Promise<DirectUpload> {
    const storage = await this.openStorage()
    if (storage.requestUpload === undefined) {
      throw new OptionError('createUpload(): clients cannot send files to this storage')
    }
    const secret = randomBytes(32).toString('base64url')
    const { _id, file } = await this.begin(new ObjectId(), { sent: upload, token: toKey(secret) })
    const request = await storage.requestUpload(String(file), upload, expiresInMs)
    return { method: 'PUT', ...request, token: `${_id}.${secret}` }
  }

  /**
   * Returns the begun file of a token, which works once.
   * @throws {BadRequest} the token is unknown, or was used
   */
  async useToken(given: string): Promise<BegunFile> {
    const [id = '', secret = ''] = given.split('.', 2)
    const _id = /^[\da-f]{24}$/.test(id) ? new ObjectId(id) : new ObjectId()
    const notes = await this.#openNotes()
    const used = { $unset: { token: true }, $currentDate: { at: true } } as const
    const note = await callDatabase(() =>
      notes.findOneAndUpdate({ _id, token: toKey(secret) }, used),
    )
    if (note === null) throw new InvalidBody('The token of the upload is unknown, or was used')
    return note
  }

  /**
   * Stores the bytes of a begun file. Resolves to what was found in them.
   * @throws {BadRequest} its client has sent nothing to the storage
   */
  async write({ file, sent }: BegunFile, upload: Upload | SentUpload): Promise<CheckedFacts> {
    const [id, storage] = [String(file), await this.openStorage()]
    if (!('token' in upload)) {
      const checked = new CheckedUpload(upload, this.#limits, this.#readStreams)
      await storage.write(id, checked.read())
      return checked.toFacts()
    }
    if (!(await storage.takeUpload?.(id))) {
      throw new InvalidBody('The bytes of the file were not sent to its storage')
    }
    // One more byte than allowed: what the storage has may be larger than declared.
    const content = storage.read(id, 0, this.#limits.maxBytes + 1)
    const checked = new CheckedUpload({ content, ...sent }, this.#limits, this.#readStreams)
    await checked.readAll()
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

/** Returns what is stored of a token. */
function toKey(secret: string): string {
  return hash('sha256', secret, 'base64url')
}
