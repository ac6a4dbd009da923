import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FindQueue } from './find-queue.ts'

/** The records of a snapshot. */
export interface Found {
  /** The result of `find` as JSON. */
  readonly json: string
  /** The keys of their ids. Empty if each event calls `find` again. */
  readonly keys: readonly string[]
  /** Whether it is a page whose total counts more records than it contains. */
  readonly isCut: boolean
  /** The number of the last event before the records were read. */
  readonly sequence: number
}

/** A stream that waits for a snapshot. */
interface Waiting {
  resolve(found: Found): void
  reject(error: unknown): void
}

/** How many streams get the result in one turn of the event loop, as each of them writes a snapshot. */
const MAX_IN_TURN = 20

/** Makes one call of `find` for all streams with the same result. */
export class SharedFinds {
  readonly #queue: FindQueue
  /** The streams waiting for a call to start, by its key. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(queue: FindQueue) {
    this.#queue = queue
  }

  /**
   * Resolves to the result of a call that has not started yet, so it is never older than this request.
   * @param key equal for streams with the same result
   * @param read makes the call; only that of the first waiting stream is used
   */
  find(key: string, read: () => Promise<Found>): Promise<Found> {
    return new Promise((resolve, reject) => {
      const one = { resolve, reject }
      const known = this.#waiting.get(key)
      if (known !== undefined) {
        known.push(one)
        return
      }
      const all: Waiting[] = [one]
      this.#waiting.set(key, all)
      const start = (): Promise<Found> => {
        this.#waiting.delete(key)
        return read()
      }
      this.#queue.run(start).then(
        (found) => settle(all, (waiting) => waiting.resolve(found)),
        (error: unknown) => settle(all, (waiting) => waiting.reject(error)),
      )
    })
  }
}

async function settle(all: readonly Waiting[], settleOne: (one: Waiting) => void): Promise<void> {
  for (const [index, one] of all.entries()) {
    if (index > 0 && index % MAX_IN_TURN === 0) await nextTurn()
    settleOne(one)
  }
}
