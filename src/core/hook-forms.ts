import type { HookApplication, HookContext, HookType } from './hook-context.ts'

/** Runs before, after or on an error. A returned copy of the context is assigned onto it. */
export type Hook<S = object, M extends string = string, A = HookApplication> = (
  context: HookContext<S, M, A>,
) => unknown

/** Starts the rest of a call: what an around hook gets as `next`. */
export type NextFunction = () => Promise<void>

/** Runs around the rest of the call, which `next` starts; await it to see the result. */
export type AroundHook<S = object, M extends string = string, A = HookApplication> = (
  context: HookContext<S, M, A>,
  next: NextFunction,
) => unknown

// Of a union, compilers report what comes first. Here the hooks for the contexts of Remex come first, by
// their names (in the order of the alphabet) and by the order in which their types are made: those of other
// packages have `S` and `M` for that reason alone.

interface ContextHook<S, M extends string, A> {
  // biome-ignore lint/style/useShorthandFunctionType: a type of its own name
  (context: HookContext<S, M, A>, next?: undefined): unknown
}

interface ContextAroundHook<S, M extends string, A> {
  // biome-ignore lint/style/useShorthandFunctionType: a type of its own name
  (context: HookContext<S, M, A>, next: NextFunction): unknown
}

/**
 * What hooks of other packages may ask of a context: the members of the context of
 * `@feathersjs/feathers` that are always there, and what `fastJoin` adds. They are `never`, which
 * fits whatever those packages declare. All that they declare of params may be missing: a hook that
 * demands a member, `{ params: { tenant: string } }`, is for a service that has it. Hooks for the contexts
 * here do not fit: they ask for private members as well.
 */
type PackageContext = Readonly<
  Record<
    | ('app' | 'service' | 'path' | 'method' | 'type')
    | ('arguments' | 'event' | 'toJSON' | '_loaders'),
    never
  > & { readonly params: Readonly<Record<string, never>> }
>

// The second signature is there so that the compiler leaves hooks that are written in a map to the
// other member of the union. It is the last one, by which factories infer the type of their contexts.

/** A hook of another package, typed for the contexts of Feathers. */
interface PackageHook<S, M> {
  <T>(context: PackageContext, next?: undefined, none?: [T, S, M]): unknown
  // biome-ignore lint/suspicious/noExplicitAny: what factories like `iff` infer for their own hooks
  (context: any, next?: undefined, none?: [S, M]): unknown
}

/** An around hook of another package, typed for the contexts of Feathers. */
interface PackageAroundHook<S, M> {
  <T>(context: PackageContext, next: NextFunction, none?: [T, S, M]): unknown
  // biome-ignore lint/suspicious/noExplicitAny: what factories like `iff` infer for their own hooks
  (context: any, next: NextFunction, none?: [S, M]): unknown
}

/** A hook as it stands among before, after and error hooks: there is no `next` for it. */
type HookWithoutNext<S, M extends string, A> = ContextHook<S, M, A> | PackageHook<S, M>

/** A hook as it stands among around hooks. */
type HookWithNext<S, M extends string, A> = ContextAroundHook<S, M, A> | PackageAroundHook<S, M>

/** What may stand in a map, for a kind of hooks. */
export type HookOf<Kind extends HookType, S, M extends string, A> = Kind extends 'around'
  ? HookWithNext<S, M, A>
  : HookWithoutNext<S, M, A>
