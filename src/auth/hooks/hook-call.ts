import type { HookContext } from '../../core/index.ts'

/**
 * What the hooks here read and write of a context, whatever service it is of: without the id, whose
 * type is the service's own business.
 */
export type HookCall = Pick<
  HookContext,
  'app' | 'service' | 'method' | 'type' | 'data' | 'params' | 'result' | 'dispatch'
>
