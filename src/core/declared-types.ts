/**
 * Types that an application declares once for all its services and hooks. Empty, to be augmented:
 * `declare module 'remex' { interface DeclaredTypes { user: User } }`. `user` is the type of `params.user`,
 * `feathers` the application that plug-ins of Feathers take.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented
export interface DeclaredTypes {}

/** The type of `params.user`: the declared one, or `unknown`. */
export type DeclaredUser = DeclaredTypes extends Record<'user', infer User> ? User : unknown

/**
 * Members that packages added to the type of the Feathers application, if that is declared. They make our
 * application assignable to it; `never` prevents their use, since they do not exist.
 */
export type DeclaredMembers<Own> =
  DeclaredTypes extends Record<'feathers', infer Feathers>
    ? { readonly [Name in Exclude<keyof Feathers, keyof Own>]: never }
    : unknown

/**
 * Options of services that other packages read, by name: the option `extensions`. Empty, to be augmented by
 * those packages: `declare module 'remex' { interface ServiceExtensions { docs: Docs } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented
export interface ServiceExtensions {}

/** Some of the {@link ServiceExtensions}; any options as long as none are declared. */
export type GivenExtensions = Readonly<Partial<ServiceExtensions>>
