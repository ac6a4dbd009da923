import type { MethodName } from '../method-arguments.ts'
import type { StandardMethod } from '../method-table.ts'
import type { HookApplication, HookContext, HookType } from './hook-context.ts'

type OneOrMany<T> = T | readonly T[]

// Used where a map by method name is also allowed: with array types, compilers would compare
// `{ find: [hook] }` with `Array.prototype.find`. It takes more memory.
type List<T> = ArrayLike<T> & Iterable<T>

/** Hooks by method name, with `all` for those that run for each method. */
type HooksByMethod<Kind extends HookType, S, A, Name extends string> = {
  [M in Name]?: OneOrMany<HookOf<Kind, S, M, A>>
} & { all?: OneOrMany<HookOf<Kind, S, string, A>> } & {
  // Empty lists for the standard methods that a service lacks, as generators write them.
  [M in Exclude<StandardMethod, Name>]?: readonly never[]
}

/** Hooks around `setup` and `teardown` of an application. */
type LifecycleHooks<A> = { [M in LifecycleMethod]?: OneOrMany<LifecycleHook<A>> }

/** The kinds of hooks, each for all methods or by method name. */
type HooksByKind<S, A, Name extends string, Kinds extends HookType = HookType> = {
  [Kind in Kinds]?:
    | HookOf<Kind, S, string, A>
    | List<HookOf<Kind, S, string, A>>
    | HooksByMethod<Kind, S, A, Name>
}

/** Hooks in any of the formats. */
export type AnyHookMap<S, A, Name extends string = MethodName<S>> =
  | HooksByKind<S, A, Name>
  | readonly HookOf<'around', S, string, A>[]
  | HooksByMethod<'around', S, A, Name>

/** Hooks of an application in any of the formats. */
export type AnyApplicationHookMap<S, A, Name extends string> =
  | AnyHookMap<S, A, Name>
  | LifecycleHooks<A>

declare const STATED: unique symbol

/** Never set. It tells the compiler that the hooks have a stated type, without method names. */
export interface Stated<S, A> {
  readonly [STATED]?: (service: S, app: A) => void
}

/** Names that cannot be combined with others. Where names are inferred, `AtTop` says so. */
type None<Name extends string> = { readonly [K in Name]?: never }

// If a map fits several members equally badly, compilers report the last one, and they sort intersections by
// length. Written kind by kind, the kinds are longer than the methods, so the compiler reports the real
// mistake instead of "`before` should be undefined".

/** Hooks whose type is stated, by kind, as a list, or in short by method name. */
type StatedHookMap<S, A, Name extends string> =
  | (HooksByMethod<'around', S, A, Name> & None<HookType>)
  | List<HookOf<'around', S, string, A>>
  | (HooksByKind<S, A, Name, 'around'> &
      HooksByKind<S, A, Name, 'before'> &
      HooksByKind<S, A, Name, 'after'> &
      HooksByKind<S, A, Name, 'error'> &
      None<LifecycleMethod>)

/** What `service.hooks()` takes: the four kinds, or around hooks in short. */
export type HookOptions<S, A = HookApplication, Name extends string = MethodName<S>> = Stated<
  S,
  A
> &
  StatedHookMap<S, A, Name>

/** What an application takes: {@link HookOptions} of any service, or hooks around `setup` and `teardown`. */
export type StatedApplicationHookMap<S, A, Name extends string> =
  | StatedHookMap<S, A, Name>
  | (LifecycleHooks<A> & None<HookType>)

// The types below depend on the given map, so that each name has exactly one type: for a union, the compiler
// would report all of it, or the wrong member. The type of an invalid name is a sentence, which becomes the
// error message. If the compiler cannot infer the map, as with only factories of other packages, `Map` is
// unknown and everything allowed is compared.

type NoMethod<
  M extends string,
  Name extends string,
> = `'${M}' is not a hookable method, those are ${Joined<Name>}`

type NoKind<K extends string> =
  `'${K}' is not a valid hook type, allowed are around, before, after, error`

type NoKindNorMethod<
  K extends string,
  Name extends string,
> = `'${K}' is neither a hook type (around, before, after, error) nor a hookable method: those are ${Joined<Name>}`

type OfApplication =
  'setup and teardown have hooks of the application: app.hooks({ setup: [hook] })'

/** Matches the indexes of a list: a mapped type maps a list to a list, index by index. */
type Place = number | `${number}`

/** For the compiler, a computed name, `[kind]: …`, is any string. */
type AnyString<Name> = string extends Name ? string : never

/** Distinguishes maps from functions, which have this member. A plain name could be a method of a service. */
interface NoFunction {
  readonly [Symbol.hasInstance]?: never
}

/**
 * The hooks of a method. If methods may have any name, a misspelt kind counts as one: a list must not be a
 * map.
 */
type OfMethod<Hooks, Name> = string extends Name ? Hooks | List<Hooks> : OneOrMany<Hooks>

/** The type of what a name has in the map of one kind. */
type InKind<M, Kind extends HookType, S, A, Name extends string> = M extends Place
  ? HookOf<Kind, S, string, A>
  : M extends AnyString<M>
    ? OneOrMany<HookOf<Kind, S, string, A>> | undefined
    : M extends 'all'
      ? OneOrMany<HookOf<Kind, S, string, A>>
      : M extends LifecycleMethod
        ? OfApplication
        : M extends Name
          ? OfMethod<HookOf<Kind, S, M, A>, Name>
          : M extends StandardMethod
            ? readonly NoMethod<M, Name>[]
            : NoMethod<M & string, Name>

/** The type of the hooks of one kind, by the names that `Map` has. */
// The list is in the union in addition to the mapped type for lists that begin with another list:
// `[...hooks, (context) => …]`.
type HooksOfKind<Kind extends HookType, S, A, Name extends string, Map> =
  | HookOf<Kind, S, string, A>
  | List<HookOf<Kind, S, string, A>>
  | (unknown extends Map
      ? HooksByMethod<Kind, S, A, Name>
      : { [M in keyof Map]: InKind<M, Kind, S, A, Name> } & NoFunction)

/** The type of a name next to kinds, or in a map without kinds. */
type InShort<K, Kinds, S, A, Name extends string> = K extends Place
  ? HookOf<'around', S, string, A>
  : [Kinds] extends [never]
    ? K extends Name | StandardMethod | LifecycleMethod | 'all'
      ? InKind<K, 'around', S, A, Name>
      : NoKindNorMethod<K & string, Name>
    : NoKind<K & string>

type AtTop<K, Value, Kinds, S, A, Name extends string> =
  K extends AnyString<K>
    ? unknown
    : K extends HookType
      ? HooksOfKind<K, S, A, Name, Value>
      : InShort<K, Kinds, S, A, Name>

/**
 * {@link HookOptions}, by the names that `Map` has.
 */
export type HookMap<Map, S, A = HookApplication, Name extends string = MethodName<S>> =
  | Stated<S, A>
  | ({ [K in keyof Map]: AtTop<K, Map[K], keyof Map & HookType, S, A, Name> } & NoFunction)

/** {@link HookMap} of an application, with hooks around `setup` and `teardown`. */
export type ApplicationHookMap<Map, S, A, Name extends string> =
  | Stated<S, A>
  | ({
      [K in keyof Map]: K extends LifecycleMethod
        ? [keyof Map & HookType] extends [never]
          ? OneOrMany<LifecycleHook<A>>
          : NoKind<K>
        : AtTop<K, Map[K], keyof Map & HookType, S, A, Name>
    } & NoFunction)

/** One member of a union: the compiler cannot list the members, but it can pick one of several overloads. */
type OneOf<Union> = (Union extends unknown ? (make: () => Union) => void : never) extends (
  make: infer Make,
) => void
  ? Make extends () => infer Member
    ? Member
    : never
  : never

/** The names of a union as a list in a sentence. */
type Joined<Name extends string, Last = OneOf<Name>, Rest extends string = ''> = Last extends Name
  ? [Exclude<Name, Last>] extends [never]
    ? `${Last}${Rest}`
    : Joined<Exclude<Name, Last>, OneOf<Exclude<Name, Last>>, `, ${Last}${Rest}`>
  : Rest

/** What hooks around `setup` and `teardown` of an application get. */
export interface LifecycleContext<A = HookApplication> {
  /** The application that starts or stops. */
  readonly app: A
  /** The object that the method was called on: the application. */
  readonly self: A
  /** Whether it starts or stops. */
  readonly method: LifecycleMethod
  /** The HTTP server, when there is one. */
  readonly server: unknown
}

/** The methods of an application that such hooks run around. */
export type LifecycleMethod = 'setup' | 'teardown'

/** Runs around `setup` or `teardown` of the services, which `next` starts. */
export type LifecycleHook<A = HookApplication> = (
  context: LifecycleContext<A>,
  next: () => Promise<void>,
) => unknown

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

// For a union, compilers report the first member. The hooks with Remex's contexts come first here, by their
// names (alphabetically) and by the order in which their types are created: the types for other packages have
// `S` and `M` only for that reason.

interface ContextHook<S, M extends string, A> {
  // biome-ignore lint/style/useShorthandFunctionType: a named type
  (context: HookContext<S, M, A>, next?: undefined): unknown
}

interface ContextAroundHook<S, M extends string, A> {
  // biome-ignore lint/style/useShorthandFunctionType: a named type
  (context: HookContext<S, M, A>, next: NextFunction): unknown
}

/**
 * What hooks of other packages may require of a context: the members that the context of
 * `@feathersjs/feathers` always has, and what `fastJoin` adds. Their type is `never`, which fits any
 * declaration. All declared params may be missing: a hook that requires a member,
 * `{ params: { tenant: string } }`, is for a service that has it. Hooks for Remex's contexts do not fit here:
 * they require private members.
 */
type PackageContext = Readonly<
  Record<
    | ('app' | 'service' | 'path' | 'method' | 'type')
    | ('arguments' | 'event' | 'toJSON' | '_loaders'),
    never
  > & { readonly params: Readonly<Record<string, never>> }
>

// The second signature makes the compiler leave hooks written in a map to the other member of the union. It
// comes last, since factories infer the type of their contexts from the last one.

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

/** A before, after or error hook: it gets no `next`. */
type HookWithoutNext<S, M extends string, A> = ContextHook<S, M, A> | PackageHook<S, M>

/** An around hook. */
type HookWithNext<S, M extends string, A> = ContextAroundHook<S, M, A> | PackageAroundHook<S, M>

/** The hooks that a map may have for a kind. */
type HookOf<Kind extends HookType, S, M extends string, A> = Kind extends 'around'
  ? HookWithNext<S, M, A>
  : HookWithoutNext<S, M, A>
