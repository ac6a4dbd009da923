/**
 * The error classes, and the way to JSON and back.
 * @module remex/errors
 */

export * from './error-classes.ts'
export { convert, errorFromJSON, toErrorClass, toServiceError } from './error-json.ts'
export type { ErrorData, ErrorJSON } from './service-error.ts'
export { ServiceError } from './service-error.ts'
