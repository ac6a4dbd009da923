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

/** What only servers need of an application: what tells authors of mistakes, and what reads their code. */
export interface ServerSupport extends HookAdvice {
  /** Says what a value is that stands where a service is meant, and where it belongs. */
  describeInput(path: string, value: unknown): string
  /** Says what a value is that `app.configure()` does not take. */
  refuseConfigurator(value: unknown): never
  /** Returns the error for a path without a service, whose stack names the one that may be meant. */
  createMissingError(path: string, paths: Iterable<string>): NotFound
  /** Returns `; did you mean 'name'?` for a method that a service lacks, and its other ones. */
  suggestMethod(mistyped: string, service: object): string
  readonly readOptions: ServiceOptionReader
  /** Called where the hooks of a call have ended without a result. */
  warnOfResult(method: MethodEntry, context: HookContext): void
  /** Returns a method of a service, and the hooks that `@feathersjs/hooks` has put around it. */
  readPackageHooks(path: string, service: object, name: string): HookedFunction
  /**
   * Makes the schemas of a service what its calls are checked by.
   * @throws {TypeError} a schema is missing, a name is not known, or the application can have none
   */
  attachSchemas(entry: ServiceEntryFace, schemas: ServiceSchemas): EntrySchemas
  /** Returns what starts the calls of a method, and publishes them while somebody observes calls. */
  readonly observe?: (method: MethodEntry) => CallStart
  /** Whether somebody observes calls now. */
  readonly isObserved?: boolean
  /** Returns sources whose hooks tell of themselves, where somebody observes hooks. */
  readonly traceHooks?: (sources: readonly HookSource[]) => readonly HookSource[]
  /** Called when all services are set up. Throws where a hook can never do what it is for. */
  checkHooks(app: WithServices): void
}

/**
 * Runs the hooks and the method of a call. Returns what has to be awaited for `finishCall()`, `undefined` for nothing: for
 * callers to whom each promise more costs as much as a hook.
 * @throws what the method throws at once
 */
export type CallStart = (context: HookContext) => PromiseLike<unknown> | undefined

/** What a registered service needs of its application. */
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
  /** Whether the method may be called from outside. */
  readonly external: boolean
  /** Calls {@link original} with the arguments of a call. */
  readonly call: MethodCall
  /** The hooks around {@link call}; `null` when there are none. */
  chain: Chain | null
  /** Starts a call. It is another function as soon as hooks have changed. */
  start: CallStart
}

/** The members of a `ServiceEntry`, for what it is made of: its methods, their calls and events. */
export interface ServiceEntryFace<A = EntryApplication> {
  /** The application that the service was registered with. */
  readonly app: A
  /** The path of the service, without slashes at its ends. */
  readonly path: string
  /** What callers hold: the given instance itself, or an object derived from a given literal. */
  readonly service: object
  /** The options of the service, with every default filled in. */
  readonly options: ResolvedServiceOptions
  /** The methods by name: the standard ones that are there, and those of the options. */
  readonly methods: ReadonlyMap<string, MethodEntry<A>>
  /** The hooks of the service, without those of the application. */
  readonly hooks: HookRegistry
  /** What transports keep for the service, each by a symbol of its own. */
  readonly attachments: Map<symbol, unknown>
  /** What the option `schemas` stands for; `null` without it. */
  readonly schemas: EntrySchemas | null
  /**
   * Puts the chains together anew: to be called whenever hooks of the app or the service change.
   */
  compile(): void
  /** Emits to the listeners of the service; one that fails is logged and changes nothing. */
  emit(event: string, ...values: unknown[]): void
  /** Removes hooks and events from the instance, which may be registered elsewhere then. */
  release(): void
}
