import { ServiceNotFound } from '../errors/coded-errors.ts'
import { withHint } from '../errors/hint.ts'
import type { NotFound } from '../errors/index.ts'
import { RegistrationError } from '../errors/setup-errors.ts'
import { metadataOf } from '../function-metadata.ts'
import { isStandardMethod, METHOD_TABLE } from '../method-table.ts'
import { isClass } from '../options/configurator.ts'
import { findNearest, suggestName } from '../options/name-suggestion.ts'
import { checkOptions, withDefaults } from '../options/option-check.ts'
import type { ServiceEntryFace } from '../services/method-entry.ts'
import type { ServiceOptionReader } from '../services/service-options.ts'
import { SERVICE_OPTION_RULES, toOwner } from '../services/service-options.ts'
import { isObject, isPromise } from '../value-kind.ts'

/** Says what a value passed as a service is, and where it belongs. */
export function describeInput(path: string, value: unknown): string {
  if (typeof value === 'function') return describeFunction(path, value)
  if (!isObject(value)) return `it is ${value === null ? 'null' : typeof value}, not an object`
  if (isPromise(value) && !('services' in value)) return 'it is a promise, await it first'
  return 'it is an application that createApp() did not make; register its services one by one'
}

/**
 * Checks the options of a service, with suggestions, and reads those that only servers support.
 * @throws {TypeError} a singleton lists `get`; or an option of `extensions` belongs to the constructor of the
 *   service
 */
export const readServerOptions: ServiceOptionReader = (path, options, service, standard) => {
  const owner = toOwner(path)
  checkOptions(owner, options, SERVICE_OPTION_RULES)
  const { singleton = false, extensions, ...others } = options
  const own: unknown = (service as { options?: unknown }).options
  const misplaced =
    isObject(own) && Object.keys(extensions ?? {}).find((name) => Object.hasOwn(own, name))
  if (misplaced) {
    throw new RegistrationError(
      `${owner}: 'extensions.${misplaced}' is an option of the service: give it to its constructor`,
    )
  }
  const methods = singleton ? standard.filter((name) => name !== 'get') : standard
  if (singleton && others.methods?.includes('get')) {
    throw new RegistrationError(
      `${owner}: a singleton has no ids: 'find' returns its record, and 'methods' must not list 'get'`,
    )
  }
  return {
    methods,
    ...withDefaults({}, others),
    singleton,
    extensions: withDefaults({}, extensions ?? {}),
  }
}

/** Says what a function passed as a service is. */
export function describeFunction(path: string, value: { readonly name: string }): string {
  const factory = metadataOf(value).configuratorFactory
  if (factory !== undefined) return `${factory}() belongs to app.configure(${factory}())`
  if (!isClass(value)) return 'it is a function'
  return `${value.name} is a class, pass an instance: app.use('${path}', new ${value.name}())`
}

/** How many registered paths a hint lists. */
const MAX_NAMED = 10

/**
 * Returns the error for a path without a service. Its stack, which consoles, test runners and logs show, names the
 * service that may be meant. Its message does not: applications send messages to external callers.
 */
export function createMissingError(path: string, paths: Iterable<string>): NotFound {
  const message = `Can not find service '${path}'`
  const advice = toAdvice(path, [...paths])
  const options = withHint(`app.service('${path}')${advice}`)
  const error = new ServiceNotFound(message, undefined, options)
  const value = error.stack?.replace(message, () => message + advice)
  return Object.defineProperty(error, 'stack', { value, configurable: true, writable: true })
}

function toAdvice(path: string, paths: readonly string[]): string {
  if (paths.length === 0) return ': no service is registered yet, app.use() has to come first'
  return (
    toUrlAdvice(path, paths) ||
    suggestName(path, paths) ||
    toNestedAdvice(path, paths) ||
    `: registered are ${paths.slice(0, MAX_NAMED).join(', ')}${paths.length > MAX_NAMED ? ', …' : ''}`
  )
}

/**
 * Returns advice for a path written as a URL, with values of placeholders or an id, even if it is mistyped.
 */
function toUrlAdvice(path: string, paths: readonly string[]): string {
  const urls = new Map(paths.flatMap((pattern) => toUrls(path, pattern)).reverse())
  const pattern = urls.get(findNearest(path, urls.keys()) ?? '')
  if (pattern === undefined) return ''
  const parts = pattern.split('/')
  const route = parts.filter((part) => part.startsWith(':')).map((part) => part.slice(1))
  const id = path.split('/').length > parts.length ? ['the id'] : []
  const params = route.length > 0 ? [`{ route: { ${route.join(', ')} } } as params`] : []
  return `: use app.service('${pattern}') and pass ${[...id, ...params].join(' and ')} to its methods`
}

/** Returns the URLs of a service that resemble a path, each with the path of the service. */
function toUrls(path: string, pattern: string): [url: string, pattern: string][] {
  const values = path.split('/')
  const parts = pattern.split('/')
  const id = values.slice(parts.length)
  const placeholders = parts.filter((part) => part.startsWith(':'))
  const isLike = id.length === 1 || (values.length === parts.length && placeholders.length > 0)
  // Only placeholders would match any path.
  if (!isLike || placeholders.length === parts.length) return []
  const url = parts.map((part, index) => (part.startsWith(':') ? values[index] : part))
  return [[[...url, ...id].join('/'), pattern]]
}

/** Returns advice for a path that lacks the first segments of a service, or has more of them. */
function toNestedAdvice(path: string, paths: readonly string[]): string {
  const isEnd = (long: string, end: string): boolean => long.endsWith(`/${end}`)
  const found = paths.find((one) => isEnd(one, path) || isEnd(path, one))
  return found === undefined ? '' : `; did you mean '${found}'?`
}

/** Warns of listeners for the names of methods: the event of `create` is `created`. */
export function warnOfListeners({ app, path, service, options }: ServiceEntryFace): void {
  const heard: unknown = (service as { eventNames?(): unknown }).eventNames?.()
  for (const name of Array.isArray(heard) ? heard : []) {
    if (typeof name !== 'string' || !isStandardMethod(name)) continue
    const { event } = METHOD_TABLE[name]
    if (event === null || options.serviceEvents.includes(name)) continue
    app.logger.warn(
      { service: path, event: name },
      `'${name}' is a method of service '${path}' and not one of its events: listen to '${event}'`,
    )
  }
}
