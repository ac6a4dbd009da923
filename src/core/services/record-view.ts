import type { Params } from '../params.ts'
import { isObject } from '../value-kind.ts'

/**
 * How one caller's `find` sees the records of a service, for live queries: which records, and which fields.
 */
export interface RecordView {
  /** Equal for two views that show the same records of the same place with the same fields. */
  readonly key: string
  /** Equal for two views that show the same fields. */
  readonly fieldsKey: string
  /**
   * Equal for two views whose `find` has the same result at the same time, before after hooks run. `null` or left
   * out if that is not known: then each stream makes its own call.
   */
  readonly findKey?: string | null
  /** Where the records are, as {@link FollowableService.locateRecords} returns it. */
  readonly place: string
  /** Whether `find` returns a page, not a list. */
  readonly isPage: boolean
  /**
   * Whether its conditions read fields that {@link FollowableService.hideFields} removes. Then removed records, whose
   * events lack these fields, cannot be compared with the query.
   */
  readonly asksHidden?: boolean
  /** Whether the service hides any fields. */
  readonly hidesFields?: boolean
  /** How many conditions of the query a record is compared with. Default: 0. */
  readonly conditions?: number
  /**
   * Returns how many bytes of a record {@link matches} looks at, in all conditions together. Without this method, a
   * record costs nothing.
   */
  costOf?(stored: object): number
  /** Whether `find` would find a record, given as stored. */
  matches(stored: object): boolean
  /** Returns a copy with the fields that `find` shows. */
  pick(stored: object): object
  /**
   * Resolves to the records that now have one of these ids, as stored; `null` if they exceed `maxBytes`. A
   * service may ignore `maxBytes`.
   */
  read(ids: readonly unknown[], maxBytes?: number): Promise<readonly object[] | null>
}

/** A service whose records can be followed by a query, such as a MongoDB service. */
export interface FollowableService {
  /** The field that ids refer to. */
  readonly id: string
  /** Set it to keep each removed record as it was stored. */
  isFollowed: boolean
  /** Whether changes are seen in the database: streams then ignore the events of calls. */
  readonly isWatched: boolean
  /**
   * Resolves to the view of a `find` with these params; `null` if only `find` itself knows it: then a stream
   * calls it again on each event.
   * @throws {BadRequest} the query has an operator that only the database can evaluate
   */
  followRecords(params: Params): Promise<RecordView | null>
  /**
   * Returns a record without the fields hidden from all external callers; the record itself if it has none.
   * Events carry removed records in this form.
   */
  hideFields?(record: object): object
  /** Returns where the records of a call with these params are; `''` for the usual place. */
  locateRecords(params: Params): string | Promise<string>
}

/** The event of a change seen in the database, including changes by other programs. */
export const SEEN_CHANGE: unique symbol = Symbol('remex.seenChange')

/** A change seen in the database: streams use it instead of the events of calls. */
export interface SeenChange {
  /** `created`, `updated`, `patched`, `removed`; `changed` if it is unknown which records changed. */
  readonly name: string
  readonly id: unknown
  readonly place: string
  /** A removed record as it was, if the database kept it. */
  readonly record?: object | undefined
  /** Identifies the change in all processes; `null` for a change that only this process noticed. */
  readonly position: string | null
  /** The time of the change by the clock of the database, in ms since the epoch; `undefined` if unknown. */
  readonly storedAt?: number | undefined
}

/** Whether the records of a service can be followed by a query. */
export function isFollowable(service: object): service is FollowableService {
  const { followRecords, locateRecords } = service as Partial<FollowableService>
  return typeof followRecords === 'function' && typeof locateRecords === 'function'
}

/** Returns a record without the hidden fields of its service, which internal calls may see; any other value as it is. */
export function hideFields<T>(service: object | null, record: T): T | object {
  const isRecord =
    service !== null && isFollowable(service) && isObject(record) && !Array.isArray(record)
  return isRecord ? (service.hideFields?.(record) ?? record) : record
}
