import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import type { Document } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import type { Store } from '../storage/store.ts'
import { RecordFile } from './record-file.ts'

/** The approximate size of a snapshot record, in bytes of changes. */
const RECORD_BYTES = 1_000_000
/** A file below this size is not worth a snapshot. */
const LEAST_BYTES = 8_000_000

/** Keeps the changes of a store in a file, which the next start replays. */
export class Journal {
  readonly #store: Store
  readonly #path: string
  #file: RecordFile
  #syncedEnd = 0
  #snapshotEnd = 0

  /** Reads the file of a folder, if there is one, into a store. @throws {Error} it is damaged */
  constructor(directory: string, store: Store) {
    this.#store = store
    this.#path = join(directory, 'journal-v1')
    this.#file = new RecordFile(this.#path)
    this.#file.read((change) => replay(store, change))
    syncFolder(directory)
    store.clock.changes.record = (change) => this.#file.add(change)
    store.clock.changes.flush = (isDurable) => this.#flush(isDurable)
  }

  close(): void {
    this.#flush(true)
    if (this.#file.end !== this.#snapshotEnd) this.#takeSnapshot()
    fs.closeSync(this.#file.descriptor)
  }

  #flush(isDurable: boolean): void {
    try {
      this.#file.write()
      if (isDurable && this.#syncedEnd !== this.#file.end) {
        fs.fdatasyncSync(this.#file.descriptor)
        this.#syncedEnd = this.#file.end
      }
    } catch (error) {
      const message = `Cannot write to '${this.#path}': ${(error as Error).message}`
      throw new CommandError(14031, message, {}, { cause: error })
    }
    if (this.#file.end > Math.max(2 * this.#snapshotEnd, LEAST_BYTES)) this.#takeSnapshot()
  }

  /** Replaces the file by a snapshot of the current records, without their history. */
  #takeSnapshot(): void {
    const path = `${this.#path}.new`
    try {
      writeSnapshot(path, this.#store)
      // Windows cannot replace an open file.
      fs.closeSync(this.#file.descriptor)
      try {
        fs.renameSync(path, this.#path)
      } finally {
        this.#file = new RecordFile(this.#path)
      }
      syncFolder(dirname(path))
      this.#syncedEnd = this.#file.end
    } catch (error) {
      process.emitWarning(`No snapshot of '${this.#path}': ${(error as Error).message}`)
      fs.rmSync(path, { force: true })
    }
    // Also after a failure: the next attempt follows when the file has doubled.
    this.#snapshotEnd = this.#file.end
  }
}

function writeSnapshot(path: string, { databases }: Store): void {
  const file = new RecordFile(path, 'w+')
  try {
    for (const collection of [...databases.values()].flatMap((all) => [...all.values()])) {
      for (const change of collection.toChanges()) {
        file.add(change)
        if (file.pendingBytes > RECORD_BYTES) file.write()
      }
    }
    file.write()
    fs.fsyncSync(file.descriptor)
  } finally {
    fs.closeSync(file.descriptor)
  }
}

/** Makes a new file or a rename durable. Windows cannot open a folder. */
function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const folder = fs.openSync(path, 'r')
  fs.fsyncSync(folder)
  fs.closeSync(folder)
}

/** Replays a change; `ns` names its collection. */
function replay(store: Store, { ns, ...change }: Document): void {
  const [database, ...names] = ns.split('.')
  const name = names.join('.')
  const collection = store.find(database, name)
  if ('create' in change) store.create(database, name, change.create)
  else if (collection === undefined) throw new Error(`A change of '${ns}', which does not exist`)
  else if ('put' in change) collection.apply(collection.keyOf(change.put._id), change.put)
  else if ('remove' in change) collection.apply(collection.keyOf(change.remove), undefined)
  else if ('createIndex' in change) collection.addIndex(change.createIndex)
  else if ('dropIndex' in change) collection.removeIndex(change.dropIndex)
  else if ('drop' in change) store.drop(database, name)
}
