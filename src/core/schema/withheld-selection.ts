import type { Query } from '../params.ts'

/**
 * The names that a resolver has taken out of `$select`, by the context of the call. They are not in the
 * query any more, since the service is to return whole records.
 */
const WITHHELD = new WeakMap<object, readonly string[]>()

/** Returns the names that were taken out of `$select` of a call, `undefined` where it was left alone. */
export function findWithheld(context: object): readonly string[] | undefined {
  return WITHHELD.get(context)
}

/** Notes the names that are taken out of `$select` of a call, and that its schema is to look at. */
export function withholdSelection(context: object, names: readonly string[]): void {
  WITHHELD.set(context, names)
}

/**
 * Puts the names that were taken out of `$select` into a query that is to be checked: one that is
 * mistyped is refused. Returns whether it did, and they have to be taken out again.
 */
export function addWithheld(context: object, query: Query): boolean {
  const names = WITHHELD.get(context) ?? []
  if (names.length === 0 || query['$select'] !== undefined) return false
  query['$select'] = [...names]
  return true
}

/** Returns a query that selects nothing. */
export function withoutSelection({ $select: _select, ...query }: Query): Query {
  return query
}
