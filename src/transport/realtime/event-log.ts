/** What an event says: that a record is new, has changed or is gone, or something of the service's own. */
export interface RecordEvent {
  /** `created`, `updated`, `patched`, `removed`, or an event of the service itself. */
  readonly name: string
  /** The id of the record. */
  readonly id: unknown
  /** Where the record is; a promise while its collection is being opened. */
  place: string | Promise<string>
  /**
   * A removed record as it was stored, what an event of the service's own says, or a record that can't
   * be read again. Dropped once every stream has had it.
   */
  record?: object | undefined
}

/** That records have changed, nobody knows which. */
export const CHANGED = 'changed'

/** An event in its place in the log. */
export interface LoggedEvent extends RecordEvent {
  readonly sequence: number
  readonly loggedAt: number
}

/** How long events are kept. */
interface LogLimits {
  readonly bufferEvents: number
  readonly bufferMs: number
}

/**
 * The events of one service, in their order, each with a number: what streams are told from, and what a
 * client that comes back is told that it has missed.
 */
export class EventLog {
  /** The number of the newest event. */
  last = 0
  readonly #limits: LogLimits
  readonly #epoch: string
  readonly #events: LoggedEvent[] = []
  /** Up to which event records have been dropped. */
  #released = 0

  /** @param epoch differs from process to process: numbers of another one mean nothing here */
  constructor(limits: LogLimits, epoch: string) {
    this.#limits = limits
    this.#epoch = epoch
  }

  /** How many events are kept. */
  get size(): number {
    return this.#events.length
  }

  append(event: RecordEvent): void {
    this.last += 1
    this.#events.push({ ...event, sequence: this.last, loggedAt: Date.now() })
    this.#forget()
  }

  /** Returns the events behind a number, `null` where some of them are forgotten. */
  since(sequence: number): readonly LoggedEvent[] | null {
    const count = this.last - sequence
    if (count > this.#events.length) return null
    return count === 0 ? [] : this.#events.slice(-count)
  }

  /** Drops the records of events that every stream has been told of. */
  release(sequence: number): void {
    if (sequence <= this.#released) return
    for (const event of this.since(Math.max(this.#released, this.#oldest - 1)) ?? []) {
      if (event.sequence > sequence) break
      event.record = undefined
    }
    this.#released = sequence
  }

  /** Returns a number as clients keep it. */
  toPosition(sequence: number): string {
    return `${this.#epoch}.${sequence}`
  }

  /** Returns the number that a client has kept, `null` for what is none of this log. */
  fromPosition(position: string): number | null {
    const [epoch, digits = ''] = position.split('.')
    const sequence = /^\d{1,15}$/.test(digits) ? Number(digits) : Number.NaN
    this.#forget()
    const isKnown = epoch === this.#epoch && sequence <= this.last
    return isKnown && sequence >= this.#oldest - 1 ? sequence : null
  }

  get #oldest(): number {
    return this.last - this.#events.length + 1
  }

  #forget(): void {
    const { bufferEvents, bufferMs } = this.#limits
    const expired = Date.now() - bufferMs
    let count = this.#events.length - bufferEvents
    if (count < 0) count = 0
    while ((this.#events[count]?.loggedAt ?? expired) < expired) count += 1
    if (count > 0) this.#events.splice(0, count)
  }
}
