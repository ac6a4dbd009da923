import { followSignal } from '../../core/follow-signal.ts'
import type { RequestLabel } from './network-error.ts'
import { createTimeout } from './network-error.ts'

/** Ends a call before its response arrives. */
interface CallLimits {
  readonly signal: AbortSignal | undefined
  /** `Infinity` for no limit. */
  readonly timeoutMs: number
  /** Whether the result is a stream, which the signal can still abort after the call. */
  readonly isStream: boolean
  /** The request, for the error of a call that timed out. */
  readonly label: RequestLabel
}

/** A longer timer would fire at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1

/**
 * Resolves as a call does, unless it times out or its signal aborts first. That ends the call even if the HTTP library
 * ignores signals, and a signal does not disable the limit.
 * @param start starts the call; its signal aborts in both cases
 * @throws {Timeout} the call timed out
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
      // Rejects first: on an abort, the library throws its own error.
      reject(error)
      controller.abort(reason)
    }
    const endLate = (): void => {
      const error = createTimeout(label, timeoutMs)
      end(error, error.cause)
    }
    const timer = hasTimer ? setTimeout(endLate, timeoutMs) : undefined
    const unfollow = signal && followSignal(signal, () => end(toAbortError(signal), signal.reason))
    // A stream is read after the call: its caller can abort it until then, but no time limit applies.
    const { signal: own } = controller
    // Signals of polyfills and other realms cannot be joined, so they are followed instead.
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
