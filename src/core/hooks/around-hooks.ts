import type { HookApplication, Next } from './hook-context.ts'

type AroundStep<C> = (context: C, next: () => Promise<void>) => unknown

/** What around hooks run around: the call of a method, or `setup` of an application. */
export interface Surrounded {
  readonly app: HookApplication
  readonly method: string
  readonly path?: string
  readonly self?: object
  running: Next | null
  settleParams?(): void
}

/**
 * Handed to `next`: looks at what it and the hooks around have started. With `true` only where `next` was
 * not called before: a call has ended well, and a hook may go on.
 */
export const WATCH_RESTS: unique symbol = Symbol('remex.watch')

/**
 * Handed to `next`, it allows a further run after one that has succeeded: for a hook that knows that
 * nothing of what the run did has been kept.
 */
export const TAKEN_BACK: unique symbol = Symbol('remex.takenBack')

/** Runs the rest of a call for a hook, with what a hook around it has handed to its own `next`. */
export function runRest(next: () => Promise<void>, reasons: readonly unknown[]): Promise<void> {
  return (next as (...given: unknown[]) => Promise<void>)(...reasons)
}

const CALLED_TWICE = 'next() called multiple times'

const NOTHING = Promise.resolve()

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

/**
 * Has failures logged of what around hooks have started by `next()`, where they end without waiting for
 * it: nobody else would hear of them, and the process of a server would end. To be called when something has failed,
 * or a call ends too early; to do it for each hook of each call would make five hooks a third slower.
 */
export function watchRests(context: Surrounded): void {
  context.running?.(WATCH_RESTS)
}

/**
 * Returns the chain of an around hook, which is called with the object that the method is
 * called on.
 */
export function toAroundChain<C extends Surrounded>(
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
          const watch = (): void => watchRest(hook, ended, rest, context)
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
      ended = Promise.resolve(hook.call(context.self, context, next) as undefined)
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

/**
 * Has a failure logged of what one hook has started, if the hook has ended by then.
 * @param ended settles when the hook has ended; `null` while it has not returned
 * @param rest the rest of the call, from `next()` on
 */
function watchRest(
  hook: object,
  ended: Promise<void> | null,
  rest: Promise<void> | null,
  { app, path, method }: Surrounded,
): void {
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
