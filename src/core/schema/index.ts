/**
 * Schemas of data, queries and results: validation, resolvers, and types that follow from them.
 * @module remex/schema
 */

export type { Static, TSchema } from 'typebox'
export { Type } from 'typebox'
export type { DataSchema, JSONSchema, StandardSchema } from '../service-schemas.ts'
