import type { HookRegistry, StoredHook } from './hook-registry.ts'
import type { MethodCall } from './method-call.ts'
import type { Chain, Layer, Surrounded } from './run-hooks.ts'
import { runMethodAlone, toChain, WATCH_RESTS, watchRest, watchRests } from './run-hooks.ts'

type AroundStep<C> = (context: C, next: () => Promise<void>) => unknown

type Step = StoredHook | Layer

const CALLED_TWICE = 'next() called multiple times'

const NOTHING = Promise.resolve()

/**
 * Handed to `next`, it allows a further run after one that has succeeded: for a hook that knows that
 * nothing of what the run did has been kept.
 */
export const TAKEN_BACK: unique symbol = Symbol('remex.takenBack')

/** The before hooks of one method: those of all methods, then its own. */
export interface BeforeHooks {
  readonly all: readonly StoredHook[]
  readonly own: readonly StoredHook[]
}

/** The hooks of an application or a service. */
interface HookSource {
  readonly hooks: HookRegistry
  /** Puts a check of what callers have sent between the before hooks. Default: there is none. */
  readonly schemas?: { addCheck(before: BeforeHooks): BeforeHooks } | null
}

/**
 * Returns the chain of a method, `null` when nothing runs around it.
 * @param sources the hooks of the application, then those of the service: outermost first
 */
export function compileChain(
  sources: readonly HookSource[],
  method: string,
  call: MethodCall,
): Chain | null {
  const steps = mergeLayers(sources.flatMap((source) => toSteps(source, method)))
  return steps.reduceRight<Chain | null>((inner, step) => {
    if (isLayer(step)) return toChain(step, inner, call)
    return toAroundChain(step, inner ?? ((context) => runMethodAlone(call, context)))
  }, null)
}

/** Returns a chain of around hooks alone, as `setup` and `teardown` of an application have them. */
export function composeAround<C extends Surrounded>(
  hooks: readonly AroundStep<C>[],
  innermost: (context: C) => Promise<void>,
): (context: C) => Promise<void> {
  const toWatched = (inner: (context: C) => Promise<void>) => (context: C) => {
    watchRests(context)
    return inner(context)
  }
  return hooks.reduceRight<(context: C) => Promise<void>>(
    (inner, hook) => toAroundChain(hook, toWatched(inner)),
    innermost,
  )
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
    const isMergeable = isLayer(step) && step.error.length === 0 && isLayer(outer)
    if (isMergeable) merged[merged.length - 1] = joinLayers(outer, step)
    else merged.push(step)
  }
  return merged
}

function joinLayers(outer: Layer, inner: Layer): Layer {
  return {
    before: [...outer.before, ...inner.before],
    after: [...inner.after, ...outer.after],
    error: outer.error,
  }
}

function isLayer(step: Step | undefined): step is Layer {
  return typeof step === 'object'
}

/**
 * Returns the chain of an around hook, which is called with the object that the method is
 * called on.
 */
function toAroundChain<C extends Surrounded>(
  hook: AroundStep<C>,
  inner: (context: C) => Promise<void>,
): (context: C) => Promise<void> {
  return (context) => {
    const outer = context.running
    let ended: Promise<void> | null = null
    let rest: Promise<void> | null = null
    let isWatched = false
    const next = (reason?: unknown, isEnd?: boolean): Promise<void> => {
      if (reason === WATCH_RESTS) {
        if (!isEnd || rest === null) {
          const watch = (): void => watchRest({ hook, ended, rest }, context)
          // What fails at once does so before `next()` has returned, which sets `rest`.
          if (!isWatched) rest === null ? queueMicrotask(watch) : watch()
          isWatched = true
          outer?.(WATCH_RESTS)
        }
        return NOTHING
      }
      // What is started again, or after the end of the call, nobody else has looked at.
      if (rest !== null || isWatched) {
        isWatched = false
        context.running = next
        queueMicrotask(() => watchRests(context))
      }
      if (rest === null) {
        context.settleParams?.()
        rest = inner(context)
      } else rest = runAgain(rest, context, inner, reason === TAKEN_BACK)
      return rest
    }
    context.running = next
    try {
      const returned = hook.call(context.self, context, next)
      ended = returned instanceof Promise ? returned : Promise.resolve(returned as undefined)
    } catch (error) {
      ended = Promise.reject(error)
    }
    return ended
  }
}

/**
 * Runs the rest of a call once more, for a hook that tries again what has failed. Only then is it
 * looked at how the last run went: a promise more for every call would cost as much as a hook.
 * @throws {Error} the last run goes on, was refused itself, or has succeeded and was not taken back
 */
async function runAgain<C extends Surrounded>(
  last: Promise<void>,
  context: C,
  inner: (context: C) => Promise<void>,
  isTakenBack: boolean,
): Promise<void> {
  let isAllowed = false
  last.then(
    () => {
      isAllowed = isTakenBack
    },
    (error: unknown) => {
      isAllowed = !(error instanceof Error && error.message === CALLED_TWICE)
    },
  )
  // A promise that was settled before has told so when this goes on.
  await null
  if (!isAllowed) throw new Error(CALLED_TWICE)
  context.settleParams?.()
  await inner(context)
}
