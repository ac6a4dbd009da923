/** Endpoints and algorithms change seldom, and are announced long before. */
const LIFETIME_MS = 3_600_000

/** Anybody can have a login fail: that must not have the document fetched each time. */
const MIN_AGE_MS = 60_000

/** The discovery document of a provider: it is fetched once for all logins of an hour. */
export class DiscoveryDocument {
  readonly #load: () => Promise<string>
  #text: Promise<string> | null = null
  #loadedAt = 0

  /** @param load fetches the document, and rejects where it can not be used */
  constructor(load: () => Promise<string>) {
    this.#load = load
  }

  /**
   * Returns the JSON of the document.
   * @throws {Error} it can not be fetched, or not be used
   */
  async read(): Promise<string> {
    this.#forget(LIFETIME_MS)
    if (this.#text === null) {
      this.#loadedAt = performance.now()
      this.#text = this.#load()
    }
    const text = this.#text
    try {
      return await text
    } catch (error) {
      // The next login tries again, unless another has begun to.
      if (this.#text === text) this.#text = null
      throw error
    }
  }

  /** Has the next login fetch the document again, where it is older than a minute. */
  doubt(): void {
    this.#forget(MIN_AGE_MS)
  }

  #forget(ageMs: number): void {
    if (performance.now() - this.#loadedAt >= ageMs) this.#text = null
  }
}
