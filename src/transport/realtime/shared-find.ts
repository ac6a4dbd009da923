import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FindQueue } from './find-queue.ts'

/** The records of a snapshot. */
export interface Found {
  /** The result of `find` as JSON. */
  readonly json: string
  /** The keys of their ids. */
  readonly keys: readonly string[]
  /** The number of the last event before they were read. */
  readonly sequence: number
}

/** A stream that waits for a snapshot. */
interface Waiting {
  resolve(found: Found): void
  reject(error: unknown): void
}

/** How many streams go on in one turn of the event loop: each of them writes a snapshot. */
const MAX_IN_TURN = 20

/** Has one call of `find` serve all streams for which it finds the same. */
export class SharedFinds {
  readonly #queue: FindQueue
  /** The streams that wait for a call to begin, by what it finds. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(queue: FindQueue) {
    this.#queue = queue
  }

  /**
   * Resolves to what is found by a call that begins later than now.
   * @param key equal for streams for which the same is found
   * @param read does the call, for the first of them
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

async function settle(all: readonly Waiting[], tell: (one: Waiting) => void): Promise<void> {
  for (const [index, one] of all.entries()) {
    if (index > 0 && index % MAX_IN_TURN === 0) await nextTurn()
    tell(one)
  }
}
