import type { NotFound } from '../errors/index.ts'
import type { Chain, HookSource } from '../hooks/hook-chain.ts'
import type {
  CalledMethod,
  HookAdvice,
  HookApplication,
  HookContext,
} from '../hooks/hook-context.ts'
import type { HookRegistry } from '../hooks/hook-registry.ts'
import type { MethodCall } from '../hooks/method-call.ts'
import type { HookedFunction } from './package-hooks.ts'
import type { ResolvedServiceOptions, ServiceOptionReader } from './service-options.ts'
import type { EntrySchemas, ServiceSchemas } from './service-schemas.ts'

/** Features of an application that only servers need: hints for authors, and readers of their code. */
export interface ServerSupport extends HookAdvice {
  /** Says what a value passed as a service is, and where it belongs. */
  describeInput(path: string, value: unknown): string
  /** Throws an error that says what a value passed to `app.configure()` is. */
  refuseConfigurator(value: unknown): never
  /** Returns the error for a path without a service. Its stack suggests a similar path. */
  createMissingError(path: string, paths: Iterable<string>): NotFound
  /** Returns `; did you mean 'name'?` for a method that a service lacks. */
  suggestMethod(mistyped: string, service: object): string
  readonly readOptions: ServiceOptionReader
  /** Called if the hooks of a call end without a result. */
  warnOfResult(method: MethodEntry, context: HookContext): void
  /** Returns a method of a service, and the hooks that `@feathersjs/hooks` has put around it. */
  readPackageHooks(path: string, service: object, name: string): HookedFunction
  /**
   * Compiles the schemas of a service for the checks of its calls.
   * @throws {TypeError} a schema is missing, a name is unknown, or the application supports no schemas
   */
  attachSchemas(entry: ServiceEntryFace, schemas: ServiceSchemas): EntrySchemas
  /** Returns a function that starts the calls of a method, and publishes them while calls are observed. */
  readonly observe?: (method: MethodEntry) => CallStart
  /** Whether calls are observed now. */
  readonly isObserved?: boolean
  /** Returns sources whose hooks report their runs, if hooks are observed. */
  readonly traceHooks?: (sources: readonly HookSource[]) => readonly HookSource[]
  /** Called when all services are set up. Throws if a hook cannot work in its place. */
  checkHooks(app: WithServices): void
}

/**
 * Runs the hooks and the method of a call. Returns a promise for `finishCall()`, or `undefined` if there is
 * nothing to await: an additional promise costs as much as a hook.
 * @throws what the method throws at once
 */
export type CallStart = (context: HookContext) => PromiseLike<unknown> | undefined

/** The part of an application that a registered service needs. */
export interface EntryApplication extends HookApplication {
  readonly support?: ServerSupport | undefined
  /** The hooks that run around those of the service. */
  readonly hookRegistry: HookRegistry
}

/** An application, with the services that its hooks may need. */
export interface WithServices extends EntryApplication {
  readonly entries: ReadonlyMap<string, ServiceEntryFace>
}

/** One method of a registered service. */
export interface MethodEntry<A = EntryApplication> extends CalledMethod<A> {
  /** The service that the method belongs to. */
  readonly entry: ServiceEntryFace<A>
  /** The function of the service, without hooks and events. */
  readonly original: (...args: unknown[]) => unknown
  /** Whether external callers may call the method. */
  readonly external: boolean
  /** Calls {@link original} with the arguments of a call. */
  readonly call: MethodCall
  /** The hooks around {@link call}; `null` when there are none. */
  chain: Chain | null
  /** Starts a call. Replaced whenever hooks change. */
  start: CallStart
}

/** The members of a `ServiceEntry`, as its parts (methods, calls, events) see them. */
export interface ServiceEntryFace<A = EntryApplication> {
  /** The application that the service was registered with. */
  readonly app: A
  /** The path of the service, without slashes at its ends. */
  readonly path: string
  /** The object that callers get: the given instance itself, or an object derived from a given literal. */
  readonly service: object
  /** The options of the service, with every default filled in. */
  readonly options: ResolvedServiceOptions
  /** The methods by name: the existing standard ones, and those of the options. */
  readonly methods: ReadonlyMap<string, MethodEntry<A>>
  /** The hooks of the service, without those of the application. */
  readonly hooks: HookRegistry
  /** Hooks around those of the application: for plug-ins that have to see how each call of the service ends. */
  readonly outermost: HookRegistry
  /** What transports keep for the service, each under its own symbol. */
  readonly attachments: Map<symbol, unknown>
  /** The compiled option `schemas`; `null` without it. */
  readonly schemas: EntrySchemas | null
  /** Rebuilds the chains: call it whenever hooks of the app or the service change. */
  compile(): void
  /** Emits to the listeners of the service; a failing listener is only logged. */
  emit(event: string, ...values: unknown[]): void
  /** Removes hooks and events from the instance, which can then be registered elsewhere. */
  release(): void
}
