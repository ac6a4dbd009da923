import { HookError, RegistrationError } from '../errors/setup-errors.ts'
import { createEmitterMethods, logListenerError } from '../events/emitter.ts'
import { compileChain } from '../hooks/hook-chain.ts'
import { HookRegistry } from '../hooks/hook-registry.ts'
import { createMethodCall } from '../hooks/method-call.ts'
import { STANDARD_METHODS, toMethodSpec } from '../method-table.ts'
import { hasMethod, isPlainObject } from '../value-kind.ts'
import type { EntryApplication, MethodEntry, ServiceEntryFace } from './method-entry.ts'
import type { HookedFunction } from './package-hooks.ts'
import { hasPackageHooks } from './package-hooks.ts'
import { callMethod, createContext, toUnobserved } from './run-method.ts'
import type { ServiceAddons } from './service-map.ts'
import type { ResolvedServiceOptions, ServiceOptions } from './service-options.ts'
import { requireSupport } from './service-options.ts'
import type { EntrySchemas } from './service-schemas.ts'

/**
 * Called with each service that an application gets, like the mixins of Feathers plug-ins. The first mixin of
 * the list adds the hooks: before it, the service has only its own methods. The options include the defaults;
 * the type says less, so that Feathers plug-ins fit.
 */
export type ServiceMixin<A> = (
  this: A,
  service: object,
  path: string,
  options: ServiceOptions,
) => unknown

/** The property in which a registered service keeps its entry. */
const ENTRY = Symbol('remex.entry')

interface WithEntry {
  readonly [ENTRY]?: ServiceEntry
}

/** Returns the entry of a registered service, `undefined` for any other object. */
export function findServiceEntry<A extends EntryApplication = EntryApplication>(
  service: object,
): ServiceEntry<A> | undefined {
  const entry = (service as WithEntry | undefined)?.[ENTRY]
  // An object derived from a service, or a proxy of it, is not registered. The type of the application is
  // unknown here.
  return entry?.service === service ? (entry as ServiceEntry<A> | undefined) : undefined
}

/** A service as its application holds it: its methods with their chains, its hooks and events. */
export class ServiceEntry<A extends EntryApplication = EntryApplication>
  implements ServiceEntryFace<A>
{
  /**
   * Written out, because bundlers rename the class: its public name is that of another constant.
   */
  static readonly name: string = 'ServiceEntry'
  readonly app: A
  readonly path: string
  readonly service: object
  readonly options: ResolvedServiceOptions
  readonly methods: ReadonlyMap<string, MethodEntry<A>>
  readonly hooks: HookRegistry
  readonly outermost: HookRegistry
  readonly attachments: Map<symbol, unknown> = new Map()
  readonly schemas: EntrySchemas | null
  readonly release: () => void

  /** @throws {TypeError} the service lacks a method that its options list, or its schemas are invalid */
  constructor(app: A, path: string, service: object, options: ResolvedServiceOptions) {
    this.app = app
    this.path = path
    this.service = service
    this.options = options
    const methods = new Map<string, MethodEntry<A>>()
    this.methods = methods
    const registry = {
      label: `service '${path}'`,
      shortGroup: 'short',
      methods,
      advice: app.support,
    } as const
    this.hooks = new HookRegistry(registry)
    this.outermost = new HookRegistry(registry)
    // Standard methods have hooks even if external callers cannot call them.
    const standard = STANDARD_METHODS.filter((name) => hasMethod(service, name))
    for (const name of new Set([...standard, ...options.methods])) {
      const { original, hooks } = readFunction(this, name)
      const spec = toMethodSpec(name)
      const external = options.methods.includes(name)
      const call = createMethodCall(spec, original)
      // `compile()` sets its chain and `start`.
      methods.set(name, { entry: this, name, spec, original, external, call } as Partial<
        MethodEntry<A>
      > as MethodEntry<A>)
      this.hooks.add({ [name]: hooks })
    }
    this.schemas = (options.schemas && app.support?.attachSchemas(this, options.schemas)) ?? null
    this.release = installMembers(this)
    this.compile()
  }

  compile(): void {
    const { app, hooks, outermost, schemas } = this
    const given = [{ hooks: outermost }, { hooks: app.hookRegistry }, { hooks, schemas }]
    const sources = app.support?.traceHooks?.(given) ?? given
    for (const method of this.methods.values()) {
      method.chain = compileChain(sources, method.name, method.call)
      method.start = app.support?.observe?.(method) ?? toUnobserved(method)
    }
  }

  emit(event: string, ...values: unknown[]): void {
    const emitter = this.service as Pick<ServiceAddons<object>, 'emit'>
    try {
      emitter.emit(event, ...values)
    } catch (error) {
      logListenerError(this.app, error, `${this.path} ${event}`)
    }
  }
}

/**
 * Returns the object that callers get: the given instance itself, or one derived from a literal. A
 * literal may serve several applications, and may be frozen.
 * @throws {TypeError} the instance is registered already
 */
export function toRegistered(path: string, service: object): object {
  const registered = findServiceEntry(service)
  if (registered === undefined) return isPlainObject(service) ? Object.create(service) : service
  throw new RegistrationError(
    `The service for path '${path}' is registered at '${registered.path}': make a new one`,
  )
}

/**
 * @throws {TypeError} there is no such function, or it has hooks of `@feathersjs/hooks`, which only servers
 *   support
 */
function readFunction({ app, path, service }: ServiceEntryFace, name: string): HookedFunction {
  const { support } = app
  if (!hasMethod(service, name)) {
    const hint =
      support?.suggestMethod(name, service) || ': the option `methods` lists what the service has'
    throw new HookError(
      `Can not apply hooks. '${name}' is not a function of service '${path}'${hint}`,
    )
  }
  const original = (service as Record<string, unknown>)[name] as MethodEntry['original']
  if (!hasPackageHooks(service, original)) return { original, hooks: [] }
  const owner = `app.use('${path}'): '${name}' with hooks of @feathersjs/hooks`
  return requireSupport(support, owner).readPackageHooks(path, service, name)
}

/** Returns the mixins that every application has: the one that gives a service hooks and events. */
export function createMixins<A extends EntryApplication>(): ServiceMixin<A>[] {
  return [
    function addHooks(service, path, options) {
      // A service of a mounted application already has the hooks of that application.
      if (findServiceEntry(service) !== undefined) return
      new ServiceEntry(this, path, service, options as ResolvedServiceOptions)
    },
  ]
}

/**
 * Runs the mixins of an application with a service and returns its entry. If one of them fails, a
 * new service is left without hooks again.
 * @throws {TypeError} the mixin that adds hooks is missing, or the service lacks a listed method
 */
export function applyMixins<A extends EntryApplication>(
  app: A & { readonly mixins: readonly ServiceMixin<A>[] },
  service: object,
  path: string,
  options: ResolvedServiceOptions,
): ServiceEntry<A> {
  const isNew = findServiceEntry(service) === undefined
  try {
    for (const mixin of app.mixins) mixin.call(app, service, path, options)
  } catch (error) {
    if (isNew) findServiceEntry(service)?.release()
    throw error
  }
  const entry = findServiceEntry<A>(service)
  if (entry === undefined) throw new RegistrationError('app.mixins lacks the mixin that adds hooks')
  return entry
}

/** The property in which `getServiceOptions()` of Feathers, and packages that call it, find the options. */
const SERVICE_OPTIONS = Symbol.for('@feathersjs/service')

/**
 * Gives a service its hooked methods, `hooks` and the methods of an emitter. Returns a function that restores
 * the service.
 */
function installMembers(entry: ServiceEntryFace): () => void {
  const { app, path, service } = entry
  const members: Record<string | symbol, unknown> = {
    // The options of a Feathers service stay.
    ...(Object.hasOwn(service, SERVICE_OPTIONS) ? {} : { [SERVICE_OPTIONS]: entry.options }),
    hooks(options: unknown) {
      entry.hooks.add(options)
      entry.compile()
      return service
    },
    ...createEmitterMethods(service, (error, event) =>
      logListenerError(app, error, `${path} ${String(event)}`),
    ),
    ...Object.fromEntries([...entry.methods].map(([name, method]) => [name, createHooked(method)])),
    // Set last: if another member cannot be set, the service is not registered.
    [ENTRY]: entry,
  }
  const previous = Reflect.ownKeys(members).map((name) => {
    const descriptor = Object.getOwnPropertyDescriptor(service, name)
    // Not enumerable: a service that is logged or compared shows only what its author gave it.
    const value = members[name]
    Object.defineProperty(service, name, { value, configurable: true, writable: true })
    return [name, descriptor] as const
  })
  return () => {
    for (const [name, descriptor] of previous) {
      if (descriptor === undefined) Reflect.deleteProperty(service, name)
      else Object.defineProperty(service, name, descriptor)
    }
  }
}

/**
 * Returns the function that callers call. Its property `original` is the function without hooks, whose name,
 * length and enumerable properties it has.
 */
function createHooked(method: MethodEntry): object {
  const { original, entry } = method
  const hooked = function (this: object | undefined, ...args: unknown[]): Promise<unknown> {
    return callMethod(method, this ?? entry.service, args)
  }
  Object.defineProperties(hooked, {
    name: { value: original.name },
    length: { value: original.length },
    original: { value: original, enumerable: true },
    // What createContext() of @feathersjs/feathers calls.
    createContext: {
      value: (data: object = {}) => Object.assign(createContext(method, entry.service, []), data),
    },
  })
  // Copied as property descriptors: a mock counts its calls behind a getter. Existing properties stay.
  for (const name of Reflect.ownKeys(original)) {
    const property = Object.getOwnPropertyDescriptor(original, name)
    if (property?.enumerable) Reflect.defineProperty(hooked, name, property)
  }
  return hooked
}
