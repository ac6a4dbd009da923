import { CommandError } from '../errors/command-error.ts'
import { isOperators } from '../queries/filter.ts'
import { isDocument } from '../values/bson-type.ts'
import { isRegex } from '../values/regular-expression.ts'

const LISTS: ReadonlySet<string> = new Set(['$and', '$or'])

/** What may stand in the filter of a partial index, and whether with this operand. */
const OPERATORS: ReadonlyMap<string, (operand: unknown) => boolean> = new Map<
  string,
  (operand: unknown) => boolean
>([
  ['$eq', () => true],
  ['$gt', () => true],
  ['$gte', () => true],
  ['$lt', () => true],
  ['$lte', () => true],
  ['$type', () => true],
  ['$exists', (operand) => operand === true || operand === 1],
  // A regular expression runs at each write, where nothing could stop it.
  ['$in', (operand) => Array.isArray(operand) && !operand.some(isRegex)],
])

/**
 * @throws {CommandError} 67 the filter of a partial index has an operator it must not have
 * @see https://www.mongodb.com/docs/v7.0/core/index-partial/
 */
export function checkPartialFilter(filter: unknown): void {
  if (!isDocument(filter)) {
    throw new CommandError(67, 'partialFilterExpression must be an object')
  }
  for (const [name, condition] of Object.entries(filter)) {
    if (LISTS.has(name) && Array.isArray(condition)) {
      for (const clause of condition) checkPartialFilter(clause)
    } else if (name.startsWith('$') || isRegex(condition)) {
      throw unsupported(name)
    } else if (isOperators(condition)) {
      const wrong = Object.entries(condition).find(
        ([operator, operand]) => OPERATORS.get(operator)?.(operand) !== true,
      )
      if (wrong !== undefined) throw unsupported(`${name} ${wrong[0]}`)
    }
  }
}

function unsupported(what: string): CommandError {
  return new CommandError(67, `unsupported expression in partial index: ${what}`)
}
