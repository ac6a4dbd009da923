import type { Document } from 'bson'
import { calculateObjectSize } from 'bson'
import { CommandError } from '../../matching/command-error.ts'

/** What every change of a store passes through: it is counted and, where a journal is kept, recorded. */
export class Changes {
  /** The BSON bytes of all records, and of those that open transactions have written or may read. */
  bytes = 0
  maxBytes: number = Number.POSITIVE_INFINITY
  /** Takes each change before it is made. */
  record: (change: Document) => void = () => undefined
  /**
   * Writes what was recorded. Only with `isDurable` a crash of the whole system cannot lose it.
   * @throws {CommandError} 14031 the disk refuses it; the next call tries again
   */
  flush: (isDurable: boolean) => void = () => undefined

  /** @throws {CommandError} 14031 the store grows, and would have more bytes than it may */
  reserve(growth: number): void {
    if (growth > 0 && this.bytes + growth > this.maxBytes) {
      const message = `The embedded server has no space left: maxBytes is ${this.maxBytes}`
      throw new CommandError(14031, message)
    }
    this.bytes += growth
  }
}

/** Returns the BSON bytes of a document, 0 where there is none. */
export function sizeOf(document: Document | undefined): number {
  return document === undefined ? 0 : calculateObjectSize(document, { ignoreUndefined: true })
}
