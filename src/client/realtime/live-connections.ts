import type { ServiceEntryFace } from '../../core/services/method-entry.ts'
import { findServiceEntry } from '../../core/services/service-entry.ts'
import type { RemoteService } from '../remote-service.ts'
import type { LiveCall } from './live-call.ts'
import { createLiveCall } from './live-call.ts'
import type { ConnectionOptions } from './live-connection.ts'
import { LiveConnection } from './live-connection.ts'
import type { SubscriptionParams } from './live-event.ts'
import type { LiveQuery, Subscriber } from './live-query.ts'

/** Where a registered service keeps its live queries. */
const LIVE = Symbol('remex.live')

/** Options of {@link realtime} with all defaults filled in. */
export interface ResolvedLiveOptions extends ConnectionOptions {
  /** The path at which the server sends the events of many subscriptions. Default: `/live-queries`. */
  readonly path: string
  /**
   * How many events wait for a slow loop. Beyond that they are dropped, and a `resync` and a new snapshot replace them.
   * Default: 1,000.
   */
  readonly maxWaiting: number
  /**
   * The longest time until a list fetches its `total` if events leave it uncertain, in milliseconds. Default: 5,000.
   */
  readonly recountMs: number
}

/** The maximum number of queries on one connection: a server rejects more. */
const MAX_QUERIES = 100

/** The connections of a client: one for all queries with the same headers and options. */
export class LiveConnections {
  readonly options: ResolvedLiveOptions
  readonly #connections: Set<LiveConnection> = new Set()

  constructor(options: ResolvedLiveOptions) {
    this.options = options
  }

  /** Adds a service. Returns its live queries. */
  add(entry: ServiceEntryFace, service: RemoteService): LiveService {
    const { options } = this
    const join: LiveService['join'] = (params, subscriber) => {
      const query = this.#find(createLiveCall(service, params, options.path))
      query.subscribers.add(subscriber)
      return query
    }
    const live: LiveService = { options, join }
    entry.attachments.set(LIVE, live)
    return live
  }

  /** Restarts all queries, as the user has changed. */
  restart(): void {
    for (const connection of this.#connections) connection.restart()
  }

  /** Ends the queries of a service. */
  close(service: object): void {
    for (const { queries } of this.#connections) {
      for (const query of queries) if (query.call.service === service) query.close()
    }
  }

  /** Returns a running query, otherwise a new one on a connection that has room. */
  #find(call: LiveCall): LiveQuery {
    const fitting = [...this.#connections].filter(({ shared }) => isEqual(shared, call.shared))
    const query = fitting.flatMap(({ queries }) => queries).find((one) => one.call.url === call.url)
    if (query !== undefined) return query
    let connection = fitting.find(({ queries }) => queries.length < MAX_QUERIES)
    if (connection === undefined) {
      const onEnd = (): unknown => connection && this.#connections.delete(connection)
      connection = new LiveConnection(call.shared, this.options, onEnd)
      this.#connections.add(connection)
    }
    return connection.add(call)
  }
}

function isEqual(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index])
}

/** The live queries of a service. */
export interface LiveService {
  readonly options: ResolvedLiveOptions
  /**
   * Adds a subscriber to a query. Returns the query.
   * @throws {BadRequest} the query cannot be sent
   */
  join(params: SubscriptionParams, subscriber: Subscriber): LiveQuery
}

/**
 * Returns the live queries of a service.
 * @throws {TypeError} its client has none
 */
export function findLiveService(service: object): LiveService {
  const live = findServiceEntry(service)?.attachments.get(LIVE)
  if (live !== undefined) return live as LiveService
  throw new TypeError('Live queries need client.configure(realtime()), and a service of its server')
}
