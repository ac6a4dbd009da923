import { MultiNotAllowed } from '../errors/coded-errors.ts'
import { withHint } from '../errors/hint.ts'
import type { MethodNotAllowed } from '../errors/index.ts'
import type { HookContext } from '../hooks/hook-context.ts'
import { isObject } from '../value-kind.ts'

/**
 * Whether the option `multi` of an adapter allows a method to write many records; `undefined` for services
 * without it, which are not adapters. No adapter replaces many records at once.
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
  return new MultiNotAllowed(`Can not ${method} multiple entries`, undefined, withHint(hint))
}

/**
 * Rejects a list of new records that the service would reject, before hooks written for one record turn it
 * into a record.
 * @throws {MethodNotAllowed} the service has the option `multi` of an adapter, and it does not allow lists
 */
export function checkList({ service, params }: Pick<HookContext, 'service' | 'params'>): void {
  const { adapter } = params as { readonly adapter?: unknown }
  const { options } = service as { readonly options?: unknown }
  // Other services may accept lists.
  if (allowsMany('create', adapter) ?? allowsMany('create', options) ?? true) return
  throw createMultiError('create')
}
