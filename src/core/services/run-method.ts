import { emitEvent } from '../events/event-gate.ts'
import { noteExternalForm } from '../external-form.ts'
import type { CalledMethod } from '../hooks/hook-context.ts'
import { HookContext } from '../hooks/hook-context.ts'
import { readArguments, setReturned, startMethod } from '../hooks/method-call.ts'
import type { CallStart, MethodEntry } from './method-entry.ts'

/**
 * Returns the context of a call with the given arguments, in the order of the method table.
 * `params` becomes `{}` when it is missing.
 */
export function createContext<A>(
  method: CalledMethod<A>,
  self: object,
  args: readonly unknown[],
): HookContext<object, string, A> {
  const { id, data, params } = readArguments(method.spec, self, args)
  return new HookContext(method, self, id, data, params)
}

/** Runs hooks, method and events. Resolves to `context.result`; everything else is in the context. */
export function runMethod(method: MethodEntry, context: HookContext): Promise<unknown> {
  try {
    const pending = method.start(context)
    // An immediate result needs no promise, and its event is emitted at once.
    if (pending === undefined) return Promise.resolve(finishCall(method, context, context.result))
    return Promise.resolve(pending).then((returned) => finishCall(method, context, returned))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Returns a function that starts the calls of a method without publishing them. */
export function toUnobserved({ chain, call }: Pick<MethodEntry, 'call' | 'chain'>): CallStart {
  return chain ?? startMethod.bind(null, call)
}

/**
 * Sets the result and emits the events of a call. Returns `context.result`.
 * @param returned what the promise of `method.start()` resolved to; without a promise, the result
 */
export function finishCall(method: MethodEntry, context: HookContext, returned: unknown): unknown {
  if (!('result' in context)) {
    // The return value of an around hook is not a result. `chain` cannot tell: it is replaced when hooks are
    // added during the call.
    const { isSurrounded } = context
    if (isSurrounded) method.entry.app.support?.warnOfResult(method, context)
    setReturned(context, isSurrounded ? undefined : returned)
  }
  if (context.event !== null) emitEvent(method.entry, context)
  if (context.dispatch !== undefined) noteExternalForm(context.result)
  return context.result
}

/**
 * Calls a method as `service.method(...args)` does and returns its result. A context of this method as the
 * last argument is used for the call, which then resolves to the context; the arguments before it replace
 * those in the context.
 */
export function callMethod(method: MethodEntry, self: object, args: unknown[]): Promise<unknown> {
  const last = args.at(-1)
  if (last instanceof HookContext && last.isFor(method)) {
    if (args.length > 1) last.arguments = args.slice(0, -1)
    return runMethod(method, last).then(() => last)
  }
  try {
    // Without hooks and events, no context is needed.
    const isAlone = method.chain === null && method.spec.event === null
    if (isAlone && !method.entry.app.support?.isObserved) {
      const returned = method.call(readArguments(method.spec, self, args))
      return returned instanceof Promise ? returned : Promise.resolve(returned)
    }
    return runMethod(method, createContext(method, self, args))
  } catch (error) {
    return Promise.reject(error)
  }
}
