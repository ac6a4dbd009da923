import { hasMethod } from '../value-kind.ts'
import type { Listener } from './emitter.ts'
import { callListener, EMITTER_METHODS, Emitter } from './emitter.ts'

/** Called with what a listener of the service threw or rejected with. */
type OnError = (error: unknown, event: string | symbol) => void

interface NodeEmitter {
  emit(event: string | symbol, ...values: unknown[]): boolean
  rawListeners(event: string | symbol): Listener[]
}

/**
 * Returns the methods that make a service an emitter. One that is an emitter already keeps its own:
 * of Node's emitter only `emit` is replaced, because a listener that fails there stops the others.
 */
export function createEmitterMethods(service: object, onError: OnError): Record<string, unknown> {
  if (isNodeEmitter(service)) return { emit: createEmit(service, onError) }
  if (hasMethod(service, 'on') && hasMethod(service, 'emit')) return {}
  return bindEmitter(new Emitter(onError), service)
}

/**
 * Whether the service inherits from an emitter like Node's, and does not emit in a way of its own:
 * one of this package has the same methods, and lets no listener fail the others.
 */
function isNodeEmitter(service: object): service is NodeEmitter {
  return (
    !(service instanceof Emitter) &&
    hasMethod(service, 'rawListeners') &&
    findOwner(service, 'emit') === findOwner(service, 'rawListeners')
  )
}

/** Returns the object in the chain of prototypes that a property comes from. */
function findOwner(object: object | null, name: string): object | null {
  if (object === null || Object.hasOwn(object, name)) return object
  return findOwner(Object.getPrototypeOf(object), name)
}

function createEmit(service: NodeEmitter, onError: OnError): NodeEmitter['emit'] {
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

function bindEmitter(emitter: Emitter, service: object): Record<string, unknown> {
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
