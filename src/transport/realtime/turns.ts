/** How long streams work in one turn before requests and timers run, in milliseconds. */
const TURN_MS = 10

/**
 * Spreads the work of all streams over turns of the event loop, so that requests, timers and sockets run in between.
 * Only one topic or stream works in each turn.
 */
export class Turns {
  #startedAt = 0
  readonly #waiting: (() => void)[] = []

  /** Whether the time of this turn is over. */
  get isOver(): boolean {
    return performance.now() - this.#startedAt >= TURN_MS
  }

  /** Resolves in a new turn, after those of earlier callers. */
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
