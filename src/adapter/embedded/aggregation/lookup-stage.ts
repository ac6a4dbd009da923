import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { spendItems } from '../limits/work-limits.ts'
import { readFields } from '../protocol/read-fields.ts'
import type { Collation } from '../values/collation.ts'
import { keysOf } from '../values/compare.ts'
import { valuesAt, withField } from '../values/field-paths.ts'
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
  const runInner = pipeline === undefined ? undefined : createInner(pipeline, given.let, scope)
  return (documents) => {
    const foreign = scope.readCollection(from)
    const join = isJoin
      ? createJoin(foreign, localField, foreignField, scope.collation)
      : () => foreign
    return documents.map((document) => {
      const joined = join(document)
      spendItems(joined.length)
      const result = runInner === undefined ? joined : runInner(joined, document)
      return withField(document, as.split('.'), result) as Document
    })
  }
}

/** Joins by equality as in a filter: each item of an array counts, and missing equals null. */
function createJoin(
  foreign: readonly Document[],
  localField: string,
  foreignField: string,
  collation: Collation | undefined,
): (document: Document) => Document[] {
  const byKey = new Map<string, Set<number>>()
  for (const [index, document] of foreign.entries()) {
    for (const key of toKeys(document, foreignField, collation)) {
      byKey.set(key, (byKey.get(key) ?? new Set()).add(index))
    }
  }
  return (document) => {
    const keys = toKeys(document, localField, collation)
    const found = new Set([...keys].flatMap((key) => [...(byKey.get(key) ?? [])]))
    return [...found].sort((a, b) => a - b).flatMap((index) => foreign[index] ?? [])
  }
}

function toKeys(document: Document, path: string, collation: Collation | undefined): Set<string> {
  return keysOf(valuesAt(document, path.split('.')).flat(), collation)
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
