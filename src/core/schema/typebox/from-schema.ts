import type { Static, TSchema } from 'typebox'

/** The type of what fits a schema: of TypeBox, or a JSON Schema that is written `as const`. */
export type FromSchema<S extends TSchema> = Static<S>
