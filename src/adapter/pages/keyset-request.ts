import { BadRequest } from '../../core/errors/index.ts'
import type { Query } from '../../core/params.ts'
import type { TotalKind } from '../queries/query-filters.ts'
import { KEYSET_NAMES, readCursor, readTotal } from '../queries/query-filters.ts'

/** What a query asks of a keyset page. */
export interface KeysetRequest {
  /** The name that asks for it: `$total` alone asks for the first page. */
  readonly name: '$after' | '$before' | '$total'
  /** The record that the page begins behind or ends in front of, `''` for an end of all records. */
  readonly cursor: string
  readonly total: TotalKind | undefined
  /** The other parts of the query. */
  readonly query: Query
}

/**
 * Returns what a query asks of a keyset page, `undefined` where it asks for none.
 * @throws {BadRequest} a malformed `$after`, `$before` or `$total`, or names that exclude each other
 */
export function readKeysetRequest(given: Query = {}): KeysetRequest | undefined {
  if (KEYSET_NAMES.every((name) => given[name] === undefined)) return undefined
  const { $after, $before, $total, ...query } = given
  const after = readCursor('$after', $after)
  const before = readCursor('$before', $before)
  const total = readTotal($total)
  const name = after !== undefined ? '$after' : before !== undefined ? '$before' : '$total'
  const other = after !== undefined && before !== undefined ? '$before' : '$skip'
  if (given[other] === undefined) return { name, cursor: after ?? before ?? '', total, query }
  throw new BadRequest(`${name} and ${other} can not stand in one query`)
}
