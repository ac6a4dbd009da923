import { MethodNotOffered } from '../../core/errors/coded-errors.ts'
import { withHint } from '../../core/errors/hint.ts'
import { RegistrationError } from '../../core/errors/setup-errors.ts'
import type { MethodEntry, MethodNotAllowed, MethodSpec, ServiceEntry } from '../../core/index.ts'
import { isStandardMethod, METHOD_TABLE } from '../../core/index.ts'
import { allowsMany } from '../../core/services/multi-option.ts'
import { isMethodName } from '../../core/services/service-options.ts'
import { hasMethod } from '../../core/value-kind.ts'

/** The entry of a service, as its methods have it. */
type CalledEntry = MethodEntry['entry']

/** The standard methods of a verb, without and with an id in the URL. */
type VerbMethods = Readonly<Record<'all' | 'one', string>>

/**
 * The methods of each verb; `HEAD` is treated as `GET`. If a verb has only one method, that is used with and without an
 * id: an id after a `POST` has no meaning, and a missing one after the others is `null`.
 */
const METHOD_BY_VERB: ReadonlyMap<string, VerbMethods> = createMethodByVerb()

function createMethodByVerb(): Map<string, VerbMethods> {
  const methods = new Map<string, VerbMethods>()
  for (const [name, { verb, withId }] of Object.entries(METHOD_TABLE)) {
    const known = methods.get(verb) ?? { all: name, one: name }
    const names = { ...known, [withId ? 'one' : 'all']: name }
    methods.set(verb, names)
    if (verb === 'GET') methods.set('HEAD', names)
  }
  return methods
}

/** The verbs that call a method, except `HEAD`. */
export const VERBS: ReadonlySet<MethodSpec['verb']> = new Set(
  Object.values(METHOD_TABLE).map(({ verb }) => verb),
)

/** Longest method name that an error repeats. */
const LONGEST_NAME = 64

/**
 * Returns the method that a request calls: by its verb, or for POST by `X-Service-Method`.
 * @throws {MethodNotAllowed} there is no such method for external callers
 */
export function findMethod(
  entry: ServiceEntry,
  verb: string,
  hasId: boolean,
  serviceMethod: string | string[] | undefined,
): MethodEntry {
  if (verb === 'POST' && serviceMethod !== undefined && serviceMethod !== '') {
    return findCustomMethod(entry, String(serviceMethod))
  }
  const names = METHOD_BY_VERB.get(verb)
  if (names === undefined) throw new MethodNotOffered(`Method ${verb} not allowed`)
  const method = findByVerb(entry, verb, hasId)
  if (method !== null) return method
  throw createNotOffered(entry, hasId ? names.one : names.all)
}

/** Returns the standard method of a verb, `null` if it is not offered to external callers. */
export function findByVerb(entry: CalledEntry, verb: string, hasId: boolean): MethodEntry | null {
  if (hasId && entry.options.singleton) return null
  const names = METHOD_BY_VERB.get(verb)
  if (names === undefined) return null
  const method = entry.methods.get(hasId ? names.one : names.all)
  return method?.external ? method : null
}

/**
 * Returns a custom method that the service lists. Every other name gets the same response, whether it is a standard
 * method, inherited, or does not exist.
 * @throws {MethodNotAllowed} the service does not list it
 */
function findCustomMethod(entry: ServiceEntry, name: string): MethodEntry {
  if (isStandardMethod(name)) {
    const { verb } = METHOD_TABLE[name]
    const hint = `a standard method is called by its verb, ${verb}, not by name`
    throw createNotOffered(entry, name, hint)
  }
  const method = entry.methods.get(name)
  if (method?.external) return method
  throw createNotOffered(entry, name)
}

/**
 * Checks that custom methods can have their own paths, `/users/ping`.
 * @throws {TypeError} no path can end in a method's name, or a proxy may read it as another
 */
export function checkMethodPaths({ methods, path }: ServiceEntry): void {
  for (const [name, { external }] of methods) {
    if (!external || isStandardMethod(name) || /^[\w$][\w$.~-]*$/.test(name)) continue
    throw new RegistrationError(
      `'${name}' of service '${path}' can't be a path, as the option methodPaths of rest() needs: use letters, digits and - . _ ~ $`,
    )
  }
}

/**
 * External callers get the same text whether or not the service has the method.
 * @param hint what the log says if the service has it
 */
function createNotOffered(
  { service, path, methods }: ServiceEntry,
  name: string,
  hint = `the service has it: list it in the option methods of app.use('${path}')`,
): MethodNotAllowed {
  const isThere = isMethodName(name) && !name.startsWith('_') && hasMethod(service, name)
  // A service without external methods is internal on purpose.
  const isServed = [...methods.values()].some(({ external }) => external)
  const options = isThere && isServed ? withHint(hint) : undefined
  const shown = name.length <= LONGEST_NAME ? ` \`${name}\`` : ''
  const message = `Method${shown} is not supported by this endpoint.`
  return new MethodNotOffered(message, undefined, options)
}

/**
 * Returns the verbs of a URL for the `Allow` header.
 * @param queryVerbs the verbs with which `find` accepts its query as a body
 * @param refused the verb of a request that the service itself has rejected. `POST` stays, as it calls several methods,
 *   and one of them with one record or many
 */
export function toAllow(
  entry: CalledEntry,
  hasId: boolean,
  queryVerbs: readonly string[],
  refused = '',
): string {
  const refusedMethods = refused === 'POST' ? undefined : METHOD_BY_VERB.get(refused)
  const verbs = [...METHOD_BY_VERB].flatMap(([verb, methods]) => {
    const method = findByVerb(entry, verb, hasId)
    const isListed = method !== null && (hasId || takesNoId(method)) && methods !== refusedMethods
    return isListed ? [verb] : []
  })
  const ofQueries = !hasId && verbs.includes('GET') ? queryVerbs : []
  const custom = hasCustomMethod(entry) ? ['POST'] : []
  return [...new Set([...verbs, ...ofQueries, ...custom, 'OPTIONS'])].join(', ')
}

/**
 * Returns whether a method can be called without an id. The option `multi` of an adapter says which methods accept the
 * id `null`; for other services this is unknown.
 */
function takesNoId({ name, spec, entry }: MethodEntry): boolean {
  if (!spec.withId || entry.options.singleton) return true
  return allowsMany(name, (entry.service as { readonly options?: unknown }).options) !== false
}

/** Returns whether a service offers custom methods. */
export function hasCustomMethod({ methods }: CalledEntry): boolean {
  return [...methods].some(([name, { external }]) => external && !isStandardMethod(name))
}
