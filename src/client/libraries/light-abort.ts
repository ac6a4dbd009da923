type Listener = () => void

/**
 * Aborts a request, for libraries that take any object with the listeners of an `AbortSignal`: one of
 * the platform costs a third of a request of undici.
 */
export class LightAbort {
  readonly signal: LightSignal = new LightSignal()

  /** Aborts what listens to the signal. */
  abort(reason: unknown): void {
    this.signal.end(reason)
  }
}

/** The part of an `AbortSignal` that this package and such libraries use. */
class LightSignal {
  aborted = false
  reason: unknown
  #listeners: readonly Listener[] = []

  addEventListener(_type: 'abort', listener: Listener): void {
    this.#listeners = [...this.#listeners, listener]
  }

  removeEventListener(_type: 'abort', listener: Listener): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener)
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  end(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener()
  }
}
