/** The names in a query that are not conditions: without them, the query matches the same records. */
export const RESULT_NAMES = [
  '$limit',
  '$skip',
  '$sort',
  '$select',
  '$after',
  '$before',
  '$total',
] as const

export type ResultName = (typeof RESULT_NAMES)[number]

/** The names that choose which of the matching records a list contains, and their order. */
export const PAGING_NAMES: readonly string[] = ['$limit', '$skip', '$sort'] satisfies ResultName[]

/** The names that ask for a page with cursors. */
export const CURSOR_NAMES: readonly string[] = [
  '$after',
  '$before',
  '$total',
] satisfies ResultName[]
