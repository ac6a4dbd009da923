import { createEmitterMethods } from '../events/service-emitter.ts'
import { compileChain } from '../hooks/hook-chain.ts'
import { HookRegistry } from '../hooks/hook-registry.ts'
import { createMethodCall } from '../hooks/method-call.ts'
import { STANDARD_METHODS, toMethodSpec } from '../method-table.ts'
import { hasMethod, isPlainObject } from '../value-kind.ts'
import type { EntryApplication, MethodEntry, ServiceEntryFace } from './method-entry.ts'
import type { HookedFunction } from './package-hooks.ts'
import { hasPackageHooks } from './package-hooks.ts'
import { callMethod, createContext } from './run-method.ts'
import type { ServiceAddons } from './service-map.ts'
import type { ResolvedServiceOptions } from './service-options.ts'
import { requireSupport } from './service-options.ts'
import type { EntrySchemas } from './service-schemas.ts'

/** The entry of each registered service, by the object that callers hold. */
const ENTRIES = new WeakMap<object, ServiceEntry>()

/** Returns the entry of a registered service, `undefined` for any other object. */
export function findServiceEntry<A extends EntryApplication = EntryApplication>(
  service: object,
): ServiceEntry<A> | undefined {
  // The entries of all applications are in one map, which can't hold the type of each application.
  return ENTRIES.get(service) as ServiceEntry<A> | undefined
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
  /** The options of the service, with every default filled in. */
  readonly options: ResolvedServiceOptions
  readonly methods: ReadonlyMap<string, MethodEntry<A>>
  readonly hooks: HookRegistry
  readonly attachments: Map<symbol, unknown> = new Map()
  /** What the option `schemas` stands for; `null` without it. */
  readonly schemas: EntrySchemas | null
  readonly #uninstall: () => void

  /** @throws {TypeError} the service lacks a method that its options list, or schemas are refused */
  constructor(app: A, path: string, service: object, options: ResolvedServiceOptions) {
    this.app = app
    this.path = path
    this.service = service
    this.options = options
    const methods = new Map<string, MethodEntry<A>>()
    this.methods = methods
    this.hooks = new HookRegistry({
      label: `service '${path}'`,
      shortGroup: 'short',
      methods,
      advice: app.support,
    })
    // Standard methods take hooks even when they are not for callers from outside.
    const standard = STANDARD_METHODS.filter((name) => hasMethod(service, name))
    for (const name of new Set([...standard, ...options.methods])) {
      const { original, hooks } = readFunction(this, name)
      const spec = toMethodSpec(name)
      const external = options.methods.includes(name)
      const call = createMethodCall(spec, original)
      methods.set(name, { entry: this, name, spec, original, external, call, chain: null })
      this.hooks.add({ [name]: hooks })
    }
    this.schemas = attachSchemas(this)
    this.#uninstall = installMembers(this)
    ENTRIES.set(service, this)
    this.compile()
  }

  compile(): void {
    const { app, hooks, schemas } = this
    const sources = [{ hooks: app.hookRegistry }, { hooks, schemas }]
    for (const method of this.methods.values()) {
      method.chain = compileChain(sources, method.name, method.call)
    }
  }

  emit(event: string, ...values: unknown[]): void {
    const emitter = this.service as Pick<ServiceAddons<object>, 'emit'>
    try {
      emitter.emit(event, ...values)
    } catch (error) {
      this.app.logListenerError(error, `${this.path} ${event}`)
    }
  }

  release(): void {
    this.#uninstall()
    ENTRIES.delete(this.service)
  }
}

/**
 * Returns the object that callers get: the given instance itself, or one derived from a literal. A
 * literal may serve several applications, and may be frozen.
 * @throws {TypeError} the instance is registered already
 */
export function toRegistered(path: string, service: object): object {
  const registered = ENTRIES.get(service)
  if (registered === undefined) return isPlainObject(service) ? Object.create(service) : service
  throw new TypeError(
    `The service for path '${path}' is registered already, at '${registered.path}': make a new instance`,
  )
}

/**
 * @throws {TypeError} there is no such function, or it has hooks of `@feathersjs/hooks`, which only
 *   servers read
 */
function readFunction({ app, path, service }: ServiceEntryFace, name: string): HookedFunction {
  const { support } = app
  if (!hasMethod(service, name)) {
    const hint =
      support?.suggestMethod(name, service) || ': the option `methods` lists what the service has'
    throw new TypeError(
      `Can not apply hooks. '${name}' is not a function of service '${path}'${hint}`,
    )
  }
  const original = (service as Record<string, unknown>)[name] as MethodEntry['original']
  if (!hasPackageHooks(service, original)) return { original, hooks: [] }
  const owner = `app.use('${path}'): '${name}' with hooks of @feathersjs/hooks`
  return requireSupport(support, owner).readPackageHooks(path, service, name)
}

/** @throws {TypeError} the schemas are refused, or the application has no support for them */
function attachSchemas<A extends EntryApplication>(
  entry: ServiceEntryFace<A>,
): EntrySchemas | null {
  const { app, path, options } = entry
  if (options.schemas === undefined) return null
  const owner = `app.use('${path}'): the option 'schemas'`
  return requireSupport(app.support?.attachSchemas, owner)(entry, options.schemas)
}

/** Where `getServiceOptions()` of Feathers, and packages that call it, find the options. */
const SERVICE_OPTIONS = Symbol.for('@feathersjs/service')

/**
 * Gives a service its hooked methods, `hooks` and the methods of an emitter. Returns the function
 * that puts everything back as it was.
 */
function installMembers(entry: ServiceEntryFace): () => void {
  const { app, path, service } = entry
  const emitting = createEmitterMethods(service, (error, event) =>
    app.logListenerError(error, `${path} ${String(event)}`),
  )
  const members: Record<string | symbol, unknown> = {
    // What a service of Feathers has there stays.
    ...(Object.hasOwn(service, SERVICE_OPTIONS) ? {} : { [SERVICE_OPTIONS]: entry.options }),
    hooks(options: unknown) {
      entry.hooks.add(options)
      entry.compile()
      return service
    },
    ...(app.support?.adviseListeners(entry, emitting) ?? emitting),
    ...Object.fromEntries([...entry.methods].map(([name, method]) => [name, createHooked(method)])),
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
 * Returns the function that callers call; the one without hooks is its property `original`. It has
 * the name, the length and the enumerable properties of that one.
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
  // As properties, not as values: a mock counts its calls behind a getter. What is there stays.
  for (const name of Reflect.ownKeys(original)) {
    const property = Object.getOwnPropertyDescriptor(original, name)
    if (property?.enumerable) Reflect.defineProperty(hooked, name, property)
  }
  return hooked
}
