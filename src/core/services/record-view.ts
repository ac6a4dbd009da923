import type { Params } from '../params.ts'

/**
 * What one caller's `find` shows of the records of a service, for those who follow them: which records,
 * and which of their fields.
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
  /** Where the records are, as {@link FollowableService.locateRecords} tells it. */
  readonly place: string
  /** Whether `find` answers by a page, and not by a list. */
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
  /** Whether `find` would find a record. It is as it is stored. */
  matches(stored: object): boolean
  /** Returns a copy with the fields that `find` shows. */
  pick(stored: object): object
  /**
   * Resolves to the records that have one of these ids now, as they are stored; `null` if they have more than
   * `maxBytes`. A service may ignore `maxBytes`.
   */
  read(ids: readonly unknown[], maxBytes?: number): Promise<readonly object[] | null>
}

/** A service whose records can be followed by a query: that of MongoDB is one. */
export interface FollowableService {
  /** The field that ids refer to. */
  readonly id: string
  /** Set to have each record that is removed noted as it was stored. */
  isFollowed: boolean
  /** Whether changes are seen in the database: the events of calls tell streams nothing more then. */
  readonly isWatched: boolean
  /**
   * Resolves to what a call of `find` with these params shows; `null` if only `find` itself knows: then each event has
   * a stream call it again.
   * @throws {BadRequest} the query has an operator that can't be judged outside of the database
   */
  followRecords(params: Params): Promise<RecordView | null>
  /**
   * Returns a record without the fields that no external caller sees; the record itself if it has none of them.
   * Events carry removed records in this form.
   */
  hideFields?(record: object): object
  /** Returns where a call with these params has its records; `''` for the usual place. */
  locateRecords(params: Params): string | Promise<string>
}

/** The event of a change that was seen in the database, whoever has made it. */
export const SEEN_CHANGE: unique symbol = Symbol('remex.seenChange')

/** A change that was seen in the database: streams take it in the place of the events of calls. */
export interface SeenChange {
  /** `created`, `updated`, `patched`, `removed`; `changed` where nobody knows which records have changed. */
  readonly name: string
  readonly id: unknown
  readonly place: string
  /** A removed record as it was, where the database has kept it. */
  readonly record?: object | undefined
  /** Names the change, in all processes; `null` for what this process alone has noticed. */
  readonly position: string | null
  /** When it was made, by the clock of the database, in ms since the epoch; `undefined` if that is not known. */
  readonly storedAt?: number | undefined
}

/** Whether the records of a service can be followed by a query. */
export function isFollowable(service: object): service is FollowableService {
  const { followRecords, locateRecords } = service as Partial<FollowableService>
  return typeof followRecords === 'function' && typeof locateRecords === 'function'
}
