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

/** A header, as OpenAPI describes it. */
interface HeaderTerms {
  readonly description: string
  /** Default: any string. */
  readonly schema?: Readonly<Record<string, unknown>>
}

/** A kind of call in the description of the API: `patch` of one record and `patch` of many are two kinds. */
export interface DescribedCall {
  readonly method: string
  /** Whether the answer is one record. */
  readonly isRecord: boolean
  readonly service: object
  readonly options: { readonly singleton?: boolean; readonly etag?: boolean }
  /** Whether external callers can call a method of the service. */
  readonly hasMethod: (name: string) => boolean
}

/** What external callers see of a hook, or of a feature of a transport: what they can send, and what it answers. */
export interface CallTerms {
  /** The calls that they apply to. Default: all. */
  readonly isFor?: (call: DescribedCall) => boolean
  /** Whether they apply to writes only. */
  readonly onlyWrites?: boolean
  /** A header that it reads. */
  readonly header?: HeaderTerms & {
    readonly name: string
    readonly in?: 'header'
    readonly required?: boolean
  }
  /** Headers of the answers of calls that went well, by their names. */
  readonly answerHeaders?: Readonly<Record<string, HeaderTerms>>
  /** Other media types of such an answer than JSON: their descriptions. */
  readonly mediaTypes?: Readonly<Record<string, string>>
  /** Other answers that are no errors: descriptions by their statuses. */
  readonly answers?: Readonly<Record<number, string>>
  /** The statuses that it refuses calls with. */
  readonly errors?: readonly number[]
}

/** What is known of a function beside its code, for those who register it. */
export interface FunctionMetadata {
  /**
   * How a function that returns a hook is called: `protect('password')`. Registered in the place of
   * that hook it would run as one, with the context for its options.
   */
  readonly hookFactory?: string
  /** The factory of a function for `app.configure()`: given to `app.use()` it looks like any function. */
  readonly configuratorFactory?: string
  /** The strategies of a hook that lets nobody pass whom none of them proves. */
  readonly strategies?: readonly string[]
  /** The path of the authentication service of these strategies. Default: the default one. */
  readonly authentication?: string
  /** Set for an around hook that observes: it changes neither params nor results. */
  readonly changesNothing?: boolean
  /** The fields that a hook hashes, or keeps from callers: their values are for no log. */
  readonly secretFields?: readonly string[]
  /** Set for a hook that compares `params.version` with the record that is written. */
  readonly comparesVersion?: boolean
  /** Returns the check that an around hook makes for a method. It runs after all before hooks, wherever the hook is registered. */
  readonly findCheck?: (method: string) => ((context: HookContext) => unknown) | null
  /** What descriptions of the API, and `cors()`, say of a hook or a feature. */
  readonly terms?: CallTerms | readonly CallTerms[]
  /** Set for a method that a feature gives to services: another feature may replace it. */
  readonly isReplaceable?: boolean
  /** Set for a hook that refuses nobody. */
  readonly refusesNobody?: boolean
  /** Set once a warning has named the function, or the entry of a method: one for each is enough. */
  readonly hasWarning?: boolean
  /** Throws where a hook can never do what it is for. Called when the application is set up. */
  readonly checkPlace?: (place: HookPlace) => void
}

/** A function gets no property for it: it may be frozen, and users may look at its keys. */
const METADATA = new WeakMap<object, FunctionMetadata>()

const NOTHING: FunctionMetadata = {}

/** Adds to what is known of a function. Returns the function. */
export function describeFunction<F extends object>(fn: F, metadata: FunctionMetadata): F {
  METADATA.set(fn, { ...METADATA.get(fn), ...metadata })
  return fn
}

/** Gives a function that a factory has made the name that people know: of a hook, that of its factory. */
export function nameFunction<F extends object>(name: string, fn: F): F {
  return Object.defineProperty(fn, 'name', { value: name, configurable: true })
}

/** Returns what is known of a function, nothing of most. */
export function metadataOf(fn: object): FunctionMetadata {
  return METADATA.get(fn) ?? NOTHING
}

/** Returns what external callers see of a function; an empty list for most. */
export function listTerms(fn: object): readonly CallTerms[] {
  return [metadataOf(fn).terms ?? []].flat()
}
