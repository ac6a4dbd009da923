import type { Document } from 'bson'
import { isDocument, isNullish } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { fieldAt, isPlainName, placeField, withField } from '../../matching/field-paths.ts'
import { compileFilter } from '../../matching/filter.ts'
import { spendItems } from '../limits.ts'
import { fieldsOf, readFields, readPath } from '../protocol/read-fields.ts'
import type { Projector } from '../queries/projection.ts'
import { compileAddFields, compileProjection } from '../queries/projection.ts'
import { compileSort } from '../queries/sort.ts'
import { createCompiler } from './expressions.ts'
import { group, sortByCount } from './group-stage.ts'
import { graphLookup, lookup } from './lookup-stages.ts'
import type { Run, Stage, StageScope } from './stage.ts'

/** What a pipeline needs, other than its documents. */
export interface PipelineOptions {
  readonly collation: Collation | undefined
  /** The values of the variables by name: those of `let`, and the time. */
  readonly variables: Document
  /** Returns all documents of another collection of the same database. @throws {CommandError} 73 */
  readonly readCollection: (name: string) => Document[]
}

/** Returns a pipeline as a function. @throws {CommandError} a stage is unknown or not valid */
export function compilePipeline(pipeline: unknown, options: PipelineOptions): Run {
  if (!Array.isArray(pipeline)) throw new CommandError(14, "'pipeline' must be an array")
  const scope: StageScope = {
    ...options,
    compileExpression: createCompiler(options.collation, options.variables),
    compileInner: (inner, variables) => compilePipeline(inner, { ...options, variables }),
  }
  const stages = pipeline.map((stage) => compileStage(stage, scope))
  return (documents) =>
    stages.reduce<Document[]>((results, run) => run(results), documents as Document[])
}

function compileStage(stage: unknown, scope: StageScope): Run {
  const entries = isDocument(stage) ? Object.entries(stage) : []
  const [[name, spec] = ['', null]] = entries
  if (entries.length !== 1) {
    const message = 'A pipeline stage specification object must contain exactly one field.'
    throw new CommandError(40323, message)
  }
  const compile = STAGES.get(name)
  if (compile !== undefined) return compile(spec, scope)
  throw notSupported(`Unrecognized pipeline stage name: '${name}': here it`, 40324)
}

const addFields: Stage = each((spec, scope) => compileAddFields(spec, scope.compileExpression))

/**
 * All stages that a pipeline may have, each tested against MongoDB's manual. `$out` and `$merge` write: see
 * `commands/output-stages.ts`.
 */
export const STAGES: ReadonlyMap<string, Stage> = new Map<string, Stage>([
  [
    '$match',
    (spec, { collation, compileExpression }) => {
      if (!isDocument(spec)) throw new CommandError(15959, '$match must be an object')
      checkNoText(spec)
      const matches = compileFilter(spec, { collation, compileExpression })
      return (documents) => documents.filter(matches)
    },
  ],
  [
    '$project',
    each((spec, scope) => compileProjection(checkNotEmpty('$project', spec, 15969, 51272), scope)),
  ],
  ['$addFields', addFields],
  ['$set', addFields],
  ['$unset', each(compileUnset)],
  ['$replaceRoot', (spec, scope) => replaceRoot(toNewRoot(spec), scope)],
  ['$replaceWith', replaceRoot],
  [
    '$sort',
    (spec, { collation }) => compileSort(checkNotEmpty('$sort', spec, 15973, 15976), collation),
  ],
  ['$limit', limit],
  ['$skip', (spec) => withCount('$skip', spec, 5107200, (count, all) => all.slice(count))],
  ['$sample', sample],
  ['$unwind', unwind],
  ['$group', group],
  ['$sortByCount', sortByCount],
  ['$count', count],
  ['$facet', facet],
  ['$lookup', lookup],
  ['$graphLookup', graphLookup],
])

function each(compile: (spec: unknown, scope: StageScope) => Projector): Stage {
  return (spec, scope) => {
    const project = compile(spec, scope)
    return (documents) => documents.map(project)
  }
}

/** The command handles a search in the first stage; in an inner pipeline it is not supported. */
function checkNoText(spec: unknown): void {
  const clauses = isDocument(spec) && Array.isArray(spec.$and) ? spec.$and : []
  if (isDocument(spec) && '$text' in spec) {
    const message =
      '$match with $text is only allowed as the first pipeline stage: in an inner pipeline it is not supported by the embedded server'
    throw new CommandError(17313, message)
  }
  for (const clause of clauses) checkNoText(clause)
}

/** @throws {CommandError} `wrong` it is not a document, `empty` it has no field */
function checkNotEmpty(name: string, spec: unknown, wrong: number, empty: number): Document {
  if (isDocument(spec) && Object.keys(spec).length > 0) return spec
  const code = isDocument(spec) ? empty : wrong
  throw new CommandError(code, `${name} must be an object with at least one field`)
}

function withCount(
  name: string,
  spec: unknown,
  code: number,
  cut: (count: number, documents: readonly Document[]) => Document[],
): Run {
  if (typeof spec !== 'number' || !Number.isInteger(spec) || spec < 0) {
    throw new CommandError(code, `The ${name} must be a whole number of at least 0`)
  }
  return (documents) => cut(spec, documents)
}

function limit(spec: unknown): Run {
  if (spec === 0) throw new CommandError(15958, 'the limit must be positive')
  return withCount('$limit', spec, 5107201, (count, all) => all.slice(0, count))
}

function compileUnset(spec: unknown, scope: StageScope): Projector {
  const paths: readonly unknown[] = Array.isArray(spec) ? spec : [spec]
  if (paths.length === 0 || !paths.every((path) => typeof path === 'string' && path !== '')) {
    throw new CommandError(31002, '$unset must be a non-empty string or a non-empty array of them')
  }
  const fields = Object.fromEntries(paths.map((path) => [path, 0]))
  if (Object.keys(fields).length < paths.length) throw new CommandError(31250, 'Path collision')
  return compileProjection(fields, scope)
}

function toNewRoot(spec: unknown): unknown {
  const { newRoot } = readFields('$replaceRoot', spec, { newRoot: 'any' })
  if (newRoot !== undefined) return newRoot
  throw new CommandError(40414, "no newRoot specified for the '$replaceRoot' stage")
}

function replaceRoot(expression: unknown, { compileExpression }: StageScope): Run {
  const evaluate = compileExpression(expression)
  return (documents) =>
    documents.map((document) => {
      const root = evaluate(document)
      if (isDocument(root)) return root
      throw new CommandError(40228, "'newRoot' expression must evaluate to an object")
    })
}

function sample(spec: unknown): Run {
  const codes = { unknown: 28748, value: 28745 }
  const { size } = readFields('$sample', spec, { size: 'number' }, codes)
  if (size === undefined) throw new CommandError(28749, '$sample stage must specify a size')
  if (size === 0) throw new CommandError(28747, 'size argument to $sample must be positive')
  return withCount('$sample size', size, 28747, (wanted, documents) => {
    const lots = documents.map((document) => ({ document, lot: Math.random() }))
    const drawn = lots.sort((a, b) => a.lot - b.lot).slice(0, wanted)
    return drawn.map(({ document }) => document)
  })
}

const UNWIND_FIELDS = {
  ...fieldsOf('string', 'path', 'includeArrayIndex'),
  preserveNullAndEmptyArrays: 'bool',
} as const

function unwind(spec: unknown): Run {
  const given = typeof spec === 'string' ? { path: spec } : spec
  const options = readFields('$unwind', given, UNWIND_FIELDS, { unknown: 28811, value: 15981 })
  if (options.path === undefined) throw new CommandError(28812, 'no path specified to $unwind')
  const { path, includeArrayIndex, preserveNullAndEmptyArrays: keepsEmpty = false } = options
  if (!path.startsWith('$')) {
    throw new CommandError(28818, "path option to $unwind stage should be prefixed with a '$'")
  }
  if (includeArrayIndex === '' || includeArrayIndex?.startsWith('$') === true) {
    throw new CommandError(28822, 'includeArrayIndex must be a name that does not start with $')
  }
  const parts = readPath('$unwind', path.slice(1))
  const indexPath = includeArrayIndex && readPath('includeArrayIndex', includeArrayIndex)
  const withIndex = (document: unknown, index: number | null): Document =>
    (indexPath ? placeField(document, indexPath, index) : document) as Document
  return (documents) =>
    documents.flatMap((document) => {
      // Unlike the path of an expression, this one does not lead through arrays.
      const value = fieldAt(document, parts)
      if (Array.isArray(value) && value.length > 0) {
        spendItems(value.length)
        return value.map((item, at) => withIndex(withField(document, parts, item), at))
      }
      const isEmpty = isNullish(value) || Array.isArray(value)
      if (isEmpty && !keepsEmpty) return []
      const left = Array.isArray(value) ? withField(document, parts, undefined) : document
      return [withIndex(left, null)]
    })
}

const COUNT_FAULTS: readonly (readonly [fault: RegExp, code: number])[] = [
  [/^$/, 40157],
  [/^\$/, 40158],
  [/\0/, 40159],
  [/\./, 40160],
  [/^_id$/, 15948],
]

function count(spec: unknown): Run {
  if (typeof spec !== 'string') throw new CommandError(40156, 'the count field must be a string')
  const fault = COUNT_FAULTS.find(([pattern]) => pattern.test(spec))
  if (fault !== undefined) throw new CommandError(fault[1], `the count field cannot be '${spec}'`)
  return (documents) => (documents.length === 0 ? [] : [{ [spec]: documents.length }])
}

function facet(spec: unknown, scope: StageScope): Run {
  const given = checkNotEmpty('$facet', spec, 40169, 40169)
  const facets = Object.entries(given).map(([name, inner]) => {
    if (!isPlainName(name)) {
      throw new CommandError(16410, `'${name}' is not a valid field name`)
    }
    if (!Array.isArray(inner)) throw new CommandError(40170, 'arguments to $facet must be arrays')
    if (holdsFacet(inner)) {
      throw new CommandError(40600, '$facet is not allowed to be used within a $facet stage')
    }
    return { name, run: scope.compileInner(inner, scope.variables) }
  })
  return (all) => [Object.fromEntries(facets.map(({ name, run }) => [name, run(all)]))]
}

function holdsFacet(stages: unknown): boolean {
  const all: unknown[] = Array.isArray(stages) ? stages : []
  return all.filter(isDocument).some((one) => '$facet' in one || holdsFacet(one.$lookup?.pipeline))
}
