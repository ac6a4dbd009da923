import type { QueryStream } from './query-stream.ts'
import type { ResolvedRealtimeOptions } from './realtime-options.ts'

/** Longest time between two visits of all streams, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** The timer of all streams. It sends heartbeats, ends expired streams, and starts rechecks. */
export class Heartbeats {
  readonly #streams: Iterable<QueryStream>
  readonly #options: ResolvedRealtimeOptions
  readonly #tidy: (now: number) => boolean
  #timer: NodeJS.Timeout | null = null

  /** @param tidy called after each visit; returns whether the timer continues */
  constructor(
    streams: Iterable<QueryStream>,
    options: ResolvedRealtimeOptions,
    tidy: (now: number) => boolean,
  ) {
    this.#streams = streams
    this.#options = options
    this.#tidy = tidy
  }

  /** Starts the timer unless it is running. */
  start(): void {
    const { heartbeatMs, recheckMs } = this.#options
    const stepMs = Math.min(LONGEST_STEP_MS, heartbeatMs, recheckMs)
    this.#timer ??= setInterval(() => this.#visit(), stepMs).unref()
  }

  #visit(): void {
    const now = Date.now()
    for (const stream of this.#streams) {
      if (stream.call.expiresAt <= now) stream.end('expired')
      else if (stream.isRecheckDue) void stream.recheck()
      if (stream.writtenAt + this.#options.heartbeatMs <= now) stream.beat()
    }
    if (this.#tidy(now) || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }
}
