import { createParser } from 'eventsource-parser'
import { ConnectionLost, InvalidResponse } from '../../core/errors/coded-errors.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import type { ServiceEntryFace } from '../../core/services/method-entry.ts'
import { findServiceEntry } from '../../core/services/service-entry.ts'
import { toWaitMs } from '../answers/retries.ts'
import type { RemoteService } from '../remote-service.ts'
import { followHidden } from './hidden-page.ts'
import type { LiveCall } from './live-call.ts'
import { createLiveCall } from './live-call.ts'
import type { SubscriptionParams } from './live-event.ts'
import type { Subscriber } from './live-query.ts'
import { findResponse, isPassingError, LiveQuery } from './live-query.ts'

/** Where a registered service keeps its live queries. */
const LIVE = Symbol('remex.live')

/** Options of {@link realtime} with all defaults filled in. */
export interface ResolvedLiveOptions {
  /** How long a connection may be silent, in milliseconds. Default: 45,000, three heartbeats. */
  readonly silenceMs: number
  /**
   * The longest wait before the second attempt to connect, in milliseconds, doubled for each further attempt; the
   * actual wait is random within that. Default: 1,000, then what the server says.
   */
  readonly reconnectMs?: number | undefined
  /** The longest wait before any attempt, in milliseconds. Default: 30,000. */
  readonly maxReconnectMs: number
  /**
   * How long a page may be hidden before it closes its connections, in milliseconds, `Infinity` for never. They reopen
   * when the page is shown. Default: 60,000.
   */
  readonly hiddenMs: number
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

  /** Restarts all queries, as the user has changed. Nothing that has arrived is read any more. */
  restart(): void {
    for (const { queries } of this.#connections) for (const query of queries) query.restart()
  }

  /** Ends the queries of a service. */
  close(service: object): void {
    for (const { queries } of this.#connections) {
      for (const query of queries) if (query.call.service === service) query.close()
    }
  }

  /** Returns a running query, otherwise a new one on a connection that has room. */
  #find(call: LiveCall): LiveQuery {
    const fitting = [...this.#connections].filter(
      ({ shared }) =>
        shared.length === call.shared.length &&
        shared.every((item, index) => item === call.shared[index]),
    )
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
  throw new ArgumentError(
    'Live queries need client.configure(realtime()), and a service of its server',
  )
}

/** A longer frame is invalid, and would be buffered until memory runs out. */
const MAX_FRAME_CHARACTERS = 2 ** 26

/** How long a change waits for queries without a response: they would have to be requested again. */
const CHANGE_MS = 1_000

/** The reason of a connection that is replaced at once. */
const AGAIN = Symbol('again')

/**
 * The connection of many queries. A change of them ends it, as does any loss; the next one starts with the positions of
 * all queries, so that the server sends what was missed in between.
 */
class LiveConnection {
  readonly shared: readonly unknown[]
  readonly #queries = new Map<string, LiveQuery>()
  readonly #options: ResolvedLiveOptions
  readonly #onEnd: () => void
  /** Ends the connection. */
  #attempt = new AbortController()
  /** The queries without a response on this connection. */
  #unanswered: Set<LiveQuery> = new Set()
  #changing: ReturnType<typeof setTimeout> | undefined
  #isHidden = false
  #baseMs: number
  /** The random share of a wait. Queries that were cut off together reconnect together; clients do not. */
  #chance = 0
  #count = 0

  /** @param onEnd called when no query is left */
  constructor(shared: readonly unknown[], options: ResolvedLiveOptions, onEnd: () => void) {
    this.shared = shared
    this.#options = options
    this.#baseMs = options.reconnectMs ?? 1_000
    this.#onEnd = onEnd
    void this.#run()
  }

  get queries(): readonly LiveQuery[] {
    return [...this.#queries.values()]
  }

  /** Adds a query. Returns it. */
  add(call: LiveCall): LiveQuery {
    this.#count += 1
    const query = new LiveQuery(String(this.#count), call, this)
    this.#queries.set(query.id, query)
    this.change()
    return query
  }

  drop(query: LiveQuery): void {
    if (!this.#queries.delete(query.id)) return
    this.#unanswered.delete(query)
    if (this.#queries.size === 0) this.#onEnd()
    this.change()
  }

  change(isUrgent = false): void {
    if (isUrgent || this.#unanswered.size === 0) this.#attempt.abort(AGAIN)
    else this.#changing ??= setTimeout(() => this.#attempt.abort(AGAIN), CHANGE_MS)
  }

  findWait(error: unknown, failures: number): number {
    const longestMs = Math.min(this.#options.maxReconnectMs, this.#baseMs * 2 ** failures)
    const leastMs = toWaitMs(findResponse(error)?.headers['retry-after']) ?? 0
    return Math.max(leastMs, this.#chance * longestMs)
  }

  async #run(): Promise<void> {
    const unfollow = followHidden(this.#options.hiddenMs, (isHidden) => {
      if (this.#isHidden === isHidden) return
      this.#isHidden = isHidden
      this.#attempt.abort(AGAIN)
    })
    // Changes within one tick count as one.
    for (await nextTick(); this.#queries.size > 0; await nextTick()) {
      this.#attempt = new AbortController()
      this.#chance = Math.random()
      const asked = this.queries.filter(({ isHeld }) => !isHeld)
      const error = await this.#follow(asked, this.#attempt.signal)
      // Closes a connection that the server has not closed.
      this.#attempt.abort()
      clearTimeout(this.#changing)
      this.#changing = undefined
      this.#unanswered.clear()
      if (error !== AGAIN) this.#fail(asked, error)
    }
    unfollow()
  }

  /** Resolves to the reason why the connection has ended. If there are no queries, waits until there are. */
  async #follow(asked: readonly LiveQuery[], signal: AbortSignal): Promise<unknown> {
    const status = this.#isHidden ? 'waiting' : 'connecting'
    for (const query of asked) {
      if (this.#isHidden || query.status !== 'open') query.change(status, query.error)
    }
    const [first] = asked
    if (first === undefined || this.#isHidden) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return signal.reason
    }
    this.#unanswered = new Set(asked)
    const subscriptions = asked.map(({ id, call: { url }, lastId }) => ({
      ...{ id, url },
      // Servers accept no other characters. Without a position, there is a new snapshot.
      ...(/^[!-~]{1,512}$/.test(lastId) && { after: lastId }),
    }))
    try {
      return await this.#read(await first.call.open(subscriptions, signal), signal)
    } catch (error) {
      return signal.aborted ? signal.reason : error
    }
  }

  /** Rejects with the reason why the connection has ended. */
  async #read(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<never> {
    const parser = createParser({
      maxBufferSize: MAX_FRAME_CHARACTERS,
      onRetry: (ms) => {
        this.#baseMs = this.#options.reconnectMs ?? Math.max(1, ms)
      },
      onEvent: ({ id, event = '', data }) => {
        if (!signal.aborted) this.#take(event, data, id)
      },
      onError: ({ type, message }) => {
        if (type !== 'max-buffer-size-exceeded') return
        // An unreadable frame must not be skipped, so all queries start over.
        for (const query of this.queries) query.forget()
        throw new InvalidResponse(message)
      },
    })
    const { silenceMs } = this.#options
    const reader = body.getReader()
    const decoder = new TextDecoder()
    signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
    const lose = (cause?: unknown): never => {
      throw new ConnectionLost('The connection was lost', undefined, { cause })
    }
    const endSilent = (): void => {
      this.#attempt.abort(new ConnectionLost(`The server was silent for ${silenceMs} ms`))
    }
    for (;;) {
      const timer = setTimeout(endSilent, silenceMs)
      const { done, value } = await reader
        .read()
        .catch(lose)
        .finally(() => clearTimeout(timer))
      if (done) lose()
      parser.feed(decoder.decode(value, { stream: true }))
    }
  }

  /** Processes a frame, `1/created`. Ignores frames of queries that have ended. */
  #take(event: string, data: string, id: string | undefined): void {
    const [name = '', type = ''] = event.split(/\/(.*)/s)
    const query = this.#queries.get(name)
    if (query === undefined) return
    // The response to a new query is its snapshot, not `open`.
    const isAnswer = type !== 'open' || query.lastId !== ''
    query.take(type, data, id)
    if (isAnswer) this.#unanswered.delete(query)
    if (this.#changing !== undefined && this.#unanswered.size === 0) this.#attempt.abort(AGAIN)
  }

  /**
   * Fails queries with the error of their connection. An error that is not temporary is attributed to the new queries,
   * if there are any.
   */
  #fail(asked: readonly LiveQuery[], error: unknown): void {
    const left = asked.filter(({ isHeld, status }) => !isHeld && status !== 'closed')
    const isNew = ({ lastId }: LiveQuery): boolean => lastId === ''
    const failed = !isPassingError(error) && left.some(isNew) ? left.filter(isNew) : left
    const waitMs = Math.min(...failed.map(({ failures }) => this.findWait(error, failures)))
    for (const query of failed) query.fail(error, waitMs)
  }
}

/** Resolves when all currently pending work is done. */
function nextTick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}
