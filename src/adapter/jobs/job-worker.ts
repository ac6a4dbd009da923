import { AsyncResource } from 'node:async_hooks'
import type { AnyApplication } from '../../core/app.ts'
import type { JobFunction, ResolvedHandler } from './job-handlers.ts'
import type { ClaimedJob, JobStore } from './job-store.ts'

/** How jobs are run. */
export interface WorkerOptions {
  readonly concurrency: number
  readonly pollMs: number
  readonly leaseMs: number
  readonly drainMs: number
}

/** What a worker needs. */
export interface WorkerSetup {
  readonly app: AnyApplication
  readonly store: JobStore
  readonly handlers: ReadonlyMap<string, ResolvedHandler>
  readonly options: WorkerOptions
  /** Calls the service of a job. */
  readonly call: (name: string, ...args: Parameters<JobFunction<unknown>>) => Promise<unknown>
}

/** How jobs ended: `failed` counts attempts that will be repeated as well. */
export interface JobCounts {
  done: number
  failed: number
}

/** Why an attempt ends before its handler does. */
class Interruption extends Error {
  readonly kind: 'timeout' | 'lost' | 'closing'

  constructor(kind: Interruption['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/**
 * Runs jobs in up to `concurrency` lanes. A lane takes due jobs until there is none; each job that it finds starts
 * another lane, and a timer starts one from time to time, for jobs that have become due.
 */
export class JobWorker {
  readonly #setup: WorkerSetup
  /** Jobs run in this context: they are no part of the call, the span or the transaction that enqueued them. */
  readonly #context = new AsyncResource('remex:jobs')
  readonly #running = new Map<AbortController, Promise<unknown>>()
  #timer: NodeJS.Timeout | undefined
  #lanes = 0
  /** Whether jobs may have been added since the lanes looked for some. */
  #isWoken = false
  #isOpen = false

  constructor(setup: WorkerSetup) {
    this.#setup = setup
  }

  start(): void {
    this.#isOpen = true
    this.#timer = setInterval(() => this.wake(), this.#setup.options.pollMs)
    this.wake()
  }

  /** Looks for due jobs. */
  wake(): void {
    if (!this.#isOpen) return
    this.#isWoken = true
    if (this.#lanes >= this.#setup.options.concurrency) return
    void this.#context.runInAsyncScope(() => this.#runLane())
  }

  /** Begins no more jobs, and ends those that run: after `drainMs` their signals abort and others may run them. */
  async stop(): Promise<void> {
    this.#isOpen = false
    clearInterval(this.#timer)
    const { drainMs } = this.#setup.options
    const limit = setTimeout(() => {
      for (const controller of this.#running.keys())
        controller.abort(new Interruption('closing', 'The application closes'))
    }, drainMs)
    while (this.#running.size > 0) await Promise.all(this.#running.values())
    clearTimeout(limit)
  }

  /** Runs due jobs, one after the other, until there is none. */
  runDue(at?: Date): Promise<JobCounts> {
    return this.#context.runInAsyncScope(() => this.#runAll(at))
  }

  async #runAll(at: Date | undefined): Promise<JobCounts> {
    const counts = { done: 0, failed: 0 }
    for (;;) {
      const job = await this.#claim(at)
      if (job === null) return counts
      counts[(await this.#track(job)) ? 'done' : 'failed'] += 1
    }
  }

  async #runLane(): Promise<void> {
    this.#lanes += 1
    try {
      while (this.#isOpen) {
        this.#isWoken = false
        const job = await this.#claim()
        if (job !== null) {
          this.wake()
          await this.#track(job)
        } else if (!this.#isWoken) break
      }
    } catch (error) {
      // The timer starts another lane.
      this.#setup.app.logger.error({ err: error }, 'Jobs could not be read')
    } finally {
      this.#lanes -= 1
    }
  }

  #claim(at?: Date): Promise<ClaimedJob | null> {
    const { store, handlers, options } = this.#setup
    return store.claim([...handlers.keys()], options.leaseMs, at)
  }

  async #track(job: ClaimedJob): Promise<boolean> {
    const controller = new AbortController()
    const attempt = this.#runAttempt(job, controller)
    this.#running.set(controller, attempt)
    try {
      return await attempt
    } finally {
      this.#running.delete(controller)
    }
  }

  /** Resolves to whether the job has succeeded. It does not reject: what cannot be stored is tried again by another. */
  async #runAttempt(job: ClaimedJob, controller: AbortController): Promise<boolean> {
    const { app, handlers } = this.#setup
    const handler = handlers.get(job.name) as ResolvedHandler
    const { timeoutMs } = handler
    const timers = [
      this.#keepLease(job, controller),
      setTimeout(() => {
        const message = `The job has not ended within ${timeoutMs} ms`
        controller.abort(new Interruption('timeout', message))
      }, timeoutMs),
    ]
    let error: unknown = null
    try {
      if (job.attempts > handler.attempts) throw new Error('The process ended in the last attempt')
      await this.#runHandler(job, controller.signal)
    } catch (thrown) {
      error = thrown ?? new Error('The handler threw nothing')
    } finally {
      for (const timer of timers) clearTimeout(timer)
    }
    const details = { job: { id: String(job._id), name: job.name, attempt: job.attempts } }
    const request = job.requestId === undefined ? {} : { requestId: job.requestId }
    try {
      const isHeld = await this.#settle(job, handler, error)
      if (error !== null) app.logger.error({ err: error, ...details, ...request }, 'A job failed')
      else if (!isHeld) app.logger.warn({ ...details, ...request }, 'A job ended after its lease')
    } catch (failure) {
      app.logger.error({ err: failure, ...details, ...request }, 'The end of a job was not stored')
    }
    return error === null
  }

  /** Runs the handler until it ends, or the signal aborts. */
  async #runHandler(job: ClaimedJob, signal: AbortSignal): Promise<void> {
    const { _id, name, attempts, data, dueAt, requestId } = job
    const params = {
      job: { id: String(_id), name, attempt: attempts, dueAt, signal },
      ...(requestId === undefined ? {} : { requestId }),
    }
    const interrupted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    await Promise.race([this.#setup.call(name, data, params), interrupted])
  }

  /** Extends the lease of a job from time to time, and aborts when it has ended. */
  #keepLease(job: ClaimedJob, controller: AbortController): NodeJS.Timeout {
    const { app, store, options } = this.#setup
    let heldAt = performance.now()
    const extend = async (): Promise<void> => {
      const askedAt = performance.now()
      let isHeld = askedAt - heldAt < options.leaseMs
      try {
        isHeld = await store.extend(job, options.leaseMs)
        if (isHeld) heldAt = askedAt
      } catch (error) {
        app.logger.warn({ err: error }, 'The lease of a job could not be extended')
      }
      if (!isHeld) controller.abort(new Interruption('lost', 'Another process may run the job'))
    }
    return setInterval(() => void extend(), options.leaseMs / 3)
  }

  /** Stores how an attempt ended. Resolves to whether it still held its lease. */
  async #settle(job: ClaimedJob, handler: ResolvedHandler, error: unknown): Promise<boolean> {
    const { store } = this.#setup
    const kind = error instanceof Interruption ? error.kind : undefined
    if (kind === 'lost') return false
    if (kind === 'closing') return store.end(job, { attempts: job.attempts - 1, due: 0 })
    const text = error === null ? null : String(error)
    const mayRetry = job.attempts < handler.attempts
    if (text !== null && mayRetry) {
      return store.end(job, { error: text, due: handler.backoffMs(job.attempts) })
    }
    // The job of a schedule has an empty key.
    const next = job.key === '' ? handler.schedule?.nextRun(await store.readTime()) : null
    if (next != null) return store.end(job, { attempts: 0, error: text, due: next })
    return text === null
      ? store.remove(job)
      : store.end(job, { state: 'dead', error: text, due: 0 })
  }
}
