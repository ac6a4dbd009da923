/**
 * Names of the members that every registered service gets. They are the keys of `ServiceAddons`,
 * whose hooks are typed by {@link MethodName} and which can't be asked here for that reason.
 */
export type AddonName =
  | 'hooks'
  | 'on'
  | 'once'
  | 'off'
  | 'addListener'
  | 'removeListener'
  | 'removeAllListeners'
  | 'emit'
  | 'listenerCount'

/** Names that a service has and that are no methods for callers. */
type ReservedName = AddonName | 'setup' | 'teardown' | 'publish' | `_${string}`

// `any` stands for the arguments here: every function must match, whatever it takes.
// biome-ignore lint/suspicious/noExplicitAny: a generic constraint
type AnyFunction = (...args: any[]) => unknown

/** Names of the methods of a service that hooks can run around. */
export type MethodName<S> = {
  [K in keyof S & string]-?: NonNullable<S[K]> extends AnyFunction
    ? K extends ReservedName
      ? never
      : K
    : never
}[keyof S & string]

/** Names of the methods of all services together. */
export type MethodNames<Services> = {
  [Path in keyof Services & string]: MethodName<Services[Path]>
}[keyof Services & string]
