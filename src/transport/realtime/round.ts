import type { MethodEntry } from '../../core/index.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { hasMethod, isObject } from '../../core/value-kind.ts'
import { writeRecord } from '../replies/result-serializer.ts'
import { toBody } from '../service-reply.ts'
import type { LoggedEvent } from './event-log.ts'

/**
 * Returns an id as the key of a map: its JSON, by which clients tell records apart. An ObjectId and the string of its
 * digits have the same key, as a date and its string do; the number 7 and the string `'7'` have different ones.
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

/** Whether an id is a number of BSON: the driver reads most of them as numbers of JavaScript. */
function isNumber(id: unknown): boolean {
  const tag = (id as { readonly _bsontype?: unknown } | null)?._bsontype
  return tag === 'Long' || tag === 'Double' || tag === 'Int32'
}

/**
 * Some events of one service with the records as they are now, read once for all streams: what
 * streams with the same query are told is judged once, and written as JSON once for all that show the same
 * fields.
 */
export class Round {
  /** The number of its last event. */
  readonly end: number
  readonly #events: readonly LoggedEvent[]
  readonly #records: ReadonlyMap<string, ReadonlyMap<string, object>>
  readonly #method: MethodEntry
  /** By the key of a view, what it shows of the records. */
  readonly #matched = new Map<string, Map<object, boolean>>()
  /** By the key of the fields of a view, records as JSON. */
  readonly #texts = new Map<string, Map<object, string>>()

  /** @param records by their place, then by the key of their id */
  constructor(
    method: MethodEntry,
    events: readonly LoggedEvent[],
    end: number,
    records: ReadonlyMap<string, ReadonlyMap<string, object>>,
  ) {
    this.#method = method
    this.#events = events
    this.end = end
    this.#records = records
  }

  /** Returns the events behind a number, `null` where some of them are not there any more. */
  since(sequence: number): readonly LoggedEvent[] | null {
    const count = this.end - sequence
    if (count > this.#events.length) return null
    return count <= 0 ? [] : this.#events.slice(-count)
  }

  /** Returns the record of an event as it is now, `undefined` for one that is gone. */
  recordOf(event: LoggedEvent, view: RecordView | null): object | undefined {
    if (view === null) return event.record
    return this.#records.get(view.place)?.get(toKey(event.id))
  }

  /**
   * Returns an event as one view is told of it. A removal is told as a change where the view shows the record as it
   * is now: it was added again, or is only marked, and the view shows marked records.
   */
  eventFor(view: RecordView, event: LoggedEvent): LoggedEvent {
    if (event.name !== 'removed') return event
    const record = this.recordOf(event, view)
    return record !== undefined && this.matches(view, record)
      ? { ...event, name: 'patched' }
      : event
  }

  /** Whether a view shows a record. Without a view there is no query, which shows every record. */
  matches(view: RecordView | null, record: object): boolean {
    if (view === null) return true
    const matched = getOrAdd(this.#matched, view.key, createMap<boolean>)
    return getOrAdd(matched, record, () => view.matches(record))
  }

  /** Returns a record with the fields of a view as JSON. */
  toJSON(view: RecordView | null, record: object): string {
    const texts = getOrAdd(this.#texts, view?.fieldsKey ?? '', createMap<string>)
    const toShown = (): object => (view === null ? record : view.pick(record))
    return getOrAdd(texts, record, () => writeRecord(this.#method, toBody(toShown())))
  }
}

function createMap<Value>(): Map<object, Value> {
  return new Map()
}
