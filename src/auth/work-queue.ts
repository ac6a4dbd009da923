import { Unavailable } from '../core/index.ts'

type Task = () => Promise<void>

/**
 * Runs a few tasks at a time and lets a limited number wait. More are refused at once: callers who
 * would wait for half a minute have given up by then.
 */
export class WorkQueue {
  readonly #concurrency: number
  readonly #maxQueued: number
  readonly #waiting: Task[] = []
  #running = 0

  constructor(concurrency: number, maxQueued: number) {
    this.#concurrency = concurrency
    this.#maxQueued = maxQueued
  }

  /** How many tasks run or wait. */
  get size(): number {
    return this.#running + this.#waiting.length
  }

  /**
   * Runs a task when its turn comes, and settles as the task does.
   * @throws {Unavailable} too many are waiting
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#concurrency && this.#waiting.length >= this.#maxQueued) {
      return Promise.reject(new Unavailable('Too many logins at once', { retryAfter: 1 }))
    }
    return this.runLater(work)
  }

  /** Runs a task when its turn comes, however many are waiting. */
  runLater<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // The next task begins before the caller hears that this one has ended.
      this.#waiting.push(() =>
        work()
          .finally(() => this.#leave())
          .then(resolve, reject),
      )
      this.#startNext()
    })
  }

  #startNext(): void {
    if (this.#running >= this.#concurrency) return
    const task = this.#waiting.shift()
    if (task === undefined) return
    this.#running += 1
    void task()
  }

  #leave(): void {
    this.#running -= 1
    this.#startNext()
  }
}
