import { createParser } from 'eventsource-parser'
import { isPassing } from '../../core/errors/error-classes.ts'
import { Forbidden, GeneralError, ServiceError, Unavailable } from '../../core/errors/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { ErrorResponse } from '../answers/response-error.ts'
import { toWaitMs } from '../answers/retries.ts'
import type { LiveStatus, ReceivedEvent } from './live-event.ts'
import type { StreamCall } from './stream-call.ts'

/** How connections are kept. */
export interface StreamOptions {
  /** How long a connection may be silent, in milliseconds. Default: 45,000, three heartbeats. */
  readonly silenceMs: number
  /**
   * The longest wait before a second attempt to connect, in milliseconds, doubled for each further
   * one; how long it is within that is left to chance. Default: 1,000, then what the server says.
   */
  readonly reconnectMs?: number | undefined
  /** The longest wait before any attempt, in milliseconds. Default: 30,000. */
  readonly maxReconnectMs: number
}

/** Who is told what a stream brings. */
export interface Subscriber {
  /** Called with each event, in their order. */
  receive(event: ReceivedEvent): void
  /** Called when `status` or `error` of the stream have changed. */
  notice(stream: EventReader): void
}

/** A longer frame is none, and would be kept until there is no memory. */
const MAX_FRAME_CHARACTERS = 2 ** 26

/** A timer of more would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Why a connection has ended that is made anew at once. */
const AGAIN = Symbol('again')

/**
 * The events of one query. It connects again whenever the connection is lost, from the last event that
 * has arrived, until the server refuses or nobody listens any more.
 */
export class EventReader {
  status: LiveStatus = 'connecting'
  /** Why the connection was lost or has ended, `undefined` where it is there. */
  error: unknown
  /** Whether there has been a snapshot, and no later one is on its way. */
  hasSnapshot: boolean = false
  readonly subscribers: Set<Subscriber> = new Set()
  readonly #call: StreamCall
  readonly #options: StreamOptions
  #baseMs: number
  #lastId = ''
  /** How many attempts have failed since the last event. */
  #failures = 0
  /** Ends the connection, or the wait for the next one. */
  #attempt = new AbortController()
  #snapshot: Promise<unknown> | undefined

  constructor(call: StreamCall, options: StreamOptions) {
    this.#call = call
    this.#options = options
    this.#baseMs = options.reconnectMs ?? 1_000
    void this.#run()
  }

  /** Ends the stream. */
  close(error?: unknown): void {
    if (this.status === 'closed') return
    this.#change('closed', error)
    this.#attempt.abort()
  }

  /** Has the stream begin anew at once, with a snapshot. */
  restart(): void {
    this.#forget()
    this.#attempt.abort(AGAIN)
  }

  /**
   * Resolves to a new snapshot. Those who ask at the same time share one, as long as no event has come
   * that it may lack.
   */
  fetchSnapshot(): Promise<unknown> {
    this.#snapshot ??= this.#call.find().finally(() => {
      this.#snapshot = undefined
    })
    return this.#snapshot
  }

  async #run(): Promise<void> {
    while (this.status !== 'closed') {
      this.#attempt = new AbortController()
      const { signal } = this.#attempt
      let error: unknown
      try {
        this.#change('connecting', this.error)
        const body = await this.#call.open(this.#lastId, signal)
        this.#change('open', undefined)
        await this.#read(body, signal)
      } catch (thrown) {
        error = signal.aborted ? signal.reason : thrown
      }
      // Closes a connection whose server does not.
      this.#attempt.abort()
      if (error !== AGAIN && !isPassingError(error)) return this.close(error)
      this.#attempt = new AbortController()
      this.#change('waiting', error === AGAIN ? undefined : error)
      await wait(this.#findWait(error), this.#attempt.signal)
    }
  }

  /** Rejects with why the connection has ended. */
  async #read(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<never> {
    const parser = createParser({
      maxBufferSize: MAX_FRAME_CHARACTERS,
      onRetry: (ms) => {
        this.#baseMs = this.#options.reconnectMs ?? Math.max(1, ms)
      },
      onEvent: ({ id, event: type = 'message', data }) => {
        const event = { type, data: this.#parse(type, data) }
        if (type === 'end') throw this.#toEndError(event.data)
        this.#lastId = id ?? this.#lastId
        this.#failures = 0
        this.#tell(event)
      },
      onError: ({ type, message }) => {
        if (type === 'max-buffer-size-exceeded') throw this.#toFrameError(message)
      },
    })
    const { silenceMs } = this.#options
    const reader = body.getReader()
    const decoder = new TextDecoder()
    signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
    const endSilent = (): void => {
      this.#attempt.abort(new Unavailable(`The server was silent for ${silenceMs} ms`))
    }
    for (;;) {
      const timer = setTimeout(endSilent, silenceMs)
      const reading = reader.read().finally(() => clearTimeout(timer))
      const { done, value } = await reading.catch((cause: unknown) => {
        throw new Unavailable('The connection was lost', undefined, { cause })
      })
      if (done) throw new Unavailable('The connection was lost')
      parser.feed(decoder.decode(value, { stream: true }))
    }
  }

  /** Returns why the server has ended the stream, by what it says. */
  #toEndError(data: unknown): ServiceError {
    const {
      reason,
      message = `The server has ended the stream: ${reason}`,
    }: Record<string, unknown> = isObject(data) ? data : {}
    const EndError = reason === 'refused' ? Forbidden : Unavailable
    return new EndError(String(message))
  }

  #parse(type: string, data: string): unknown {
    try {
      return JSON.parse(data)
    } catch (cause) {
      throw this.#toFrameError(`The event '${type}' is not JSON`, cause)
    }
  }

  /** What can not be read is not left out: the stream begins anew. */
  #toFrameError(message: string, cause?: unknown): GeneralError {
    this.#forget()
    return new GeneralError(message, undefined, { cause })
  }

  #forget(): void {
    this.#lastId = ''
    this.hasSnapshot = false
  }

  #tell(event: ReceivedEvent): void {
    this.#snapshot = undefined
    if (event.type === 'snapshot') this.hasSnapshot = true
    if (event.type === 'resync') this.hasSnapshot = false
    for (const subscriber of [...this.subscribers]) subscriber.receive(event)
  }

  #change(status: LiveStatus, error: unknown): void {
    this.status = status
    this.error = error
    for (const subscriber of [...this.subscribers]) subscriber.notice(this)
  }

  /**
   * Returns how long to wait: as long as the server says, or by chance, so that clients that were cut off
   * together do not come back together.
   */
  #findWait(error: unknown): number {
    const longestMs = Math.min(this.#options.maxReconnectMs, this.#baseMs * 2 ** this.#failures)
    this.#failures += 1
    if (error === AGAIN) return 0
    const leastMs = toWaitMs(findResponse(error)?.headers['retry-after']) ?? 0
    return Math.max(leastMs, Math.random() * longestMs)
  }
}

/** Whether a later attempt may go better. The status of the answer counts, not what stands in it. */
function isPassingError(error: unknown): boolean {
  return error instanceof ServiceError && isPassing(findResponse(error)?.status ?? error.code)
}

function findResponse(error: unknown): ErrorResponse | undefined {
  return (error as { readonly response?: ErrorResponse }).response
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, MAX_TIMER_MS))
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
