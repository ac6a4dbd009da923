import { isObject, isPromise } from '../value-kind.ts'
import type { HookApplication, HookType, Next } from './hook-context.ts'
import { HookContext } from './hook-context.ts'
import type { StoredHook } from './hook-registry.ts'
import type { MethodCall } from './method-call.ts'
import { setReturned, startMethod } from './method-call.ts'

/** Everything that runs for one method of one service, put together when hooks change. */
export type Chain = (context: HookContext) => Promise<void>

/** Before, after and error hooks that share one try block. */
export interface Layer {
  readonly before: readonly StoredHook[]
  readonly after: readonly StoredHook[]
  readonly error: readonly StoredHook[]
}

/**
 * Returns the chain of one layer: its before hooks, the inner chain or the method call, its after
 * hooks. One function serves both, since each async function on the way costs as much as ten hooks.
 */
export function toChain(layer: Layer, inner: Chain | null, call: MethodCall): Chain {
  const { before, after, error: onError } = layer
  if (inner === null && after.length + onError.length === 0) return toBeforeChain(before, call)
  return async (context) => {
    try {
      if (before.length > 0) {
        const pending = runEach(before, 0, context, 'before')
        if (pending !== undefined) await pending
      }
      if (inner !== null) await inner(context)
      else {
        const pending = startMethod(call, context)
        if (pending !== undefined) setReturned(context, await pending)
      }
      if (after.length > 0) {
        const pending = runEach(after, 0, context, 'after')
        if (pending !== undefined) await pending
      }
    } catch (thrown) {
      if (onError.length === 0) return leaveLayer(thrown, context)
      watchRests(context)
      const error = explainError(thrown, context.type, context)
      await runErrorHooks(onError, context, toError(error))
    }
  }
}

/**
 * Returns the chain of before hooks alone. It is no async function: a promise less for each call of a
 * service that has a schema, or `authenticate`, and nothing else.
 */
function toBeforeChain(before: readonly StoredHook[], call: MethodCall): Chain {
  return (context) => {
    try {
      const pending = runEach(before, 0, context, 'before')
      if (pending === undefined) return runMethodAlone(call, context)
      return pending
        .then(() => runMethodAlone(call, context))
        .catch((thrown: unknown) => leaveLayer(thrown, context))
    } catch (thrown) {
      return leaveLayer(thrown, context)
    }
  }
}

/** Rejects with what a hook or the method has thrown. */
function leaveLayer(thrown: unknown, context: HookContext): Promise<never> {
  watchRests(context)
  const error = explainError(thrown, context.type, context)
  context.type = 'around'
  return Promise.reject(error)
}

/** Calls the method below around hooks alone, and sets its result unless there is one. */
export function runMethodAlone(call: MethodCall, context: HookContext): Promise<void> {
  const pending = startMethod(call, context)
  if (pending === undefined) return Promise.resolve()
  return Promise.resolve(pending).then(
    (returned) => setReturned(context, returned),
    (error: unknown) => {
      watchRests(context)
      throw error
    },
  )
}

/**
 * Runs hooks one after the other; returns a promise only from the first hook on that returns one.
 */
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
      context.error = toError(explainError(replacement, 'error', context))
      delete context.result
    }
  }
  context.type = 'around'
  const isSwallowed = context.result !== undefined || context.error == null
  if (!isSwallowed) throw context.error
}

function explainError(error: unknown, type: HookType, context: HookContext): unknown {
  const { support } = context.app
  return support === undefined ? error : support.explainError(error, type, context)
}

/**
 * Error hooks clear `context.error` to swallow it, so `throw undefined` has to leave
 * something there.
 */
function toError(thrown: unknown): unknown {
  return thrown ?? new Error(`${thrown} was thrown`)
}

/** What around hooks run around: the call of a method, or `setup` of an application. */
export interface Surrounded {
  readonly app: HookApplication
  readonly method: string
  readonly path?: string
  readonly self?: object
  running: Next | null
  settleParams?(): void
}

/** What one around hook has started. */
export interface Started {
  /** The hook itself. */
  readonly hook: object
  /** What the hook has returned: settles when it has ended. `null` while it has not returned. */
  readonly ended: Promise<void> | null
  /** The rest of the call, from `next()` on. */
  readonly rest: Promise<void> | null
}

/**
 * Has failures logged of what around hooks have started by `next()`, where they end without waiting for
 * it: nobody else would hear of them, and the process of a server would end. To be called when something has failed,
 * or a call ends too early; to do it for each hook of each call would make five hooks a third slower.
 */
export function watchRests(context: Surrounded): void {
  context.running?.(WATCH_RESTS)
}

/**
 * Handed to `next`: looks at what it and the hooks around have started. With `true` only where `next` was
 * not called before: a call has ended well, and a hook may go on.
 */
export const WATCH_RESTS: unique symbol = Symbol('remex.watch')

/** Properties that say which call it is; no hook can change them. */
const FIXED: ReadonlySet<string> = new Set(['app', 'service', 'path', 'method', 'self', 'type'])

/**
 * Assigns onto the context what a before, after or error hook returned, if it is a copy of the
 * context with changes: `{ ...context, data }`. A copy is recognised by the application in it,
 * which no data from outside can hold. Anything else changes nothing: it may be data of a caller,
 * with a key `params` by chance.
 */
function mergeReturned(context: HookContext, returned: unknown, hook: object): void {
  if (returned === context || !isObject(returned)) return
  if (isCopy(context, returned)) copyOnto(context, returned)
  else context.app.support?.warnOfReturned(context, returned, hook)
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

/** Has a failure logged of what one hook has started, if the hook has ended by then. */
export function watchRest({ hook, ended, rest }: Started, { app, path, method }: Surrounded): void {
  // What the hook hands on is looked at by whoever it is handed to.
  if (ended === rest) return
  let hasEnded = false
  let wasPending = false
  const end = (): void => {
    hasEnded = true
  }
  ended?.then(end, end)
  rest?.then(undefined, (err: unknown) => {
    // A hook that awaits the rest ends after this. Where the rest had failed before it was watched, the
    // hook may have awaited it and ended already.
    if (!hasEnded || !wasPending) return
    const { name } = hook as { readonly name?: string }
    app.logger.error(
      { err, service: path, method, hook: name || 'anonymous' },
      'A hook must await next(): it has failed after the hook has ended',
    )
  })
  queueMicrotask(() => {
    wasPending = true
  })
}
