/** Longest time between two looks at the calls under way, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** A link of a list in both directions: a call, or with `null` the end of a list. */
interface Link<Call> {
  readonly call: Call | null
  previous: Link<Call>
  next: Link<Call>
}

/** Ends the watch over one call. */
export type Watch = Link<unknown>

/**
 * One time limit for many calls, with one timer for all of them. A timer for each call, or a set of
 * calls, would cost as much as the call itself; links are only put in and taken out. A call is told
 * at the limit or up to a tenth later, a second at most.
 */
export class TimeLimit<Call> {
  readonly #onTimeout: (call: Call) => void
  readonly #stepMs: number
  /** A ring: the list of the calls of each step, the oldest right after the current one. */
  readonly #steps: Link<Call>[]
  #current = 0
  /** When the current step began. */
  #beganAt = 0
  #timer: NodeJS.Timeout | null = null

  constructor(limitMs: number, onTimeout: (call: Call) => void) {
    this.#onTimeout = onTimeout
    this.#stepMs = Math.max(1, Math.min(LONGEST_STEP_MS, Math.ceil(limitMs / 10)))
    const count = Math.ceil(limitMs / this.#stepMs) + 1
    this.#steps = Array.from({ length: count }, () => createList<Call>())
  }

  /** Begins to watch a call, until {@link endWatch}. */
  start(call: Call): Watch {
    this.#catchUp()
    const list = this.#steps[this.#current] as Link<Call>
    const link: Link<Call> = { call, previous: list, next: list.next }
    list.next.previous = link
    list.next = link
    return link as Watch
  }

  /** Stops watching. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** A busy process looks late, and must not hold calls of different times for equally old. */
  #catchUp(): void {
    const now = performance.now()
    if (this.#timer === null) {
      this.#timer = setInterval(() => this.#catchUp(), this.#stepMs).unref()
      this.#beganAt = now
    }
    const steps = Math.floor((now - this.#beganAt) / this.#stepMs)
    this.#beganAt += steps * this.#stepMs
    for (let step = 0; step < Math.min(steps, this.#steps.length); step += 1) this.#step()
  }

  #step(): void {
    this.#current = (this.#current + 1) % this.#steps.length
    const due = this.#steps[this.#current] as Link<Call>
    while (due.next.call !== null) {
      const { next } = due
      endWatch(next as Watch)
      this.#onTimeout(next.call as Call)
    }
  }
}

/** Ends the watch over a call; a second time does nothing. */
export function endWatch(watch: Watch): void {
  watch.previous.next = watch.next
  watch.next.previous = watch.previous
  watch.previous = watch
  watch.next = watch
}

function createList<Call>(): Link<Call> {
  const list = { call: null } as Link<Call>
  list.previous = list
  list.next = list
  return list
}
