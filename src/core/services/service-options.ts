import type { GivenExtensions } from '../declared-types.ts'
import { EMITTER_METHODS } from '../events/emitter.ts'
import { STANDARD_EVENTS, STANDARD_METHODS } from '../method-table.ts'
import type { OptionRules } from '../options/option-rules.ts'
import {
  BOOLEAN_OPTION,
  checkRules,
  OBJECT_OPTION,
  STRING_LIST_OPTION,
} from '../options/option-rules.ts'
import { hasMethod, isObject, isPlainObject } from '../value-kind.ts'
import type { ServiceSchemas } from './service-schemas.ts'

/** Options of `app.use(path, service, options)`. */
export interface ServiceOptions<Name extends string = string> {
  /**
   * All methods that may be called from outside. Default: the standard methods that the
   * service has.
   */
  readonly methods?: readonly Name[]
  /** Events that the service emits itself. Default: `service.events`, or none. */
  readonly events?: readonly string[]
  /** All events for clients. Default: the standard events and `events`. */
  readonly serviceEvents?: readonly string[]
  /**
   * Route values of any kind that apply where the URL gives none. `params.route` has the type of those of
   * URLs, strings. Default: none.
   */
  readonly routeParams?: Readonly<Record<string, unknown>>
  /** What callers outside may send, and what they get. Default: anything. */
  readonly schemas?: ServiceSchemas<Name>
  /**
   * Whether the service is one record, that of the caller for example: its URL takes no id, and `find`
   * returns the record. Default: `false`.
   */
  readonly singleton?: boolean
  /**
   * Whether answers to `find` and `get` carry a hash as their entity tag, so that callers who have an
   * answer already get 304 without a body. Default: `false`.
   */
  readonly etag?: boolean
  /**
   * Whether the service answers browsers by pages and redirects: any `Accept` header will do, and the OpenAPI
   * document leaves the service out. Default: `false`.
   */
  readonly page?: boolean
  /**
   * Options that other packages read, where those of Feathers find them: `{ docs }` is
   * `getServiceOptions(service).docs`, and `options.docs` in `app.mixins`. Default: none.
   */
  readonly extensions?: GivenExtensions
}

/** Options with every default filled in. */
export type ResolvedServiceOptions = GivenExtensions &
  Required<Omit<ServiceOptions, 'schemas' | 'singleton' | 'etag' | 'page' | 'extensions'>> &
  Pick<ServiceOptions, 'schemas' | 'singleton' | 'etag' | 'page'>

export const SERVICE_OPTION_RULES: OptionRules = {
  methods: STRING_LIST_OPTION,
  events: STRING_LIST_OPTION,
  serviceEvents: STRING_LIST_OPTION,
  routeParams: { expected: 'an object', isValid: isPlainObject },
  schemas: OBJECT_OPTION,
  singleton: BOOLEAN_OPTION,
  etag: BOOLEAN_OPTION,
  page: BOOLEAN_OPTION,
  extensions: {
    expected: 'an object',
    isValid: isPlainObject,
    reserved: [],
  },
}

/**
 * Checks the options of a service. Returns them with what follows from `singleton`, and without what is not
 * given of `extensions`.
 * @param standard the standard methods that the service has
 */
export type ServiceOptionReader = (
  path: string,
  options: ServiceOptions,
  service: object,
  standard: readonly string[],
) => ServiceOptions

/** The names of all options. */
export const SERVICE_OPTION_NAMES: readonly string[] =
  /* @__PURE__ */ Object.keys(SERVICE_OPTION_RULES)

const SERVICE_METHODS: readonly string[] = [...STANDARD_METHODS, 'setup', 'teardown']

/** Names that a service gets from Remex, or that have a meaning of their own. */
const PROTECTED_NAMES: ReadonlySet<string> = new Set([
  ...['all', 'around', 'before', 'after', 'error', 'hooks', 'setup', 'teardown', 'publish'],
  ...EMITTER_METHODS,
  // What emitters of Node have besides.
  ...['_events', '_eventsCount', '_maxListeners'],
  ...Object.getOwnPropertyNames(Object.prototype),
])

/**
 * Returns the options with their defaults.
 * @throws {TypeError} an unknown option or an invalid one, a protected method, no service or a
 *   second one
 */
export function resolveServiceOptions(
  path: string,
  service: object,
  given: ServiceOptions,
  read: ServiceOptionReader = readClientOptions,
): ResolvedServiceOptions {
  if (isObject(given) && isService(given)) {
    throw new TypeError(`app.use() takes one service for path '${path}', and its options after it`)
  }
  const standard = STANDARD_METHODS.filter((name) => hasMethod(service, name))
  const options = read(path, given, service, standard)
  const { schemas, singleton = false, etag = false, page = false } = options
  const { extensions, methods = standard } = options
  if (!isService(service) && methods.length === 0) {
    const names = STANDARD_METHODS.join(', ')
    throw new TypeError(
      `Invalid service object passed for path \`${path}\`: it has none of the methods ${names}; list others by the option \`methods\``,
    )
  }
  for (const name of methods) {
    const isInner = name.startsWith('_')
    if (isMethodName(name) && !isInner) continue
    const hint = isInner ? ': methods with _ have no hooks' : ''
    throw new TypeError(
      `'${name}' on service '${path}' is not allowed as a custom method name${hint}`,
    )
  }
  const { events: own } = service as { events?: unknown }
  const events =
    options.events ?? (Array.isArray(own) ? own.filter((one) => typeof one === 'string') : [])
  checkRules(toOwner(path), { events }, SERVICE_OPTION_RULES)
  return {
    ...extensions,
    methods: [...methods],
    events: [...events],
    serviceEvents: [...(options.serviceEvents ?? [...STANDARD_EVENTS, ...events])],
    routeParams: { ...options.routeParams },
    ...(schemas && { schemas }),
    ...(singleton && { singleton }),
    ...(etag && { etag }),
    ...(page && { page }),
  }
}

/** How errors name who takes the options of a service. */
export function toOwner(path: string): string {
  return `app.use('${path}')`
}

function readClientOptions(path: string, options: ServiceOptions): ServiceOptions {
  checkRules(toOwner(path), options, SERVICE_OPTION_RULES)
  for (const name of ['schemas', 'singleton', 'etag', 'page', 'extensions'] as const) {
    if (options[name]) requireSupport(undefined, `${toOwner(path)}: the option '${name}'`)
  }
  return options
}

/**
 * Whether an object has what only services have; one of custom methods alone is named by options.
 */
function isService(value: object): boolean {
  return SERVICE_METHODS.some((name) => hasMethod(value, name))
}

/** Whether a method can have this name: it is none that a service gets, or that every object has. */
export function isMethodName(name: string): boolean {
  return !PROTECTED_NAMES.has(name)
}

/**
 * Returns what an application has for what only servers need.
 * @param owner what needs it, for the error
 * @throws {TypeError} the application has no such support: browsers would have to load it
 */
export function requireSupport<T>(support: T | undefined, owner: string): T {
  if (support !== undefined) return support
  throw new TypeError(`${owner} needs an application made by createApp() of 'remex'`)
}
