import type { Document } from 'bson'
import { CommandError } from '../errors.ts'
import { createCollation } from '../protocol/collation-option.ts'
import type { Predicate } from '../queries/filter.ts'
import { compileFilter, isOperators } from '../queries/filter.ts'
import { EMPTY_ARRAY, isDocument, TYPE_ORDER, typeOrderOf } from '../values/bson-type.ts'
import type { Collation } from '../values/compare.ts'
import { keyOf } from '../values/compare.ts'
import { arrayOn, indexValuesAt, valuesAt, withField } from '../values/field-paths.ts'
import { isRegex } from '../values/regular-expression.ts'

/** The keys of records by the keys that their documents have in a unique index. */
export type Holders = Map<string, string>

/** The keys that documents have in one index and, where it is unique, which record holds which. */
export class IndexKeys {
  readonly spec: Document
  readonly holders: Holders = new Map()
  readonly collation: Collation | undefined
  readonly #fields: readonly (readonly string[])[]
  /** Returns whether a document is in the index, by its `partialFilterExpression`. */
  readonly covers: Predicate

  constructor(spec: Document) {
    this.spec = spec
    this.#fields = Object.keys(spec.key).map((field) => field.split('.'))
    this.collation = createCollation(spec.collation)
    const { partialFilterExpression: filter = {} } = spec
    checkPartialFilter(filter)
    this.covers = compileFilter(filter, {
      collation: this.collation,
      compileExpression: () => () => undefined,
    })
  }

  /** Whether an index of this kind refuses some documents, even if it is not unique. */
  get refusesDocuments(): boolean {
    return this.#fields.length > 1
  }

  /** Returns the keys a document has in this index, each with its values for the error message. */
  keysOf(document: Document): Map<string, Document> {
    const keys = new Map<string, Document>()
    if (this.covers(document)) this.#addKeys(document, keys)
    return keys
  }

  /** Moves the entries of a record from its old document to its new one. */
  replace(
    key: string,
    before: Document | undefined,
    after: Document | undefined,
    holders: Holders = this.holders,
  ): void {
    for (const indexKey of before === undefined ? [] : this.keysOf(before).keys()) {
      // A record that the same transaction wrote before may have taken the key over.
      if (holders.get(indexKey) === key) holders.delete(indexKey)
    }
    for (const indexKey of after === undefined ? [] : this.keysOf(after).keys()) {
      holders.set(indexKey, key)
    }
  }

  /**
   * Returns the key of all documents whose field is equal to a value, or has an item that is;
   * `undefined` where such a document may have another key, or none.
   */
  keyOfEqual(value: unknown, collation: Collation | undefined): string | undefined {
    const type = typeOrderOf(value)
    // An array is equal to a whole array, of which each item has a key; null also to no field.
    const hasKey = type !== TYPE_ORDER.array && type !== TYPE_ORDER.null
    const isWhole = this.#fields.length === 1 && this.spec.partialFilterExpression === undefined
    return hasKey && isWhole && collation === this.collation ? keyOf(value, collation) : undefined
  }

  #addKeys(document: Document, keys: Map<string, Document>): void {
    const through = this.#fields.flatMap((parts) => arrayOn(document, parts) ?? [])
    const [array] = through
    if (through.some((path) => path !== array)) {
      throw new CommandError(171, 'cannot index parallel arrays')
    }
    if (array !== undefined && through.length > 1) {
      this.#addItemKeys(document, array.split('.'), keys)
      return
    }
    const columns = this.#fields.map((parts) => indexValuesAt(document, parts))
    const names = Object.keys(this.spec.key)
    // At most one column has several values: one key for each of them.
    for (let row = 0; row < Math.max(...columns.map((values) => values.length)); row += 1) {
      const values = columns.map((column) => (column.length === 1 ? column[0] : column[row]))
      if (this.spec.sparse === true && values.every((value) => value === undefined)) continue
      const shown = values.map((value) => (value === EMPTY_ARRAY ? null : (value ?? null)))
      const keyValue = Object.fromEntries(names.map((name, at) => [name, shown[at]]))
      keys.set(values.map((value) => keyOf(value, this.collation)).join('|'), keyValue)
    }
  }

  /** Adds the keys of an index on several fields of one array: each item has a key of its own. */
  #addItemKeys(document: Document, path: readonly string[], keys: Map<string, Document>): void {
    const items = valuesAt(document, path).flat()
    if (items.some(Array.isArray)) throw new CommandError(171, 'cannot index parallel arrays')
    for (const item of items.length === 0 ? [EMPTY_ARRAY] : items) {
      this.#addKeys(withField(document, path, item) as Document, keys)
    }
  }
}

const LISTS: ReadonlySet<string> = new Set(['$and', '$or'])

const COMPARISONS: ReadonlySet<string> = new Set(['$eq', '$gt', '$gte', '$lt', '$lte', '$type'])

/** Returns whether an operator may stand in the filter of a partial index, with this operand. */
function isAllowed([operator, operand]: readonly [string, unknown]): boolean {
  if (operator === '$exists') return operand === true || operand === 1
  // A regular expression runs at each write, where nothing could stop it.
  if (operator === '$in') return Array.isArray(operand) && !operand.some(isRegex)
  return COMPARISONS.has(operator)
}

/**
 * @throws {CommandError} 67 the filter of a partial index has an operator it must not have
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
