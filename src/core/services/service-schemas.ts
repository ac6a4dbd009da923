import type { BeforeHooks } from '../hooks/hook-chain.ts'
import type { StandardMethod } from '../method-table.ts'

/**
 * A JSON Schema, one of TypeBox for example: an object of keywords, `true` for any value, `false` for
 * none.
 */
export type JSONSchema = boolean | object

/** A schema of another library, of Zod for example, by the interface that they share. */
export interface StandardSchema {
  /** What a library says of its schema. @see https://standardschema.dev */
  readonly '~standard': {
    /** The version of the interface. */
    readonly version: 1
    /** The name of the library. */
    readonly vendor: string
    /** Returns the value, converted, or the issues with it. */
    readonly validate: (value: unknown) => unknown
  }
}

/** What data is checked by: `true` accepts any. */
export type DataSchema = JSONSchema | StandardSchema

/** The schemas of one custom method. */
export interface CustomMethodSchemas {
  /** What callers may send. */
  readonly data: DataSchema
  /** What callers may ask for. Default: the query schema of the service. */
  readonly query?: JSONSchema
  /** What callers get. Default: anything. */
  readonly result?: JSONSchema
}

/** The schemas of one standard method, where they are not those of the service. */
interface StandardMethodSchemas {
  /** What callers may ask for. Default: the query schema of the service. */
  readonly query?: JSONSchema
  /** The whole answer, an object: records in an envelope, for example. Default: by that of the service. */
  readonly result?: JSONSchema
}

/** The schemas that a method may have of its own. Of a service that is not typed, any name may be either. */
type OwnSchemas<Method extends string> = string extends Method
  ? StandardMethodSchemas | CustomMethodSchemas
  : Method extends StandardMethod
    ? StandardMethodSchemas
    : CustomMethodSchemas

/**
 * What callers outside may send to a service, and what they get. Calls within the process are not
 * checked by them.
 */
export interface ServiceSchemas<Name extends string = string> {
  /** A record of the service, where `result` does not say what callers get of it. */
  readonly entity?: JSONSchema
  /** The data of `create`, one item of a list. */
  readonly create?: DataSchema
  /** The data of `update`. Default: that of `create`. */
  readonly update?: DataSchema
  /** The data of `patch`. Default: that of `create`, with nothing required and without defaults. */
  readonly patch?: DataSchema
  /** The query of all methods. Default: every field of `result` with the operators that all have. */
  readonly query?: JSONSchema
  /** A record as callers get it; what it does not name is not sent. Default: `entity`. */
  readonly result?: JSONSchema
  /**
   * What becomes of the fields of data that no JSON Schema names: the call is refused, or they are left
   * out. Those of queries are refused in either case. Default: `'refuse'`.
   */
  readonly unknown?: 'refuse' | 'drop'
  /** The schemas of custom methods, and what standard methods have of their own, by their names. */
  readonly methods?: { readonly [Method in Name]?: OwnSchemas<Method> }
}

/**
 * The schemas of one method as they hold over HTTP: with dates and ids as the strings they are there, and with
 * the schema that a `$ref` means in its place.
 */
export interface MethodSchemas {
  /** What one call, or one item of a list, sends; `undefined` for methods without data. */
  readonly data: JSONSchema | undefined
  /** The query, by names as they stand in URLs. */
  readonly query: JSONSchema
  /** One record of what comes back; `undefined` where nothing is known of it. */
  readonly result: JSONSchema | undefined
  /** Whether `result` describes the whole answer, also of a method that answers with several records. */
  readonly isWhole?: boolean
}

/** The schemas of a service in use. */
export interface EntrySchemas {
  /**
   * Puts the hook that checks and converts the data and the query of calls from outside before the
   * first one that may change them.
   */
  addCheck(before: BeforeHooks): BeforeHooks
  /** Rejects with a `TypeError` that names the schema that can't be compiled. */
  load(): Promise<void>
  /** Returns the schemas of a method, once they are loaded. */
  toMethodSchemas(method: string): MethodSchemas
}
