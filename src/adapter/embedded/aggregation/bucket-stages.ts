import { CommandError } from '../errors/command-error.ts'
import { readFields } from '../protocol/read-fields.ts'
import { compileSort } from '../queries/sort.ts'
import { isDocument, typeOrderOf } from '../values/bson-type.ts'
import { compareValues } from '../values/compare.ts'
import { startsWithOperator } from '../values/field-paths.ts'
import { group } from './group-stage.ts'
import type { Run, Stage, StageScope } from './stage-type.ts'

/** The stage `$sortByCount`. */
export const sortByCount: Stage = (spec, scope) => {
  checkExpression('$sortByCount', spec, 40149)
  return groupAndSort({ _id: spec, count: { $sum: 1 } }, { count: -1 }, scope)
}

const BUCKET_FIELDS = {
  groupBy: 'any',
  boundaries: 'array',
  default: 'any',
  output: 'object',
} as const

/** The stage `$bucket`; without a default, a value outside of the boundaries is an error. */
export const bucket: Stage = (spec, scope) => {
  const given = readFields('$bucket', spec, BUCKET_FIELDS, { unknown: 40197 })
  const { groupBy, boundaries, default: other, output = { count: { $sum: 1 } } } = given
  if (groupBy === undefined || boundaries === undefined) {
    throw new CommandError(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified")
  }
  checkExpression('$bucket', groupBy, 40202)
  checkBoundaries(boundaries, other)
  const branches = boundaries.slice(1).map((upper, index) => {
    const lower: unknown = boundaries[index]
    const above = { $gte: [groupBy, { $literal: lower }] }
    const below = { $lt: [groupBy, { $literal: upper }] }
    // biome-ignore lint/suspicious/noThenProperty: the name MongoDB gives to a branch's result
    return { case: { $and: [above, below] }, then: { $literal: lower } }
  })
  const fallback = other === undefined ? {} : { default: { $literal: other } }
  return groupAndSort({ _id: { $switch: { branches, ...fallback } }, ...output }, { _id: 1 }, scope)
}

function groupAndSort(spec: object, order: object, scope: StageScope): Run {
  const run = group(spec, scope)
  const sort = compileSort(order, scope.collation)
  return (documents) => sort(run(documents))
}

function checkExpression(name: string, spec: unknown, code: number): void {
  const isPath = typeof spec === 'string' && spec.startsWith('$')
  const isOperator = isDocument(spec) && startsWithOperator(spec)
  if (!isPath && !isOperator) {
    throw new CommandError(code, `${name} must be a path that starts with $, or an expression`)
  }
}

function checkBoundaries(boundaries: readonly unknown[], other: unknown): void {
  const [first, last] = [boundaries[0], boundaries.at(-1)]
  if (boundaries.length < 2) {
    throw new CommandError(40192, "The $bucket 'boundaries' must have at least 2 values")
  }
  const isConstant = (value: unknown): boolean =>
    !isDocument(value) && !(typeof value === 'string' && value.startsWith('$'))
  if (![...boundaries, other].every(isConstant)) {
    throw new CommandError(40191, "The $bucket 'boundaries' and 'default' must be constant values")
  }
  for (const [at, value] of boundaries.entries()) {
    const next = boundaries[at + 1]
    if (at === boundaries.length - 1) break
    if (typeOrderOf(value) !== typeOrderOf(next)) {
      throw new CommandError(40193, "All values in the 'boundaries' of $bucket must be of one type")
    }
    if (compareValues(value, next) >= 0) {
      throw new CommandError(40194, "The 'boundaries' of $bucket must be in ascending order")
    }
  }
  if (other !== undefined && compareValues(other, first) >= 0 && compareValues(other, last) < 0) {
    throw new CommandError(40199, "The $bucket 'default' must be outside of the boundaries")
  }
}
