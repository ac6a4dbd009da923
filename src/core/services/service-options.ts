import type { GivenExtensions } from '../declared-types.ts'
import { RegistrationError } from '../errors/setup-errors.ts'
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
  /** All methods that external callers may call. Default: the standard methods that the service has. */
  readonly methods?: readonly Name[]
  /** Events that the service emits itself. Default: `service.events`, or none. */
  readonly events?: readonly string[]
  /** All events for clients. Default: the standard events and `events`. */
  readonly serviceEvents?: readonly string[]
  /**
   * Route values of any kind, used if the URL gives none. `params.route` is typed as strings, as URLs give
   * them. Default: none.
   */
  readonly routeParams?: Readonly<Record<string, unknown>>
  /** What external callers may send, and what they get. Default: anything. */
  readonly schemas?: ServiceSchemas<Name>
  /**
   * Whether the service is one record, such as that of the caller: its URL takes no id, and `find` returns
   * the record. Default: `false`.
   */
  readonly singleton?: boolean
  /**
   * Whether responses of `find` and `get` carry a hash as their entity tag, so that callers who already have
   * the response get 304 without a body. Default: `false`.
   */
  readonly etag?: boolean
  /**
   * Whether the service returns pages and redirects for browsers: any `Accept` header is accepted, and the
   * OpenAPI document omits the service. Default: `false`.
   */
  readonly page?: boolean
  /**
   * Options that other packages read, as in Feathers: `{ docs }` becomes `getServiceOptions(service).docs`,
   * and `options.docs` in `app.mixins`. Default: none.
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
 * Checks the options of a service. Returns them with what follows from `singleton`, and without `undefined`
 * entries of `extensions`.
 * @param standard the standard methods that the service has
 */
export type ServiceOptionReader = (
  path: string,
  options: ServiceOptions,
  service: object,
  standard: readonly string[],
) => ServiceOptions

const SERVICE_METHODS: readonly string[] = [...STANDARD_METHODS, 'setup', 'teardown']

/** Names that a service gets from Remex, or that have a special meaning. */
const PROTECTED_NAMES: ReadonlySet<string> = new Set([
  ...['all', 'around', 'before', 'after', 'error', 'hooks', 'setup', 'teardown', 'publish'],
  ...EMITTER_METHODS,
  // Other properties of Node's emitters.
  ...['_events', '_eventsCount', '_maxListeners'],
  ...Object.getOwnPropertyNames(Object.prototype),
])

/**
 * Returns the options with their defaults.
 * @throws {TypeError} an option is unknown or invalid, a method is protected, or the value is not a service
 */
export function resolveServiceOptions(
  path: string,
  service: object,
  given: ServiceOptions,
  read: ServiceOptionReader = readClientOptions,
): ResolvedServiceOptions {
  if (isObject(given) && isService(given)) {
    throw new RegistrationError(
      `app.use() takes one service for path '${path}', and its options after it`,
    )
  }
  const standard = STANDARD_METHODS.filter((name) => hasMethod(service, name))
  const options = read(path, given, service, standard)
  const { schemas, singleton = false, etag = false, page = false } = options
  const { extensions, methods = standard } = options
  if (!isService(service) && methods.length === 0) {
    const names = STANDARD_METHODS.join(', ')
    throw new RegistrationError(
      `Invalid service object passed for path \`${path}\`: it has none of the methods ${names}; list others by the option \`methods\``,
    )
  }
  for (const name of methods) {
    const isInner = name.startsWith('_')
    if (isMethodName(name) && !isInner) continue
    const hint = isInner ? ': methods with _ have no hooks' : ''
    throw new RegistrationError(
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

/** How errors name the owner of a service's options. */
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
 * Whether an object has a method that only services have; one with only custom methods is recognised by its
 * options.
 */
function isService(value: object): boolean {
  return SERVICE_METHODS.some((name) => hasMethod(value, name))
}

/** Whether a method can have this name: not one that a service gets or that every object has. */
export function isMethodName(name: string): boolean {
  return !PROTECTED_NAMES.has(name)
}

/**
 * Returns the support of an application for features that only servers need.
 * @param owner what needs it, for the error
 * @throws {TypeError} the application has no such support, as in browsers
 */
export function requireSupport<T>(support: T | undefined, owner: string): T {
  if (support !== undefined) return support
  throw new RegistrationError(`${owner} needs an application made by createApp() of 'remex'`)
}
