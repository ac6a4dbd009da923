import type { HookApplication } from './hook-context.ts'

type AroundStep<C> = (context: C, next: () => Promise<void>) => unknown

/** The calls that around hooks surround: of a method, or `setup` of an application. */
export interface Surrounded {
  readonly app: HookApplication
  readonly method: string
  readonly path?: string
  readonly self?: object
  /** Whether an around hook has started: its return value is not a result. */
  isSurrounded: boolean
  settleParams?(): void
}

/**
 * Passed to `next`, it allows another run after a successful one: for a hook that has rolled back everything
 * that the run did.
 */
export const TAKEN_BACK: unique symbol = Symbol('remex.takenBack')

/** Runs the rest of a call for a hook, with what an outer hook has passed to its own `next`. */
export function runRest(next: () => Promise<void>, reasons: readonly unknown[]): Promise<void> {
  return (next as (...given: unknown[]) => Promise<void>)(...reasons)
}

const CALLED_TWICE = 'next() called multiple times'

/** Returns a chain of around hooks only, as for `setup` and `teardown` of an application. */
export function composeAround<C extends Surrounded>(
  hooks: readonly AroundStep<C>[],
  innermost: (context: C) => Promise<void>,
): (context: C) => Promise<void> {
  return hooks.reduceRight<(context: C) => Promise<void>>(
    (inner, hook) => toAroundChain(hook, inner),
    innermost,
  )
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
    let ended: Promise<void> | null = null
    let rest: Promise<void> | null = null
    const next = (reason?: unknown): Promise<void> => {
      if (rest === null) {
        context.settleParams?.()
        rest = inner(context)
      } else rest = runAgain(rest, context, inner, reason === TAKEN_BACK)
      const started = rest
      started.then(undefined, (error: unknown) => {
        // A promise that the hook returns is handled by the code that gets it.
        if (ended !== started) noteLate(hook, ended, error, context)
      })
      return started
    }
    context.isSurrounded = true
    try {
      ended = Promise.resolve(hook.call(context.self, context, next) as undefined)
    } catch (error) {
      ended = Promise.reject(error)
    }
    return ended
  }
}

/**
 * Runs the rest of a call once more, for a hook that retries after a failure. Only then checks how the last
 * run ended.
 * @throws {Error} the last run is still running, was itself rejected as a second run, or has succeeded
 *   without being rolled back
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
  // By then, the callbacks of an already settled promise have run.
  await null
  if (!isAllowed) throw new Error(CALLED_TWICE)
  context.settleParams?.()
  await inner(context)
}

/**
 * Logs a failure of what a hook started by `next()`, if the hook ended without waiting for it: the error
 * would otherwise be lost.
 * @param ended settles when the hook has ended
 */
function noteLate(
  hook: object,
  ended: Promise<void> | null,
  err: unknown,
  { app, path, method }: Surrounded,
): void {
  let hasEnded = false
  const end = (): void => {
    hasEnded = true
  }
  ended?.then(end, end)
  // A hook that waits continues, and ends, after this.
  queueMicrotask(() => {
    if (!hasEnded) return
    const { name } = hook as { readonly name?: string }
    app.logger.error(
      { err, service: path, method, hook: name || 'anonymous' },
      'A hook must await next(): it has failed after the hook has ended',
    )
  })
}
