import { findServiceEntry } from '../../core/services/service-entry.ts'
import type { RemoteService } from '../remote-service.ts'
import type { StreamOptions, Subscriber } from './event-reader.ts'
import { EventReader } from './event-reader.ts'
import type { SubscriptionParams } from './live-event.ts'
import { createStreamCall } from './stream-call.ts'

/** Where a registered service keeps its streams. */
const STREAMS = Symbol('remex.streams')

/** Options of {@link realtime} with every default filled in. */
export interface ResolvedLiveOptions extends StreamOptions {
  /**
   * How many events wait for a loop that is slow. More are dropped; a `resync` and a new snapshot take
   * their place. Default: 1,000.
   */
  readonly maxWaiting: number
}

/** The streams of a service: one for each query, however many listen to it. */
export class ServiceStreams {
  readonly options: ResolvedLiveOptions
  readonly #service: RemoteService
  readonly #streams = new Map<string, EventReader>()

  constructor(service: RemoteService, options: ResolvedLiveOptions) {
    this.options = options
    this.#service = service
    findServiceEntry(service)?.attachments.set(STREAMS, this)
  }

  /**
   * Has a subscriber told the events of a query. Returns their stream.
   * @throws {BadRequest} the query can not be sent
   */
  join(params: SubscriptionParams, subscriber: Subscriber): EventReader {
    const call = createStreamCall(this.#service, params)
    let stream = this.#streams.get(call.key)
    if (stream === undefined || stream.status === 'closed') {
      stream = new EventReader(call, this.options)
      this.#streams.set(call.key, stream)
    }
    stream.subscribers.add(subscriber)
    return stream
  }

  /** Tells a subscriber no more; a stream that nobody listens to is closed. */
  leave(stream: EventReader, subscriber: Subscriber): void {
    stream.subscribers.delete(subscriber)
    if (stream.subscribers.size > 0) return
    stream.close()
    for (const [key, one] of this.#streams) if (one === stream) this.#streams.delete(key)
  }

  /** Has all streams begin anew: they are those of another user. */
  restart(): void {
    for (const stream of this.#streams.values()) stream.restart()
  }

  /** Ends all streams. */
  close(): void {
    for (const stream of this.#streams.values()) stream.close()
  }
}

/**
 * Returns the streams of a service.
 * @throws {TypeError} the client has none
 */
export function findServiceStreams(service: object): ServiceStreams {
  const streams = findServiceEntry(service)?.attachments.get(STREAMS)
  if (streams instanceof ServiceStreams) return streams
  throw new TypeError('Live queries need client.configure(realtime()), and a service of its server')
}
