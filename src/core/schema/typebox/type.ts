// The functions of TypeBox, with those in place of which others stand that keep objects closed.
export * from 'typebox'
export { Intersect } from './joined-object.ts'
export { Omit, Partial, Pick, Required } from './object-parts.ts'
