import { toList } from '../../checked-query.ts'
import type { Query } from '../../params.ts'
import { isObject, isStringList } from '../../value-kind.ts'
import { whenReady } from './resolver.ts'

/** The names of ids where a service does not say its own. */
const USUAL_IDS: readonly string[] = ['_id', 'id']

/**
 * Returns the names of properties that `$select` leaves, with that of the id. `undefined` for all, and
 * for what is no list of names: the service refuses that.
 */
export function readSelection(
  select: unknown,
  call: { readonly service?: object },
): readonly string[] | undefined {
  const names = readNames(select)
  if (names === undefined) return undefined
  return [...new Set([...names.map(toProperty), ...findIdNames(call.service)])]
}

/** Of a path, `author.name`, the property is resolved, with as much of it as was read. */
export function toProperty(name: string): string {
  return name.split('.', 1)[0] ?? name
}

/** Returns the names in `$select`, `undefined` for what is no list of names. */
export function readNames(select: unknown): readonly string[] | undefined {
  if (typeof select === 'string') return [select]
  const names = toList(select)
  return isStringList(names) ? names : undefined
}

/**
 * Returns the names that the id of a record may have: that which the service says, as its own property or
 * as an option, else the usual ones.
 */
export function findIdNames(service: unknown): readonly string[] {
  if (!isObject(service)) return USUAL_IDS
  const { id, options } = service
  if (typeof id === 'string') return [id]
  return isObject(options) && typeof options['id'] === 'string' ? [options['id']] : USUAL_IDS
}

/**
 * Where a context has the names that a resolver has taken out of its `$select`. They are not in the query
 * any more, since the service is to return whole records.
 */
const WITHHELD: unique symbol = Symbol('remex.withheldSelection')

interface SelectingCall {
  [WITHHELD]?: readonly string[]
}

/** Returns the names that were taken out of `$select` of a call, `undefined` where it was left alone. */
export function findWithheld(context: object): readonly string[] | undefined {
  return (context as SelectingCall)[WITHHELD]
}

/** Notes the names that are taken out of `$select` of a call, and that its schema is to look at. */
export function withholdSelection(context: object, names: readonly string[]): void {
  Object.defineProperty(context, WITHHELD, { value: names, configurable: true })
}

/**
 * Checks a query with the names that were taken out of `$select` of its call in it: one that is mistyped is
 * refused. Returns what the check does, or a promise of it, without those names.
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
