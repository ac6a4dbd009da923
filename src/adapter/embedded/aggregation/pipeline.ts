import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { isDocument } from '../values/bson-type.ts'
import type { Collation } from '../values/collation.ts'
import { createCompiler } from './expressions.ts'
import { STAGES } from './stage-table.ts'
import type { Run, StageScope } from './stage-type.ts'

/** What a pipeline needs beside its documents. */
export interface PipelineOptions {
  readonly collation: Collation | undefined
  /** The values of the variables by their names: those of `let`, and the time. */
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
    throw new CommandError(
      40323,
      'A pipeline stage specification object must contain exactly one field.',
    )
  }
  const compile = STAGES.get(name)
  if (compile !== undefined) return compile(spec, scope)
  throw new CommandError(
    40324,
    `Unrecognized pipeline stage name: '${name}': here it is not supported by the embedded server`,
  )
}
