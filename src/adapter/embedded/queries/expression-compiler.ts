import type { Document } from 'bson'

/** Returns an expression as a function of a document. @throws {CommandError} it is not valid */
export type CompileExpression = (expression: unknown) => (document: Document) => unknown
