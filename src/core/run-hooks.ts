import type { HookContext, HookType } from './hook-context.ts'
import type { StoredHook } from './hook-registry.ts'
import { mergeReturned } from './returned-object.ts'

/** Everything that runs for one method of one service, put together when hooks change. */
export type Chain = (context: HookContext) => Promise<void>

/** Before, after and error hooks that share one try block. */
export interface Layer {
  readonly before: readonly StoredHook[]
  readonly after: readonly StoredHook[]
  readonly error: readonly StoredHook[]
}

/** Calls the method with the arguments of the context and returns what it returns. */
export type MethodCall = (context: HookContext) => unknown

/** Calls the method and sets the result, unless there is one; throws what the method throws at once. */
export function invoke(call: MethodCall, context: HookContext): Promise<void> {
  if ('result' in context) return Promise.resolve()
  return Promise.resolve(call(context)).then((result) => {
    context.result = result as typeof context.result
  })
}

/**
 * Returns the chain of one layer: its before hooks, the inner chain or the method call, its after
 * hooks. One function serves both, since each async function on the way costs as much as ten hooks.
 */
export function toChain(layer: Layer, call: MethodCall | null, inner: Chain | null): Chain {
  const { before, after, error: onError } = layer
  return async (context) => {
    try {
      if (before.length > 0) {
        const pending = runEach(before, 0, context, 'before')
        if (pending !== undefined) await pending
      }
      if (inner !== null) await inner(context)
      else if (call !== null && !('result' in context)) {
        const returned = call(context) as typeof context.result
        context.result = isPromise(returned) ? await returned : returned
      }
      if (after.length > 0) {
        const pending = runEach(after, 0, context, 'after')
        if (pending !== undefined) await pending
      }
    } catch (error) {
      if (onError.length > 0) await runErrorHooks(onError, context, toError(error))
      else {
        context.type = 'around'
        throw error
      }
    }
  }
}

/** Runs hooks one after the other; returns a promise only from the first hook on that returns one. */
function runEach(
  hooks: readonly StoredHook[],
  start: number,
  context: HookContext,
  type: HookType,
): Promise<void> | undefined {
  context.type = type
  const { self } = context
  for (let index = start; index < hooks.length; index += 1) {
    const hook = hooks[index] as StoredHook
    const returned = hook.call(self, context)
    if (returned !== undefined) {
      if (isPromise(returned)) return continueEach(returned, hooks, index, context, type)
      mergeReturned(context, returned, hook)
    }
    context.settleParams()
  }
  context.type = 'around'
  return undefined
}

async function continueEach(
  returned: PromiseLike<unknown>,
  hooks: readonly StoredHook[],
  index: number,
  context: HookContext,
  type: HookType,
): Promise<void> {
  mergeReturned(context, await returned, hooks[index] as StoredHook)
  context.settleParams()
  await runEach(hooks, index + 1, context, type)
}

/** Throws what `context.error` is in the end, unless a hook cleared it or set a result. */
async function runErrorHooks(
  hooks: readonly StoredHook[],
  context: HookContext,
  error: unknown,
): Promise<void> {
  // An error that an inner layer passes on has its snapshot already.
  if (context.error !== error || 'result' in context) {
    context.original = context.toObject()
    context.error = error
    delete context.result
  }
  context.type = 'error'
  for (const hook of hooks) {
    try {
      mergeReturned(context, await hook.call(context.self, context), hook)
      context.settleParams()
    } catch (replacement) {
      context.error = toError(replacement)
      delete context.result
    }
  }
  context.type = 'around'
  const isSwallowed = context.result !== undefined || context.error == null
  if (!isSwallowed) throw context.error
}

/** Error hooks clear `context.error` to swallow it, so `throw undefined` has to leave something there. */
function toError(thrown: unknown): unknown {
  return thrown ?? new Error(`${thrown} was thrown`)
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function'
}
