import { HookContext } from './hook-context.ts'
import { isObject, isPlainObject } from './value-kind.ts'

/** Properties that say which call it is; no hook can change them. */
const FIXED: ReadonlySet<string> = new Set(['app', 'service', 'path', 'method', 'self', 'type'])

/** Keys by which one sees that a returned object was meant for the context. */
const MEANT_FOR_CONTEXT = ['params', 'data', 'result', 'dispatch', 'id', 'http', 'error'] as const

/** Hooks that were warned about. It spans all applications: one warning for a hook is enough. */
const WARNED = new WeakSet<object>()

/**
 * Assigns onto the context what a before, after or error hook returned, if it is a copy of the
 * context with changes: `{ ...context, data }`. A copy is recognised by the application in it,
 * which no data from outside can hold. Anything else changes nothing: it may be data of a caller,
 * with a key `params` by chance. If it looks like a part of a context, a warning is logged, once
 * for each hook.
 */
export function mergeReturned(context: HookContext, returned: unknown, hook: object): void {
  if (returned === context || !isObject(returned)) return
  if (isCopy(context, returned)) copyOnto(context, returned)
  else if (isMeantForContext(context, returned)) warnOnce(context, hook)
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

/** Not for `(context) => (context.data = data)`, which returns a part of the context by chance. */
function isMeantForContext(context: HookContext, returned: object): boolean {
  if (!isPlainObject(returned)) return false
  if (!MEANT_FOR_CONTEXT.some((name) => Object.hasOwn(returned, name))) return false
  const parts: unknown[] = [...Object.values(context), ...Object.values(context.params)]
  return !parts.includes(returned)
}

function warnOnce(context: HookContext, hook: object): void {
  if (WARNED.has(hook)) return
  WARNED.add(hook)
  const { app, path, method } = context
  const name = (hook as { name?: string }).name || 'anonymous'
  app.logger.warn(
    { service: path, method, hook: name },
    `The hook '${name}' of '${path}' returned an object that is no copy of the context, so it changed nothing: set context.params, context.data and so on, or return { ...context, … }`,
  )
}
