import { Timeout } from '../core/index.ts'

/** Longest time between two looks at the calls under way, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** A call with a time limit: a node of a doubly linked list. */
class TimedCall {
  /** When its time began: with the first look at it, `null` before that. */
  declare since: number | null
  declare previous: TimedCall
  declare next: TimedCall
  /** Called once when the time is up. */
  declare readonly timeOut: (limitMs: number) => void

  // Assigned here: an initializer of fields is one more call for each request.
  constructor(timeOut: (limitMs: number) => void) {
    this.since = null
    this.previous = this
    this.next = this
    this.timeOut = timeOut
  }

  /** Ends the watch over the call; a second time does nothing. */
  endWatch(): void {
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
  }
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
  readonly #head = new TimedCall(() => undefined)
  #timer: NodeJS.Timeout | null = null

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#stepMs = Math.max(1, Math.min(LONGEST_STEP_MS, Math.ceil(limitMs / 20)))
    this.#head.since = 0
  }

  /**
   * Begins to watch a call, until {@link TimedCall.endWatch}.
   * @param timeOut called once when the time is up
   */
  start(timeOut: (limitMs: number) => void): TimedCall {
    const call = new TimedCall(timeOut)
    this.#timer ??= setInterval(() => this.#look(), this.#stepMs).unref()
    const head = this.#head
    call.previous = head.previous
    call.next = head
    head.previous.next = call
    head.previous = call
    return call
  }

  /**
   * Runs work under the time limit, and settles as it does.
   * @throws {Timeout} the time is up. The work may go on, but its outcome is ignored
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const working = work()
      const call = this.start((limitMs) => reject(new Timeout(`No answer within ${limitMs} ms`)))
      working.finally(() => call.endWatch()).then(resolve, reject)
    })
  }

  /** Stops watching. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /**
   * Tells the calls whose time is up. The time of a call begins with the first look after its
   * start, since the clock is not looked at for each call: however late the timer is, none has less
   * than it is promised.
   */
  #look(): void {
    const now = performance.now()
    for (let call = this.#head.previous; call.since === null; call = call.previous) {
      call.since = now
    }
    const due = now - this.#limitMs
    for (let { next } = this.#head; next !== this.#head; next = this.#head.next) {
      if (next.since === null || next.since > due) return
      next.endWatch()
      next.timeOut(this.#limitMs)
    }
  }
}
