import type { MethodName } from '../method-arguments.ts'
import type { StandardMethod } from '../method-table.ts'
import type { HookApplication, HookContext, HookType } from './hook-context.ts'

type OneOrMany<T> = T | readonly T[]

// For places where a map by method name may stand too: of names that arrays have, `{ find: [hook] }`,
// compilers would report that the hooks are no `Array.prototype.find`. It takes more memory.
type List<T> = ArrayLike<T> & Iterable<T>

/** Hooks by method name, with `all` for those that run for each method. */
type HooksByMethod<Kind extends HookType, S, A, Name extends string> = {
  [M in Name]?: OneOrMany<HookOf<Kind, S, M, A>>
} & { all?: OneOrMany<HookOf<Kind, S, string, A>> } & {
  // Empty lists for the standard methods that a service lacks, as generators write them.
  [M in Exclude<StandardMethod, Name>]?: readonly never[]
}

/** Hooks around the life of an application. */
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

/** Never set. By it the compiler knows hooks whose type is stated, without their names. */
export interface Stated<S, A> {
  readonly [STATED]?: (service: S, app: A) => void
}

/** What does not stand beside others: where names are inferred, `AtTop` says so. */
type None<Name extends string> = { readonly [K in Name]?: never }

// Of members that a map fits equally badly, compilers report the last one, and they sort intersections by
// their length. Written kind by kind, the kinds are longer than the methods: the mistake is reported, and
// not that `before` should be undefined.

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

/** What an application takes: {@link HookOptions} of any service, or hooks around its life. */
export type StatedApplicationHookMap<S, A, Name extends string> =
  | StatedHookMap<S, A, Name>
  | (LifecycleHooks<A> & None<HookType>)

// What follows looks at what is there, so that each name has one type alone: of a union, the compiler
// would report the whole, or a member that was not meant. What can not be there has a sentence as its
// type, which then is the message. Where a compiler can not tell what is there, as with factories of other
// packages alone, `Map` is unknown, and all that may be there is compared.

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

/** Matches the places of a list: a mapped type makes a list of a list, place by place. */
type Place = number | `${number}`

/** A name that is computed, `[kind]: …`, is any string for the compiler. */
type AnyString<Name> = string extends Name ? string : never

/** Tells maps from functions: those have it. A name would be one of the methods of any service. */
interface NoFunction {
  readonly [Symbol.hasInstance]?: never
}

/** The hooks of a method. Where methods may have any name, a misspelt kind is one: a list is no map. */
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
// The list stands beside the mapped type for lists that begin with another one: `[...hooks, (context) => …]`.
type HooksOfKind<Kind extends HookType, S, A, Name extends string, Map> =
  | HookOf<Kind, S, string, A>
  | List<HookOf<Kind, S, string, A>>
  | (unknown extends Map
      ? HooksByMethod<Kind, S, A, Name>
      : { [M in keyof Map]: InKind<M, Kind, S, A, Name> } & NoFunction)

/** The type of what a name has beside kinds, or where there are none. */
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

/** {@link HookMap} of an application, which has hooks around its life as well. */
export type ApplicationHookMap<Map, S, A, Name extends string> =
  | Stated<S, A>
  | ({
      [K in keyof Map]: K extends LifecycleMethod
        ? [keyof Map & HookType] extends [never]
          ? OneOrMany<LifecycleHook<A>>
          : NoKind<K>
        : AtTop<K, Map[K], keyof Map & HookType, S, A, Name>
    } & NoFunction)

/** One member of a union: a compiler can not list them, but it takes one of overloads. */
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
  /** What the method was called on: the application. */
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
type HookOf<Kind extends HookType, S, M extends string, A> = Kind extends 'around'
  ? HookWithNext<S, M, A>
  : HookWithoutNext<S, M, A>
