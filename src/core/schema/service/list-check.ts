import type { HookContext } from '../../hooks/hook-context.ts'
import { allowsMany, createMultiError } from '../../services/multi-option.ts'

/**
 * Refuses a list of new records that the service will refuse, before hooks that are written for one record
 * make a record of it.
 * @throws {MethodNotAllowed} the option `multi` of an adapter is there, and does not allow it
 */
export function checkList({ service, params }: Pick<HookContext, 'service' | 'params'>): void {
  const { adapter } = params as { readonly adapter?: unknown }
  const { options } = service as { readonly options?: unknown }
  // Nobody knows of services that are no adapters.
  if (allowsMany('create', adapter) ?? allowsMany('create', options) ?? true) return
  throw createMultiError('create')
}
