import type { Document } from 'bson'
import { EMPTY_ARRAY, isDocument } from '../../matching/bson-type.ts'
import { CommandError } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { compareValues } from '../../matching/compare.ts'
import { arrayOn, indexValuesAt, valuesAt, withField } from '../../matching/field-paths.ts'
import type { Predicate } from '../../matching/filter.ts'
import { compileFilter, isOperators } from '../../matching/filter.ts'
import { isRegex } from '../../matching/regular-expression.ts'
import { createCollation } from '../protocol/collation-option.ts'
import { SortedList } from '../sorted-list.ts'

/** The values that a document has for the fields of an index, `undefined` for a missing one. */
export type IndexKey = readonly unknown[]

/** One key of a record in an index; a record with a list may have several. */
export interface IndexEntry {
  readonly values: IndexKey
  /** The key of the record. */
  readonly key: string
  /** The place of the record in the natural order. */
  readonly place: number
}

interface IndexField {
  readonly path: string
  readonly parts: readonly string[]
  /** 1 or -1. */
  readonly direction: number
}

/** The keys that documents have in one index, and their order. */
export class IndexKeys {
  readonly spec: Document
  readonly collation: Collation | undefined
  readonly fields: readonly IndexField[]
  /** Returns whether a document is in the index, by its `partialFilterExpression`. */
  readonly covers: Predicate
  /**
   * Whether a path of any document ever led to a list, so that documents may have several keys. As in
   * MongoDB, this is permanent.
   */
  isMultikey = false

  constructor(spec: Document) {
    this.spec = spec
    this.fields = Object.entries(spec.key).map(([path, direction]) => {
      return { path, parts: path.split('.'), direction: Math.sign(Number(direction)) }
    })
    this.collation = createCollation(spec.collation)
    const { partialFilterExpression: filter = {} } = spec
    checkPartialFilter(filter)
    this.covers = compileFilter(filter, {
      collation: this.collation,
      compileExpression: () => () => undefined,
    })
  }

  /** Returns the keys a document has in this index; some may be equal. */
  keysOf(document: Document | undefined): IndexKey[] {
    const keys: IndexKey[] = []
    if (document !== undefined && this.covers(document)) this.#addKeys(document, keys)
    return keys
  }

  /** Returns the order of two keys by their first fields. */
  compare(a: IndexKey, b: IndexKey, count: number = this.fields.length): number {
    let order = 0
    for (let at = 0; at < count && order === 0; at += 1) {
      order = compareValues(a[at], b[at], this.collation) * (this.fields[at]?.direction ?? 1)
    }
    return order
  }

  createList(entries: readonly IndexEntry[]): SortedList<IndexEntry> {
    // A record has one place, so its entries differ only in their values.
    return new SortedList((a, b) => this.compare(a.values, b.values) || a.place - b.place, entries)
  }

  #addKeys(document: Document, keys: IndexKey[]): void {
    const through = this.fields.flatMap(({ parts }) => arrayOn(document, parts) ?? [])
    const [array] = through
    if (array !== undefined) this.isMultikey = true
    if (through.some((path) => path !== array)) {
      throw new CommandError(171, 'cannot index parallel arrays')
    }
    if (array !== undefined && through.length > 1) {
      this.#addItemKeys(document, array.split('.'), keys)
      return
    }
    const columns = this.fields.map(({ parts }) => indexValuesAt(document, parts))
    // At most one column has several values, with one key for each.
    for (let row = 0; row < Math.max(...columns.map((values) => values.length)); row += 1) {
      const values = columns.map((column) => (column.length === 1 ? column[0] : column[row]))
      if (this.spec.sparse === true && values.every((value) => value === undefined)) continue
      keys.push(values)
    }
  }

  /** Adds the keys of an index on several fields of one array: each item has its own key. */
  #addItemKeys(document: Document, path: readonly string[], keys: IndexKey[]): void {
    const items = valuesAt(document, path).flat()
    if (items.some(Array.isArray)) throw new CommandError(171, 'cannot index parallel arrays')
    for (const item of items.length === 0 ? [EMPTY_ARRAY] : items) {
      this.#addKeys(withField(document, path, item) as Document, keys)
    }
  }
}

const LISTS: ReadonlySet<string> = new Set(['$and', '$or'])

const COMPARISONS: ReadonlySet<string> = new Set(['$eq', '$gt', '$gte', '$lt', '$lte', '$type'])

/** Returns whether the filter of a partial index may have an operator with this operand. */
function isAllowed([operator, operand]: readonly [string, unknown]): boolean {
  if (operator === '$exists') return operand === true || operand === 1
  // A regular expression would run on each write, where nothing could stop it.
  if (operator === '$in') return Array.isArray(operand) && !operand.some(isRegex)
  return COMPARISONS.has(operator)
}

/**
 * @throws {CommandError} 67 the filter of a partial index has an operator that is not allowed
 * @see https://www.mongodb.com/docs/v7.0/core/index-partial/
 */
function checkPartialFilter(filter: unknown): void {
  if (!isDocument(filter)) {
    throw new CommandError(67, 'partialFilterExpression must be an object')
  }
  for (const [name, condition] of Object.entries(filter)) {
    if (LISTS.has(name) && Array.isArray(condition)) {
      for (const clause of condition) checkPartialFilter(clause)
    } else if (name.startsWith('$') || isRegex(condition)) {
      throw unsupported(name)
    } else if (isOperators(condition)) {
      const wrong = Object.entries(condition).find((one) => !isAllowed(one))
      if (wrong !== undefined) throw unsupported(`${name} ${wrong[0]}`)
    }
  }
}

function unsupported(what: string): CommandError {
  return new CommandError(67, `unsupported expression in partial index: ${what}`)
}
