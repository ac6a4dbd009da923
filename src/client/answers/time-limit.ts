import { followSignal } from '../../core/follow-signal.ts'
import type { RequestLabel } from './network-error.ts'
import { createTimeout } from './network-error.ts'

/** What ends a call before its answer is there. */
interface CallLimits {
  readonly signal: AbortSignal | undefined
  /** `Infinity` for no limit. */
  readonly timeoutMs: number
  /** Whether the result is a stream, which the signal still aborts after the call. */
  readonly isStream: boolean
  /** The request, for the error of a call whose time is up. */
  readonly label: RequestLabel
}

/** A timer of more would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Resolves as a call does, unless its time is up or its signal aborts before. That ends it whether or
 * not the HTTP library listens to signals, and a signal does not switch the limit off.
 * @param start starts the call; its signal aborts in both cases
 * @throws {Timeout} the time is up
 * @throws the reason of the signal
 */
export function limitCall(
  { signal, timeoutMs, isStream, label }: CallLimits,
  start: (signal: AbortSignal | undefined) => Promise<unknown>,
): Promise<unknown> {
  if (signal?.aborted) return Promise.reject(toAbortError(signal))
  const hasTimer = timeoutMs <= MAX_TIMER_MS
  if (!hasTimer && signal === undefined) return start(undefined)
  const controller = new AbortController()
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      unfollow?.()
    }
    const end = (error: unknown, reason: unknown): void => {
      stop()
      // First: the library answers an abort with an error of its own.
      reject(error)
      controller.abort(reason)
    }
    const endLate = (): void => {
      const error = createTimeout(label, timeoutMs)
      end(error, error.cause)
    }
    const timer = hasTimer ? setTimeout(endLate, timeoutMs) : undefined
    const unfollow = signal && followSignal(signal, () => end(toAbortError(signal), signal.reason))
    // A stream is read after the call: its caller can abort it until then, and no time limit does.
    const { signal: own } = controller
    // Signals of polyfills and other realms can not be joined: those are followed on.
    const isJoined = isStream && signal instanceof AbortSignal
    start(isJoined ? AbortSignal.any([signal, own]) : own)
      .finally(() => (isStream && !isJoined ? clearTimeout(timer) : stop()))
      .then(resolve, (error) => {
        stop()
        reject(error)
      })
  })
}

/** Returns the reason of a signal as `fetch` would throw it: `AbortError`, unless another was given. */
function toAbortError({ reason }: AbortSignal): unknown {
  if (reason instanceof Error) return reason
  return Object.assign(new DOMException('The call was aborted', 'AbortError'), { cause: reason })
}
