import { HookContext } from './hook-context.ts'
import { isObject } from './value-kind.ts'

/** Properties that say which call it is; no hook can change them. */
const FIXED: ReadonlySet<string> = new Set(['app', 'service', 'path', 'method', 'self', 'type'])

/**
 * Assigns onto the context what a before, after or error hook returned, if it is a copy of the
 * context with changes: `{ ...context, data }`. A copy is recognised by the application in it,
 * which no data from outside can hold. Anything else changes nothing: it may be data of a caller,
 * with a key `params` by chance.
 */
export function mergeReturned(context: HookContext, returned: unknown, hook: object): void {
  if (returned === context || !isObject(returned)) return
  if (isCopy(context, returned)) copyOnto(context, returned)
  else context.app.advice?.warnOfReturned(context, returned, hook)
}

function isCopy(context: HookContext, returned: object): boolean {
  // The context of another call of the same method, which a service may have returned.
  if (HookContext.isContext(returned)) return false
  const { app, path, method } = returned as Partial<HookContext>
  return (
    Object.hasOwn(returned, 'app') &&
    app === context.app &&
    path === context.path &&
    method === context.method
  )
}

function copyOnto(context: HookContext, copy: object): void {
  for (const [key, value] of Object.entries(copy)) {
    const isOfEveryContext = key in HookContext.prototype && key !== 'statusCode'
    if (!FIXED.has(key) && !isOfEveryContext) Reflect.set(context, key, value)
  }
}
