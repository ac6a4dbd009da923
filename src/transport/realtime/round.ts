import type { MethodEntry } from '../../core/index.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { hasMethod, isObject } from '../../core/value-kind.ts'
import { writeRecord } from '../replies/result-serializer.ts'
import { toBody } from '../service-reply.ts'
import type { EventLog, LoggedEvent } from './event-log.ts'
import { isOwnEvent } from './event-log.ts'
import { toFrame } from './event-stream.ts'
import type { Turns } from './turns.ts'

/**
 * Returns an id as a map key: its JSON, by which clients tell records apart. An ObjectId and its string have the same
 * key, as do a date and its string; the number 7 and the string `'7'` have different ones.
 */
export function toKey(id: unknown): string {
  if (typeof id === 'number' || typeof id === 'bigint' || isNumber(id)) return String(id)
  if (!isObject(id)) return JSON.stringify(id) ?? 'undefined'
  // The driver reads bytes as a `Binary`, whose JSON is this string.
  if (id instanceof Uint8Array) return JSON.stringify(Buffer.from(id).toString('base64'))
  if (hasMethod(id, 'toJSON')) return toKey((id as { toJSON(): unknown }).toJSON())
  if (Array.isArray(id)) return `[${id.map(toKey).join()}]`
  const fields = Object.entries(id).map(([name, one]) => `${JSON.stringify(name)}:${toKey(one)}`)
  return `{${fields.join()}}`
}

/** Returns the id of an event as a map key, computed once for thousands of streams. */
export function toEventKey(event: LoggedEvent): string {
  event.key ??= toKey(event.id)
  return event.key
}

/** Returns whether an id is a BSON number: the driver reads most of them as JavaScript numbers. */
function isNumber(id: unknown): boolean {
  const tag = (id as { readonly _bsontype?: unknown } | null)?._bsontype
  return tag === 'Long' || tag === 'Double' || tag === 'Int32'
}

/**
 * How many characters of frames a round keeps for other streams. Each selection of fields has its own frames; with the
 * default of `maxReplayBytes`, the records of one selection fit.
 */
const MAX_FRAMES_LENGTH = 16_777_216

/** How many comparisons a round keeps for other streams. Each query has its own. */
const MAX_COMPARISONS = 100_000

/**
 * Some events of one service with their records as they are now, read once for all streams. Records are compared once
 * for all streams with the same query, and written as frames once for all streams that show the same fields.
 */
export class Round {
  /** The number of its last event. */
  readonly end: number
  readonly #events: readonly LoggedEvent[]
  readonly #records: ReadonlyMap<string, Map<string, object>>
  readonly #method: MethodEntry
  readonly #log: EventLog
  readonly #turns: Turns
  /** The number of the last event whose record was dropped from the round, if it was in it. */
  #seen: number
  #isValid = true
  /** By the key of a view, whether it shows a record. */
  readonly #matched = new Map<string, Map<object, boolean>>()
  #comparisons = 0
  /** The frames of records, by the `fieldsKey` of a view, then by the name of the event. */
  readonly #frames = new Map<string, Map<string, Map<object, string>>>()
  #framesLength = 0

  /** @param records by their place, then by the key of their id */
  constructor(
    method: MethodEntry,
    log: EventLog,
    turns: Turns,
    events: readonly LoggedEvent[],
    records: ReadonlyMap<string, Map<string, object>>,
  ) {
    this.#method = method
    this.#log = log
    this.#turns = turns
    this.#events = events
    this.end = events.at(-1)?.sequence ?? log.last
    this.#seen = this.end
    this.#records = records
  }

  /** Whether the turn is over or newer events have arrived: call {@link rest} before the next piece of work. */
  get isTiring(): boolean {
    return this.#turns.isOver || this.#seen !== this.#log.last
  }

  /**
   * Waits for the next turn if this one is over. Drops the records that have changed since the round was read: the next
   * round sends them. Resolves to whether the round can continue: not if unknown records have changed or a recheck was
   * requested.
   */
  async rest(): Promise<boolean> {
    if (this.#turns.isOver) await this.#turns.next()
    const changes = this.#log.since(this.#seen)
    if (changes === null || changes.some(({ id }) => id === null)) this.#isValid = false
    for (const change of changes ?? []) {
      // A custom event changes no record, and no later event would send the dropped one.
      if (isOwnEvent(change.name)) continue
      for (const records of this.#records.values()) records.delete(toEventKey(change))
    }
    this.#seen = this.#log.last
    return this.#isValid
  }

  /** Returns the events after a number, `null` if some of them are no longer available. */
  since(sequence: number): readonly LoggedEvent[] | null {
    const count = this.end - sequence
    if (count > this.#events.length) return null
    return count <= 0 ? [] : this.#events.slice(-count)
  }

  /** Returns the current record of an event, `undefined` if it no longer exists. */
  recordOf(event: LoggedEvent, view: RecordView | null): object | undefined {
    if (view === null) return event.record
    return this.#records.get(view.place)?.get(toEventKey(event))
  }

  /**
   * Returns the event to send for one view. A removal becomes a change if the view shows the current record: it was
   * added again, or is only marked as removed and the view shows marked records.
   */
  eventFor(view: RecordView, event: LoggedEvent): LoggedEvent {
    if (event.name !== 'removed') return event
    const record = this.recordOf(event, view)
    return record !== undefined && this.matches(view, record)
      ? { ...event, name: 'patched' }
      : event
  }

  /** Returns how many bytes it takes to compare an event with a view. @see RecordView.costOf */
  costOf(view: RecordView, event: LoggedEvent): number {
    const records = [
      this.recordOf(event, view),
      event.name === 'removed' ? event.record : undefined,
    ]
    let cost = 0
    for (const record of records) if (record !== undefined) cost += view.costOf?.(record) ?? 0
    return cost
  }

  /** Returns whether a view shows a record. Without a view there is no query, so every record is shown. */
  matches(view: RecordView | null, record: object): boolean {
    if (view === null) return true
    const known = this.#matched.get(view.key)?.get(record)
    if (known !== undefined) return known
    const isMatch = view.matches(record)
    this.#comparisons += 1
    if (this.#comparisons > MAX_COMPARISONS) {
      this.#matched.clear()
      this.#comparisons = 1
    }
    getOrAdd(this.#matched, view.key, createMap<boolean>).set(record, isMatch)
    return isMatch
  }

  /** Returns the frame of a record with the fields of a view, without its id line. */
  toFrame(view: RecordView | null, event: string, record: object): string {
    const fields = view?.fieldsKey ?? ''
    const known = this.#frames.get(fields)?.get(event)?.get(record)
    if (known !== undefined) return known
    const shown = view === null ? record : view.pick(record)
    const frame = toFrame(event, writeRecord(this.#method, toBody(shown)))
    this.#framesLength += frame.length
    if (this.#framesLength > MAX_FRAMES_LENGTH) {
      this.#frames.clear()
      this.#framesLength = frame.length
    }
    const byEvent = getOrAdd(this.#frames, fields, () => new Map())
    getOrAdd(byEvent, event, createMap<string>).set(record, frame)
    return frame
  }
}

function createMap<Value>(): Map<object, Value> {
  return new Map()
}
