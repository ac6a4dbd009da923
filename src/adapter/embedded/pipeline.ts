import type { Document } from 'bson'
import { Aggregator } from 'mingo/aggregator'
import { Context } from 'mingo/core'
import * as builtInStages from 'mingo/operators/pipeline'
import * as windowOperators from 'mingo/operators/window'
import type { Collation } from './collation.ts'
import { isDocument } from './compare.ts'
import { CommandError, notSupported } from './errors.ts'
import { createExpressionContext, prepareExpression } from './expressions.ts'
import { setField } from './paths.ts'
import { createStages } from './stages.ts'

/** What a pipeline needs beside its documents. */
export interface PipelineOptions {
  readonly collation: Collation | undefined
  /** The values of the command's `let`. */
  readonly variables: Document
  /** Returns all documents of another collection of the same database. */
  readonly readCollection: (name: string) => Document[]
}

/** Returns the results of an aggregation; the documents given to it stay as they are. */
export function runPipeline(
  documents: Document[],
  pipeline: readonly Document[],
  options: PipelineOptions,
): Document[] {
  const stages = preparePipeline(pipeline)
  const own = createStages(options.collation)
  const context = Context.from(
    Context.init({ pipeline: own as never }),
    createExpressionContext(options.collation),
    Context.init({ pipeline: { ...builtInStages }, window: { ...windowOperators } as never }),
  )
  try {
    const aggregator = new Aggregator(stages, {
      context,
      variables: options.variables,
      collectionResolver: options.readCollection,
    })
    return aggregator.run<Document>(documents).map((document) => tidy(document) as Document)
  } catch (error) {
    if (error instanceof CommandError || error instanceof RangeError) throw error
    // mingo's errors carry no code; a wrong operand also ends as a TypeError inside it.
    throw new CommandError(
      2,
      `Failed to run the pipeline: ${(error as Error).message}`,
      {},
      { cause: error },
    )
  }
}

type Rewrite = (spec: unknown) => Document[]

/** How a stage is run; `pipelines` are the paths of pipelines inside its specification. */
const STAGES: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ['$match', (spec) => [{ $match: spec }]],
  ...[
    '$addFields',
    '$group',
    '$limit',
    '$project',
    '$replaceRoot',
    '$replaceWith',
    '$sample',
    '$set',
    '$skip',
    '$sort',
    '$unset',
    '$unwind',
    '$documents',
    '$bucketAuto',
  ].map((name) => [name, (spec: unknown) => [{ [name]: prepareExpression(spec) }]] as const),
  ...['$densify', '$fill', '$setWindowFields', '$graphLookup'].map(
    (name) =>
      [name, (spec: unknown) => [{ $copy: {} }, { [name]: prepareExpression(spec) }]] as const,
  ),
  ['$count', rewriteCount],
  ['$sortByCount', rewriteSortByCount],
  ['$bucket', rewriteBucket],
  ['$facet', rewriteFacet],
  ['$lookup', (spec) => [{ $lookup: prepareInner(spec) }]],
  ['$unionWith', (spec) => [{ $unionWith: typeof spec === 'string' ? spec : prepareInner(spec) }]],
])

const REFUSED_STAGES: ReadonlySet<string> = new Set([
  '$changeStream',
  '$collStats',
  '$currentOp',
  '$geoNear',
  '$indexStats',
  '$listSessions',
  '$merge',
  '$out',
  '$redact',
  '$search',
  '$searchMeta',
  '$vectorSearch',
])

/** Returns the stages as mingo is to run them. @throws {CommandError} a stage is not valid */
function preparePipeline(pipeline: unknown): Document[] {
  if (!Array.isArray(pipeline)) throw new CommandError(14, "'pipeline' must be an array")
  return pipeline.flatMap((stage) => {
    const entries = isDocument(stage) ? Object.entries(stage) : []
    const [[name, spec] = ['', null]] = entries
    if (entries.length !== 1) {
      throw new CommandError(
        40323,
        'A pipeline stage specification object must contain exactly one field.',
      )
    }
    if (REFUSED_STAGES.has(name)) throw notSupported(`The stage ${name} at this place`, 40324)
    const rewrite = STAGES.get(name)
    if (rewrite === undefined)
      throw new CommandError(40324, `Unrecognized pipeline stage name: '${name}'`)
    return rewrite(spec)
  })
}

function prepareInner(spec: unknown): Document {
  if (!isDocument(spec))
    throw new CommandError(9, 'The specification of the stage must be an object')
  const { pipeline, ...rest } = spec
  const prepared = prepareExpression(rest) as Document
  return pipeline === undefined ? prepared : { ...prepared, pipeline: preparePipeline(pipeline) }
}

function rewriteFacet(spec: unknown): Document[] {
  if (!isDocument(spec)) throw new CommandError(40169, 'The $facet specification must be an object')
  const facets = Object.entries(spec).map(([name, inner]) => [name, preparePipeline(inner)])
  return [{ $facet: Object.fromEntries(facets) }]
}

function rewriteCount(spec: unknown): Document[] {
  if (typeof spec !== 'string' || spec === '' || spec.startsWith('$') || spec.includes('.')) {
    throw new CommandError(40156, 'the count field must be a non-empty string without $ and dots')
  }
  return [{ $group: { _id: null, [spec]: { $sum: 1 } } }, { $project: { _id: 0 } }]
}

function rewriteSortByCount(spec: unknown): Document[] {
  const group = { _id: prepareExpression(spec), count: { $sum: 1 } }
  return [{ $group: group }, { $sort: { count: -1 } }]
}

function rewriteBucket(spec: unknown): Document[] {
  const { groupBy, boundaries, default: other, output } = prepareExpression(spec) as Document
  if (!Array.isArray(boundaries) || boundaries.length < 2) {
    throw new CommandError(40192, 'The $bucket boundaries must be an array of at least two values')
  }
  const branches = boundaries.slice(1).map((upper, index) => {
    const lower: unknown = boundaries[index]
    return {
      case: { $and: [{ $gte: [groupBy, lower] }, { $lt: [groupBy, upper] }] },
      // biome-ignore lint/suspicious/noThenProperty: the name MongoDB gives to a branch's result
      then: { $literal: lower },
    }
  })
  const fallback = other === undefined ? {} : { default: other }
  const id = { $switch: { branches, ...fallback } }
  return [{ $group: { _id: id, ...(output ?? { count: { $sum: 1 } }) } }, { $sort: { _id: 1 } }]
}

/** An expression without a value leaves no field in a document and null in an array. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : tidy(item)))
  if (!isDocument(value)) return value
  const copy: Document = {}
  for (const [name, child] of Object.entries(value)) {
    if (child !== undefined) setField(copy, name, tidy(child))
  }
  return copy
}
