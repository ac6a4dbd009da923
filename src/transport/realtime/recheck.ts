/** The event of a service whose callers may have gained or lost rights. */
export const RECHECK_STREAMS: unique symbol = Symbol('remex.recheckStreams')

/**
 * Makes all streams of a service check now what their callers may read, in all processes that a bus connects. Call it,
 * for example, after a member has joined or left a team. Otherwise streams check every `recheckMs`.
 */
export function recheckStreams(service: object): void {
  const emitter = service as { emit(event: symbol): unknown }
  emitter.emit(RECHECK_STREAMS)
}

/** Counts the rechecks requested for all streams of a service. */
interface RecheckSource {
  /** The number of rechecks so far. */
  readonly rechecks: number
}

/** Decides when a stream must run the hooks of `find` again to check what its caller may read. */
export class Recheck {
  readonly #source: RecheckSource
  readonly #intervalMs: number
  #asked = 0
  /** The count at the start of the last successful recheck. */
  #answered = 0
  /** When the next recheck is due, in ms since the epoch. */
  #dueAt = Number.POSITIVE_INFINITY
  /** Whether events were sent since the last successful recheck. */
  #hasTold = false

  /** @param intervalMs longest time between two rechecks */
  constructor(source: RecheckSource, intervalMs: number) {
    this.#source = source
    this.#intervalMs = intervalMs
    this.#answered = source.rechecks
  }

  /** Requests a recheck. The stream sends no records before it has succeeded. */
  ask(): void {
    this.#asked += 1
  }

  /**
   * Whether a recheck was requested since the last successful one started. No records may be sent while this is true.
   */
  get isAsked(): boolean {
    return this.#count > this.#answered
  }

  /** Whether the interval since the last successful recheck has passed. */
  get isTime(): boolean {
    return this.#dueAt <= Date.now()
  }

  /**
   * Whether a recheck must come before the next event. At least one event is sent after each recheck, even if the
   * interval has passed again: otherwise a stream whose hooks take longer than the interval would send none.
   */
  get isDue(): boolean {
    return this.isAsked || (this.#hasTold && this.isTime)
  }

  /** Records that events are being sent. */
  noteTold(): void {
    this.#hasTold = true
  }

  /**
   * Records that a recheck starts. Returns a function to call when it has succeeded. If another recheck is requested in
   * between, {@link isAsked} stays true.
   */
  begin(): () => void {
    const count = this.#count
    // Random, so that streams that started together do not run all their rechecks together.
    const dueAt = Date.now() + this.#intervalMs * (0.75 + Math.random() / 4)
    return () => {
      this.#answered = count
      this.#dueAt = dueAt
      this.#hasTold = false
    }
  }

  get #count(): number {
    return this.#asked + this.#source.rechecks
  }
}
