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
   * @param ended `undefined` where nobody knows it
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
