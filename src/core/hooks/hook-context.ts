import type { DataOf, IdOf, NewData, ParamsOf, ResultOf } from '../method-arguments.ts'
import type { MethodSpec } from '../method-table.ts'
import { toMethodSpec } from '../method-table.ts'
import type { TransportParams } from '../transport-facts.ts'
import { carryFacts } from '../transport-facts.ts'

/** The part of an application that running hooks needs. Hooks themselves get the whole application. */
export interface HookApplication {
  readonly logger: Logger
  readonly support?: HookAdvice | undefined
}

/** Explains mistakes to the authors of hooks. Without it, errors are shorter, and there are no warnings. */
export interface HookAdvice {
  /** Returns `; did you mean 'name'?` for the name that a mistyped one is closest to, else `''`. */
  suggestName(mistyped: string, names: Iterable<string>): string
  /** Returns what a value that is not a hook is, and how to turn it into one, if that is known. */
  describeHook(value: unknown): string | undefined
  /** @throws {TypeError} the value is a map in place of the hooks of a method or of `all` */
  refuseMap(value: unknown, group: HookGroup, name: string, label: string): void
  /** Called with an object that a hook returned without effect. */
  warnOfReturned(context: HookContext, returned: object, hook: object): void
}

/** The method that a context calls. */
export interface CalledMethod<A = HookApplication> {
  /** The name of the method. */
  readonly name: string
  /** How the method maps to HTTP, its arguments and its event. */
  readonly spec: MethodSpec
  /** The service that the method belongs to. */
  readonly entry: { readonly app: A; readonly path: string; readonly service: object }
}

/** What a hook may set for the HTTP response; other transports ignore it. */
export interface HttpAnswer {
  /** Overrides the status that follows from method and result. */
  status?: number
  /** Sent as they are; an array becomes several headers of one name. */
  headers?: Record<string, string | string[]>
  /** Sent percent-encoded as `Location`, with status 303 unless `status` is set. */
  location?: string
  /** The entity tag of the response, with its quotes: `"7"` or `W/"7"`. */
  etag?: string
}

/** What an around hook gets to run the rest of a call. Hooks call it without a reason. */
export type Next = (reason?: unknown) => Promise<void>

/** When a hook runs: around the call, before the method, after it, or on an error. */
export type HookType = 'around' | 'before' | 'after' | 'error'

/**
 * `short` are the around hooks of a service given as a list or map; they run outside of `around`.
 */
export type HookGroup = HookType | 'short'

/**
 * One call of a service method, as hooks see it. `id` and `data` are `undefined` for methods
 * without them. `result` is an own property once it is set: setting it before the method runs
 * skips the method.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor sets it
export class HookContext<S = object, M extends string = string, A = HookApplication> {
  /**
   * Written out, because bundlers rename the class: its public name is that of another constant.
   */
  static readonly name: string = 'HookContext'
  // Never set: mapped types make the compiler compare contexts by their properties, so that a hook for any
  // service fits each service. From the types above alone it would conclude that none fits another.
  /** @internal */
  declare protected readonly shape?: { [K in keyof S]?: unknown } & { [K in M]?: unknown }
  /** The application of the service. */
  readonly app: A
  /** The service as callers hold it, with hooks and events. */
  readonly service: S
  /** The path of the service, without slashes at its ends. */
  readonly path: string
  /** The name of the method. */
  readonly method: M
  /** The object that the method was called on: usually the service itself. */
  readonly self: object
  /** The kind of hook that is running. */
  type: HookType
  /** The id that the method is called with. */
  id: IdOf<S, M>
  /** Always an object for hooks and methods: `{}` after a hook has removed it. */
  params: ParamsOf<S, M>
  /** The event to emit after the call, `null` for none. */
  event: string | null
  /** What hooks have set for the HTTP response. */
  http: HttpAnswer
  /** What transports send instead of `result`. */
  dispatch?: unknown
  /** The result of the method, or what a hook set instead. */
  declare result?: ResultOf<S, M>
  /** The thrown error; an error hook may replace it, or clear it to swallow it. */
  declare error?: unknown
  /** The own properties of the context at the moment when the error was thrown. */
  declare original?: Readonly<Record<string, unknown>>
  readonly #method: CalledMethod<A>
  /** The params that have been looked at by {@link settleParams}. */
  #settled: ParamsOf<S, M>
  #isSurrounded = false

  constructor(method: CalledMethod<A>, self: object, id: unknown, data: unknown, params: unknown) {
    const { entry } = method
    this.app = entry.app
    this.service = entry.service as S
    this.path = entry.path
    this.method = method.name as M
    this.self = self
    this.type = 'around'
    this.id = id as IdOf<S, M>
    this.data = data as DataOf<S, M>
    this.params = (params || {}) as ParamsOf<S, M>
    this.#settled = this.params
    this.event = method.spec.event
    this.http = {}
    this.dispatch = undefined
    this.#method = method
  }

  /**
   * Whether an object is the context of a call itself, rather than a copy like `{ ...context }`.
   */
  static isContext(value: object): value is HookContext {
    return #method in value
  }

  /** The arguments of the method in their order, as hooks changed them. */
  get arguments(): readonly unknown[] {
    return Object.freeze(toMethodSpec(this.method).arguments.map((name) => this[name]))
  }

  /** Sets `id`, `data` and `params` by position; missing ones stay. */
  set arguments(values: readonly unknown[]) {
    const names = toMethodSpec(this.method).arguments
    for (const [index, value] of values.slice(0, names.length).entries()) {
      Reflect.set(this, names[index] as string, value)
    }
    this.settleParams()
  }

  /**
   * Call this after each hook. Params that the hook removed become `{}`. Params that it replaced
   * are usually a copy, `{ ...context.params, tenant }`: they get the properties that a spread
   * leaves out, and the record rules of the call.
   */
  settleParams(): void {
    if (this.params === this.#settled) return
    this.params ||= {} as ParamsOf<S, M>
    this.params = carryFacts(this.#settled as TransportParams, this.params)
    this.#settled = this.params
  }

  /** @internal */
  get isSurrounded(): boolean {
    return this.#isSurrounded
  }

  set isSurrounded(isSurrounded: boolean) {
    this.#isSurrounded = isSurrounded
  }

  /** The same as `http.status`. */
  get statusCode(): number | undefined {
    return this.http.status
  }

  /** `undefined` restores the status that follows from method and result. */
  set statusCode(status: number | undefined) {
    if (status === undefined) delete this.http.status
    else this.http.status = status
  }

  /** Whether this is a call of the given method: then the context may be passed to it. */
  isFor(method: CalledMethod<unknown>): boolean {
    return #method in this && this.#method === method
  }

  /** Returns a plain object with every property, as `{ ...context }` does. */
  toObject(): Record<string, unknown> {
    return { ...(this as Record<string, unknown>) }
  }

  /**
   * Returns what can be logged: all but `app`, `service` and `self`, which hold settings
   * and secrets; of `original` as well.
   */
  toJSON(): Record<string, unknown> {
    return { ...omitOwners(this), arguments: this.arguments }
  }
}

function omitOwners(context: object): object {
  const { app, service, self, original, ...call } = context as HookContext
  return original ? { ...call, original: omitOwners(original) } : call
}

// Declared next to the class, because in a class only an accessor can accept more than it returns, and `data`
// is an own property of each context, so that copies of the context have it.
/** The data of a call. Hooks may add fields. */
// biome-ignore lint/correctness/noUnusedVariables: the parameters have to be those of the class
export interface HookContext<S = object, M extends string = string, A = HookApplication> {
  /** The data that the method is called with. Hooks may set more fields than callers may send. */
  get data(): DataOf<S, M>
  set data(data: NewData<DataOf<S, M>>)
}

/** Logs what cannot be reported to a caller; `console` and Fastify's logger both fit. */
export interface Logger {
  /** Logs a failure; `details.err` is the error. */
  error(details: object, message?: string): void
  /** Logs what is probably a mistake. */
  warn(details: object, message?: string): void
  /** Logs useful information. */
  info(details: object, message?: string): void
}
