/**
 * Called with what was emitted. A promise may be returned; its rejection is reported, not thrown.
 */
export type Listener = (...values: never[]) => unknown

interface Registration {
  readonly listener: Listener
  readonly once: boolean
}

/** Called with what a listener threw or rejected with. */
type ListenerErrorHandler = (error: unknown, event: string | symbol) => void

/**
 * The event emitter of applications and services, with the method names of Node's. It runs in
 * browsers, and a listener that fails neither stops the others nor reaches the emitting code.
 */
export class Emitter {
  readonly #registrations = new Map<string | symbol, readonly Registration[]>()
  readonly #onListenerError: ListenerErrorHandler

  constructor(onListenerError: ListenerErrorHandler) {
    this.#onListenerError = onListenerError
  }

  /** Adds a listener behind the others of an event. */
  on(event: string | symbol, listener: Listener): this {
    return this.#add(event, { listener, once: false }, 'last')
  }

  /** The same as {@link on}. */
  addListener(event: string | symbol, listener: Listener): this {
    return this.on(event, listener)
  }

  /** Adds a listener that is called for the next event alone. */
  once(event: string | symbol, listener: Listener): this {
    return this.#add(event, { listener, once: true }, 'last')
  }

  /** Adds a listener before the others of an event. */
  prependListener(event: string | symbol, listener: Listener): this {
    return this.#add(event, { listener, once: false }, 'first')
  }

  /** Adds a listener before the others that is called for the next event alone. */
  prependOnceListener(event: string | symbol, listener: Listener): this {
    return this.#add(event, { listener, once: true }, 'first')
  }

  /** Removes a listener; of one that was added several times the latest. */
  off(event: string | symbol, listener: Listener): this {
    const latest = this.#of(event).findLast((registration) => registration.listener === listener)
    if (latest !== undefined) this.#remove(event, latest)
    return this
  }

  /** The same as {@link off}. */
  removeListener(event: string | symbol, listener: Listener): this {
    return this.off(event, listener)
  }

  /** Removes the listeners of an event, or of all events. */
  removeAllListeners(event?: string | symbol): this {
    if (event === undefined) this.#registrations.clear()
    else this.#registrations.delete(event)
    return this
  }

  /** Calls the listeners in their order. Returns whether there was one. */
  emit(event: string | symbol, ...values: unknown[]): boolean {
    const registrations = this.#of(event)
    for (const registration of registrations) {
      // It may be gone by now: another listener may have emitted the same event and used it up.
      if (registration.once && !this.#remove(event, registration)) continue
      callListener(registration.listener, undefined, values, (error) => {
        this.#onListenerError(error, event)
      })
    }
    return registrations.length > 0
  }

  /** Returns the listeners of an event in the order of their calls. */
  listeners(event: string | symbol): Listener[] {
    return this.#of(event).map(({ listener }) => listener)
  }

  /** The same as {@link listeners}: here those for one event alone are not wrapped. */
  rawListeners(event: string | symbol): Listener[] {
    return this.listeners(event)
  }

  /** Returns how many listeners an event has. */
  listenerCount(event: string | symbol): number {
    return this.#of(event).length
  }

  /** Returns the events that have listeners. */
  eventNames(): (string | symbol)[] {
    return [...this.#registrations.keys()]
  }

  /** Changes nothing: Node warns above its limit, and here there is none. */
  setMaxListeners(_count: number): this {
    return this
  }

  /** Returns `Infinity`. */
  getMaxListeners(): number {
    return Number.POSITIVE_INFINITY
  }

  #of(event: string | symbol): readonly Registration[] {
    return this.#registrations.get(event) ?? []
  }

  #add(event: string | symbol, registration: Registration, end: 'first' | 'last'): this {
    if (typeof registration.listener !== 'function') {
      throw new TypeError(`The listener of event '${String(event)}' must be a function`)
    }
    const others = this.#of(event)
    const all = end === 'last' ? [...others, registration] : [registration, ...others]
    this.#registrations.set(event, all)
    return this
  }

  /** Returns whether the registration was there. */
  #remove(event: string | symbol, registration: Registration): boolean {
    const registrations = this.#of(event)
    const others = registrations.filter((other) => other !== registration)
    if (others.length === 0) this.#registrations.delete(event)
    else this.#registrations.set(event, others)
    return others.length < registrations.length
  }
}

/** The names of all methods of an {@link Emitter}. */
export const EMITTER_METHODS: readonly (keyof Emitter)[] = Object.getOwnPropertyNames(
  Emitter.prototype,
).filter((name): name is keyof Emitter => name !== 'constructor')

/** Calls a listener; what it throws, or rejects with, goes to `onError` and nowhere else. */
export function callListener(
  listener: Listener,
  self: object | undefined,
  values: readonly unknown[],
  onError: (error: unknown) => void,
): void {
  try {
    const returned = (listener as (...all: unknown[]) => unknown).apply(self, values as unknown[])
    if (returned instanceof Promise) returned.catch(onError)
  } catch (error) {
    onError(error)
  }
}
