/** What a login elsewhere has left in the hash of the page's URL. */
type Outcome = { readonly accessToken: string } | { readonly error: unknown }

/**
 * The login that the page was opened with: its token, or its error. Remembered until somebody logs in,
 * since it is no longer in the URL then.
 */
export class PageLogin {
  #outcome: Outcome | undefined

  /** Remembers what a reader of the URL finds there; nothing leaves the earlier outcome. */
  async remember(reading: Promise<string | null>): Promise<void> {
    try {
      const accessToken = await reading
      if (accessToken !== null) this.#outcome = { accessToken }
    } catch (error) {
      this.#outcome = { error }
    }
  }

  /**
   * Returns the token and forgets it; `undefined` for none.
   * @throws {NotAuthenticated} there was an error instead, with the name `OauthError`
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
    return outcome
  }
}
