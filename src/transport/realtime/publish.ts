import { describeFunction } from '../../core/function-metadata.ts'
import type { Params } from '../../core/index.ts'
import type { EventData } from '../../core/method-arguments.ts'
import { hasMethod } from '../../core/value-kind.ts'

/** One caller with an open stream. */
export interface Subscriber {
  /** The params of its call of `find`, as the hooks have left them: `params.user`, for one. */
  readonly params: Params
}

/** The event that a publisher is asked about. */
export interface PublishContext {
  /** The application of the service. */
  readonly app: object
  /** The path of the service. */
  readonly path: string
  /** The name of the event: `patched`. */
  readonly event: string
}

/**
 * Says whether a subscriber hears of a record, which it could read. Called with the record as it is
 * stored; returns `true` or `false`, and no promise.
 */
export type Publisher<T = Record<string, unknown>> = (
  record: T,
  context: PublishContext,
  subscriber: Subscriber,
) => boolean

/** Where a service keeps its publisher. */
const PUBLISHER: unique symbol = Symbol('remex.publisher')

/**
 * Narrows who hears of the records of a service, beyond what the hooks of `find` say. One that throws, or
 * returns no boolean, tells nobody, and is logged.
 * @throws {TypeError} the publisher is no function
 */
export function publish<T = Record<string, unknown>>(
  service: object,
  publisher: Publisher<T>,
): void {
  if (typeof publisher !== 'function') {
    throw new TypeError('publish(): the publisher must be a function (record, context, subscriber)')
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

/** Takes the method, and the publisher, from a service again. */
export function removePublishMethod(service: object): void {
  const { publish: method } = service as { readonly publish?: object }
  if (method !== undefined && PUBLISHER in method) Reflect.deleteProperty(service, 'publish')
  Reflect.deleteProperty(service, PUBLISHER)
}

declare module '../../core/services/service-map.ts' {
  interface ServiceMembers<S> {
    /**
     * Narrows who hears of the records of the service by streams. There once `realtime()` is configured, unless
     * the service has a method of this name.
     */
    publish(publisher: Publisher<EventData<S, 'created'>>): unknown
  }
}

/** Returns the publisher of a service, `undefined` for one that tells everybody who may read. */
export function findPublisher(service: object): Publisher | undefined {
  return (service as { readonly [PUBLISHER]?: Publisher })[PUBLISHER]
}
