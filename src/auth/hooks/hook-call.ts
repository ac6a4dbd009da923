import type { AnyApplication, HookContext } from '../../core/index.ts'

/**
 * The part of a context that the hooks of authentication read and write. It is the same for every
 * service, as it has no id, whose type differs, and for applications with whatever settings. In the
 * contexts of Feathers, with which resolvers are typed, `data` is optional.
 */
export type HookCall = { readonly app: AnyApplication } & Pick<
  HookContext,
  'service' | 'method' | 'type' | 'params' | 'result' | 'dispatch'
> &
  Partial<Pick<HookContext, 'data'>>
