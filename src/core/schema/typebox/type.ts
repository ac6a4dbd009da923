// The functions of TypeBox, with those in place of which others stand that keep objects closed.
export * from 'typebox'
export { Intersect, Omit, Partial, Pick, Required } from './object-types.ts'
