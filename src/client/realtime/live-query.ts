import { isPassing } from '../../core/errors/error-classes.ts'
import {
  Forbidden,
  GeneralError,
  NotAuthenticated,
  ServiceError,
  Unavailable,
} from '../../core/errors/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { ErrorResponse } from '../answers/response-error.ts'
import { createResponseError } from '../answers/response-error.ts'
import type { LiveCall } from './live-call.ts'
import type { LiveStatus, ReceivedEvent } from './live-event.ts'

/** Receives what a query brings. */
export interface Subscriber {
  /** Called with each event, in their order. */
  receive(event: ReceivedEvent): void
  /** Called when `status` or `error` of the query have changed. */
  notice(query: LiveQuery): void
}

/** What a query needs of its connection. */
interface Connection {
  /** Has the queries asked for anew, as they are at the end of this tick: nothing is read until then if it is urgent. */
  change(isUrgent?: boolean): void
  /** Forgets a query that has ended. */
  drop(query: LiveQuery): void
  /** Returns how long to wait before another attempt, in milliseconds. */
  findWait(error: unknown, failures: number): number
}

/** A timer of more would end at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1

/** One query of a connection, for everyone who follows it. */
export class LiveQuery {
  readonly id: string
  readonly call: LiveCall
  readonly subscribers: Set<Subscriber> = new Set()
  status: LiveStatus = 'connecting'
  /** Why the query waits or has ended, `undefined` while it is followed. */
  error: unknown
  /** Whether there has been a snapshot, and no later one is on its way. */
  hasSnapshot: boolean = false
  /** The position up to which the events are known. */
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

  /** Notifies a subscriber no more. A query without subscribers ends. */
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

  /** Has the query begin anew at once, with a snapshot. */
  restart(): void {
    this.forget()
    // Another event would bring a position, and no snapshot.
    this.#release(true)
  }

  /** Has the next attempt begin with a snapshot. */
  forget(): void {
    this.lastId = ''
    this.hasSnapshot = false
  }

  /**
   * Resolves to a new snapshot. Callers at the same time share one, as long as no event has come that it may lack.
   */
  fetchSnapshot(): Promise<unknown> {
    this.#snapshot ??= this.call.find().finally(() => {
      this.#snapshot = undefined
    })
    return this.#snapshot
  }

  /** Takes a frame. */
  take(type: string, text: string, id: string | undefined): void {
    // What comes after the query has failed is asked for again.
    if (this.isHeld) return
    let data: unknown
    try {
      data = JSON.parse(text)
    } catch (cause) {
      // What cannot be read is not left out: the query begins anew.
      this.forget()
      this.fail(new GeneralError(`The event '${type}' is not JSON`, undefined, { cause }))
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

  /** Ends the query, or has it asked for again if the error may pass. */
  fail(error: unknown, waitMs: number = this.#connection.findWait(error, this.failures)): void {
    if (isPassingError(error)) this.#hold(error, waitMs)
    else if (error instanceof NotAuthenticated) this.#renew(error, waitMs)
    else this.close(error)
  }

  /** Renews the login by an ordinary call of `find`, which does so when it gets a 401. */
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

/** Returns why the server has ended a query, by what it says. */
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

/** Whether a later attempt may go better. The status of the answer counts, not what stands in it. */
export function isPassingError(error: unknown): boolean {
  return error instanceof ServiceError && isPassing(findResponse(error)?.status ?? error.code)
}

/** Returns what an error keeps of its answer. */
export function findResponse(error: unknown): ErrorResponse | undefined {
  return (error as { readonly response?: ErrorResponse }).response
}
