import { createEmitterMethods } from '../events/service-emitter.ts'
import { compileChain } from '../hooks/hook-chain.ts'
import type { StoredHook } from '../hooks/hook-registry.ts'
import { HookRegistry } from '../hooks/hook-registry.ts'
import { createMethodCall } from '../hooks/method-call.ts'
import { STANDARD_METHODS, toMethodSpec } from '../method-table.ts'
import { hasMethod, isPlainObject } from '../value-kind.ts'
import type { EntryApplication, MethodEntry, ServiceEntryFace } from './method-entry.ts'
import { callMethod, createContext } from './run-method.ts'
import type { ServiceAddons } from './service-map.ts'
import type { ResolvedServiceOptions } from './service-options.ts'
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
    this.methods = new Map(
      toMethodNames(service, options).map((name) => [name, createMethod(this, service, name)]),
    )
    this.hooks = new HookRegistry({
      label: `service '${path}'`,
      shortGroup: 'short',
      hasMethod: (name) => this.methods.has(name),
      methodNames: () => this.methods.keys(),
      advice: app.advice,
    })
    for (const name of this.methods.keys()) {
      this.hooks.add({ [name]: readPackageHooks(this, service, name).hooks })
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

/** Where `@feathersjs/hooks` keeps the hooks of a class or a function. */
const HOOKS = Symbol.for('@feathersjs/hooks')

/** The hooks of a class or function, and of what it inherits from. */
interface PackageHooks {
  getMiddleware(): StoredHook[] | null
  getParams(): readonly string[] | null
  getProps(): object | null
  getDefaults(self: unknown, args: unknown[], context: object): object | null
}

interface WithPackageHooks {
  readonly [HOOKS]?: PackageHooks
}

type ServiceMethod = MethodEntry['original'] &
  WithPackageHooks & { readonly original?: MethodEntry['original'] }

/**
 * Returns the function that `@feathersjs/hooks` has put hooks around, and these hooks with those of its
 * class: they need the context of the call. One that names its arguments has a context of its own, as the
 * methods of a service that an application of Feathers has: it stays as it is.
 * @throws {TypeError} the context would need more than that of a call has
 */
function readPackageHooks(
  { path }: Pick<ServiceEntryFace, 'path'>,
  service: WithPackageHooks,
  name: string,
): { original: MethodEntry['original']; hooks: readonly StoredHook[] } {
  const fn = (service as Record<string, ServiceMethod>)[name] as ServiceMethod
  // A proxy may have something of any name.
  const managers = [service[HOOKS], fn[HOOKS]].filter(
    (one) => one !== undefined && hasMethod(one, 'getMiddleware'),
  ) as PackageHooks[]
  if (managers.length === 0 || fn[HOOKS]?.getParams() != null) return { original: fn, hooks: [] }
  for (const manager of managers) {
    const { method: _, ...props } = { ...manager.getProps() } as Record<string, unknown>
    const isSimple = Object.keys(props).length === 0 && !manager.getDefaults(service, [], {})
    if (isSimple) continue
    throw new TypeError(
      `The hooks of @feathersjs/hooks around '${name}' of service '${path}' can not have props or defaults: they get the context of the service`,
    )
  }
  const hooks = managers.flatMap((manager) => manager.getMiddleware() ?? [])
  // Other packages name what they have wrapped so as well: only that of this one is taken out.
  const wrapped = fn[HOOKS] === undefined ? undefined : fn.original
  return { original: wrapped ?? fn, hooks }
}

function attachSchemas<A extends EntryApplication>(
  entry: ServiceEntryFace<A>,
): EntrySchemas | null {
  const { app, path, options } = entry
  if (options.schemas === undefined) return null
  if (app.schemaSupport !== undefined) return app.schemaSupport(entry, options.schemas)
  throw new TypeError(
    `app.use('${path}'): the option 'schemas' needs an application made by createApp() of 'remex'`,
  )
}

/** Standard methods take hooks even when they are not for callers from outside. */
function toMethodNames(service: object, options: ResolvedServiceOptions): string[] {
  const standard = STANDARD_METHODS.filter((name) => hasMethod(service, name))
  return [...new Set([...standard, ...options.methods])]
}

function createMethod<A extends EntryApplication>(
  entry: ServiceEntryFace<A>,
  service: object,
  name: string,
): MethodEntry<A> {
  const { app, path } = entry
  if (!hasMethod(service, name)) {
    const suggestion = app.advice?.suggestMethod(name, service)
    const hint = suggestion || ': the option `methods` lists what the service has'
    throw new TypeError(
      `Can not apply hooks. '${name}' is not a function of service '${path}'${hint}`,
    )
  }
  const { original } = readPackageHooks(entry, service, name)
  const spec = toMethodSpec(name)
  return {
    entry,
    name,
    spec,
    original,
    external: entry.options.methods.includes(name),
    call: createMethodCall(spec, original),
    chain: null,
  }
}

/** Where `getServiceOptions()` of Feathers, and packages that call it, find the options. */
const SERVICE_OPTIONS = Symbol.for('@feathersjs/service')

/**
 * Gives a service its hooked methods, `hooks` and the methods of an emitter. Returns the function
 * that puts everything back as it was.
 */
export function installMembers(entry: ServiceEntryFace): () => void {
  const { app, path, service } = entry
  const members: Record<string | symbol, unknown> = {
    // What a service of Feathers has there stays.
    ...(Object.hasOwn(service, SERVICE_OPTIONS) ? {} : { [SERVICE_OPTIONS]: entry.options }),
    hooks: createHooksMethod(entry),
    ...createEmitterMethods(
      service,
      (error, event) => app.logListenerError(error, `${path} ${String(event)}`),
      (event) => app.advice?.warnOfEvent(entry, event),
    ),
    ...Object.fromEntries([...entry.methods].map(([name, method]) => [name, createHooked(method)])),
  }
  const names = Reflect.ownKeys(members)
  const previous = names.map(
    (name) => [name, Object.getOwnPropertyDescriptor(service, name)] as const,
  )
  for (const name of names) {
    // Not enumerable: a service that is logged or compared shows only what its author gave it.
    const value = members[name]
    Object.defineProperty(service, name, { value, configurable: true, writable: true })
  }
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
  const { original } = method
  const hooked = function (this: object | undefined, ...args: unknown[]): Promise<unknown> {
    return callMethod(method, this ?? method.entry.service, args)
  }
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(original)).filter(
    ([name, { enumerable }]) => enumerable || name === 'name' || name === 'length',
  )
  Object.defineProperties(hooked, Object.fromEntries(descriptors))
  for (const key of Object.getOwnPropertySymbols(original)) {
    Object.defineProperty(hooked, key, { value: Reflect.get(original, key), configurable: true })
  }
  return Object.defineProperties(hooked, {
    original: { value: original, enumerable: true },
    // What createContext() of @feathersjs/feathers calls.
    createContext: {
      value: (data: object = {}) =>
        Object.assign(createContext(method, method.entry.service, []), data),
    },
  })
}

function createHooksMethod(entry: ServiceEntryFace): (options: unknown) => object {
  return (options) => {
    entry.hooks.add(options)
    entry.compile()
    return entry.service
  }
}
