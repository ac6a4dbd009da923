import { tracingChannel } from 'node:diagnostics_channel'
import { getClassName } from '../../core/errors/service-error.ts'
import type { HookSource } from '../../core/hooks/hook-chain.ts'
import type { HookContext, HookType } from '../../core/hooks/hook-context.ts'
import type { StoredHook } from '../../core/hooks/hook-registry.ts'
import { toServiceError } from '../../core/index.ts'
import type { CallStart, MethodEntry } from '../../core/services/method-entry.ts'
import { toUnobserved } from '../../core/services/run-method.ts'
import type { TransportParams } from '../../core/transport-facts.ts'
import { TRANSPORT_FACTS } from '../../core/transport-facts.ts'

/** The message of `remex:call` about a call: who calls what, and how it ended. No data and no ids. */
export interface ObservedCall {
  /** The path of the service. */
  readonly path: string
  readonly method: string
  /** `'rest'` for an external call, `undefined` for an internal one. */
  readonly provider: string | undefined
  /** The id of the HTTP request, as in the log. */
  readonly requestId: string | undefined
  /** `'success'`, or the name of the error's class: `'NotFound'`. `undefined` until the call has ended. */
  outcome: string | undefined
  /** The status of the error; `undefined` without one. */
  code: number | undefined
  /** The duration of the call, in ms; `undefined` until it has ended. */
  durationMs: number | undefined
  /** The number of database calls it has made, for an external call; `undefined` until it has ended. */
  databaseCalls: number | undefined
}

/** The message of `remex:hook` about a named hook. */
export interface ObservedHook
  extends Pick<ObservedCall, 'path' | 'method' | 'outcome' | 'code' | 'durationMs'> {
  /** The name of the function. */
  readonly hook: string
  readonly type: HookType
}

const CALLS = tracingChannel<unknown, ObservedCall>('remex:call')
const HOOKS = tracingChannel<unknown, ObservedHook>('remex:hook')

/** Returns whether calls are being observed. */
export function isObserved(): boolean {
  return CALLS.hasSubscribers
}

/** Returns what starts the calls of a method. It looks for subscribers at each call: a channel does not announce them. */
export function observe(method: MethodEntry): CallStart {
  const start = toUnobserved(method)
  return (context) => (CALLS.hasSubscribers ? traceCall(method, context, start) : start(context))
}

/** Calls a listener for each call that ends. Returns a function that stops this. */
export function followCalls(listener: (call: Readonly<ObservedCall>) => void): () => void {
  const onEnd = (message: unknown): void => listener(message as ObservedCall)
  CALLS.asyncEnd.subscribe(onEnd)
  return () => void CALLS.asyncEnd.unsubscribe(onEnd)
}

/** Returns hook sources whose named hooks are traced, if hooks are being observed. */
export function traceHooks(sources: readonly HookSource[]): readonly HookSource[] {
  return HOOKS.hasSubscribers ? sources.map(observeSource) : sources
}

function traceCall(method: MethodEntry, context: HookContext, start: CallStart): Promise<unknown> {
  const { path, params } = context
  const { provider, requestId } = params
  const call: ObservedCall = {
    ...{ path, method: method.name, provider, requestId, ...UNSETTLED },
    databaseCalls: undefined,
  }
  return trace(
    CALLS,
    call,
    () => start(context),
    () => {
      call.databaseCalls = (context.params as TransportParams)[TRANSPORT_FACTS]?.databaseCalls
    },
  )
}

/** The fields that are set when a call or a hook has ended. */
const UNSETTLED = { outcome: undefined, code: undefined, durationMs: undefined }

/** Runs a function between the events of a channel. Unlike Node's `trace`, it does not publish the result. */
function trace<Event extends Pick<ObservedCall, keyof typeof UNSETTLED>>(
  channel: typeof CALLS | typeof HOOKS,
  event: Event,
  run: () => unknown,
  onEnd?: () => void,
): Promise<unknown> {
  const { start, end, asyncStart, asyncEnd, error: failed } = channel
  const startedAt = performance.now()
  return start.runStores(event as never, () => {
    const pending = startPromise(run)
    end.publish(event)
    const settle = (outcome: string, code?: number): void => {
      Object.assign(event, { outcome, code, durationMs: performance.now() - startedAt })
      onEnd?.()
      if (code !== undefined) failed.publish(event)
      asyncStart.publish(event)
      asyncEnd.publish(event)
    }
    return pending.then(
      (result) => {
        settle('success')
        return result
      },
      (thrown: unknown) => {
        const error = toServiceError(thrown)
        settle(getClassName(error), error.code)
        throw thrown
      },
    )
  })
}

function startPromise(run: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(run())
  } catch (error) {
    return Promise.reject(error)
  }
}

function observeSource({ hooks, ...source }: HookSource): HookSource {
  return {
    ...source,
    hooks: {
      get: (group, name) => hooks.get(group, name).map(observeHook),
      getAround: (method) => hooks.getAround(method).map(observeHook),
    },
  }
}

/** The channel of the call reports an error that a hook throws. */
function observeHook(hook: StoredHook): StoredHook {
  if (hook.name === '') return hook
  return function observed(this: unknown, context, next) {
    const { path, method, type } = context
    const event: ObservedHook = { path, method, hook: hook.name, type, ...UNSETTLED }
    return trace(HOOKS, event, () => hook.call(this, context, next))
  }
}
