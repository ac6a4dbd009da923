import type { MethodName } from '../core/method-name.ts'
import type { RemoteServiceOf } from './remote-methods.ts'

/** The custom methods that services offer to clients, by path: `{ posts: ['publish'] }`. */
export type CustomMethods<Services> = {
  readonly [Path in keyof Services]?: readonly MethodName<Services[Path]>[]
}

/** What the compiler names where methods are listed, and the type of the list is not stated. */
interface SecondTypeArgumentIsMissing extends ReadonlyArray<never> {
  /** How the type of the list is stated. */
  readonly typeArguments: '<Services, typeof methods>'
}

/** No custom methods; any, where nothing is known of the services. */
export type NoCustomMethods<Services> = string extends keyof Services
  ? CustomMethods<Services>
  : { readonly [Path in keyof Services]?: SecondTypeArgumentIsMissing }

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
        Services[Path],
        Path,
        ListedName<Methods, Path>
      >
    }
