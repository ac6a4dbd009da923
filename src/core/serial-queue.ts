/** Runs functions one after the other, in the order of the calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Calls a function when those before it have settled. Settles as the function does. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    // The caller gets the error; the next function only waits for the end.
    this.#last = done.catch(() => undefined)
    return done
  }

  /** Resolves when all functions so far have ended. */
  get settled(): Promise<unknown> {
    return this.#last
  }
}
