import type { Document } from 'bson'
import type { Collation } from '../../matching/compare.ts'
import type { CompileExpression } from '../../matching/filter.ts'

/** A compiled stage or pipeline. It does not change the given documents. */
export type Run = (documents: readonly Document[]) => Document[]

/** What a stage needs, other than its specification. */
export interface StageScope {
  readonly collation: Collation | undefined
  /** The values of the variables by name: those of `let`, and the time. */
  readonly variables: Document
  readonly compileExpression: CompileExpression
  /** Returns all documents of another collection of the same database. @throws {CommandError} 73 */
  readonly readCollection: (name: string) => Document[]
  /** Returns a pipeline nested in the specification. @throws {CommandError} it is not valid */
  readonly compileInner: (pipeline: unknown, variables: Document) => Run
}

/** Returns a stage as a function. @throws {CommandError} its specification is not valid */
export type Stage = (spec: unknown, scope: StageScope) => Run
