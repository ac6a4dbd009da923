/** How long streams work at once before everything else has its turn, in milliseconds. */
const TURN_MS = 10

/**
 * Spreads the work of all streams over turns of the event loop, one piece of work in each: requests, timers
 * and sockets come in between.
 */
export class Turns {
  #startedAt = 0
  readonly #waiting: (() => void)[] = []

  /** Whether the work of this turn has taken long enough. */
  get isOver(): boolean {
    return performance.now() - this.#startedAt >= TURN_MS
  }

  /** Resolves in a turn of its own, after those that have asked before. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#begin())
    })
  }

  #begin(): void {
    this.#startedAt = performance.now()
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) setImmediate(() => this.#begin())
  }
}
