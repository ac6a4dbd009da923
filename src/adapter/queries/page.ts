import type { Paginate } from '../mongodb-options.ts'

/** How many records one `find` returns, and in which form. */
export interface PageSize {
  /** `undefined`: all of them. */
  readonly limit: number | undefined
  /** Whether the result is `{ total, limit, skip, data }` rather than an array. */
  readonly paged: boolean
}

/**
 * Returns the page size for a `$limit`. Pages come with `paginate.default`; `paginate.max` alone
 * bounds an array.
 */
export function toPageSize(limit: number | undefined, paginate: Paginate | false): PageSize {
  const { default: size, max } = paginate || {}
  const wanted = limit ?? (size || max)
  const bounded = wanted === undefined || max === undefined ? wanted : Math.min(wanted, max)
  return { limit: bounded, paged: Boolean(size) }
}
