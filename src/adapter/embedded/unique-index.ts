import type { Document } from 'bson'
import type { Collation } from './collation.ts'
import { createCollation } from './collation.ts'
import { keyOf } from './compare.ts'
import { CommandError } from './errors.ts'
import { evaluate } from './expressions.ts'
import type { Predicate } from './match.ts'
import { compileFilter } from './match.ts'
import { valuesAt } from './paths.ts'

/** The entries of one unique index: which record holds which key. */
export class UniqueIndex {
  readonly spec: Document
  readonly holders: Map<string, string> = new Map()
  readonly #fields: readonly (readonly string[])[]
  readonly #collation: Collation | undefined
  readonly #covers: Predicate

  constructor(spec: Document) {
    this.spec = spec
    this.#fields = Object.keys(spec.key).map((field) => field.split('.'))
    this.#collation = createCollation(spec.collation)
    const options = { collation: this.#collation, evaluate }
    this.#covers = compileFilter(spec.partialFilterExpression ?? {}, options)
  }

  /** Returns the keys a document has in this index, each with its values for the error message. */
  keysOf(document: Document): Map<string, Document> {
    const keys = new Map<string, Document>()
    if (this.#covers(document)) this.#addKeys(document, keys)
    return keys
  }

  /** Moves the entries of a record from its old document to its new one. */
  replace(key: string, before: Document | undefined, after: Document | undefined): void {
    for (const indexKey of before === undefined ? [] : this.keysOf(before).keys()) {
      // While a transaction is committed, another of its records may already have the key.
      if (this.holders.get(indexKey) === key) this.holders.delete(indexKey)
    }
    for (const indexKey of after === undefined ? [] : this.keysOf(after).keys()) {
      this.holders.set(indexKey, key)
    }
  }

  /** Returns whether any of these documents, other than that of `key`, has an index key. */
  isIn(
    documents: Iterable<[string, Document | undefined]>,
    indexKey: string,
    key: string,
  ): boolean {
    for (const [other, document] of documents) {
      if (other !== key && document !== undefined && this.keysOf(document).has(indexKey))
        return true
    }
    return false
  }

  #addKeys(document: Document, keys: Map<string, Document>): void {
    const columns = this.#fields.map((parts) => toIndexed(valuesAt(document, parts)))
    const missing = columns.every((values) => values.every((value) => value === undefined))
    if (this.spec.sparse === true && missing) return
    const arrays = columns.flatMap((values, column) => (values.length > 1 ? [column] : []))
    if (arrays.length > 1) {
      this.#addItemKeys(document, arrays, keys)
      return
    }
    // At most one column has several values: one key for each of them.
    for (let row = 0; row < Math.max(...columns.map((values) => values.length)); row += 1) {
      const values = columns.map((column) => (column.length === 1 ? column[0] : column[row]))
      const names = Object.keys(this.spec.key)
      const keyValue = Object.fromEntries(names.map((name, at) => [name, values[at] ?? null]))
      keys.set(values.map((value) => keyOf(value, this.#collation)).join('|'), keyValue)
    }
  }

  /** Several fields of the same array belong together item by item. */
  #addItemKeys(document: Document, columns: readonly number[], keys: Map<string, Document>): void {
    const heads = new Set(columns.map((column) => this.#fields[column]?.[0]))
    const [head = ''] = heads
    const items: unknown = document[head]
    if (heads.size > 1 || !Array.isArray(items) || items.some(Array.isArray)) {
      throw new CommandError(171, 'cannot index parallel arrays')
    }
    for (const item of items) this.#addKeys({ ...document, [head]: item }, keys)
  }
}

function toIndexed(values: readonly unknown[]): readonly unknown[] {
  const items = values.flat()
  return items.length === 0 ? [undefined] : items
}
