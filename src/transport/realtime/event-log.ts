import { STANDARD_EVENTS } from '../../core/method-table.ts'

/** What an event says: that a record is new, has changed or is gone, or something of the service's own. */
export interface RecordEvent {
  /** `created`, `updated`, `patched`, `removed`, or an event of the service itself. */
  readonly name: string
  /** The id of the record. */
  readonly id: unknown
  /** Where the record is, as its service names the place; a promise while its collection is being opened. */
  place: string | Promise<string>
  /**
   * A removed record as it was stored, what an event of the service's own says, or a record that can't
   * be read again. Dropped once every stream has had it.
   */
  record?: object | undefined
}

/** That records have changed, nobody knows which. */
export const CHANGED = 'changed'

/** That callers may have gained or lost rights. */
export const RECHECK = 'recheck'

/** Stands for an event of any record. */
export const EVERYTHING: RecordEvent = { name: CHANGED, id: null, place: '' }

/** An event in its place in the log. */
export interface LoggedEvent extends RecordEvent {
  readonly sequence: number
  /** The id as the key of a map, as `toEventKey()` has computed it. */
  key?: string
  /** What clients keep to come back to it. */
  readonly position: string
  /** When this process received it, by the clock of the process, in ms since the epoch. */
  readonly at: number
  /**
   * When it was stored, by the clock that all processes share, in ms since the epoch; `undefined` until that is
   * known. Never compare it with a time of this process.
   */
  storedAt: number | undefined
}

/** How long events are kept. */
export interface LogLimits {
  readonly bufferEvents: number
  readonly bufferMs: number
  /** By how much their order may differ in other processes, in ms. */
  readonly overlapMs: number
}

/**
 * The events of one service, in their order, each with a number: what streams are told from, and what a
 * client that comes back is told that it has missed.
 */
export class EventLog {
  /** The number of the newest event. */
  last = 0
  readonly #limits: LogLimits
  readonly #events: LoggedEvent[] = []
  /** The position of the event before the oldest one. */
  #base: string
  #hasForgotten = false
  /** The latest time at which a forgotten event was stored. */
  #forgottenAt = Number.NEGATIVE_INFINITY
  /** Up to which event records have been dropped. */
  #released = 0

  /** @param base the position before the first event: no other process has the same */
  constructor(limits: LogLimits, base: string) {
    this.#limits = limits
    this.#base = base
  }

  /** How many events are kept. */
  get size(): number {
    return this.#events.length
  }

  /** @param storedAt as {@link LoggedEvent.storedAt} */
  append(event: RecordEvent, position: string, storedAt?: number): void {
    this.last += 1
    this.#events.push({ ...event, sequence: this.last, position, at: Date.now(), storedAt })
    this.#forget()
  }

  /** Sets the time at which an event was stored that this process received before it was stored. */
  confirm(position: string, storedAt: number): void {
    const event = this.#events.findLast((one) => one.position === position)
    if (event !== undefined) event.storedAt = storedAt
    else this.#forgottenAt = Math.max(this.#forgottenAt, storedAt)
  }

  /** Returns the events after a number, `null` where some of them are forgotten. */
  since(sequence: number): readonly LoggedEvent[] | null {
    const count = this.last - sequence
    if (count > this.#events.length) return null
    return count === 0 ? [] : this.#events.slice(-count)
  }

  /**
   * Drops the records of changes that every stream has been told of. Those of the service's own events
   * are kept: nothing else tells what they have said.
   */
  release(sequence: number): void {
    for (let number = Math.max(this.#released + 1, this.#oldest); number <= sequence; number += 1) {
      const event = this.#events[number - this.#oldest]
      if (event !== undefined && STANDARD_EVENTS.includes(event.name)) event.record = undefined
    }
    this.#released = Math.max(this.#released, sequence)
  }

  /** Returns the position of an event that is kept, or of the one before them. */
  toPosition(sequence: number): string {
    return this.#events[sequence - this.#oldest]?.position ?? this.#base
  }

  /** Returns the number of the event that a client was told last, `null` for one that is not known. */
  fromPosition(position: string): number | null {
    this.#forget()
    const { overlapMs } = this.#limits
    const found = this.#events.findIndex((event) => event.position === position)
    if (overlapMs === 0 || !this.#hasForgotten) {
      if (position === this.#base) return this.#oldest - 1
      if (overlapMs === 0) return found === -1 ? null : this.#oldest + found
    }
    if (found === -1) return null
    // Another process may have had some of those before it later.
    const known = this.#events
      .slice(0, found + 1)
      .findLast(({ storedAt }) => storedAt !== undefined)
    const since = (known?.storedAt ?? this.#forgottenAt) - overlapMs
    const isBefore = ({ storedAt }: LoggedEvent): boolean => (storedAt ?? since) < since
    const before = this.#events.slice(0, found).findLastIndex(isBefore)
    const isWhole = before !== -1 || !this.#hasForgotten || this.#forgottenAt < since
    return isWhole ? this.#oldest + before : null
  }

  get #oldest(): number {
    return this.last - this.#events.length + 1
  }

  #forget(): void {
    const { bufferEvents, bufferMs } = this.#limits
    const expired = Date.now() - bufferMs
    let count = Math.max(0, this.#events.length - bufferEvents)
    while ((this.#events[count]?.at ?? expired) < expired) count += 1
    if (count === 0) return
    this.#hasForgotten = true
    for (const { position, storedAt } of this.#events.splice(0, count)) {
      this.#base = position
      this.#forgottenAt = Math.max(this.#forgottenAt, storedAt ?? this.#forgottenAt)
    }
  }
}
