import * as fs from 'node:fs'
import { crc32 } from 'node:zlib'
import type { Document } from 'bson'
import { serialize } from 'bson'
import { decodeStored } from '../../matching/decode.ts'
import { MAX_LEVELS, prepareDocument } from '../protocol/message.ts'

/** The length of the changes, a checksum of the length, and a checksum of the changes: 4 bytes each. */
const HEADER_BYTES = 12

/** A file of records: each is a header with changes in BSON that belong together. */
export class RecordFile {
  readonly descriptor: number
  /** Where the last record ends. */
  end: number
  /** How many bytes of changes the next record has. */
  pendingBytes = 0
  readonly #path: string
  #pending: Uint8Array[] = []

  constructor(path: string, flags: 'a+' | 'w+' = 'a+') {
    this.#path = path
    this.descriptor = fs.openSync(path, flags, 0o600)
    this.end = fs.fstatSync(this.descriptor).size
  }

  /**
   * Calls `apply` with each change. A last record that is not whole is cut off.
   * @throws {Error} a record is not what was written
   */
  read(apply: (change: Document) => void): void {
    let at = 0
    while (at + HEADER_BYTES <= this.end) {
      const header = this.#readBytes(at, HEADER_BYTES)
      const length = header.readUInt32LE(0)
      const next = at + HEADER_BYTES + length
      this.#check(header.subarray(0, 4), header.readUInt32LE(4), at)
      if (next > this.end) break
      const changes = this.#readBytes(at + HEADER_BYTES, length)
      this.#check(changes, header.readUInt32LE(8), at)
      for (let start = 0; start < length; start += changes.readInt32LE(start)) {
        const end = start + changes.readInt32LE(start)
        const change = decodeStored(changes.subarray(start, end))
        prepareDocument(change, MAX_LEVELS)
        apply(change)
      }
      at = next
    }
    if (at === this.end) return
    process.emitWarning(`'${this.#path}' ended with an incomplete write, which is cut off`)
    fs.ftruncateSync(this.descriptor, at)
    this.end = at
  }

  /** Adds a change to the next record. */
  add(change: Document): void {
    const bytes = serialize(change, { ignoreUndefined: true })
    this.#pending.push(bytes)
    this.pendingBytes += bytes.length
  }

  /** Writes the next record, if it has changes. After a failure, it can be written again. */
  write(): void {
    if (this.pendingBytes === 0) return
    // Part of a record that could not be written may be left.
    fs.ftruncateSync(this.descriptor, this.end)
    const header = Buffer.alloc(HEADER_BYTES)
    header.writeUInt32LE(this.pendingBytes, 0)
    header.writeUInt32LE(crc32(header.subarray(0, 4)), 4)
    const checksum = this.#pending.reduce((sum, bytes) => crc32(bytes, sum), 0)
    header.writeUInt32LE(checksum, 8)
    const written = fs.writevSync(this.descriptor, [header, ...this.#pending])
    if (written < HEADER_BYTES + this.pendingBytes) throw new Error(`only ${written} bytes fit`)
    this.end += written
    this.pendingBytes = 0
    this.#pending = []
  }

  #readBytes(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length)
    fs.readSync(this.descriptor, bytes, 0, length, at)
    return bytes
  }

  #check(bytes: Buffer, checksum: number, at: number): void {
    if (crc32(bytes) === checksum) return
    throw new Error(
      `startEmbeddedMongo(): the file '${this.#path}' is damaged at byte ${at}: bring back a copy ` +
        'of it, or cut it off there, which loses all later changes',
    )
  }
}
