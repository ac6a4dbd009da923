import type { BeforeHooks } from '../hooks/hook-chain.ts'
import type { StandardMethod } from '../method-table.ts'

/**
 * A JSON Schema, made by TypeBox for example: an object of keywords, `true` for any value, `false` for none.
 */
export type JSONSchema = boolean | object

/** A schema of another library, such as Zod, by their common interface. */
export interface StandardSchema {
  /** The members that libraries define. @see https://standardschema.dev */
  readonly '~standard': {
    /** The version of the interface. */
    readonly version: 1
    /** The name of the library. */
    readonly vendor: string
    /** Returns the value, converted, or the issues with it. */
    readonly validate: (value: unknown) => unknown
  }
}

/** The schema of data: `true` accepts any. */
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

/** The schemas of one standard method that differ from those of the service. */
interface StandardMethodSchemas {
  /** What callers may ask for. Default: the query schema of the service. */
  readonly query?: JSONSchema
  /**
   * The whole result, an object: records in an envelope, for example. Default: derived from that of the
   * service.
   */
  readonly result?: JSONSchema
}

/**
 * The schemas that a single method may have. In an untyped service, any name may be a standard or a custom
 * method.
 */
type OwnSchemas<Method extends string> = string extends Method
  ? StandardMethodSchemas | CustomMethodSchemas
  : Method extends StandardMethod
    ? StandardMethodSchemas
    : CustomMethodSchemas

/** What external callers may send to a service, and what they get. Internal calls are not checked. */
export interface ServiceSchemas<Name extends string = string> {
  /** A record of the service. `result` overrides what callers get of it. */
  readonly entity?: JSONSchema
  /** The data of `create`, one item of a list. */
  readonly create?: DataSchema
  /** The data of `update`. Default: that of `create`. */
  readonly update?: DataSchema
  /** The data of `patch`. Default: that of `create`, with nothing required and without defaults. */
  readonly patch?: DataSchema
  /** The query of all methods. Default: every field of `result` with the standard operators. */
  readonly query?: JSONSchema
  /** A record as callers get it; other fields are not sent. Default: `entity`. */
  readonly result?: JSONSchema
  /**
   * What happens to fields of data that no JSON Schema names: the call is rejected, or they are dropped. In
   * queries they are always rejected. Default: `'refuse'`.
   */
  readonly unknown?: 'refuse' | 'drop'
  /** The schemas of single methods, custom or standard, by method name. */
  readonly methods?: { readonly [Method in Name]?: OwnSchemas<Method> }
}

/**
 * The schemas of one method as they hold over HTTP: with dates and ids as strings, and each `$ref` replaced
 * by its schema.
 */
export interface MethodSchemas {
  /** What one call, or one item of a list, sends; `undefined` for methods without data. */
  readonly data: JSONSchema | undefined
  /** The query, by names as they appear in URLs. */
  readonly query: JSONSchema
  /** One record of the result; `undefined` if it is unknown. */
  readonly result: JSONSchema | undefined
  /** Whether `result` describes the whole result, also for a method that returns several records. */
  readonly isWhole?: boolean
}

/** The schemas of a service in use. */
export interface EntrySchemas {
  /**
   * Inserts the hook that checks and converts the data and query of external calls before the first hook that
   * may change them.
   */
  addCheck(before: BeforeHooks): BeforeHooks
  /** Rejects with a `TypeError` that names a schema that cannot be compiled. */
  load(): Promise<void>
  /** Returns the schemas of a method, once they are loaded. */
  toMethodSchemas(method: string): MethodSchemas
}
