/**
 * The kinds of calls that take queries. Each also takes the names of the kinds before it: a page takes all.
 */
const USES = ['new', 'record', 'list', 'page'] as const

/** The purpose of a query: a new record, one or more records, a list, or a page. */
export type QueryUse = (typeof USES)[number]

/** Fields by JSON Schema. */
type FieldSchemas = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** What the API documents about a query name that is not a field. */
interface DescribedName {
  readonly description: string
  /** The first kind of call that takes it. */
  readonly use: QueryUse
  /** The fields of pages if queries may have the name. They have a total if it is requested. */
  readonly pageFields?: FieldSchemas
}

const CURSOR = { type: ['string', 'null'] }
const FLAG = { type: 'boolean' }

/** The fields of a page with cursors, except its records. */
export const CURSOR_FIELDS: FieldSchemas = {
  nextCursor: { ...CURSOR, description: 'For `$after`: what is behind this page.' },
  previousCursor: { ...CURSOR, description: 'For `$before`: what is in front of this page.' },
  hasNext: { ...FLAG, description: 'Whether there are records behind this page.' },
  hasPrevious: { ...FLAG, description: 'Whether there are records in front of this page.' },
  isTotalCapped: { ...FLAG, description: 'Whether there are more than `total` says.' },
}

/** The schemas of the size and the order of a list. */
export const PAGING_SCHEMAS: FieldSchemas = {
  $limit: { type: 'integer', minimum: 0 },
  $skip: { type: 'integer', minimum: 0 },
  $sort: { type: 'object', additionalProperties: { type: 'integer', enum: [1, -1] } },
}

const NAMES: Readonly<Record<string, DescribedName>> = {
  $limit: { use: 'list', description: 'How many records at most.' },
  $skip: { use: 'list', description: 'How many records to leave out at the start.' },
  $after: {
    use: 'page',
    description: 'The `nextCursor` of a page, for the records behind it; empty for the first page.',
    pageFields: CURSOR_FIELDS,
  },
  $before: {
    use: 'page',
    description:
      'The `previousCursor` of a page, for the records in front of it; empty for the last page.',
  },
  $total: {
    use: 'page',
    description:
      'Which total a page with cursors has: none (`false`), `estimate`, or up to a `cap`.',
  },
  $sort: {
    use: 'list',
    description: 'Fields to sort by, the first one first: 1 upwards, -1 downwards.',
  },
  $select: {
    use: 'new',
    description: 'The fields to return; the id always is, and all others are left out.',
  },
  $or: {
    use: 'record',
    description:
      'Alternative conditions, in brackets: one must match, as in `$or[0][name]=a&$or[1][name]=b`.',
  },
  $and: {
    use: 'record',
    description: 'Conditions that all have to hold, in brackets: `$and[0][name]=a&$and[1][age]=3`.',
  },
}

/** Returns what the API documents about a query name, `undefined` for a field. */
export function describeName(name: string): DescribedName | undefined {
  return Object.hasOwn(NAMES, name) ? NAMES[name] : undefined
}

/** Whether queries of a kind take a name. Fields are conditions, which new records do not have. */
export function isTaken(name: string, use: QueryUse): boolean {
  return USES.indexOf(describeName(name)?.use ?? 'record') <= USES.indexOf(use)
}
