import { toList } from '../../checked-query.ts'
import type { Query } from '../../params.ts'
import { isObject, isStringList } from '../../value-kind.ts'
import { whenReady } from './resolver.ts'

/** The usual names of ids, if a service does not state its own. */
const USUAL_IDS: readonly string[] = ['_id', 'id']

/**
 * Returns the names of the selected properties, including the id. `undefined` for all, and for a value that
 * is not a list of names, which the service rejects.
 */
export function readSelection(
  select: unknown,
  call: { readonly service?: object },
): readonly string[] | undefined {
  const names = readNames(select)
  if (names === undefined) return undefined
  return [...new Set([...names.map(toProperty), ...findIdNames(call.service)])]
}

/** For a path, `author.name`, the whole property is resolved, as far as it was read. */
export function toProperty(name: string): string {
  return name.split('.', 1)[0] ?? name
}

/** Returns the names in `$select`, `undefined` if it is not a list of names. */
export function readNames(select: unknown): readonly string[] | undefined {
  if (typeof select === 'string') return [select]
  const names = toList(select)
  return isStringList(names) ? names : undefined
}

/**
 * Returns the names that the id of a record may have: the one that the service states, as a property or an
 * option, else the usual ones.
 */
export function findIdNames(service: unknown): readonly string[] {
  if (!isObject(service)) return USUAL_IDS
  const { id, options } = service
  if (typeof id === 'string') return [id]
  return isObject(options) && typeof options['id'] === 'string' ? [options['id']] : USUAL_IDS
}

/**
 * The property in which a context keeps the names that a resolver removed from its `$select`, so that the
 * service returns whole records.
 */
const WITHHELD: unique symbol = Symbol('remex.withheldSelection')

interface SelectingCall {
  [WITHHELD]?: readonly string[]
}

/** Returns the names that were removed from `$select` of a call, `undefined` if it was not changed. */
export function findWithheld(context: object): readonly string[] | undefined {
  return (context as SelectingCall)[WITHHELD]
}

/** Notes the names that are removed from `$select` of a call, for the check by its schema. */
export function withholdSelection(context: object, names: readonly string[]): void {
  Object.defineProperty(context, WITHHELD, { value: names, configurable: true })
}

/**
 * Checks a query including the names that were removed from its `$select`, so that a mistyped name is
 * rejected. Returns the result of the check, or a promise of it, without those names.
 */
export function checkWithheld(
  context: object,
  query: Query,
  check: (query: Query) => unknown,
): unknown {
  const names = findWithheld(context) ?? []
  if (names.length === 0 || query['$select'] !== undefined) return check(query)
  return whenReady(check({ ...query, $select: [...names] }), (checked) => {
    const { $select: _select, ...others } = checked as Query
    return others
  })
}
