import { omitFields } from './field-path.ts'
import type { HookCall } from './hook-call.ts'
import { isPlainObject } from './settings-merge.ts'

/** A hook for after or around: what `protect` returns. */
export type ProtectHook = (
  context: HookCall,
  next?: () => Promise<void>,
) => Promise<void> | undefined

/**
 * Returns an after or around hook that keeps fields from callers outside, at any depth
 * (`'profile.token'`) and in arrays. It sets `context.dispatch`; for external calls the result, and
 * with it the data of events, loses the fields too.
 */
export function protect(...fields: string[]): ProtectHook {
  if (fields.length === 0) throw new TypeError('The protect hook needs at least one field')
  const protectContext = (context: HookCall): void => {
    const visible = context.dispatch === undefined ? context.result : context.dispatch
    context.dispatch = omitFromResult(visible, context.method, fields)
    if (context.params.provider) context.result = context.dispatch
  }
  return (context, next) => {
    if (context.type === 'around' && next !== undefined) {
      return next().then(() => protectContext(context))
    }
    if (context.type !== 'after') {
      throw new TypeError('The protect hook must be used as an after or an around hook')
    }
    protectContext(context)
    return undefined
  }
}

/** Only `find` returns pages: elsewhere `data` is a field like any other. */
function omitFromResult(result: unknown, method: string, fields: readonly string[]): unknown {
  if (method === 'find' && isPlainObject(result) && Array.isArray(result['data'])) {
    return { ...result, data: omitFields(result['data'], fields) }
  }
  return omitFields(result, fields)
}
