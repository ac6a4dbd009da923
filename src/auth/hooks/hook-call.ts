import type { HookType, Params } from '../../core/index.ts'

/**
 * The part of a hook context that the authentication hooks use. It is the same type for every service, as it leaves out
 * the id, whose type differs. Contexts of `@feathersjs/feathers` fit too, so the hooks can run within hooks of other
 * packages: `iff(isProvider('external'), protect('password'))`.
 */
export interface HookCall {
  /** The application of the service. Typed as an object, since other packages do not know the class of Remex. */
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
  /** The result of the method. */
  result?: unknown
  /** The result that transports send instead of `result`. */
  dispatch?: unknown
}
