import { BadRequest, ServiceError, Timeout } from '../../core/errors/index.ts'
import { followSignal } from '../../core/follow-signal.ts'
import type { Params } from '../../core/params.ts'
import type { DriverOptions } from '../mongodb-params.ts'

/** How long a read goes on before it asks whether its caller is still there. */
const FOLLOW_AFTER_MS = 20

type Listener = (this: ReadSignal) => void

/**
 * Follows the signal of a caller for one read, as the driver wants to have it. A signal of the
 * platform costs as much as a tenth of a read, and the one of a request is only made when somebody
 * asks for it: this one asks when the read has gone on for a moment, for most reads are over by
 * then. It has the members of an `AbortSignal` that the driver uses.
 */
export class ReadSignal {
  aborted = false
  reason: unknown
  readonly #params: Pick<Params, 'signal'>
  #listeners: Listener[] = []
  #timer: NodeJS.Timeout | null = null
  #unfollow: (() => void) | null = null

  /** Returns what the driver then follows: the signal of its options, else that of the params; `null` for neither. */
  static follow(params: Pick<Params, 'signal'>, driver: DriverOptions): ReadSignal | null {
    const source = driver.signal ? driver : params
    const isLazy = hasLazySignal(source)
    if (!isLazy && source.signal === undefined) return null
    // One that stands in the params itself is there anyway, and may be aborted already.
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
 * Whether the signal of params is made when somebody asks for it, as that of a request is: it is no
 * key of theirs then, and a spread of them loses it.
 */
export function hasLazySignal(params: Pick<Params, 'signal'>): boolean {
  return 'signal' in params && !Object.prototype.propertyIsEnumerable.call(params, 'signal')
}

/** Returns the error for an aborted read. It is no fault of the server, so no status of 500. */
export function toAbortError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason
  const isTimeout = reason instanceof Error && reason.name === 'TimeoutError'
  return isTimeout
    ? new Timeout('The call took too long', null, { cause: reason })
    : new BadRequest('The call was aborted', null, { cause: reason })
}
