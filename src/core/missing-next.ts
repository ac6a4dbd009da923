import type { HookContext, HookType } from './hook-context.ts'

/** Returns the error to go on with in place of one that an around hook among others has thrown. */
export function explainMissingNext(error: unknown, type: HookType, context: HookContext): unknown {
  const isNext = error instanceof TypeError && error.message === 'next is not a function'
  if (!isNext || type === 'around') return error
  const { path, method } = context
  return new TypeError(
    `A hook in '${type} ${method}' of service '${path}' has called next(), which around hooks alone get: register it in 'around'`,
    { cause: error },
  )
}
