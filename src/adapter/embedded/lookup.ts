import type { Document } from 'bson'
import { Aggregator } from 'mingo/aggregator'
import { evalExpr } from 'mingo/core'
import type { Collation } from './collation.ts'
import { keyOf } from './compare.ts'
import { CommandError } from './errors.ts'
import type { MingoOptions } from './expressions.ts'
import { valuesAt } from './paths.ts'
import { withField } from './projection.ts'

/** Returns the documents of `$lookup`: each with those of another collection that belong to it. */
export function lookup(
  documents: readonly Document[],
  spec: Document,
  options: MingoOptions,
  collation: Collation | undefined,
): Document[] {
  const { from, localField, foreignField, pipeline, as } = spec
  if (typeof as !== 'string') throw new CommandError(9, "$lookup needs the argument 'as'")
  const isJoin = localField !== undefined && foreignField !== undefined
  if (!isJoin && pipeline === undefined) {
    throw new CommandError(9, "$lookup needs a 'pipeline' or both 'localField' and 'foreignField'")
  }
  const foreign: readonly Document[] =
    typeof from === 'string' ? (options.collectionResolver?.(from) ?? []) : []
  const join = isJoin ? createJoin(foreign, localField, foreignField, collation) : () => foreign
  return documents.map((document) => {
    const joined = join(document)
    const result =
      pipeline === undefined ? joined : runInner(joined, pipeline, spec.let, document, options)
    return withField(document, as.split('.'), result) as Document
  })
}

/** Equality as in a filter: each item of an array counts, and missing equals null. */
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
  const values = valuesAt(document, path.split('.'))
  return new Set(values.flat().map((value) => keyOf(value, collation)))
}

function runInner(
  documents: readonly Document[],
  pipeline: Document[],
  bindings: Document | undefined,
  document: Document,
  options: MingoOptions,
): Document[] {
  const values = Object.entries(bindings ?? {}).map(([name, expression]) => [
    name,
    evalExpr(document, expression, options) ?? null,
  ])
  const { options: own } = options as unknown as { readonly options: MingoOptions }
  const variables = { ...own.variables, ...Object.fromEntries(values) }
  return new Aggregator(pipeline, { ...own, variables }).run([...documents])
}
