import type { HookType, Params } from '../../core/index.ts'

/**
 * The part of a context that the hooks of authentication read and write. It is the same for every
 * service, as it has no id, whose type differs. Contexts of `@feathersjs/feathers` fit as well, so that
 * the hooks can stand inside of those of other packages: `iff(isProvider('external'), protect('password'))`.
 */
export interface HookCall {
  /** The application of the service. It is one of Remex, which other packages can not know. */
  readonly app: object
  /** The service that is called. */
  readonly service: object
  /** The name of the method. */
  readonly method: string
  /** When the hook runs. */
  readonly type: HookType
  /** The data that the method is called with. */
  data?: unknown
  /** The params that the method is called with. */
  params: Params
  /** What the method has returned. */
  result?: unknown
  /** What transports send instead of `result`. */
  dispatch?: unknown
}
