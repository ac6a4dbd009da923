import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { spendItems } from '../limits/work-limits.ts'
import { readFields, readPath } from '../protocol/read-fields.ts'
import type { Collation } from '../values/collation.ts'
import { keysOf } from '../values/compare.ts'
import { placeField } from '../values/field-paths.ts'
import { createFinder, joinValuesAt } from './join-keys.ts'
import { checkVariable } from './operators/variables.ts'
import type { Stage, StageScope } from './stage-type.ts'

const FIELDS = {
  from: 'string',
  localField: 'string',
  foreignField: 'string',
  let: 'object',
  pipeline: 'array',
  as: 'string',
} as const

/** The stage `$lookup`: each document with those of another collection that belong to it. */
export const lookup: Stage = (spec, scope) => {
  const given = readFields('$lookup', spec, FIELDS, { unknown: 9 })
  const { from, localField, foreignField, pipeline, as } = given
  if (from === undefined || as === undefined) {
    throw new CommandError(9, "$lookup needs the arguments 'from' and 'as'")
  }
  const isJoin = localField !== undefined && foreignField !== undefined
  if ((localField === undefined) !== (foreignField === undefined) || (!isJoin && !pipeline)) {
    throw new CommandError(9, "$lookup needs a 'pipeline' or both 'localField' and 'foreignField'")
  }
  if (given.let !== undefined && pipeline === undefined) {
    throw new CommandError(9, "$lookup with 'let' needs a 'pipeline' as well")
  }
  const asPath = readPath('$lookup.as', as)
  const local = isJoin ? readPath('$lookup.localField', localField) : []
  const foreign = isJoin ? readPath('$lookup.foreignField', foreignField) : []
  const runInner = pipeline === undefined ? undefined : createInner(pipeline, given.let, scope)
  return (documents) => {
    const others = scope.readCollection(from)
    const join = isJoin ? createJoin(others, local, foreign, scope.collation) : () => others
    return documents.map((document) => {
      const joined = join(document)
      spendItems(joined.length)
      const result = runInner === undefined ? joined : runInner(joined, document)
      return placeField(document, asPath, result) as Document
    })
  }
}

/** Joins by equality: each item of an array counts, and a field without a value is null. */
function createJoin(
  others: readonly Document[],
  local: readonly string[],
  foreign: readonly string[],
  collation: Collation | undefined,
): (document: Document) => Document[] {
  const find = createFinder(others, foreign, collation)
  return (document) => {
    const values = joinValuesAt(document, local)
    return find(keysOf(values.length === 0 ? [null] : values, collation))
  }
}

/** Returns the inner pipeline; with `let` it is compiled for each document and its values. */
function createInner(
  pipeline: unknown[],
  bindings: Document = {},
  scope: StageScope,
): (joined: Document[], document: Document) => Document[] {
  const values = Object.entries(bindings).map(([name, expression]) => ({
    name: checkVariable(name),
    evaluate: scope.compileExpression(expression),
  }))
  // Compiled once without values, so that an error in it is found even without a document.
  const names = Object.fromEntries(values.map(({ name }) => [name, null]))
  const run = scope.compileInner(pipeline, { ...scope.variables, ...names })
  if (values.length === 0) return (joined) => run(joined)
  return (joined, document) => {
    const own = values.map(({ name, evaluate }) => [name, evaluate(document)])
    return scope.compileInner(pipeline, { ...scope.variables, ...Object.fromEntries(own) })(joined)
  }
}
