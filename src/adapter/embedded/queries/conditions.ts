import type { Document } from 'bson'
import { isOperators } from '../../matching/filter.ts'
import { isRegex, toRegExp } from '../../matching/regular-expression.ts'

/** One operator on one field. */
export interface Condition {
  readonly path: string
  readonly operator: string
  readonly operand: unknown
}

/**
 * Returns the conditions on fields of a valid filter, which MongoDB joins by "and": a value is an `$eq`, and
 * so is each value of `$all`; a pattern is an `$in` of one.
 * @param chooseOr returns the clauses of an `$or` that also hold
 */
export function conditionsOf(
  filter: Document,
  chooseOr: (clauses: readonly Document[]) => readonly Document[],
): Condition[] {
  return Object.entries(filter).flatMap(([path, condition]): Condition[] => {
    if (path === '$and' || path === '$or') {
      const clauses: readonly Document[] = path === '$or' ? chooseOr(condition) : condition
      return clauses.flatMap((clause) => conditionsOf(clause, chooseOr))
    }
    if (path.startsWith('$')) return [{ path, operator: path, operand: condition }]
    if (isRegex(condition)) return [{ path, operator: '$in', operand: [condition] }]
    if (!isOperators(condition)) return [{ path, operator: '$eq', operand: condition }]
    return Object.entries(condition).flatMap(([operator, operand]): Condition[] => {
      if (operator === '$options') return []
      if (operator === '$all') {
        return operand.flatMap((one: unknown) => conditionsOf({ [path]: one }, chooseOr))
      }
      if (operator !== '$regex') return [{ path, operator, operand }]
      return [{ path, operator: '$in', operand: [toRegExp(operand, condition.$options)] }]
    })
  })
}
