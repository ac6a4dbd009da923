import type { EndedStream } from './sent-records.ts'

/** How many ids of records are kept, of all streams that have ended. */
const MAX_KEYS = 1_000_000

/** What a stream that has ended has sent. */
interface KeptStream {
  readonly ended: EndedStream
  /** When it has ended, in ms since the epoch. */
  readonly endedAt: number
}

/** What streams that have ended have sent, for clients that come back. */
export class EndedStreams {
  /** By the tokens of the streams, the oldest first. */
  readonly #kept = new Map<string, KeptStream>()
  readonly #max: number
  #keys = 0

  /** @param max how many streams are kept */
  constructor(max: number) {
    this.#max = max
  }

  add(token: string, ended: EndedStream): void {
    this.#kept.set(token, { ended, endedAt: Date.now() })
    this.#keys += ended.keys.size
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#max && this.#keys <= MAX_KEYS) break
      this.take(oldest)
    }
  }

  /** Returns, once, what a stream has sent. */
  take(token: string): EndedStream | undefined {
    const kept = this.#kept.get(token)
    this.#kept.delete(token)
    this.#keys -= kept?.ended.keys.size ?? 0
    return kept?.ended
  }

  /** Forgets the streams that have ended at a time or before, in ms since the epoch. */
  forget(time: number): void {
    for (const [token, { endedAt }] of this.#kept) {
      if (endedAt > time) break
      this.take(token)
    }
  }
}
