import { metadataOf } from '../function-metadata.ts'
import { isObject, isPromise } from '../value-kind.ts'
import { toAroundChain } from './around-hooks.ts'
import type { HookType } from './hook-context.ts'
import { HookContext } from './hook-context.ts'
import type { HookRegistry, StoredHook } from './hook-registry.ts'
import type { MethodCall } from './method-call.ts'
import { setReturned, startMethod } from './method-call.ts'

/** Everything that runs for one method of one service, compiled when hooks change. */
export type Chain = (context: HookContext) => Promise<void>

/** Before, after and error hooks that share one try block. */
interface Layer {
  readonly before: readonly StoredHook[]
  readonly after: readonly StoredHook[]
  readonly error: readonly StoredHook[]
}

type Step = StoredHook | Layer

/** The before hooks of one method: those of all methods, then its own. */
export interface BeforeHooks {
  readonly all: readonly StoredHook[]
  readonly own: readonly StoredHook[]
}

/** The hooks of an application or a service. */
export interface HookSource {
  readonly hooks: Pick<HookRegistry, 'get' | 'getAround'>
  /** Inserts a check of external input between the before hooks. Default: no check. */
  readonly schemas?: { addCheck(before: BeforeHooks): BeforeHooks } | null
}

/**
 * Returns the chain of a method, `null` when nothing runs around it.
 * @param sources where hooks are registered, outermost first
 */
export function compileChain(
  sources: readonly HookSource[],
  method: string,
  call: MethodCall,
): Chain | null {
  const steps = mergeLayers(listSteps(sources, method))
  return steps.reduceRight<Chain | null>((inner, step) => {
    if (isLayer(step)) return toChain(step, inner, call)
    return toAroundChain(step, inner ?? ((context) => runMethodAlone(call, context)))
  }, null)
}

/** The hooks of a method in the order in which they run. */
export interface HookOrder {
  /** Around and before hooks, until the method runs. */
  readonly before: readonly OrderedHook[]
  /** After hooks, when it has run. Around hooks continue at the same time, the outermost last. */
  readonly after: readonly OrderedHook[]
  /** Error hooks, when something has failed. */
  readonly error: readonly OrderedHook[]
}

/** A hook and its kind. */
export interface OrderedHook {
  readonly type: HookType
  readonly hook: StoredHook
}

/**
 * Returns the hooks of a method in the order in which they run, for display.
 * @param sources as for {@link compileChain}
 */
export function listHooks(sources: readonly HookSource[], method: string): HookOrder {
  const steps = listSteps(sources, method)
  const pick = (from: readonly Step[], type: 'before' | 'after' | 'error'): OrderedHook[] =>
    from.flatMap((step): OrderedHook[] => {
      if (isLayer(step)) return step[type].map((hook) => ({ type, hook }))
      return type === 'before' ? [{ type: 'around', hook: step }] : []
    })
  const inward = steps.toReversed()
  return {
    before: pick(steps, 'before'),
    after: pick(inward, 'after'),
    error: pick(inward, 'error'),
  }
}

/**
 * Returns the steps of all sources, outermost first. The last step runs the checks of hooks before a write.
 */
function listSteps(sources: readonly HookSource[], method: string): Step[] {
  const steps = sources.flatMap((source) => toSteps(source, method))
  const before = steps.flatMap((step) => metadataOf(step).findCheck?.(method) ?? [])
  if (before.length > 0) steps.push({ before, after: [], error: [] })
  return steps
}

/** The steps of one source, outermost first, in the documented order. */
function toSteps({ hooks, schemas }: HookSource, method: string): Step[] {
  const given = { all: hooks.get('before', 'all'), own: hooks.get('before', method) }
  const before = schemas == null ? given : schemas.addCheck(given)
  const layers: Layer[] = [
    { before: before.all, after: [], error: hooks.get('error', 'all') },
    {
      before: before.own,
      after: hooks.get('after', method),
      error: hooks.get('error', method),
    },
    { before: [], after: hooks.get('after', 'all'), error: [] },
  ]
  return [
    ...hooks.getAround(method),
    ...layers.filter(({ before, after, error }) => before.length + after.length + error.length > 0),
  ]
}

/** Joins neighbouring layers: an inner one without error hooks fails into the outer one anyway. */
function mergeLayers(steps: readonly Step[]): Step[] {
  const merged: Step[] = []
  for (const step of steps) {
    const outer = merged.at(-1)
    if (isLayer(step) && step.error.length === 0 && isLayer(outer)) {
      merged[merged.length - 1] = {
        before: [...outer.before, ...step.before],
        after: [...step.after, ...outer.after],
        error: outer.error,
      }
    } else merged.push(step)
  }
  return merged
}

function isLayer(step: Step | undefined): step is Layer {
  return typeof step === 'object'
}

/**
 * Returns the chain of one layer: its before hooks, the inner chain or the method call, its after hooks. One
 * function serves both, since each async function in the path costs as much as ten hooks.
 */
function toChain(layer: Layer, inner: Chain | null, call: MethodCall): Chain {
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
      await runErrorHooks(onError, context, toError(thrown))
    }
  }
}

/**
 * Returns a chain of before hooks only. It is not an async function: this saves a promise in each call of a
 * service with just a schema or `authenticate`.
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
  context.type = 'around'
  return Promise.reject(thrown)
}

/** Calls the method inside around hooks only, and sets its result unless there is one. */
function runMethodAlone(call: MethodCall, context: HookContext): Promise<void> {
  const pending = startMethod(call, context)
  if (pending === undefined) return Promise.resolve()
  return Promise.resolve(pending).then((returned) => setReturned(context, returned))
}

/** Runs hooks one after the other. Returns a promise only if a hook returns one. */
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

/** Throws the final `context.error`, unless a hook cleared it or set a result. */
async function runErrorHooks(
  hooks: readonly StoredHook[],
  context: HookContext,
  error: unknown,
): Promise<void> {
  // An error passed on by an inner layer already has its snapshot.
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

/** Error hooks clear `context.error` to swallow it, so `throw undefined` needs a value there. */
function toError(thrown: unknown): unknown {
  return thrown ?? new Error(`${thrown} was thrown`)
}

/** Properties that identify the call; hooks cannot change them. */
const FIXED: ReadonlySet<string> = new Set(['app', 'service', 'path', 'method', 'self', 'type'])

/**
 * Assigns onto the context what a before, after or error hook returned, if it is a copy of the context with
 * changes: `{ ...context, data }`. A copy is recognised by the application in it, which external data cannot
 * contain. Anything else is ignored: it may be a caller's data that happens to have a key `params`.
 */
function mergeReturned(context: HookContext, returned: unknown, hook: object): void {
  if (returned === context || !isObject(returned)) return
  if (!isCopy(context, returned)) {
    context.app.support?.warnOfReturned(context, returned, hook)
    return
  }
  for (const [key, value] of Object.entries(returned)) {
    const isOfEveryContext = key in HookContext.prototype && key !== 'statusCode'
    if (!FIXED.has(key) && !isOfEveryContext) Reflect.set(context, key, value)
  }
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
