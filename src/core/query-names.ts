/** A name in a query that is no condition: without it, the query matches the same records. */
export type ResultName = '$limit' | '$skip' | '$sort' | '$select' | '$after' | '$before' | '$total'

/** All names that are no conditions. Clients load this list, and not the two below. */
export const RESULT_NAMES: readonly string[] = [
  ...['$limit', '$skip', '$sort', '$select', '$after', '$before', '$total'],
]

/** The names that choose which of the matching records a list contains, and their order. */
export const PAGING_NAMES: readonly string[] = ['$limit', '$skip', '$sort']

/** The names that ask for a page with cursors. */
export const CURSOR_NAMES: readonly string[] = ['$after', '$before', '$total']
