import type { MethodName } from '../core/method-arguments.ts'
import type { StandardMethod } from '../core/method-table.ts'
import type { OutsideOf, ServedOptions } from '../core/services/service-map.ts'
import type { RemoteServiceOf } from './remote-methods.ts'

/** The list of a service whose custom methods the map of services lists, among others. */
type ServedList<S, Otherwise> = [ServedOptions<S>] extends [never]
  ? Otherwise
  : keyof OutsideOf<S> extends StandardMethod
    ? Otherwise
    : ServedOptions<S>['methods' & keyof ServedOptions<S>]

/**
 * The custom methods that services offer to clients, by path: `{ posts: ['publish'] }`. Where the map of
 * services lists them, it is that list.
 */
export type CustomMethods<Services> = {
  readonly [Path in keyof Services]?: ServedList<
    Services[Path],
    readonly MethodName<Services[Path]>[]
  >
}

/** What the compiler names where methods are listed, and the type of the list is not stated. */
interface SecondTypeArgumentIsMissing extends ReadonlyArray<never> {
  /** How the type of the list is stated. */
  readonly typeArguments: '<Services, typeof methods>'
}

/** No custom methods but those in the map of services; any, where nothing is known of the services. */
export type NoCustomMethods<Services> = string extends keyof Services
  ? CustomMethods<Services>
  : { readonly [Path in keyof Services]?: ServedList<Services[Path], SecondTypeArgumentIsMissing> }

/** The lists that a client can not do without: the map promises their methods, and makes none. */
export type RequiredMethods<Services> = {
  readonly [Path in keyof Services as ServedList<Services[Path], never> extends never
    ? never
    : Path]: ServedList<Services[Path], never>
}

type ListedName<Methods, Path> = Path extends keyof Methods ? ItemName<Methods[Path]> : never

type ItemName<List> = List extends readonly (infer Name extends string)[] ? Name : never

/** The services of a server as clients see them: arguments and results are what travels. */
export type RemoteServices<
  Services,
  Methods = NoCustomMethods<Services>,
> = string extends keyof Services
  ? Services
  : {
      [Path in keyof Services & string]: RemoteServiceOf<
        OutsideOf<Services[Path]>,
        Path,
        ListedName<Methods, Path>
      >
    }
