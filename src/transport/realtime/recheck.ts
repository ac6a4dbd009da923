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

/** Counts the rechecks that were asked for all streams of a service. */
interface RecheckSource {
  /** How many there were so far. */
  readonly rechecks: number
}

/** Knows when a stream must run the hooks of `find` again, to check what its caller may read. */
export class Recheck {
  readonly #source: RecheckSource
  readonly #intervalMs: number
  #asked = 0
  /** The count when the last successful recheck began. */
  #answered = 0
  /** When the next one is due, in ms since the epoch. */
  #dueAt = Number.POSITIVE_INFINITY
  /** Whether events were sent since the last successful recheck. */
  #hasTold = false

  /** @param intervalMs longest time between two rechecks */
  constructor(source: RecheckSource, intervalMs: number) {
    this.#source = source
    this.#intervalMs = intervalMs
    this.#answered = source.rechecks
  }

  /** Asks for a recheck. The stream sends nothing before it has succeeded. */
  ask(): void {
    this.#asked += 1
  }

  /** Whether a recheck was asked for since the last successful one began. Nothing may be sent then. */
  get isAsked(): boolean {
    return this.#count > this.#answered
  }

  /** Whether the interval since the last successful recheck has passed. */
  get isTime(): boolean {
    return this.#dueAt <= Date.now()
  }

  /**
   * Whether a recheck must come before the next event. After each recheck at least one event is sent, even if the
   * interval has passed again: otherwise a stream whose hooks take longer than the interval would send none.
   */
  get isDue(): boolean {
    return this.isAsked || (this.#hasTold && this.isTime)
  }

  /** Notes that events are being sent. */
  noteTold(): void {
    this.#hasTold = true
  }

  /**
   * Notes that a recheck begins. Returns a function to call when it has succeeded. If another recheck is asked for in
   * between, {@link isAsked} stays true.
   */
  begin(): () => void {
    const count = this.#count
    // Random, so that streams that begin together do not run all their rechecks together.
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
