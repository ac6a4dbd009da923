import { isDeveloping } from '../../core/errors/hint.ts'
import { findServiceEntry } from '../../core/index.ts'
import type { Page, Query } from '../../core/params.ts'
import { isObject, isSingleValue } from '../../core/value-kind.ts'

/** What a string of a URL may have been meant as. */
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['a number', /^-?\d{1,15}(\.\d{1,15})?$/],
  ['a boolean', /^(true|false)$/],
  ['an ObjectId', /^[\da-f]{24}$/i],
  ['a date', /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/],
]

/** Names at the top of a query whose values are no conditions on fields. */
const NO_CONDITIONS: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort', '$select'])

/** Operators, and the numbers of lists and of objects that stand for one, come before the values. */
const NO_FIELD = /^(\$|\d+$)/

/** How much of the name of a field is told. */
const MAX_NAME_LENGTH = 60

/** How many fields a service tells of: their names come from requests. */
const MAX_FIELDS = 20

/** The fields that the author was told of, by service. */
const TOLD = new WeakMap<object, Set<string>>()

/**
 * Tells the author of a query of a caller outside that found nothing and compares fields with strings
 * which look like something else: once for each field, and not with `NODE_ENV=production`, nor of services
 * with schemas.
 */
export function tellOfStrings(
  service: { readonly id: string },
  found: Page<unknown> | readonly unknown[],
  query: Query = {},
): void {
  // A page beyond the last one, or a query that only counts, finds nothing for another reason.
  if (Number(query['$skip'] ?? 0) > 0 || Number(query['$limit'] ?? 1) === 0) return
  const total = 'total' in found ? found.total : found.length
  const entry = findServiceEntry(service)
  if (total > 0 || entry === undefined || !isDeveloping()) return
  // What is a string behind the schemas of a service is one in its records.
  if (entry.schemas !== null) return
  const told = TOLD.get(service) ?? new Set()
  TOLD.set(service, told)
  if (told.size >= MAX_FIELDS) return
  // The service itself converts ids.
  const doubtful = [...findDoubtful(query)].filter(
    ([field]) => field !== service.id && !told.has(field),
  )
  if (doubtful.length === 0) return
  for (const [field] of doubtful) told.add(field)
  const fields = doubtful.map(
    ([field, kind]) => `'${toPrintable(field)}' with one that looks like ${kind}`,
  )
  entry.app.logger.warn(
    { service: entry.path },
    `A query of '${entry.path}' found nothing. Values in URLs are strings until a hook converts them, and it compares ${fields.join(', ')}: see 'Values in queries' in docs/mongodb.md`,
  )
}

/** Returns the fields that are compared with a string which looks like something else, and like what. */
function findDoubtful(query: Query): ReadonlyMap<string, string> {
  const doubtful = new Map<string, string>()
  for (const { field, value } of listStrings(query, '')) {
    const kind = KINDS.find(([, pattern]) => pattern.test(value))?.[0]
    if (kind !== undefined) doubtful.set(field, kind)
  }
  return doubtful
}

/** Returns a name of a request as it may stand in a log: short, and without control characters. */
function toPrintable(name: string): string {
  return name.slice(0, MAX_NAME_LENGTH).replace(/[^\x20-\x7e]/g, '?')
}

/** Returns the strings that fields are compared with, those of operators and alternatives too. */
function listStrings(value: unknown, field: string): { field: string; value: string }[] {
  if (typeof value === 'string') return [{ field, value }]
  if (!isObject(value) || isSingleValue(value)) return []
  return Object.entries(value).flatMap(([name, part]) => {
    if (field === '' && NO_CONDITIONS.has(name)) return []
    return listStrings(part, NO_FIELD.test(name) ? field : name)
  })
}
