import type { Document } from 'bson'
import { CommandError } from '../errors.ts'
import { isDocument } from '../values/bson-type.ts'
import { valuesAt } from '../values/field-paths.ts'
import type { FilterOptions } from './filter.ts'
import { compileFilter, compileItem } from './filter.ts'

/**
 * Returns the index of the first item of an array that the filter's condition on it accepts: what
 * the positional `$` stands for.
 * @throws {CommandError} the filter has no condition on the array
 */
export function findPosition(
  filter: Document,
  path: string,
  document: Document,
  options: FilterOptions,
): number {
  for (const [name, condition] of conditionsOf(filter, document, options)) {
    const index = searchCondition(name, condition, path, document, options)
    if (index !== undefined) return index
  }
  throw new CommandError(2, 'The positional operator did not find the match needed from the query.')
}

/** All clauses of `$and` match, since the document was found; of `$or` those that do count. */
function conditionsOf(
  filter: Document,
  document: Document,
  options: FilterOptions,
): [string, unknown][] {
  return Object.entries(filter).flatMap(([name, condition]): [string, unknown][] => {
    if (name !== '$and' && name !== '$or') return [[name, condition]]
    return (condition as Document[])
      .filter((clause) => name === '$and' || compileFilter(clause, options)(document))
      .flatMap((clause) => conditionsOf(clause, document, options))
  })
}

function searchCondition(
  name: string,
  condition: unknown,
  path: string,
  document: Document,
  options: FilterOptions,
): number | undefined {
  if (name !== path && !name.startsWith(`${path}.`)) return undefined
  const [array] = valuesAt(document, path.split('.'))
  if (!Array.isArray(array)) return undefined
  const rest = name.slice(path.length)
  const isElemMatch = rest === '' && isDocument(condition) && '$elemMatch' in condition
  const matches = isElemMatch
    ? compileItem(condition.$elemMatch, options)
    : compileFilter({ [`item${rest}`]: condition }, options)
  const index = array.findIndex((item) => matches(isElemMatch ? item : { item }))
  return index < 0 ? undefined : index
}
