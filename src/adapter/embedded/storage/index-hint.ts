import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors/command-error.ts'
import type { Predicate } from '../queries/filter.ts'
import { isDocument } from '../values/bson-type.ts'
import { isEqual } from '../values/compare.ts'
import type { Collection } from './collection.ts'
import { IndexKeys } from './index-keys.ts'
import { isTextIndex } from './text-index.ts'

/**
 * Returns which documents a hint leaves for a command to find. MongoDB walks through the index that
 * is hinted at, whatever the filter is: what a sparse or partial one leaves out is not found.
 * @throws {CommandError} 2 the hint names no index, or is not supported
 */
export function readHint(hint: unknown, collection: Collection): Predicate {
  // MongoDB ignores the hint where the collection does not exist.
  if (hint === undefined || isEqual(hint, {}) || !collection.isStored) return () => true
  if (typeof hint !== 'string' && !isDocument(hint)) {
    throw new CommandError(9, 'hint must be a string or an object')
  }
  if (isEqual(hint, { $natural: 1 })) return () => true
  if (isEqual(hint, { $natural: -1 })) throw notSupported('The hint { $natural: -1 }')
  const spec = findIndex(hint, collection)
  if (isTextIndex(spec)) throw notSupported('The hint of a text index')
  if (spec.sparse !== true && spec.partialFilterExpression === undefined) return () => true
  const index = new IndexKeys(spec)
  return (document) => index.keysOf(document).size > 0
}

function findIndex(hint: string | Document, collection: Collection): Document {
  const indexes = [...collection.indexes.values()].filter(
    ({ name, key, hidden }) => hidden !== true && (name === hint || isEqual(key, hint)),
  )
  const [spec] = indexes
  if (spec === undefined) {
    throw new CommandError(2, 'hint provided does not correspond to an existing index')
  }
  if (indexes.length > 1) {
    throw new CommandError(2, 'Hint matched multiple indexes, must hint by index name')
  }
  return spec
}
