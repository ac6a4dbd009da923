import { withHint } from '../errors/hint.ts'
import { MethodNotAllowed } from '../errors/index.ts'
import type { HookContext } from '../hooks/hook-context.ts'
import { isObject } from '../value-kind.ts'

/**
 * Whether the option `multi` of an adapter allows a method to write many records; `undefined` without that
 * option, as services have it that are no adapters. No adapter replaces many records at once.
 */
export function allowsMany(method: string, options: unknown): boolean | undefined {
  const multi = isObject(options) ? options['multi'] : undefined
  if (multi === undefined) return undefined
  if (method === 'update') return false
  return multi === true || (Array.isArray(multi) && multi.includes(method))
}

/** Returns the error for many records that the option does not allow a method to write. */
export function createMultiError(method: string): MethodNotAllowed {
  const hint = `allow it by the option multi: ['${method}'] of the service`
  return new MethodNotAllowed(`Can not ${method} multiple entries`, undefined, withHint(hint))
}

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
