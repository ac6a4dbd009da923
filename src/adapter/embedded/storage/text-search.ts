import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors/command-error.ts'
import type { TextSearch } from '../queries/filter.ts'
import { readTextQuery } from '../queries/text-query.ts'
import { isDocument } from '../values/bson-type.ts'
import type { Collection } from './collection.ts'

/**
 * Returns the `$text` of a filter, `undefined` where it has none.
 * @throws {CommandError} 2 it stands where it must not, 27 the collection has no text index
 */
export function readTextSearch(filter: unknown, collection: Collection): TextSearch | undefined {
  const [operand, another] = findOperands(filter)
  if (operand === undefined) return undefined
  if (another !== undefined) throw new CommandError(2, 'Too many text expressions')
  const query = readTextQuery(operand.value)
  const { textIndex: index } = collection
  if (index === undefined) throw new CommandError(27, 'text index required for $text query')
  return {
    matches: (document) => query.matches(index.textsOf(document)),
    score: (document) => query.score(index.textsOf(document)),
  }
}

/** What a filter may join its conditions by, and why not where a `$text` is among them. */
const LISTS: ReadonlyMap<string, (() => CommandError) | undefined> = new Map([
  ['$and', undefined],
  ['$nor', () => new CommandError(2, 'text expression not allowed in nor')],
  // MongoDB asks for an index for each of the other clauses.
  ['$or', () => notSupported('$text in $or')],
])

function findOperands(filter: unknown): { readonly value: unknown }[] {
  if (!isDocument(filter)) return []
  return Object.entries(filter as Document).flatMap(([name, value]) => {
    if (name === '$text') return [{ value }]
    if (!LISTS.has(name) || !Array.isArray(value)) return []
    const found = value.flatMap(findOperands)
    const fault = LISTS.get(name)
    if (found.length > 0 && fault !== undefined) throw fault()
    return found
  })
}
