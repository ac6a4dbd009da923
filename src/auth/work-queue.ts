import { Unavailable } from '../core/index.ts'

/** How a task waits. */
export interface Waiting {
  /** Wait however many are waiting. Default: `false`. */
  readonly isPatient?: boolean
  /** Ends the wait; a task that has begun goes on. */
  readonly signal?: AbortSignal | undefined
}

interface Task {
  start(): void
}

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
   * Runs a task when its turn comes, and settles as the task does, or as its signal says.
   * @throws {Unavailable} too many are waiting
   */
  run<T>(work: () => Promise<T>, { isPatient = false, signal }: Waiting = {}): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const isFull = this.#running >= this.#concurrency && this.#waiting.length >= this.#maxQueued
    if (isFull && !isPatient) {
      return Promise.reject(new Unavailable('Too many logins at once', { retryAfter: 1 }))
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(task), 1)
        reject(signal?.reason)
      }
      const task: Task = {
        start: () => {
          signal?.removeEventListener('abort', leave)
          // The next task begins before the caller hears that this one has ended.
          void work()
            .finally(() => this.#leave())
            .then(resolve, reject)
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.push(task)
      this.#startNext()
    })
  }

  #startNext(): void {
    if (this.#running >= this.#concurrency) return
    const task = this.#waiting.shift()
    if (task === undefined) return
    this.#running += 1
    task.start()
  }

  #leave(): void {
    this.#running -= 1
    this.#startNext()
  }
}
