import type { HookContext } from './hook-context.ts'
import type { Params } from './params.ts'
import { isPlainObject } from './value-kind.ts'

/**
 * Changes the params of a call. Those of a transport are its own, and are changed in place; the object of
 * a caller within the process stays as it is, and a copy takes its place.
 */
export function changeParams(context: Pick<HookContext, 'params'>, changes: Partial<Params>): void {
  if (isPlainObject(context.params)) context.params = { ...context.params, ...changes }
  else Object.assign(context.params, changes)
}
