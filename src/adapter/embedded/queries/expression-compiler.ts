import type { Document } from 'bson'

/**
 * Returns an expression as a function of a document. Filters and projections are given this
 * function: what compiles expressions is built on filters itself.
 * @throws {CommandError} the expression is not valid
 */
export type CompileExpression = (expression: unknown) => (document: Document) => unknown
