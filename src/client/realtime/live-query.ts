import { InvalidResponse } from '../../core/errors/coded-errors.ts'
import { isPassing } from '../../core/errors/error-classes.ts'
import { Forbidden, NotAuthenticated, ServiceError, Unavailable } from '../../core/errors/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { ErrorResponse } from '../answers/response-error.ts'
import { createResponseError } from '../answers/response-error.ts'
import { MAX_TIMER_MS } from '../answers/time-limit.ts'
import type { LiveCall } from './live-call.ts'
import type { LiveStatus, ReceivedEvent } from './live-event.ts'

/** Receives the events of a query. */
export interface Subscriber {
  /** Called with each event, in order. */
  receive(event: ReceivedEvent): void
  /** Called when `status` or `error` of the query have changed. */
  notice(query: LiveQuery): void
}

/** The part of a connection that a query uses. */
interface Connection {
  /**
   * Requests all queries again, with their state at the end of this tick. If it is urgent, nothing is read until then.
   */
  change(isUrgent?: boolean): void
  /** Forgets a query that has ended. */
  drop(query: LiveQuery): void
  /** Returns how long to wait before another attempt, in milliseconds. */
  findWait(error: unknown, failures: number): number
}

/** One query of a connection, shared by all its subscribers. */
export class LiveQuery {
  readonly id: string
  readonly call: LiveCall
  readonly subscribers: Set<Subscriber> = new Set()
  status: LiveStatus = 'connecting'
  /** Why the query waits or has ended, `undefined` while it is running. */
  error: unknown
  /** Whether there has been a snapshot and no newer one is expected. */
  hasSnapshot: boolean = false
  /** The position up to which events have been received. */
  lastId = ''
  /** Whether the query waits for its own next attempt. */
  isHeld = false
  /** How many attempts have failed since the last event. */
  failures = 0
  readonly #connection: Connection
  #timer: ReturnType<typeof setTimeout> | undefined
  #snapshot: Promise<unknown> | undefined

  constructor(id: string, call: LiveCall, connection: Connection) {
    this.id = id
    this.call = call
    this.#connection = connection
  }

  /** Stops notifying a subscriber. A query without subscribers ends. */
  leave(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber)
    if (this.subscribers.size === 0) this.close()
  }

  /** Ends the query. */
  close(error?: unknown): void {
    clearTimeout(this.#timer)
    this.change('closed', error)
    this.#connection.drop(this)
  }

  /** Restarts the query at once, with a snapshot. */
  restart(): void {
    this.forget()
    // Another event would bring a position, but no snapshot.
    this.#release(true)
  }

  /** Makes the next attempt start with a snapshot. */
  forget(): void {
    this.lastId = ''
    this.hasSnapshot = false
  }

  /** Resolves to a new snapshot. Concurrent callers share one, as long as no event arrives that it may lack. */
  fetchSnapshot(): Promise<unknown> {
    this.#snapshot ??= this.call.find().finally(() => {
      this.#snapshot = undefined
    })
    return this.#snapshot
  }

  /** Processes a frame. */
  take(type: string, text: string, id: string | undefined): void {
    // Frames that arrive after a failure are ignored: they are requested again.
    if (this.isHeld) return
    let data: unknown
    try {
      data = JSON.parse(text)
    } catch (cause) {
      // An unreadable event must not be skipped, so the query starts over.
      this.forget()
      this.fail(new InvalidResponse(`The event '${type}' is not JSON`, undefined, { cause }))
      return
    }
    this.lastId = id ?? this.lastId
    if (type === 'open') this.change('open', undefined)
    else if (type === 'end') this.fail(toEndError(data))
    else {
      this.failures = 0
      this.#snapshot = undefined
      if (type === 'snapshot') this.hasSnapshot = true
      if (type === 'resync') this.hasSnapshot = false
      for (const subscriber of [...this.subscribers]) subscriber.receive({ type, data })
    }
  }

  /** Ends the query, or requests it again if the error may be temporary. */
  fail(error: unknown, waitMs: number = this.#connection.findWait(error, this.failures)): void {
    if (isPassingError(error)) this.#hold(error, waitMs)
    else if (error instanceof NotAuthenticated) this.#renew(error, waitMs)
    else this.close(error)
  }

  /** Renews the login with an ordinary call of `find`, which renews it on a 401. */
  #renew(error: unknown, waitMs: number): void {
    this.isHeld = true
    this.change('waiting', error)
    this.call.find().then(
      () => this.#hold(error, this.failures === 0 ? 0 : waitMs),
      (failure) => (isPassingError(failure) ? this.#hold(failure, waitMs) : this.close(failure)),
    )
  }

  change(status: LiveStatus, error: unknown): void {
    if (this.status === 'closed' || (this.status === status && this.error === error)) return
    this.status = status
    this.error = error
    for (const subscriber of [...this.subscribers]) subscriber.notice(this)
  }

  #hold(error: unknown, waitMs: number): void {
    if (this.status === 'closed') return
    this.isHeld = true
    this.failures += 1
    this.#timer = setTimeout(() => this.#release(), Math.min(waitMs, MAX_TIMER_MS))
    this.change('waiting', error)
  }

  #release(isUrgent = false): void {
    clearTimeout(this.#timer)
    this.isHeld = false
    this.#connection.change(isUrgent)
  }
}

/** Returns the error for the reason that the server gives for ending a query. */
function toEndError(data: unknown): ServiceError {
  const {
    reason,
    message = `The server has ended the stream: ${reason}`,
    error,
    retryAfter,
  }: Record<string, unknown> = isObject(data) ? data : {}
  if (isObject(error)) {
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
    const status = Number(error['code'])
    return createResponseError({ status, readHeaders: () => headers, body: JSON.stringify(error) })
  }
  const ends: Record<string, typeof Forbidden> = { refused: Forbidden, expired: NotAuthenticated }
  return new (ends[String(reason)] ?? Unavailable)(String(message))
}

/** Returns whether a later attempt may succeed. The status of the response counts, not its body. */
export function isPassingError(error: unknown): boolean {
  return error instanceof ServiceError && isPassing(findResponse(error)?.status ?? error.code)
}

/** Returns the part of its response that an error keeps. */
export function findResponse(error: unknown): ErrorResponse | undefined {
  return (error as { readonly response?: ErrorResponse }).response
}
