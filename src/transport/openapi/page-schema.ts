import type { DocumentSchema } from './schema-components.ts'

/** How `find` of a service answers: by pages, by lists, or by either, as nobody can tell before. */
export type Paging = 'pages' | 'list' | 'unknown'

/** Returns how a service answers, by its option `paginate`: with a default size there are pages. */
export function readPaging(service: object): Paging {
  const { options } = service as { readonly options?: { readonly paginate?: unknown } }
  const paginate = options?.paginate
  if (paginate === undefined) return 'unknown'
  const size = (paginate as { readonly default?: unknown } | null | false) || {}
  return size.default === undefined ? 'list' : 'pages'
}

/** Returns the schema of a page of records. */
export function toPageSchema(record: DocumentSchema): DocumentSchema {
  const count = { type: 'integer', minimum: 0 }
  return {
    type: 'object',
    required: ['total', 'limit', 'skip', 'data'],
    properties: {
      total: { ...count, description: 'How many records there are on all pages.' },
      limit: { ...count, description: 'How many records a page holds.' },
      skip: { ...count, description: 'How many records are before this page.' },
      data: { type: 'array', items: record },
    },
  }
}
