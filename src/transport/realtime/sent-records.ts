/** What a stream that has ended has sent, for a client that comes back to it. */
export interface EndedStream {
  /** What the stream was a view of. */
  readonly viewKey: string
  /** The number of the event that its snapshot is from: the client has nothing of before. */
  readonly since: number
  readonly keys: ReadonlySet<string>
  /** What was taken back: the client may not have heard of it. */
  readonly takenBack: readonly TakenBack[]
}

interface TakenBack {
  readonly key: string
  /** The number of the event that has taken it back. */
  readonly sequence: number
}

/** Which records a caller has been sent, by the keys of their ids: what he may be told to drop. */
export class SentRecords {
  /** `null` where another process has sent them, and nobody knows. */
  readonly #keys: Set<string> | null
  readonly #since: number
  #takenBack: TakenBack[]

  /** @param since the number of the newest event that the caller is not to be told of */
  constructor(keys: Iterable<string> | null, since: number, takenBack: TakenBack[] = []) {
    this.#keys = keys === null ? null : new Set(keys)
    this.#since = since
    this.#takenBack = takenBack
  }

  /**
   * Returns what a client has that comes back to an event; `null` where it has another view, or lacks the
   * snapshot.
   * @param ended `undefined` if it is unknown
   */
  static resume(
    ended: EndedStream | undefined,
    viewKey: string,
    sequence: number,
  ): SentRecords | null {
    if (ended === undefined) return new SentRecords(null, sequence)
    if (ended.viewKey !== viewKey || ended.since > sequence) return null
    const lost = ended.takenBack.filter((one) => one.sequence > sequence)
    return new SentRecords([...ended.keys, ...lost.map(({ key }) => key)], sequence, lost)
  }

  get size(): number {
    return this.#keys?.size ?? 0
  }

  add(key: string): void {
    this.#keys?.add(key)
  }

  /**
   * Notes that the caller is told to drop a record. Returns whether he had it, `undefined` where nobody knows.
   * @param oldest the number of the oldest event that a client can come back to
   */
  takeBack(key: string, sequence: number, oldest: number): boolean | undefined {
    const hadIt = this.#keys?.delete(key)
    if (hadIt !== true) return hadIt
    this.#takenBack.push({ key, sequence })
    // Not each time: one call may take back thousands, from thousands of streams.
    if (this.#takenBack.length > 2 * (sequence - oldest + 1)) {
      this.#takenBack = this.#takenBack.filter((one) => one.sequence >= oldest)
    }
    return true
  }

  /** Returns what is kept for a client that comes back, `null` where nobody knows what it has. */
  toEnded(viewKey: string): EndedStream | null {
    const [keys, since, takenBack] = [this.#keys, this.#since, this.#takenBack]
    return keys === null ? null : { viewKey, since, keys, takenBack }
  }
}

/** How many ids of records are kept, of all streams that have ended. */
const MAX_KEYS = 1_000_000

/** What a stream that has ended has sent. */
interface KeptStream {
  readonly ended: EndedStream
  readonly caller: string
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

  /** @param caller who alone may go on from it */
  add(token: string, caller: string, ended: EndedStream): void {
    this.#kept.set(token, { ended, caller, endedAt: Date.now() })
    this.#keys += ended.keys.size
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#max && this.#keys <= MAX_KEYS) break
      this.#delete(oldest)
    }
  }

  /** Returns, once, what a stream of a caller has sent. */
  take(token: string, caller: string | null): EndedStream | undefined {
    return this.#kept.get(token)?.caller === caller ? this.#delete(token) : undefined
  }

  /** Forgets the streams that have ended at a time or before, in ms since the epoch. */
  forget(time: number): void {
    for (const [token, { endedAt }] of this.#kept) {
      if (endedAt > time) break
      this.#delete(token)
    }
  }

  #delete(token: string): EndedStream | undefined {
    const kept = this.#kept.get(token)
    this.#kept.delete(token)
    this.#keys -= kept?.ended.keys.size ?? 0
    return kept?.ended
  }
}
