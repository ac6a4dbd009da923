import { STANDARD_EVENTS } from '../../core/method-table.ts'

/** An event: a record is new, has changed or was removed, or a custom event of the service. */
export interface RecordEvent {
  /** `created`, `updated`, `patched`, `removed`, or a custom event. */
  readonly name: string
  /** The id of the record. */
  readonly id: unknown
  /** The place of the record, as named by its service; a promise while its collection is being opened. */
  place: string | Promise<string>
  /**
   * A removed record as it was stored, the data of a custom event, or a record that cannot be read again. Dropped once
   * every stream has handled it.
   */
  record?: object | undefined
}

/** Unknown records have changed. */
export const CHANGED = 'changed'

/** Callers may have gained or lost rights. */
export const RECHECK = 'recheck'

/** Stands for an event of any record. */
export const EVERYTHING: RecordEvent = { name: CHANGED, id: null, place: '' }

/** Returns whether an event is a custom one, which reports no change of a record. */
export function isOwnEvent(name: string): boolean {
  return !STANDARD_EVENTS.includes(name)
}

/** An event with its place in the log. */
export interface LoggedEvent extends RecordEvent {
  readonly sequence: number
  /** The id as a map key, as computed by `toEventKey()`. */
  key?: string
  /** The position that clients reconnect with. */
  readonly position: string
  /** When this process received it, by its own clock, in ms since the epoch. */
  readonly at: number
  /**
   * When it was stored, by the clock that all processes share, in ms since the epoch; `undefined` until that is known.
   * Never compare it with a time of this process.
   */
  storedAt: number | undefined
}

/** Limits on how long events are kept. */
export interface LogLimits {
  readonly bufferEvents: number
  readonly bufferMs: number
  /** By how much the order of events may differ in other processes, in ms. */
  readonly overlapMs: number
}

/**
 * The events of one service, in order, each with a number. Streams send them, and clients that reconnect get the ones
 * that they have missed.
 */
export class EventLog {
  /** The number of the newest event. */
  last = 0
  readonly #limits: LogLimits
  readonly #events: LoggedEvent[] = []
  /** The position before the oldest event. */
  #base: string
  #hasForgotten = false
  /** The latest time at which a forgotten event was stored. */
  #forgottenAt = Number.NEGATIVE_INFINITY
  /** The number of the last event up to which records have been dropped. */
  #released = 0

  /** @param base the position before the first event; unique to this process */
  constructor(limits: LogLimits, base: string) {
    this.#limits = limits
    this.#base = base
  }

  /** The number of kept events. */
  get size(): number {
    return this.#events.length
  }

  /** @param storedAt as {@link LoggedEvent.storedAt} */
  append(event: RecordEvent, position: string, storedAt?: number): void {
    this.last += 1
    this.#events.push({ ...event, sequence: this.last, position, at: Date.now(), storedAt })
    this.#forget()
  }

  /** Sets the time at which an event was stored, for an event that was received before that. */
  confirm(position: string, storedAt: number): void {
    const event = this.#events.findLast((one) => one.position === position)
    if (event !== undefined) event.storedAt = storedAt
    else this.#forgottenAt = Math.max(this.#forgottenAt, storedAt)
  }

  /** Returns the events after a number, `null` if some of them were dropped. */
  since(sequence: number): readonly LoggedEvent[] | null {
    const count = this.last - sequence
    if (count > this.#events.length) return null
    return count === 0 ? [] : this.#events.slice(-count)
  }

  /** Returns whether one of the events after a number, up to another number, is a custom one. */
  hasOwn(after: number, last: number): boolean {
    const events = this.since(after) ?? []
    return events.some(({ name, sequence }) => sequence <= last && isOwnEvent(name))
  }

  /**
   * Drops the records of changes that every stream has handled. The data of custom events is kept: it cannot be read
   * again.
   */
  release(sequence: number): void {
    for (let number = Math.max(this.#released + 1, this.#oldest); number <= sequence; number += 1) {
      const event = this.#events[number - this.#oldest]
      if (event !== undefined && !isOwnEvent(event.name)) event.record = undefined
    }
    this.#released = Math.max(this.#released, sequence)
  }

  /** Returns the position of a kept event, or the one before all of them. */
  toPosition(sequence: number): string {
    return this.#events[sequence - this.#oldest]?.position ?? this.#base
  }

  /** Returns the number of the last event that a client received, `null` if it is unknown. */
  fromPosition(position: string): number | null {
    this.#forget()
    const { overlapMs } = this.#limits
    const found = this.#events.findIndex((event) => event.position === position)
    if (overlapMs === 0 || !this.#hasForgotten) {
      if (position === this.#base) return this.#oldest - 1
      if (overlapMs === 0) return found === -1 ? null : this.#oldest + found
    }
    if (found === -1) return null
    // Another process may have received some of the earlier ones later.
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
