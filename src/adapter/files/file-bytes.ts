import type { Collection } from 'mongodb'
import { ObjectId } from 'mongodb'
import { InvalidBody } from '../../core/errors/coded-errors.ts'
import { OptionError } from '../../core/errors/setup-errors.ts'
import type { DirectUpload, SentUpload, Upload } from '../../core/files/file-content.ts'
import { createRandom, hashString } from '../../core/secrets/opaque-token.ts'
import { callDatabase, readOutcome } from '../driver-error.ts'
import type { CheckedFacts } from './checked-upload.ts'
import { CheckedUpload } from './checked-upload.ts'
import type { NewUpload } from './direct-upload.ts'
import type { ResolvedFileOptions } from './file-options.ts'
import type { DirectStorage, FileStorage } from './file-storage.ts'
import { gridFSStorage } from './grid-fs.ts'

/** A note that a file is being created or removed: its bytes may be there without its record. */
export interface BegunFile {
  readonly _id: ObjectId
  /** The id of the file. */
  readonly file: ObjectId
}

type Note = BegunFile & {
  readonly at: Date
  /** What the client of a direct upload has declared. */
  readonly sent?: Required<NewUpload>
  /** The hash of the token of a direct upload, unless it was used. */
  readonly token?: string
}

/** A begun file whose bytes are stored, and what was found in them. */
type StoredBytes = readonly [begun: BegunFile, facts: CheckedFacts]

/** How many notes a sweep reads at a time. */
const BATCH = 100

/**
 * Keeps bytes and records together. A note in `<collection>.pending` is stored before the first byte; after a crash,
 * `sweep()` follows it and removes bytes without a record.
 */
export class FileBytes {
  readonly #openRecords: () => Promise<Collection>
  readonly #options: ResolvedFileOptions
  readonly #warn: (error: unknown) => void
  readonly #readStreams: WeakSet<object> = new WeakSet()
  #storage: FileStorage | undefined

  /** @param warn gets the errors of steps that the next sweep repeats */
  constructor(
    openRecords: () => Promise<Collection>,
    options: ResolvedFileOptions,
    warn: (error: unknown) => void,
  ) {
    this.#openRecords = openRecords
    this.#options = options
    this.#warn = warn
    this.#storage = options.storage
  }

  /** Resolves to the storage: by default GridFS, next to the records. */
  async openStorage(): Promise<FileStorage> {
    if (this.#storage === undefined) {
      const { db, collectionName } = await this.#openRecords()
      this.#storage ??= gridFSStorage(db, { bucketName: collectionName })
    }
    return this.#storage
  }

  /**
   * Resolves to the storage, if clients can send bytes to it.
   * @throws {TypeError} they cannot
   */
  async openDirect(): Promise<DirectStorage> {
    const storage = await this.openStorage()
    if (storage.requestUpload && storage.takeUpload) return storage as DirectStorage
    throw new OptionError('createUpload(): clients cannot send files to this storage')
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

  /** Stores the bytes of a new file. If it fails, they are removed. */
  async write(upload: Upload): Promise<StoredBytes> {
    const begun = await this.begin(new ObjectId())
    let content: AsyncGenerator<Uint8Array, void> | undefined
    try {
      const storage = await this.openStorage()
      const checked = new CheckedUpload(upload, this.#options, this.#readStreams)
      content = checked.read()
      await storage.write(String(begun.file), content)
      return [begun, checked.toFacts()]
    } catch (error) {
      // A storage may leave the content open. Not awaited: it may be waiting for the client.
      content?.return().catch(() => undefined)
      await this.abandon(begun, error)
      throw error
    }
  }

  /** Begins a direct upload. The sweep removes what no file is created from. */
  async beginDirect(sent: Required<NewUpload>, expiresInMs: number): Promise<DirectUpload> {
    const storage = await this.openDirect()
    const [file, secret] = [new ObjectId(), createRandom()]
    const request = await storage.requestUpload(String(file), sent, expiresInMs)
    const { _id } = await this.begin(file, { sent, token: hashString(secret) })
    return { method: 'PUT', ...request, token: `${_id}.${secret}` }
  }

  /**
   * Takes over the bytes of a direct upload. The token works once, but stays valid if they are not there yet.
   * @throws {BadRequest} the token is unknown or was used, or the client has sent nothing
   */
  async take(upload: SentUpload, signal: AbortSignal | undefined): Promise<StoredBytes> {
    const storage = await this.openDirect()
    const [id = '', secret = ''] = upload.token.split('.', 2)
    const _id = /^[\da-f]{24}$/.test(id) ? new ObjectId(id) : new ObjectId()
    const token = hashString(secret)
    const notes = await this.#openNotes()
    const use = { $unset: { token: true }, $currentDate: { at: true } } as const
    const note = await callDatabase(() => notes.findOneAndUpdate({ _id, token }, use))
    if (note === null) throw new InvalidBody('The token of the upload is unknown, or was used')
    const { file, sent } = note
    try {
      if (!(await storage.takeUpload(String(file)))) {
        throw new InvalidBody('The bytes of the file were not sent to its storage')
      }
    } catch (error) {
      await this.#tidy(() => notes.updateOne({ _id }, { $set: { token } }))
      throw error
    }
    try {
      // One more byte than allowed: what the storage has may be larger than declared.
      const content = storage.read(String(file), 0, this.#options.maxBytes + 1)
      const checked = new CheckedUpload({ content, ...sent }, this.#options, this.#readStreams)
      for await (const _part of checked.read()) {
        signal?.throwIfAborted()
        upload.onRead?.()
      }
      return [note, checked.toFacts()]
    } catch (error) {
      await this.discard(note)
      throw error
    }
  }

  /** Ends a begun file whose record and bytes are both there, or both gone. */
  async confirm(begun: BegunFile): Promise<void> {
    await this.#tidy(() => this.#confirm(begun))
  }

  /** Ends a begun file by removing whatever is there of it. */
  async discard(begun: BegunFile): Promise<void> {
    await this.#tidy(async () => {
      const records = await this.#openRecords()
      await callDatabase(() => records.deleteOne({ _id: begun.file }))
      await this.#settle(begun)
    })
  }

  /** Discards a begun file after an error. If its record may be there, or may still come, the sweep finds out. */
  async abandon(begun: BegunFile, error: unknown): Promise<void> {
    if (readOutcome(error) !== 'unknown') await this.discard(begun)
  }

  /** Ends a begun file: without a record, its bytes are removed. */
  async settle(begun: BegunFile): Promise<void> {
    await this.#tidy(() => this.#settle(begun))
  }

  async #confirm({ _id }: BegunFile): Promise<void> {
    const notes = await this.#openNotes()
    await callDatabase(() => notes.deleteOne({ _id }))
  }

  async #settle(begun: BegunFile): Promise<void> {
    const { file } = begun
    const records = await this.#openRecords()
    const options = { projection: { _id: 1 }, readPreference: 'primary' } as const
    const record = await callDatabase(() => records.findOne({ _id: file }, options))
    if (record === null) await (await this.openStorage()).remove(String(file))
    await this.#confirm(begun)
  }

  /** Runs a step that cannot change the outcome of a call: if it fails, the sweep does it. */
  async #tidy(step: () => Promise<unknown>): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.#warn(error)
    }
  }

  /** Settles the files that were begun at least this long ago, in ms. Resolves to their number. */
  async sweep(minAgeMs: number): Promise<number> {
    const isOld = { $expr: { $lte: ['$at', { $subtract: ['$$NOW', minAgeMs] }] } }
    const notes = await this.#openNotes()
    let settled = 0
    const settle = async (note: Note): Promise<void> => {
      // A token may have been used since the note was read: then a file is being created.
      const [same, end] = [{ _id: note._id, at: note.at }, { $unset: { token: true } }] as const
      const { matchedCount } = await callDatabase(() => notes.updateOne(same, end))
      if (matchedCount === 0) return
      await this.#settle(note)
      settled += 1
    }
    for (let last = {}; ; ) {
      const old = await callDatabase(() =>
        notes
          .find({ ...isOld, ...last })
          .sort({ _id: 1 })
          .limit(BATCH)
          .toArray(),
      )
      for (const note of old) {
        await this.#tidy(() => settle(note))
      }
      const { _id } = old.at(-1) ?? {}
      if (_id === undefined) return settled
      // Notes that stay must not be read again.
      last = { _id: { $gt: _id } }
    }
  }
}
