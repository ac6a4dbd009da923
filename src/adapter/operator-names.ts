/** Operators that join conditions, each with a list of them. */
export const LOGICAL: ReadonlySet<string> = new Set(['$or', '$and', '$nor'])

/** Operators that compare one field, and so never stand where a field name is expected. */
export const COMPARING: ReadonlySet<string> = new Set([
  ...['$eq', '$ne', '$in', '$nin', '$lt', '$lte', '$gt', '$gte'],
])
