/** Longest time between two looks at the calls under way, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/**
 * One time limit for many calls, with one timer for all of them: a timer for each call would cost as
 * much as a tenth of the call. A call is told at the limit or up to a tenth later, a second at most.
 */
export class TimeLimit<Call> {
  readonly #onTimeout: (call: Call) => void
  readonly #stepMs: number
  /** A ring: the calls of one step each, the oldest behind the current one. */
  readonly #steps: Set<Call>[]
  #current = 0
  #timer: NodeJS.Timeout | null = null

  constructor(limitMs: number, onTimeout: (call: Call) => void) {
    this.#onTimeout = onTimeout
    this.#stepMs = Math.max(1, Math.min(LONGEST_STEP_MS, Math.ceil(limitMs / 10)))
    const count = Math.ceil(limitMs / this.#stepMs) + 1
    this.#steps = Array.from({ length: count }, () => new Set<Call>())
  }

  /** Begins to watch a call. Returns the set to delete it from when it has ended. */
  start(call: Call): Set<Call> {
    this.#timer ??= setInterval(() => this.#step(), this.#stepMs).unref()
    const step = this.#steps[this.#current] as Set<Call>
    step.add(call)
    return step
  }

  /** Stops watching. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #step(): void {
    this.#current = (this.#current + 1) % this.#steps.length
    const due = this.#steps[this.#current] as Set<Call>
    const calls = [...due]
    due.clear()
    for (const call of calls) this.#onTimeout(call)
  }
}
