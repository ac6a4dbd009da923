import { AsyncResource } from 'node:async_hooks'
import type { AttemptSetup } from './job-attempt.ts'
import { JobAttempt } from './job-attempt.ts'
import type { ClaimedJob } from './job-store.ts'

/** How jobs are run. */
export interface WorkerOptions {
  readonly concurrency: number
  readonly pollMs: number
  readonly leaseMs: number
  readonly drainMs: number
}

/** What a worker needs. */
export interface WorkerSetup extends AttemptSetup {
  readonly options: WorkerOptions
}

/** What `app.jobs.run()` has done. */
export interface JobCounts {
  /** Attempts that have succeeded. */
  done: number
  /** Attempts that have failed. */
  failed: number
}

/**
 * Runs jobs in up to `concurrency` lanes. A lane takes due jobs until there is none; each job that it finds starts
 * another lane, and a timer starts one from time to time, for jobs that have become due.
 */
export class JobWorker {
  readonly #setup: WorkerSetup
  /** Jobs run in this context: they are no part of the call, the span or the transaction that enqueued them. */
  readonly #context = new AsyncResource('remex:jobs')
  readonly #attempts = new Set<JobAttempt>()
  readonly #lanes = new Set<Promise<void>>()
  /** How many attempts of each handler and each group run, or are about to. */
  readonly #counts = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  /** Whether jobs may have been added since the lanes looked for some. */
  #isWoken = false
  #isStarted = false
  #isStopped = false

  constructor(setup: WorkerSetup) {
    this.#setup = setup
  }

  start(): void {
    this.#isStarted = true
    this.#timer = setInterval(() => this.wake(), this.#setup.options.pollMs)
    this.wake()
  }

  /** Looks for due jobs. */
  wake(): void {
    this.#isWoken = true
    this.#addLane()
  }

  /** Begins no more jobs, and waits for those that run: after `drainMs`, they are left to other processes. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    const limit = setTimeout(() => {
      for (const attempt of this.#attempts) attempt.leave()
    }, this.#setup.options.drainMs)
    await Promise.all(this.#lanes)
    clearTimeout(limit)
  }

  /** Runs due jobs, one after the other, until there is none. */
  async runDue(at?: Date): Promise<JobCounts> {
    const counts = { done: 0, failed: 0 }
    const lane = this.#context.runInAsyncScope(() => this.#runAll(counts, at))
    // stop() waits for it, whether it fails or not.
    const settled = lane.catch(() => undefined)
    this.#lanes.add(settled)
    try {
      await lane
    } finally {
      this.#lanes.delete(settled)
    }
    return counts
  }

  #addLane(): void {
    if (!this.#isStarted || this.#isStopped) return
    if (this.#lanes.size >= this.#setup.options.concurrency) return
    const lane = this.#context.runInAsyncScope(() => this.#runLane())
    this.#lanes.add(lane)
    void lane.then(() => this.#lanes.delete(lane))
  }

  async #runLane(): Promise<void> {
    try {
      do {
        this.#isWoken = false
        await this.#runAll({ done: 0, failed: 0 })
      } while (this.#isWoken && !this.#isStopped)
    } catch (error) {
      // The timer starts another lane.
      this.#setup.app.logger.error({ err: error }, 'Jobs could not be read')
    }
  }

  async #runAll(counts: JobCounts, at?: Date): Promise<void> {
    while (!this.#isStopped) {
      const claimedAt = performance.now()
      const job = await this.#claim(at)
      if (job === null) return
      if (this.#isStopped) {
        await this.#setup.store.release(job)
        return
      }
      this.#addLane()
      const attempt = new JobAttempt(this.#setup, job, claimedAt, at)
      this.#attempts.add(attempt)
      const end = await attempt.run()
      if (end !== 'postponed') counts[end] += 1
      this.#attempts.delete(attempt)
      this.#uncount(job)
    }
  }

  /** Claims a job of a handler and a group below their limits. Each of them has a place until it is known whose job it is. */
  async #claim(at: Date | undefined): Promise<ClaimedJob | null> {
    const { store, handlers, options } = this.#setup
    const isFree = (name: string, limit: number) => (this.#counts.get(name) ?? 0) < limit
    const free = [...handlers].filter(([name, { concurrency }]) => isFree(name, concurrency))
    const names = free.map(([name]) => name)
    const most = Math.max(1, Math.floor(options.concurrency / 4))
    const groups = [...this.#counts.keys()].filter((key) => !handlers.has(key))
    const busy = groups.filter((group) => !isFree(group, most))
    for (const name of names) this.#count(name, 1)
    let job: ClaimedJob | null = null
    try {
      job = await store.claim(names, busy, options.leaseMs, at)
    } finally {
      for (const name of names) if (name !== job?.name) this.#count(name, -1)
    }
    if (job?.group === undefined || this.#count(job.group, 1) <= most) return job
    // Another lane has claimed a job of this group at the same time.
    this.#uncount(job)
    await store.release(job)
    return this.#claim(at)
  }

  #uncount({ name, group }: ClaimedJob): void {
    for (const key of group === undefined ? [name] : [name, group]) this.#count(key, -1)
  }

  #count(key: string, change: number): number {
    const count = (this.#counts.get(key) ?? 0) + change
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
    return count
  }
}
