import { CallTimeout } from '../core/errors/coded-errors.ts'

/** Longest interval between two checks of the running calls, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** A call with a time limit. */
class TimedCall {
  /** When its time started: at the first check, `null` before that. */
  declare since: number | null
  /** Called once when the time is up. */
  declare readonly timeOut: (limitMs: number) => void
  declare private readonly calls: Set<TimedCall>

  // Assigned here: an initializer of fields is one more call for each request.
  constructor(calls: Set<TimedCall>, timeOut: (limitMs: number) => void) {
    this.since = null
    this.timeOut = timeOut
    this.calls = calls
    calls.add(this)
  }

  /** Stops watching the call; calling it again does nothing. */
  endWatch(): void {
    this.calls.delete(this)
  }
}

/**
 * One time limit for many calls, with one timer for all of them. A call ends at the limit or up to a tenth later, two
 * seconds at most; if the process is too busy for its timers, as much later as they are.
 */
export class TimeLimit {
  readonly #limitMs: number
  readonly #stepMs: number
  /** The running calls. */
  readonly #calls = new Set<TimedCall>()
  #timer: NodeJS.Timeout | null = null

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#stepMs = Math.max(1, Math.min(LONGEST_STEP_MS, Math.ceil(limitMs / 20)))
  }

  /**
   * Starts to watch a call, until {@link TimedCall.endWatch}.
   * @param timeOut called once when the time is up
   */
  start(timeOut: (limitMs: number) => void): TimedCall {
    this.#timer ??= setInterval(() => this.#look(), this.#stepMs).unref()
    return new TimedCall(this.#calls, timeOut)
  }

  /**
   * Runs work under the time limit, and settles as it does.
   * @throws {Timeout} the time is up. The work may continue, but its outcome is ignored
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const working = work()
      const call = this.start((limitMs) =>
        reject(new CallTimeout(`No answer within ${limitMs} ms`)),
      )
      working.finally(() => call.endWatch()).then(resolve, reject)
    })
  }

  /** Stops watching. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /**
   * Ends the calls whose time is up. The time of a call starts at the first check after its start, since the clock is
   * not read for each call: however late the timer is, no call gets less time than the limit.
   */
  #look(): void {
    const now = performance.now()
    for (const call of this.#calls) {
      call.since ??= now
      if (now - call.since < this.#limitMs) continue
      call.endWatch()
      call.timeOut(this.#limitMs)
    }
  }
}
