import { CommandError } from '../errors.ts'
import { compileSort } from '../queries/sort.ts'
import { isDocument } from '../values/bson-type.ts'
import { startsWithOperator } from '../values/field-paths.ts'
import { group } from './group-stage.ts'
import type { Stage } from './stage.ts'

/** The stage `$sortByCount`. */
export const sortByCount: Stage = (spec, scope) => {
  const isPath = typeof spec === 'string' && spec.startsWith('$')
  if (!isPath && !(isDocument(spec) && startsWithOperator(spec))) {
    const message = '$sortByCount must be a path that starts with $, or an expression'
    throw new CommandError(40149, message)
  }
  const run = group({ _id: spec, count: { $sum: 1 } }, scope)
  const sort = compileSort({ count: -1 }, scope.collation)
  return (documents) => sort(run(documents))
}
