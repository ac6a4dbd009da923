import type { MethodEntry } from '../../core/index.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { toResultSerializer } from '../replies/result-serializer.ts'
import { toBody } from '../service-reply.ts'
import type { LoggedEvent } from './event-log.ts'

/** Returns an id as the key of a map: `'65f…'` for an ObjectId. */
export function toKey(id: unknown): string {
  return String(id)
}

/**
 * Some events of one service with the records as they are now, read once for all streams: what two
 * streams with the same view are told is judged and written as JSON once.
 */
export class Round {
  /** The number of its last event. */
  readonly end: number
  readonly #events: readonly LoggedEvent[]
  readonly #records: ReadonlyMap<string, ReadonlyMap<string, object>>
  readonly #method: MethodEntry
  readonly #shared = new Map<string, SharedView>()

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

  /** Whether a view shows a record. Without a view there is no query, which shows every record. */
  matches(view: RecordView | null, record: object): boolean {
    if (view === null) return true
    const { matched } = this.#shareOf(view)
    const known = matched.get(record)
    if (known !== undefined) return known
    const matches = view.matches(record)
    matched.set(record, matches)
    return matches
  }

  /** Returns a record with the fields of a view as JSON. */
  toJSON(view: RecordView | null, record: object): string {
    const { texts } = this.#shareOf(view)
    const known = texts.get(record)
    if (known !== undefined) return known
    const text = writeRecord(this.#method, toBody(view === null ? record : view.pick(record)))
    texts.set(record, text)
    return text
  }

  #shareOf(view: RecordView | null): SharedView {
    const key = view?.key ?? ''
    const known = this.#shared.get(key) ?? { matched: new Map(), texts: new Map() }
    this.#shared.set(key, known)
    return known
  }
}

/** What streams with the same view share. */
interface SharedView {
  readonly matched: Map<object, boolean>
  readonly texts: Map<object, string>
}

/** Returns a record as JSON, with the fields that the result schema of `find` names. */
export function writeRecord(method: MethodEntry, record: unknown): string {
  // As one item of a list: a schema may name the fields of records, and what is no record is a page.
  return writeResult(method, [record]).slice(1, -1)
}

/** Returns the result of `find` as JSON. */
export function writeResult(method: MethodEntry, body: unknown): string {
  const serialize = toResultSerializer(method, body)
  return serialize === null ? JSON.stringify(body) : serialize(body as object)
}
