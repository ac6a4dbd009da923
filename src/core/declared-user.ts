/**
 * What an application declares once for all of its services and hooks. Empty, to be augmented:
 * `declare module 'remex' { interface DeclaredTypes { user: User } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented
export interface DeclaredTypes {}

/** The type of `params.user`: the declared one, or `unknown`. */
export type DeclaredUser = DeclaredTypes extends Record<'user', infer User> ? User : unknown
