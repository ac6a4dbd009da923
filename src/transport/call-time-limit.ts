/** Longest time between two looks at the calls under way, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** A call with a time limit. */
export interface TimedCall {
  /** Called once when the time is up. */
  timeOut(limitMs: number): void
}

/** The watch over one call: a node of a doubly linked list, with `null` for its head. */
export interface Watch {
  readonly call: TimedCall | null
  /** When its time began: with the first look at it, `null` before that. */
  since: number | null
  previous: Watch
  next: Watch
}

/**
 * One time limit for many calls, with one timer for all of them. A timer for each call, or a set of
 * calls, would cost as much as the call itself; links are only put in and taken out. A call is told
 * at the limit or up to a tenth later, two seconds at most; in a process that is too busy for its
 * timers as much later as these are.
 */
export class TimeLimit {
  readonly #limitMs: number
  readonly #stepMs: number
  /** The head of the list of calls under way, the oldest first. */
  readonly #calls: Watch
  #timer: NodeJS.Timeout | null = null

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#stepMs = Math.max(1, Math.min(LONGEST_STEP_MS, Math.ceil(limitMs / 20)))
    const head = { call: null, since: 0 } as Watch
    head.previous = head
    head.next = head
    this.#calls = head
  }

  /** Begins to watch a call, until {@link endWatch}. */
  start(call: TimedCall): Watch {
    this.#timer ??= setInterval(() => this.#look(), this.#stepMs).unref()
    const head = this.#calls
    const link: Watch = { call, since: null, previous: head.previous, next: head }
    head.previous.next = link
    head.previous = link
    return link
  }

  /** Stops watching. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /**
   * Tells the calls whose time is up. The time of a call begins with the first look after its start, since
   * the clock is not looked at for each call: however late the timer is, none has less than it is promised.
   */
  #look(): void {
    const now = performance.now()
    for (let link = this.#calls.previous; link.since === null; link = link.previous) {
      link.since = now
    }
    const due = now - this.#limitMs
    for (let { next } = this.#calls; next.call !== null; next = this.#calls.next) {
      if (next.since === null || next.since > due) return
      endWatch(next)
      next.call.timeOut(this.#limitMs)
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
