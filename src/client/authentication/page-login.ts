/** What a login elsewhere has left in the hash of the page's URL. */
type Outcome = { readonly accessToken: string } | { readonly error: unknown }

/**
 * The login that the page was opened with: its token, or its error. Remembered until somebody logs in,
 * since it is no longer in the URL then.
 */
export class PageLogin {
  #outcome: Outcome | undefined
  #readings: Promise<void> = Promise.resolve()
  /** How often the outcome was forgotten: what is read since then does not count. */
  #forgotten = 0

  /** Remembers what a reader of the URL finds there; nothing leaves the earlier outcome. */
  remember(reading: Promise<string | null>): Promise<void> {
    // A code takes a request: who asks meanwhile waits for the token as well.
    const readings = Promise.all([this.#readings, this.#read(reading)])
    this.#readings = readings.then(() => undefined)
    return this.#readings
  }

  /**
   * Returns the token and forgets it; `undefined` for none.
   * @throws what the reader of the URL has thrown instead
   */
  take(): string | undefined {
    const outcome = this.forget()
    if (outcome === undefined) return undefined
    if ('error' in outcome) throw outcome.error
    return outcome.accessToken
  }

  /** Forgets what the page was opened with, and returns it. */
  forget(): Outcome | undefined {
    const outcome = this.#outcome
    this.#outcome = undefined
    this.#forgotten += 1
    return outcome
  }

  async #read(reading: Promise<string | null>): Promise<void> {
    const forgotten = this.#forgotten
    const outcome = await reading.then(
      (accessToken): Outcome | undefined => (accessToken === null ? undefined : { accessToken }),
      (error: unknown): Outcome => ({ error }),
    )
    if (outcome !== undefined && forgotten === this.#forgotten) this.#outcome = outcome
  }
}
