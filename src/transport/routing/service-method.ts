import { withHint } from '../../core/errors/hint.ts'
import type { MethodEntry, MethodSpec, ServiceEntry } from '../../core/index.ts'
import { isStandardMethod, METHOD_TABLE, MethodNotAllowed } from '../../core/index.ts'
import { allowsMany } from '../../core/services/multi-option.ts'
import { isMethodName } from '../../core/services/service-options.ts'
import { hasMethod } from '../../core/value-kind.ts'

/** A service, as its methods know it. */
type CalledEntry = MethodEntry['entry']

/** The standard methods of a verb, without and with an id in the URL. */
type VerbMethods = Readonly<Record<'all' | 'one', string>>

/**
 * The methods of each verb; `HEAD` is read as `GET`. Where a verb has one method, it is that with
 * an id and without: an id behind a `POST` has no meaning, and none behind the others is `null`.
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

/** The verbs that call a method, `HEAD` aside. */
export const VERBS: ReadonlySet<MethodSpec['verb']> = new Set(
  Object.values(METHOD_TABLE).map(({ verb }) => verb),
)

/** Longest method name that an error repeats. */
const LONGEST_NAME = 64

/**
 * Returns the method that a request calls: by its verb, or for POST by `X-Service-Method`.
 * @throws {MethodNotAllowed} no such method for callers from outside
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
  if (names === undefined) throw new MethodNotAllowed(`Method ${verb} not allowed`)
  const method = findByVerb(entry, verb, hasId)
  if (method !== null) return method
  throw createNotOffered(entry, hasId ? names.one : names.all)
}

/** Returns the standard method of a verb, `null` when it is not offered to callers from outside. */
export function findByVerb(entry: CalledEntry, verb: string, hasId: boolean): MethodEntry | null {
  if (hasId && entry.options.singleton) return null
  const names = METHOD_BY_VERB.get(verb)
  if (names === undefined) return null
  const method = entry.methods.get(hasId ? names.one : names.all)
  return method?.external ? method : null
}

/**
 * Returns a custom method that the service lists. Every other name has the same answer, whether it
 * is a standard method, something inherited, or nothing at all.
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
 * Checks that custom methods can have paths of their own, `/users/ping`.
 * @throws {TypeError} no path can end in the name of one, or a proxy may read it as another
 */
export function checkMethodPaths({ methods, path }: ServiceEntry): void {
  for (const [name, { external }] of methods) {
    if (!external || isStandardMethod(name) || /^[\w$][\w$.~-]*$/.test(name)) continue
    throw new TypeError(
      `'${name}' of service '${path}' can't be a path, as the option methodPaths of rest() needs: use letters, digits and - . _ ~ $`,
    )
  }
}

/**
 * Callers outside get the same text whether the service has the method or not.
 * @param hint what the log says where the service has it
 */
function createNotOffered(
  { service, path }: ServiceEntry,
  name: string,
  hint = `the service has it: list it in the option methods of app.use('${path}')`,
): MethodNotAllowed {
  const isThere = isMethodName(name) && !name.startsWith('_') && hasMethod(service, name)
  const options = isThere ? withHint(hint) : undefined
  const shown = name.length <= LONGEST_NAME ? ` \`${name}\`` : ''
  const message = `Method${shown} is not supported by this endpoint.`
  return new MethodNotAllowed(message, undefined, options)
}

/**
 * Returns the verbs that a URL answers to, as the `Allow` header lists them.
 * @param queryVerbs the verbs by which `find` takes its query as a body
 * @param refused the verb of a request that the service itself has refused. `POST` stays, which calls
 *   several methods, and one of them with one record or many
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
 * Whether a method can be called without an id. An adapter says by its option `multi` which of those that
 * have one take `null` for it; of other services nobody knows.
 */
function takesNoId({ name, spec, entry }: MethodEntry): boolean {
  if (!spec.withId || entry.options.singleton) return true
  return allowsMany(name, (entry.service as { readonly options?: unknown }).options) !== false
}

/** Whether a service offers methods that are called by their name. */
export function hasCustomMethod({ methods }: CalledEntry): boolean {
  return [...methods].some(([name, { external }]) => external && !isStandardMethod(name))
}
