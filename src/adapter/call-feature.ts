import type { CallFacts, CallRule } from './adapter-call.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams, Operation } from './mongodb-params.ts'
import type { WriteData } from './writes/write-data.ts'

/** The key under which services keep their features. */
export const CALL_FEATURES: unique symbol = Symbol('remex.callFeatures')

/** The service that is called. */
export interface CalledService {
  readonly options: MongoDBSettings
  readonly [CALL_FEATURES]?: readonly CallFeature[]
}

/** A call that features may have rules for. */
export interface AskedCall {
  readonly settings: MongoDBSettings
  readonly operation: Operation
  /** Whether the call is `find`, which may return a page. */
  readonly isFind: boolean
  readonly service: CalledService
  readonly params: MongoDBParams
}

/** The methods that find records, for a comparison with those that a subclass overrides. */
export interface FindMethods {
  readonly find: unknown
  readonly _find: unknown
}

/** An extension of calls, with its own folder and an entry in the list of features. */
export interface CallFeature {
  /** When the feature applies to a call. Plain names, so that other calls run none of its code. */
  readonly askedBy?: {
    /** The option of a service. */
    readonly option?: keyof MongoDBSettings
    /** The param of a call. */
    readonly param?: keyof MongoDBParams
    /** The member of a service that is `true`. */
    readonly member?: string
    /** Names in the query. */
    readonly names?: readonly string[]
  }
  /** The option that names the field which the feature keeps in records. External callers cannot create it. */
  readonly ownField?: keyof MongoDBSettings
  /**
   * Returns the rule for a call, `undefined` for none.
   * @throws {ServiceError} the call is not possible
   */
  readonly createRule?: (asked: AskedCall) => CallRule | undefined
  /**
   * Checks an external call that changes or removes records.
   * @throws {ServiceError} it is not allowed
   */
  readonly checkExternal?: (facts: CallFacts, params: MongoDBParams, data: WriteData) => void
  /** Returns the members that the feature adds to the class of services. */
  readonly createMembers?: (own: FindMethods) => object
  /** Returns what to set in `context.http` for the result of a method: the `etag`, for example. */
  readonly describeAnswer?: (service: object, method: string, result: unknown) => object
}
