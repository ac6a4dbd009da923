import { getOrAdd } from '../../core/schema/model/keywords.ts'
import type { FindQueue } from './find-queue.ts'
import type { Turns } from './turns.ts'

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

/** How many streams get their results in one turn, as each of them writes a snapshot. */
const MAX_IN_TURN = 20

/** Makes one call of `find` for all streams with the same result. */
export class SharedFinds {
  readonly #queue: FindQueue
  readonly #turns: Turns
  /** The calls that have not started, by their keys. */
  readonly #waiting = new Map<string, Promise<Found>>()
  /** How many streams have waited for a turn, and the turn of the latest ones. */
  #served = 0
  #turn: Promise<void> | undefined

  constructor(queue: FindQueue, turns: Turns) {
    this.#queue = queue
    this.#turns = turns
  }

  /**
   * Resolves to the result of a call that has not started yet, so it is never older than this request. Streams
   * get it in groups, each in its own turn.
   * @param key equal for streams with the same result
   * @param read makes the call; only that of the first waiting stream is used
   */
  async find(key: string, read: () => Promise<Found>): Promise<Found> {
    const start = (): Promise<Found> => {
      this.#waiting.delete(key)
      return read()
    }
    const found = await getOrAdd(this.#waiting, key, () => this.#queue.run(start))
    if (this.#served % MAX_IN_TURN === 0) this.#turn = this.#turns.next()
    this.#served += 1
    await this.#turn
    return found
  }
}
