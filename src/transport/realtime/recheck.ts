/** The event of a service whose callers may have gained or lost rights. */
export const RECHECK_STREAMS: unique symbol = Symbol('remex.recheckStreams')

/**
 * Has all streams of a service look up now what their callers may read, in all processes that a bus joins:
 * after a member was added to a team, or has left it. Without it they do so every `recheckMs`.
 */
export function recheckStreams(service: object): void {
  const emitter = service as { emit(event: symbol): unknown }
  emitter.emit(RECHECK_STREAMS)
}
