import type { HookContext } from '../../core/index.ts'

/**
 * The part of a context that the hooks of authentication read and write. It is the same for every
 * service, as it has no id, whose type differs. In the contexts of Feathers, with which resolvers are
 * typed, `data` is optional.
 */
export type HookCall = Pick<
  HookContext,
  'app' | 'service' | 'method' | 'type' | 'params' | 'result' | 'dispatch'
> &
  Partial<Pick<HookContext, 'data'>>
