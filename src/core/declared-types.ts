/**
 * What an application declares once for all of its services and hooks. Empty, to be augmented:
 * `declare module 'remex' { interface DeclaredTypes { user: User } }`. `user` is the type of
 * `params.user`, `feathers` the application that plug-ins of Feathers take.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented
export interface DeclaredTypes {}

/** The type of `params.user`: the declared one, or `unknown`. */
export type DeclaredUser = DeclaredTypes extends Record<'user', infer User> ? User : unknown

/**
 * What packages have added to the type of the application of Feathers, where that is declared. It is not
 * there, and `never` lets nobody use it; the compiler takes our application for that one by it.
 */
export type DeclaredMembers<Own> =
  DeclaredTypes extends Record<'feathers', infer Feathers>
    ? { readonly [Name in Exclude<keyof Feathers, keyof Own>]: never }
    : unknown

/**
 * Options of services that other packages read, by their names: the option `extensions`. Empty, to be
 * augmented by who reads them: `declare module 'remex' { interface ServiceExtensions { docs: Docs } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented
export interface ServiceExtensions {}

/** Some of the {@link ServiceExtensions}; any, as long as none is declared. */
export type GivenExtensions = Readonly<Partial<ServiceExtensions>>
