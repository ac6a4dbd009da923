import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { arrayOn, fieldAt, isIndex } from '../../matching/field-paths.ts'
import type { FilterOptions } from '../../matching/filter.ts'
import { compileFilter, compileItem } from '../../matching/filter.ts'
import type { Condition } from './conditions.ts'
import { conditionsOf } from './conditions.ts'

/** Operators on a whole array, or on the absence of an item. */
const WITHOUT_ITEM: ReadonlySet<string> = new Set(['$ne', '$nin', '$not', '$exists', '$size'])

/**
 * Returns the index that the positional `$` means: that of the array item by which the filter found the
 * document. As in MongoDB, it comes from one condition, whatever array the update's path leads to.
 * @throws {CommandError} 2 no condition is on an item, or two are met by items of different indexes
 */
export function findPosition(filter: Document, document: Document, options: FilterOptions): number {
  const conditions = conditionsOf(filter, (clauses) =>
    clauses.filter((clause) => compileFilter(clause, options)(document)),
  )
  const indexes = conditions
    .filter(({ operator }) => !WITHOUT_ITEM.has(operator))
    .map((condition) => findItem(condition, document, options))
  const [position, ...others] = new Set(indexes.filter((index) => index >= 0))
  if (others.length > 0) {
    throw notSupported('The positional operator with conditions that different items meet')
  }
  if (position !== undefined) return position
  throw new CommandError(2, 'The positional operator did not find the match needed from the query.')
}

/** Returns the index in the first searched array on the path, -1 if there is none. */
function findItem(
  { path, operator, operand }: Condition,
  document: Document,
  options: FilterOptions,
): number {
  const parts = path.split('.')
  const outer = arrayOn(document, parts)?.split('.') ?? parts
  const array: unknown = fieldAt(document, outer)
  if (!Array.isArray(array)) return -1
  const rest = parts.slice(outer.length)
  if (rest.length === 0) {
    const condition = operator === '$elemMatch' ? operand : { [operator]: operand }
    return array.findIndex(compileItem(condition, options))
  }
  const matches = compileFilter({ [rest.join('.')]: { [operator]: operand } }, options)
  const found = array.findIndex((item) => isDocument(item) && matches(item))
  const [index = '', ...inner] = rest
  if (found >= 0 || !isIndex(index) || !isDocument(array[Number(index)])) return found
  // An item that the path names by its index was not found by the filter, but items inside it may be.
  return findItem({ path: inner.join('.'), operator, operand }, array[Number(index)], options)
}
