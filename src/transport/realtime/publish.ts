import { ArgumentError } from '../../core/errors/setup-errors.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { Params } from '../../core/index.ts'
import type { EventData } from '../../core/method-arguments.ts'
import { hasMethod } from '../../core/value-kind.ts'

/** One caller with an open stream. */
export interface Subscriber {
  /** The params of its call of `find` after the hooks, with `params.user` for example. */
  readonly params: Params
}

/** The event that a publisher decides about. */
export interface PublishContext {
  /** The application of the service. */
  readonly app: object
  /** The path of the service. */
  readonly path: string
  /** The name of the event: `patched`. */
  readonly event: string
}

/**
 * Returns whether a subscriber, who may read a record, receives its event. Called with the stored record. Must return
 * `true` or `false`, not a promise.
 */
export type Publisher<T = Record<string, unknown>> = (
  record: T,
  context: PublishContext,
  subscriber: Subscriber,
) => boolean

/** The key of a service's publisher. */
const PUBLISHER: unique symbol = Symbol('remex.publisher')

/**
 * Restricts who receives the events of a service's records, in addition to the hooks of `find`. If the publisher throws
 * or returns no boolean, no event is sent and the error is logged.
 * @throws {TypeError} the publisher is not a function
 */
export function publish<T = Record<string, unknown>>(
  service: object,
  publisher: Publisher<T>,
): void {
  if (typeof publisher !== 'function') {
    throw new ArgumentError(
      'publish(): the publisher must be a function (record, context, subscriber)',
    )
  }
  Object.defineProperty(service, PUBLISHER, { value: publisher, configurable: true })
}

/** Gives a service the method `publish`, unless it has one of this name. */
export function addPublishMethod(service: object): void {
  if (hasMethod(service, 'publish')) return
  const value = (publisher: Publisher): object => {
    publish(service, publisher)
    return service
  }
  Object.defineProperty(value, PUBLISHER, { value: true })
  describeFunction(value, { isReplaceable: true })
  Object.defineProperty(service, 'publish', { value, configurable: true, writable: true })
}

/** Removes the method and the publisher from a service. */
export function removePublishMethod(service: object): void {
  const { publish: method } = service as { readonly publish?: object }
  if (method !== undefined && PUBLISHER in method) Reflect.deleteProperty(service, 'publish')
  Reflect.deleteProperty(service, PUBLISHER)
}

declare module '../../core/services/service-map.ts' {
  interface ServiceMembers<S> {
    /**
     * Restricts who receives events of the service's records over streams. Added by `realtime()`, unless the service
     * has a method of this name.
     */
    publish(publisher: Publisher<EventData<S, 'created'>>): unknown
  }
}

/** Returns the publisher of a service, `undefined` if events go to everyone who may read the record. */
export function findPublisher(service: object): Publisher | undefined {
  return (service as { readonly [PUBLISHER]?: Publisher })[PUBLISHER]
}
