import { ServiceNotFound } from './errors/coded-errors.ts'
import { ArgumentError, RegistrationError } from './errors/setup-errors.ts'
import { Emitter, logListenerError } from './events/emitter.ts'
import type { Logger } from './hooks/hook-context.ts'
import type { AnyApplicationHookMap, ApplicationHookMap } from './hooks/hook-map.ts'
import { HookRegistry } from './hooks/hook-registry.ts'
import type { MethodNames } from './method-arguments.ts'
import type { StandardMethod } from './method-table.ts'
import { STANDARD_METHODS } from './method-table.ts'
import type { ServiceLifecycle } from './services/lifecycle.ts'
import type { ServerSupport, ServiceEntryFace } from './services/method-entry.ts'
import type { ServiceMixin } from './services/service-entry.ts'
import { applyMixins, createMixins, toRegistered } from './services/service-entry.ts'
import { checkServiceInput, toServicePath } from './services/service-input.ts'
import type {
  AnyService,
  AnyServices,
  Mounted,
  OptionsInput,
  ServiceAt,
  ServiceInput,
} from './services/service-map.ts'
import type { ServiceOptions } from './services/service-options.ts'
import { isMethodName, requireSupport, resolveServiceOptions } from './services/service-options.ts'

type Entry = ServiceEntryFace<Application>

/** Called when a service is registered (`'added'`) or removed (`'removed'`). */
export type ServiceObserver = (change: 'added' | 'removed', path: string, entry: Entry) => void

/**
 * The registry of named services, with settings, application hooks and its own events. The public class is
 * the one in `create-app`, whose applications set up their services.
 */
export class Application<
  Services = AnyServices,
  Settings = Record<string, unknown>,
> extends Emitter {
  /** Without prototype, so that no setting is there before it is set. */
  readonly settings: Partial<Settings> = Object.create(null)
  /** The Feathers version whose plug-ins work here; plug-ins compare it. */
  readonly version: string = '5.0.50'
  /** Functions that run for each new service; Feathers plug-ins add theirs. */
  readonly mixins: ServiceMixin<Application>[] = createMixins()
  /** Gets the errors that cannot be reported to a caller. Default: `console`. */
  logger: Logger = console
  /** Readiness checks by name, such as one for a database: the application is ready while none rejects. */
  readonly readiness: Map<string, () => Promise<unknown>> = new Map()
  /** The hooks of the application. Any method name is allowed, since methods differ between services. */
  readonly hookRegistry: HookRegistry
  /** Features that only servers need. Applications of `createApp()` have them; browsers do not load them. */
  readonly support: ServerSupport | undefined
  readonly #entries = new Map<string, Entry>()
  readonly #observers = new Set<ServiceObserver>()
  // Without its type parameters, as the parts of the core take an application.
  readonly #untyped: Application = this as unknown as Application
  /** Sets up services. Applications of `createClient()` have none, so that browsers do not load it. */
  readonly #lifecycle: ServiceLifecycle | undefined

  constructor(support?: ServerSupport, createLifecycle?: (app: Application) => ServiceLifecycle) {
    super((error, event) => logListenerError(this, error, String(event)))
    this.support = support
    this.#lifecycle = createLifecycle?.(this.#untyped)
    this.hookRegistry = new HookRegistry({
      label: 'the application',
      shortGroup: 'around',
      // Services added later may have any method. A client would never run hooks of `setup`, so it rejects
      // them.
      methods: {
        has: (name) => this.#lifecycle !== undefined || isMethodName(name),
        keys: () => STANDARD_METHODS,
      },
      advice: support,
    })
  }

  /** The registered services by path, in the order of their registration. */
  get entries(): ReadonlyMap<string, Entry> {
    return this.#entries
  }

  /** The registered services by path, in an object without prototype. */
  get services(): Readonly<Record<string, object>> {
    const services: Record<string, object> = Object.create(null)
    for (const [path, { service }] of this.#entries) services[path] = service
    return services
  }

  /** Whether `setup()` was called, and no `teardown()` since: plug-ins of Feathers read it. */
  get _isSetup(): boolean {
    return this.#lifecycle?.isStarted ?? false
  }

  // Feathers plug-ins take an application whose methods accept any name. The overloads with `this: never`,
  // here and below, make ours assignable to theirs; they cannot be called.
  /** @internal */ get(this: never): never
  /** Returns a setting, `undefined` if it was never set: declare such settings as optional in `Settings`. */
  get<Name extends keyof Settings & string>(name: Name): Settings[Name]
  get(name?: keyof Settings): unknown {
    return this.settings[name as keyof Settings]
  }

  /** @internal */ set(this: never): never
  /** Changes a setting. */
  set<Name extends keyof Settings & string>(name: Name, value: Settings[Name]): this
  set(name?: keyof Settings, value?: Settings[keyof Settings]): this {
    this.settings[name as keyof Settings] = value
    return this
  }

  /**
   * Runs a function with the application, for set-up code in separate files.
   * @throws {TypeError} the argument is not a function, or is a function that takes more than the application
   */
  configure(configurator: (this: this, app: this) => unknown): this {
    if (typeof configurator !== 'function' || configurator.length > 1) {
      this.support?.refuseConfigurator(configurator)
      throw new ArgumentError('app.configure() takes a function (app)')
    }
    configurator.call(this, this)
    return this
  }

  /** @internal */ use(this: never): never
  /**
   * Registers a service at a path, or every service of another application below it.
   * @throws {TypeError} the path is taken, the service has no methods, or an option is invalid
   */
  use<Path extends string>(path: Path, subApp: Mounted<Services, Path, AnyApplication>): this
  use<Path extends keyof Services & string, const Options = unknown>(
    path: Path,
    service: ServiceInput<Services[Path]>,
    ...options: OptionsInput<Services[Path], Options>
  ): this
  use(path?: string, service?: unknown, options: ServiceOptions = {}): this {
    const servicePath = toServicePath(path as string)
    if (service instanceof Application) return this.#mount(servicePath, service)
    checkServiceInput(servicePath, service, this.support?.describeInput)
    this.#checkFree(servicePath)
    const resolved = resolveServiceOptions(servicePath, service, options, this.support?.readOptions)
    const registered = toRegistered(servicePath, service)
    return this.#add(servicePath, applyMixins(this.#untyped, registered, servicePath, resolved))
  }

  /** @internal */ service(this: never): never
  /**
   * Returns the service at a path, with hooks and events.
   * @throws {NotFound} there is no service at this path
   */
  service<Path extends keyof Services & string>(path: Path): ServiceAt<Services, Path, this>
  service(path?: string): object {
    const servicePath = toServicePath(path as string)
    const entry = this.#entries.get(servicePath)
    if (entry !== undefined) return entry.service
    return this.#untyped.use(servicePath, this.defaultService(servicePath)).service(servicePath)
  }

  /** Creates the service for a path without one; clients override this. */
  defaultService(path: string): object {
    const error = this.support?.createMissingError(path, this.#entries.keys())
    throw error ?? new ServiceNotFound(`Can not find service '${path}'`)
  }

  /** @internal */ unuse(this: never): never
  /**
   * Tears a service down and removes it. Resolves to the service, `undefined` if there was none.
   */
  unuse<Path extends keyof Services & string>(path: Path): Promise<Services[Path] | undefined>
  async unuse(path?: string): Promise<unknown> {
    const servicePath = toServicePath(path as string)
    const entry = this.#entries.get(servicePath)
    if (entry === undefined) return undefined
    this.#entries.delete(servicePath)
    this.#notify('removed', servicePath, entry)
    try {
      await this.#lifecycle?.remove(servicePath)
    } finally {
      if (entry.app === this.#untyped) entry.release()
    }
    return entry.service
  }

  /** @internal */ hooks(this: never): never
  /** Adds hooks that run around those of every service; repeated calls append. */
  hooks<Map = AnyApplicationHookMap<AnyService, this, StandardMethod | MethodNames<Services>>>(
    options: ApplicationHookMap<Map, AnyService, this, StandardMethod | MethodNames<Services>>,
  ): this
  hooks(options?: unknown): this {
    if (this.#lifecycle?.addHooks(options)) return this
    this.hookRegistry.add(options)
    for (const entry of this.#entries.values()) entry.compile()
    return this
  }

  /**
   * Sets up every service, in the order of registration. Services added later are set up at once.
   * @throws {TypeError} a hook cannot work, for example because its strategy does not exist; or the
   *   application is a client, which sets up nothing
   */
  async setup(server?: unknown): Promise<this> {
    await requireSupport(this.#lifecycle, 'app.setup()').setup(server)
    this.support?.checkHooks(this.#untyped)
    return this
  }

  /** Tears every service down, in the reverse order. */
  async teardown(server?: unknown): Promise<this> {
    await requireSupport(this.#lifecycle, 'app.teardown()').teardown(server)
    return this
  }

  /** Calls an observer for every service added or removed from now on. Returns a function that stops this. */
  observe(observer: ServiceObserver): () => void {
    this.#observers.add(observer)
    return () => void this.#observers.delete(observer)
  }

  #mount(path: string, subApp: AnyApplication): this {
    const mounted = [...subApp.entries].map(
      ([subPath, entry]) => [toServicePath(`${path}/${subPath}`), entry] as const,
    )
    for (const [subPath] of mounted) this.#checkFree(subPath)
    for (const [subPath, entry] of mounted) {
      this.#add(subPath, applyMixins(this.#untyped, entry.service, subPath, entry.options))
    }
    return this
  }

  #add(path: string, entry: Entry): this {
    this.#entries.set(path, entry)
    this.#notify('added', path, entry)
    this.#lifecycle?.add(path, entry.service, entry.schemas)
    return this
  }

  #checkFree(path: string): void {
    if (!this.#entries.has(path)) return
    throw new RegistrationError(`Path '${path}' is in use: await app.unuse('${path}') first`)
  }

  #notify(change: 'added' | 'removed', path: string, entry: Entry): void {
    for (const observer of this.#observers) observer(change, path, entry)
  }
}

/** An application with any services and settings, for code that looks at neither. */
// biome-ignore lint/suspicious/noExplicitAny: a generic constraint
export type AnyApplication = Application<any, any>
