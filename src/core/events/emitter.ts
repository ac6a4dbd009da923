import { ArgumentError } from '../errors/setup-errors.ts'
import type { HookApplication } from '../hooks/hook-context.ts'
import { hasMethod } from '../value-kind.ts'

/** Called with the emitted values. May return a promise, whose rejection is reported, not thrown. */
export type Listener = (...values: never[]) => unknown

interface Registration {
  readonly listener: Listener
  readonly once: boolean
}

/** Called with what a listener threw or rejected with. */
type ListenerErrorHandler = (error: unknown, event: string | symbol) => void

/** Logs that a listener of an event failed: the caller of the method does not get its error. */
export function logListenerError({ logger }: HookApplication, error: unknown, event: string): void {
  logger.error({ err: error, event }, 'An event listener failed')
}

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

  /** Adds a listener after the others of an event. */
  on(event: string | symbol, listener: Listener): this {
    return this.#add(event, listener)
  }

  /** The same as {@link on}. */
  addListener(event: string | symbol, listener: Listener): this {
    return this.on(event, listener)
  }

  /** Adds a listener that is called only for the next event. */
  once(event: string | symbol, listener: Listener): this {
    return this.#add(event, listener, { once: true })
  }

  /** Adds a listener before the others of an event. */
  prependListener(event: string | symbol, listener: Listener): this {
    return this.#add(event, listener, { isFirst: true })
  }

  /** Adds a listener before the others that is called only for the next event. */
  prependOnceListener(event: string | symbol, listener: Listener): this {
    return this.#add(event, listener, { once: true, isFirst: true })
  }

  /** Removes a listener; if it was added several times, the latest one. */
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
      // It may be gone: another listener may have emitted the same event and used it up.
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

  /** The same as {@link listeners}: one-time listeners are not wrapped here. */
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

  /** Does nothing: Node warns above its limit, but here there is none. */
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

  #add(event: string | symbol, listener: Listener, { once = false, isFirst = false } = {}): this {
    if (typeof listener !== 'function') {
      throw new ArgumentError(`The listener of '${String(event)}' must be a function`)
    }
    const others = this.#of(event)
    const added = { listener, once }
    this.#registrations.set(event, isFirst ? [added, ...others] : [...others, added])
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

/** Calls a listener; what it throws or rejects with only goes to `onError`. */
function callListener(
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

interface NodeEmitter {
  emit(event: string | symbol, ...values: unknown[]): boolean
  rawListeners(event: string | symbol): Listener[]
}

/**
 * Returns the methods that make a service an emitter. An existing emitter keeps its methods; only `emit` of
 * Node's emitter is replaced, because a failing listener there stops the others.
 */
export function createEmitterMethods(
  service: object,
  onError: ListenerErrorHandler,
): Record<string, unknown> {
  if (isNodeEmitter(service)) return { emit: createEmit(service, onError) }
  if (hasMethod(service, 'on') && hasMethod(service, 'emit')) return {}
  const emitter = new Emitter(onError)
  const methods = EMITTER_METHODS.map((name) => {
    const method = emitter[name] as (...values: unknown[]) => unknown
    const bound = (...values: unknown[]): unknown => {
      const returned = method.apply(emitter, values)
      return returned === emitter ? service : returned
    }
    return [name, bound] as const
  })
  return Object.fromEntries(methods)
}

/**
 * Whether the service inherits from an emitter like Node's, without its own `emit`. The emitter of this
 * package has the same methods, but a failing listener never affects the others.
 */
function isNodeEmitter(service: object): service is NodeEmitter {
  return (
    !(service instanceof Emitter) &&
    hasMethod(service, 'rawListeners') &&
    findOwner(service, 'emit') === findOwner(service, 'rawListeners')
  )
}

/** Returns the object in the prototype chain that has a property. */
function findOwner(object: object | null, name: string): object | null {
  if (object === null || Object.hasOwn(object, name)) return object
  return findOwner(Object.getPrototypeOf(object), name)
}

function createEmit(service: NodeEmitter, onError: ListenerErrorHandler): NodeEmitter['emit'] {
  const original = service.emit
  return (event, ...values) => {
    // Node's emitter throws an `error` event that has no listener.
    if (event === 'error') return original.call(service, event, ...values)
    const listeners = service.rawListeners(event)
    for (const listener of listeners) {
      callListener(listener, service, values, (error) => onError(error, event))
    }
    return listeners.length > 0
  }
}
