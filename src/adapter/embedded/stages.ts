import type { Document } from 'bson'
import { evalExpr } from 'mingo/core'
import type { Iterator } from 'mingo/lazy'
import { Lazy } from 'mingo/lazy'
import { ACCUMULATORS } from './accumulators.ts'
import type { Collation } from './collation.ts'
import { isDocument, keyOf } from './compare.ts'
import { CommandError, notSupported } from './errors.ts'
import type { MingoOptions } from './expressions.ts'
import { lookup } from './lookup.ts'
import { compileFilter } from './match.ts'
import { clone, valueAt } from './paths.ts'
import type { Projector } from './projection.ts'
import { compileAddFields, compileProjection, withField } from './projection.ts'
import { compileSort } from './sort.ts'

/** A stage as mingo calls it: the documents so far, the stage's specification, mingo's options. */
export type Stage = (documents: Iterator, spec: unknown, options: MingoOptions) => Iterator

type Evaluate = (document: Document, expression: unknown) => unknown

/** Returns our stages by name: those that mingo does differently from MongoDB, or not at all. */
export function createStages(collation: Collation | undefined): Readonly<Record<string, Stage>> {
  const addFields = each((spec, evaluate) => compileAddFields(spec, evaluate))
  return {
    $match: (documents, spec, options) => {
      const filter = { collation, evaluate: evaluatorOf(options) }
      return documents.filter(compileFilter(spec, filter) as never)
    },
    $project: each((spec, evaluate) => compileProjection(checkNotEmpty(spec), { evaluate })),
    $addFields: addFields,
    $set: addFields,
    $unset: each((spec, evaluate) => {
      const paths = Array.isArray(spec) ? spec : [spec]
      return compileProjection(Object.fromEntries(paths.map((path) => [path, 0])), { evaluate })
    }),
    $sort: whole((documents, spec) => compileSort(checkNotEmpty(spec), collation)(documents)),
    $group: whole((documents, spec, options) => group(documents, spec, options, collation)),
    $unwind: whole(unwind),
    $lookup: whole((documents, spec, options) =>
      lookup(documents, toDocument('$lookup', spec), options, collation),
    ),
    $sample: whole(sample),
    $limit: (documents, spec) => documents.take(toCount('$limit', spec, 1)),
    $skip: (documents, spec) => documents.drop(toCount('$skip', spec, 0)),
    // What follows is mingo's, over copies: its own versions write into the documents they get.
    $copy: (documents) => documents.map(clone as never),
  }
}

const evaluatorOf =
  (options: MingoOptions): Evaluate =>
  (document, expression) =>
    evalExpr(document, expression, options)

function each(compile: (spec: unknown, evaluate: Evaluate) => Projector): Stage {
  return (documents, spec, options) => documents.map(compile(spec, evaluatorOf(options)) as never)
}

function whole(
  run: (documents: Document[], spec: unknown, options: MingoOptions) => Document[],
): Stage {
  return (documents, spec, options) =>
    documents.transform(((all: Document[]) => Lazy(run(all, spec, options))) as never)
}

function toDocument(name: string, spec: unknown): Document {
  if (isDocument(spec)) return spec
  throw new CommandError(9, `The specification of ${name} must be an object`)
}

function checkNotEmpty(spec: unknown): unknown {
  if (isDocument(spec) && Object.keys(spec).length === 0) {
    throw new CommandError(51272, 'The specification of a stage must have at least one field')
  }
  return spec
}

function toCount(name: string, spec: unknown, least: number): number {
  if (typeof spec === 'number' && Number.isInteger(spec) && spec >= least) return spec
  throw new CommandError(15958, `The ${name} must be a whole number of at least ${least}`)
}

function group(
  documents: Document[],
  spec: unknown,
  options: MingoOptions,
  collation: Collation | undefined,
): Document[] {
  const { _id: id, ...fields } = toDocument('$group', spec)
  if (id === undefined) throw new CommandError(15955, 'a group specification must include an _id')
  const outputs = Object.entries(fields).map(([name, field]) => {
    const operators = isDocument(field) ? Object.entries(field) : []
    const [[operator, operand] = ['', null]] = operators
    if (operators.length !== 1 || !operator.startsWith('$')) {
      throw new CommandError(40234, `The field '${name}' must be an accumulator object`)
    }
    return { name, field, operand, accumulate: ACCUMULATORS.get(operator) }
  })
  const groups = new Map<string, { readonly id: unknown; readonly members: Document[] }>()
  for (const document of documents) {
    const value = evalExpr(document, id, options) ?? null
    const key = keyOf(value, collation)
    const known = groups.get(key)
    if (known === undefined) groups.set(key, { id: value, members: [document] })
    else known.members.push(document)
  }
  return [...groups.values()].map(({ id: _id, members }) => {
    const results = outputs.map(({ name, field, operand, accumulate }) => [
      name,
      accumulate === undefined
        ? evalExpr(members, field, options)
        : accumulate(members.map((member) => evalExpr(member, operand, options))),
    ])
    return { _id, ...Object.fromEntries(results) }
  })
}

function unwind(documents: Document[], spec: unknown): Document[] {
  const { path, includeArrayIndex, preserveNullAndEmptyArrays } =
    typeof spec === 'string' ? { path: spec } : (spec as Document)
  if (typeof path !== 'string' || !path.startsWith('$') || path.length < 2) {
    throw new CommandError(28818, "path option to $unwind stage should be prefixed with a '$'")
  }
  const parts = path.slice(1).split('.')
  const withIndex = (document: Document, index: number | null): Document =>
    includeArrayIndex === undefined
      ? document
      : (withField(document, includeArrayIndex.split('.'), index) as Document)
  return documents.flatMap((document) => {
    const value = valueAt(document, parts)
    const isEmpty =
      value === undefined || value === null || (Array.isArray(value) && value.length === 0)
    if (isEmpty && preserveNullAndEmptyArrays !== true) return []
    if (!Array.isArray(value)) return [withIndex(document, null)]
    if (isEmpty) return [withIndex(withField(document, parts, undefined) as Document, null)]
    return value.map((item, index) =>
      withIndex(withField(document, parts, item) as Document, index),
    )
  })
}

function sample(documents: Document[], spec: unknown): Document[] {
  const size = toCount('$sample size', toDocument('$sample', spec).size, 0)
  const rest = [...documents]
  const count = Math.min(size, rest.length)
  return Array.from({ length: count }, () => {
    const [taken] = rest.splice(Math.floor(Math.random() * rest.length), 1)
    if (taken === undefined) throw notSupported('A sample of nothing')
    return taken
  })
}
