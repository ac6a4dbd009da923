import type { Document } from 'bson'
import { calculateObjectSize } from 'bson'
import { CommandError } from '../../matching/command-error.ts'

/** Every change of a store passes through here: it is counted and, if there is a journal, recorded. */
export class Changes {
  /** The BSON bytes of all records, and of those that open transactions wrote or may read. */
  bytes = 0
  maxBytes: number = Number.POSITIVE_INFINITY
  /** Takes each change before it is made. */
  record: (change: Document) => void = () => undefined
  /**
   * Writes the recorded changes. Only with `isDurable` do they survive a system crash.
   * @throws {CommandError} 14031 the disk rejects them; the next call tries again
   */
  flush: (isDurable: boolean) => void = () => undefined

  /** @throws {CommandError} 14031 the store would grow beyond its limit */
  reserve(growth: number): void {
    if (growth > 0 && this.bytes + growth > this.maxBytes) {
      const message = `The embedded server has no space left: maxBytes is ${this.maxBytes}`
      throw new CommandError(14031, message)
    }
    this.bytes += growth
  }
}

/** Returns the BSON bytes of a document, 0 if there is none. */
export function sizeOf(document: Document | undefined): number {
  return document === undefined ? 0 : calculateObjectSize(document, { ignoreUndefined: true })
}
