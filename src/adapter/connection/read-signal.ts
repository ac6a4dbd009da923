import { CallAborted, CallTimeout } from '../../core/errors/coded-errors.ts'
import { ServiceError } from '../../core/errors/index.ts'
import { followSignal } from '../../core/follow-signal.ts'
import type { Params } from '../../core/params.ts'
import type { DriverOptions } from '../mongodb-params.ts'

/** How long a read runs before it asks for the signal of its caller, in milliseconds. */
const FOLLOW_AFTER_MS = 20

type Listener = (this: ReadSignal) => void

/**
 * Follows the signal of a caller for one read, with the members of an `AbortSignal` that the driver uses. A
 * platform signal costs a tenth of a read, and a request only creates its signal when asked. This class asks
 * after the read has run for a moment: most reads are over by then.
 */
export class ReadSignal {
  aborted = false
  reason: unknown
  readonly #params: Pick<Params, 'signal'>
  #listeners: Listener[] = []
  #timer: NodeJS.Timeout | null = null
  #unfollow: (() => void) | null = null

  /**
   * Makes the driver follow the signal of its options, else that of the params. Returns what it follows,
   * `null` without a signal.
   */
  static follow(params: Pick<Params, 'signal'>, driver: DriverOptions): ReadSignal | null {
    const source = driver.signal ? driver : params
    const isLazy = hasLazySignal(source)
    if (!isLazy && source.signal === undefined) return null
    // A signal in the params exists anyway, and may already be aborted.
    const signal = new ReadSignal(source, isLazy ? FOLLOW_AFTER_MS : 0)
    driver.signal = signal as unknown as AbortSignal
    return signal
  }

  private constructor(params: Pick<Params, 'signal'>, delayMs: number) {
    this.#params = params
    if (delayMs === 0) this.#followSource()
    else this.#timer = setTimeout(() => this.#followSource(), delayMs)
  }

  addEventListener(_name: 'abort', listener: Listener): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_name: 'abort', listener: Listener): void {
    this.#listeners = this.#listeners.filter((other) => other !== listener)
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  /** Stops following the signal of the caller: the read is over. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#unfollow?.()
  }

  #followSource(): void {
    const source = this.#params.signal
    if (source === undefined) return
    if (source.aborted) this.#tellListeners(source)
    else this.#unfollow = followSignal(source, () => this.#tellListeners(source))
  }

  #tellListeners({ reason }: AbortSignal): void {
    this.aborted = true
    this.reason = reason
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener.call(this)
  }
}

/**
 * Whether the signal of params is created on demand, like that of a request. It is then not an own property,
 * and a spread of the params loses it.
 */
export function hasLazySignal(params: Pick<Params, 'signal'>): boolean {
  return 'signal' in params && !Object.prototype.propertyIsEnumerable.call(params, 'signal')
}

/** Returns the error for an aborted read. Its status is not 500, since the server is not at fault. */
export function toAbortError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason
  const isTimeout = reason instanceof Error && reason.name === 'TimeoutError'
  return isTimeout
    ? new CallTimeout('The call took too long', null, { cause: reason })
    : new CallAborted('The call was aborted', null, { cause: reason })
}
