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
  /** What clients keep to come back to it. */
  readonly position: string
  /** When it was published, in ms since the epoch. */
  readonly at: number
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

  /** @param at when it was published, in ms since the epoch */
  append(event: RecordEvent, position: string, at: number): void {
    this.last += 1
    this.#events.push({ ...event, sequence: this.last, position, at })
    this.#forget()
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
    const found = this.#events.find((event) => event.position === position)
    if (overlapMs === 0 || !this.#hasForgotten) {
      if (position === this.#base) return this.#oldest - 1
      if (overlapMs === 0) return found?.sequence ?? null
    }
    if (found === undefined) return null
    // Another process may have had some of those before it later.
    const since = found.at - overlapMs
    const first = this.#events.find(({ at }) => at >= since) ?? found
    const isWhole = !this.#hasForgotten || first.sequence > this.#oldest
    return isWhole ? first.sequence - 1 : null
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
    this.#base = this.#events.splice(0, count).at(-1)?.position ?? this.#base
  }
}
