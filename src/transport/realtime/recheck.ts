/** The event of a service whose callers may have gained or lost rights. */
export const RECHECK_STREAMS: unique symbol = Symbol('remex.recheckStreams')

/**
 * Has all streams of a service look up now what their callers may read, in all processes that a bus joins:
 * after a member was added to a team, or has left it. Without it they do so every `recheckMs`.
 */
export function recheckStreams(service: object): void {
  const emitter = service as { emit(event: symbol): unknown }
  emitter.emit(RECHECK_STREAMS)
}

/** Counts what asks all streams of a service to look up their rights. */
interface RecheckSource {
  /** How often that was asked for so far. */
  readonly rechecks: number
}

/** Knows when a stream has to look up anew what its caller may read. */
export class Recheck {
  readonly #source: RecheckSource
  readonly #intervalMs: number
  #asked = 0
  /** What was asked for when the last look-up that succeeded began. */
  #answered = 0
  /** When the next one is due, in ms since the epoch. */
  #dueAt = Number.POSITIVE_INFINITY
  #hasTold = false

  /** @param intervalMs longest time between two look-ups */
  constructor(source: RecheckSource, intervalMs: number) {
    this.#source = source
    this.#intervalMs = intervalMs
    this.#answered = source.rechecks
  }

  /** Asks for one: the stream sends nothing before it is done. */
  ask(): void {
    this.#asked += 1
  }

  /** Whether rights may have ended since the last one began: nothing may be sent. */
  get isAsked(): boolean {
    return this.#count > this.#answered
  }

  /** Whether the time for the next one has come. */
  get isTime(): boolean {
    return this.#dueAt <= Date.now()
  }

  /**
   * Whether one has to come before the next event. After each of them one event is sent, however long that takes:
   * otherwise a stream whose hooks take longer than the interval would send none.
   */
  get isDue(): boolean {
    return this.isAsked || (this.#hasTold && this.isTime)
  }

  /** Notes that events are being sent. */
  noteTold(): void {
    this.#hasTold = true
  }

  /**
   * Notes that a look-up begins. Returns what to call when it has succeeded: what is asked for meanwhile asks for
   * another one.
   */
  begin(): () => void {
    const count = this.#count
    // Streams that begin together do not look up their rights together for ever.
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
