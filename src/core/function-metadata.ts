import type { HookApplication, HookContext, HookGroup } from './hooks/hook-context.ts'

/** Where a hook is registered. */
export interface HookPlace {
  /** The application that the hook finds in its context. */
  readonly app: HookApplication
  /** The service of the hook, `undefined` for a hook of the application. */
  readonly service: object | undefined
  readonly group: HookGroup
  /** The place in words: `'before all' of service 'users'`. */
  readonly label: string
}

/** A header or a query parameter, as OpenAPI describes it. */
interface HeaderTerms {
  readonly description: string
  /** Default: any string. */
  readonly schema?: Readonly<Record<string, unknown>>
}

/** A body of bytes of any type. The fields of the data are in the query, or before the bytes in a form. */
export interface ByteBody {
  readonly description: string
  /** The schemas of fields that all data has. They are required, unless there are forms. */
  readonly fields: Readonly<Record<string, object>>
  /** The last field of a form, which has the bytes. Default: there are no forms. */
  readonly formField?: string
  /** Whether a request may do without it. Default: it is required. */
  readonly isOptional?: true
}

/** An operation below the path of a call, with the same callers and errors, that responds with bytes. */
export interface ByteOperation {
  /** Added to the path of the call: `/content`. */
  readonly path: string
  /** The prefix of its id. */
  readonly id: string
  readonly summary: string
  /** Descriptions of the responses with bytes, by status. */
  readonly answers: Readonly<Record<number, string>>
  /** The features of its route, whose terms apply. */
  readonly features: readonly object[]
}

/** A kind of call in the description of the API: `patch` of one record and `patch` of many are two kinds. */
export interface DescribedCall {
  readonly method: string
  /** Whether the result is one record. */
  readonly isRecord: boolean
  readonly service: object
  readonly options: { readonly singleton?: boolean; readonly etag?: boolean }
  /** Whether external callers can call a method of the service. */
  readonly hasMethod: (name: string) => boolean
}

/** What external callers see of a hook, or of a transport feature: what they can send, and the responses. */
export interface CallTerms {
  /** The calls that the terms apply to. Default: all. */
  readonly isFor?: (call: DescribedCall) => boolean
  /** Whether the terms apply only to writes. */
  readonly onlyWrites?: boolean
  /** A header that it reads. */
  readonly header?: HeaderTerms & {
    readonly name: string
    readonly in?: 'header'
    readonly required?: boolean
  }
  /** A query parameter that it reads, with its schema. */
  readonly query?: HeaderTerms & { readonly name: string }
  /** Headers of successful responses, by name. */
  readonly answerHeaders?: Readonly<Record<string, HeaderTerms>>
  /** Descriptions of media types of successful responses other than JSON. */
  readonly mediaTypes?: Readonly<Record<string, string>>
  /** Descriptions of other responses that are not errors, by status. */
  readonly answers?: Readonly<Record<number, string>>
  /** The statuses that it rejects calls with. */
  readonly errors?: readonly number[]
  /** What it knows of the body that is read in place of JSON. */
  readonly byteBody?: Partial<ByteBody>
  /** An operation that it adds to that of the call. */
  readonly byteOperation?: ByteOperation
  /** Set if callers of an added operation may do without the proof that hooks require. */
  readonly isOpen?: true
}

/** Facts about a function that are not in its code, for the places that register it. */
export interface FunctionMetadata {
  /**
   * How a function that returns a hook is called: `protect('password')`. If the function itself is registered
   * as a hook, it would run with the context as its options.
   */
  readonly hookFactory?: string
  /** What the factory of a hook was called with, where that says more than its name. Shown while you develop. */
  readonly hookArguments?: readonly unknown[]
  /** The factory of a function for `app.configure()`: passed to `app.use()`, it looks like any function. */
  readonly configuratorFactory?: string
  /** The strategies of a hook that rejects a caller unless one of them succeeds. */
  readonly strategies?: readonly string[]
  /** The path of the authentication service of these strategies. Default: the default one. */
  readonly authentication?: string
  /** Set for an around hook that observes: it changes neither params nor results. */
  readonly changesNothing?: boolean
  /** The fields that a hook hashes or hides from callers: their values must not be logged. */
  readonly secretFields?: readonly string[]
  /** Set for a hook that compares `params.version` with the record that is written. */
  readonly comparesVersion?: boolean
  /** Returns the check that an around hook makes for a method. It runs after all before hooks, wherever the hook is registered. */
  readonly findCheck?: (method: string) => ((context: HookContext) => unknown) | null
  /** What API descriptions and `cors()` need to know about a hook or a feature. */
  readonly terms?: CallTerms | readonly CallTerms[]
  /** Set for a method that a feature gives to services: another feature may replace it. */
  readonly isReplaceable?: boolean
  /** Set for a hook that never rejects a caller. */
  readonly refusesNobody?: boolean
  /**
   * Set once a warning has named the function, or the entry of a method, so that each is warned about once.
   */
  readonly hasWarning?: boolean
  /** Throws if a hook cannot work in its place. Called when the application is set up. */
  readonly checkPlace?: (place: HookPlace) => void
}

/** Not a property: a function may be frozen, and users may look at its keys. */
const METADATA = new WeakMap<object, FunctionMetadata>()

const NOTHING: FunctionMetadata = {}

/** Adds metadata to a function. Returns the function. */
export function describeFunction<F extends object>(fn: F, metadata: FunctionMetadata): F {
  METADATA.set(fn, { ...METADATA.get(fn), ...metadata })
  return fn
}

/** Gives a function made by a factory the name that people know: a hook gets that of its factory. */
export function nameFunction<F extends object>(name: string, fn: F): F {
  return Object.defineProperty(fn, 'name', { value: name, configurable: true })
}

/** Returns the metadata of a function, an empty object for most. */
export function metadataOf(fn: object): FunctionMetadata {
  return METADATA.get(fn) ?? NOTHING
}

/** Returns the terms of a function for external callers; an empty list for most. */
export function listTerms(fn: object): readonly CallTerms[] {
  return [metadataOf(fn).terms ?? []].flat()
}
