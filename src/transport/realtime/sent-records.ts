/** What an ended stream has sent, for a client that reconnects. */
export interface EndedStream {
  /** The key of the stream's view. */
  readonly viewKey: string
  /** The number of the last event in its snapshot: the client has nothing from before. */
  readonly since: number
  readonly keys: ReadonlySet<string>
  /** The records taken back; the client may not have received that. */
  readonly takenBack: readonly TakenBack[]
}

interface TakenBack {
  readonly key: string
  /** The number of the event that took it back. */
  readonly sequence: number
}

/** The records that were sent to a caller, by the keys of their ids: only those may have to be dropped. */
export class SentRecords {
  /** `null` if another process has sent them, so that they are unknown. */
  readonly #keys: Set<string> | null
  readonly #since: number
  #takenBack: TakenBack[]

  /** @param since the number of the newest event that need not be sent to the caller */
  constructor(keys: Iterable<string> | null, since: number, takenBack: TakenBack[] = []) {
    this.#keys = keys === null ? null : new Set(keys)
    this.#since = since
    this.#takenBack = takenBack
  }

  /**
   * Returns the records of a client that reconnects at an event; `null` if it has another view, or lacks the snapshot.
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
   * Records that the caller must drop a record. Returns whether the caller had it, `undefined` if that is unknown.
   * @param oldest the number of the oldest event that a client can reconnect at
   */
  takeBack(key: string, sequence: number, oldest: number): boolean | undefined {
    const hadIt = this.#keys?.delete(key)
    if (hadIt !== true) return hadIt
    this.#takenBack.push({ key, sequence })
    // Not each time: one call may take back thousands of records from thousands of streams.
    if (this.#takenBack.length > 2 * (sequence - oldest + 1)) {
      this.#takenBack = this.#takenBack.filter((one) => one.sequence >= oldest)
    }
    return true
  }

  /** Returns the state to keep for a client that reconnects, `null` if its records are unknown. */
  toEnded(viewKey: string): EndedStream | null {
    const [keys, since, takenBack] = [this.#keys, this.#since, this.#takenBack]
    return keys === null ? null : { viewKey, since, keys, takenBack }
  }
}

/** The maximum number of record ids kept for all ended streams. */
const MAX_KEYS = 1_000_000

/** An ended stream with its caller. */
interface KeptStream {
  readonly ended: EndedStream
  readonly caller: string
  /** When it ended, in ms since the epoch. */
  readonly endedAt: number
}

/** What ended streams have sent, for clients that reconnect. */
export class EndedStreams {
  /** By the tokens of the streams, oldest first. */
  readonly #kept = new Map<string, KeptStream>()
  readonly #max: number
  #keys = 0

  /** @param max the maximum number of kept streams */
  constructor(max: number) {
    this.#max = max
  }

  /** @param caller the only one who may continue it */
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

  /** Drops the streams that ended at or before a time, in ms since the epoch. */
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
