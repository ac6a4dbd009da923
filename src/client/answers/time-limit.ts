import type { Timeout } from '../../core/errors/index.ts'
import { followSignal } from '../../core/follow-signal.ts'

/** What ends a call before its answer is there. */
export interface CallLimits {
  readonly signal: AbortSignal | undefined
  /** `Infinity` for no limit. */
  readonly timeoutMs: number
  /** Whether the signal works until the result has ended: a stream is read after the call. */
  readonly isStream: boolean
}

/** A timer of more would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Resolves as a call does, unless its time is up or its signal aborts before. That ends it whether or
 * not the HTTP library listens to signals, and a signal does not switch the limit off.
 * @param start starts the call; its signal aborts in both cases
 * @param createTimeout makes the error for a call whose time is up
 * @throws {Timeout} the time is up
 * @throws the reason of the signal
 */
export function limitCall(
  { signal, timeoutMs, isStream }: CallLimits,
  start: (signal: AbortSignal | undefined) => Promise<unknown>,
  createTimeout: (timeoutMs: number) => Timeout,
): Promise<unknown> {
  if (signal?.aborted) return Promise.reject(toAbortError(signal))
  const hasTimer = timeoutMs <= MAX_TIMER_MS
  if (!hasTimer && signal === undefined) return start(undefined)
  const controller = new AbortController()
  return new Promise((resolve, reject) => {
    let isEnded = false
    let timer: ReturnType<typeof setTimeout> | undefined
    let unfollow = (): void => undefined
    const stop = (): void => {
      clearTimeout(timer)
      unfollow()
    }
    const end = (error: unknown, reason: unknown): void => {
      isEnded = true
      stop()
      // First: the library answers an abort with an error of its own.
      reject(error)
      controller.abort(reason)
    }
    const finish = (result: unknown): void => {
      if (isEnded) return
      clearTimeout(timer)
      // A stream can be aborted until it has ended, by the caller alone.
      const isLeft = isStream && signal !== undefined
      if (!isLeft) stop()
      resolve(isLeft ? watchStream(result, stop) : result)
    }
    const fail = (error: unknown): void => {
      stop()
      reject(error)
    }
    if (hasTimer) {
      timer = setTimeout(() => {
        const error = createTimeout(timeoutMs)
        end(error, error.cause)
      }, timeoutMs)
    }
    if (signal !== undefined) {
      unfollow = followSignal(signal, () => end(toAbortError(signal), signal.reason))
    }
    start(controller.signal).then(finish, fail)
  })
}

/** Returns the reason of a signal as `fetch` would throw it: `AbortError`, unless another was given. */
function toAbortError({ reason }: AbortSignal): unknown {
  if (reason instanceof Error) return reason
  return Object.assign(new DOMException('The call was aborted', 'AbortError'), { cause: reason })
}

/** A stream of Node, as far as its end is concerned. */
interface NodeStream {
  once(event: 'close', listener: () => void): unknown
}

/**
 * Returns a stream that calls back once it has ended: read to its end, failed or given up. Calls back
 * at once for what is no stream.
 */
function watchStream(stream: unknown, onEnd: () => void): unknown {
  if (stream instanceof ReadableStream) return watchReader(stream.getReader(), onEnd)
  if (isNodeStream(stream)) stream.once('close', onEnd)
  else onEnd()
  return stream
}

/** A stream of the platform has no event for its end: all that is read of it goes through here. */
function watchReader(
  reader: ReadableStreamDefaultReader<unknown>,
  onEnd: () => void,
): ReadableStream {
  // The stream holds nothing back: each chunk is read when the caller asks for it.
  const strategy = { highWaterMark: 0 }
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
        } catch (error) {
          onEnd()
          throw error
        }
        onEnd()
        controller.close()
      },
      cancel(reason) {
        onEnd()
        return reader.cancel(reason)
      },
    },
    strategy,
  )
}

function isNodeStream(value: unknown): value is NodeStream {
  return typeof (value as Partial<NodeStream> | null | undefined)?.once === 'function'
}
