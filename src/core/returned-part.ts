import type { HookContext } from './hook-context.ts'
import { isPlainObject } from './value-kind.ts'

/** Keys by which one sees that a returned object was meant for the context. */
const MEANT_FOR_CONTEXT = ['params', 'data', 'result', 'dispatch', 'id', 'http', 'error'] as const

/** Hooks that were warned about. It spans all applications: one warning for a hook is enough. */
const WARNED = new WeakSet<object>()

/** Warns, once for each hook, of a returned object that looks like a part of a context. */
export function warnOfReturned(context: HookContext, returned: object, hook: object): void {
  if (WARNED.has(hook) || !isMeantForContext(context, returned)) return
  WARNED.add(hook)
  const { app, path, method } = context
  const name = (hook as { name?: string }).name || 'anonymous'
  app.logger.warn(
    { service: path, method, hook: name },
    `The hook '${name}' of '${path}' returned an object that is no copy of the context, so it changed nothing: set context.params, context.data and so on, or return { ...context, … }`,
  )
}

/** Not for `(context) => (context.data = data)`, which returns a part of the context by chance. */
function isMeantForContext(context: HookContext, returned: object): boolean {
  if (!isPlainObject(returned)) return false
  if (!MEANT_FOR_CONTEXT.some((name) => Object.hasOwn(returned, name))) return false
  const parts: unknown[] = [...Object.values(context), ...Object.values(context.params)]
  return !parts.includes(returned)
}
