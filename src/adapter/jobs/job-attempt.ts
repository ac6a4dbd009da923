import type { AnyApplication } from '../../core/app.ts'
import type { JobFunction, ResolvedHandler } from './job-handlers.ts'
import { Postponed, RetryLater } from './job-handlers.ts'
import type { AttemptEnd, ClaimedJob, JobStore } from './job-store.ts'

/** What attempts need. */
export interface AttemptSetup {
  readonly app: AnyApplication
  readonly store: JobStore
  readonly handlers: ReadonlyMap<string, ResolvedHandler>
  readonly options: { readonly leaseMs: number }
  /** Calls the service of a job. */
  readonly call: (name: string, ...args: Parameters<JobFunction<unknown>>) => Promise<unknown>
}

/** Why an attempt ends before its handler does. */
class Interruption extends Error {
  readonly kind: 'timeout' | 'lost' | 'closing'

  constructor(kind: Interruption['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** One attempt to run a job, which holds the job's lease. */
export class JobAttempt {
  readonly #setup: AttemptSetup
  readonly #job: ClaimedJob
  readonly #handler: ResolvedHandler
  /** The time that counts as now for the next time of a schedule, if it is later than that of the server. */
  readonly #at: Date | undefined
  /** When the command was sent that has claimed or extended the lease: it may end `leaseMs` later. */
  #heldAt: number
  readonly #controller = new AbortController()

  constructor(setup: AttemptSetup, job: ClaimedJob, claimedAt: number, at?: Date) {
    this.#setup = setup
    this.#job = job
    this.#heldAt = claimedAt
    this.#at = at
    this.#handler = setup.handlers.get(job.name) as ResolvedHandler
  }

  /** Ends the attempt, so that another process can run the job. */
  leave(): void {
    this.#abort('closing', 'The application closes')
  }

  /** Resolves to how the attempt ended. Never rejects: an end that is not stored leads to another attempt. */
  async run(): Promise<'done' | 'failed' | 'postponed'> {
    const { attempts, timeoutMs } = this.#handler
    const timers = [
      this.#keepLease(),
      setTimeout(() => {
        this.#abort('timeout', `The job has not ended within ${timeoutMs} ms`)
      }, timeoutMs),
    ]
    let error: unknown = null
    try {
      this.#controller.signal.throwIfAborted()
      if (this.#job.attempts > attempts) throw new Error('The process ended in the last attempt')
      await this.#runHandler()
    } catch (thrown) {
      error = thrown ?? new Error('The handler threw nothing')
    } finally {
      for (const timer of timers) clearTimeout(timer)
    }
    const isPostponed = error instanceof Postponed
    try {
      const isHeld = await this.#settle(error)
      const isLast = this.#job.attempts >= attempts
      if (error instanceof RetryLater && !isLast) this.#log('info', error.message)
      else if (error !== null && !isPostponed) this.#log('error', 'A job failed', error)
      else if (!isHeld) this.#log('warn', 'A job ended after its lease')
    } catch (failure) {
      this.#log('error', 'The end of a job could not be stored', failure)
    }
    return error === null ? 'done' : isPostponed ? 'postponed' : 'failed'
  }

  /** Runs the handler until it ends, or the signal aborts. */
  async #runHandler(): Promise<void> {
    const { _id, name, attempts, data, dueAt, requestId } = this.#job
    const { signal } = this.#controller
    const params = {
      job: { id: String(_id), name, attempt: attempts, dueAt, signal },
      ...(requestId === undefined ? {} : { requestId }),
    }
    const interrupted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    await Promise.race([this.#setup.call(name, data, params), interrupted])
  }

  /** Extends the lease from time to time. Aborts when it may have ended, even if the database does not respond. */
  #keepLease(): NodeJS.Timeout {
    const { store, options } = this.#setup
    const { leaseMs } = options
    const extend = async (): Promise<void> => {
      const askedAt = performance.now()
      if (askedAt - this.#heldAt >= leaseMs) return this.#lose()
      try {
        if (!(await store.extend(this.#job, leaseMs))) return this.#lose()
        this.#heldAt = askedAt
      } catch (error) {
        this.#log('warn', 'The lease of a job could not be extended', error)
      }
    }
    // The reply to the claim may have come late.
    if (performance.now() - this.#heldAt >= leaseMs / 3) void extend()
    return setInterval(() => void extend(), leaseMs / 3)
  }

  #lose(): void {
    this.#abort('lost', 'Another process may run the job')
  }

  #abort(kind: Interruption['kind'], message: string): void {
    this.#controller.abort(new Interruption(kind, message))
  }

  /** Stores how the attempt ended. Resolves to whether it still held its lease. */
  async #settle(error: unknown): Promise<boolean> {
    const { store } = this.#setup
    const job = this.#job
    const kind = error instanceof Interruption ? error.kind : undefined
    if (kind === 'lost') return false
    if (kind === 'closing') return store.release(job)
    if (error instanceof Postponed) return store.release(job, error.due)
    const text = error === null ? null : toText(error)
    const { schedule } = this.#handler
    const isRepeated = job.key === '' && schedule !== null
    const now = isRepeated ? latest(await store.readTime(), this.#at) : new Date(0)
    const end = this.#plan(text, isRepeated, now)
    return end === null ? store.remove(job) : store.end(job, end)
  }

  /** Returns how the job goes on, `null` if it is done. */
  #plan(error: string | null, isRepeated: boolean, now: Date): AttemptEnd | null {
    const { attempts, backoffMs, schedule } = this.#handler
    try {
      if (error !== null && this.#job.attempts < attempts) {
        const due = backoffMs(this.#job.attempts)
        if (!(due >= 0 && due < Number.POSITIVE_INFINITY))
          throw new Error(`backoffMs() returned ${due}`)
        return { error, due }
      }
      const due = isRepeated ? (schedule?.nextRun(now) ?? null) : null
      if (due === null) return error === null ? null : { state: 'dead', error, due: 0 }
      if (!(due > now)) throw new Error('nextRun() must return a later date')
      return { attempts: 0, error, due }
    } catch (failure) {
      this.#log('error', 'A job ends, as the time of its next attempt is unknown', failure)
      return { state: 'dead', error: error ?? toText(failure), due: 0 }
    }
  }

  #log(level: 'error' | 'warn' | 'info', text: string, err?: unknown): void {
    const { _id, name, attempts, requestId } = this.#job
    const job = { id: String(_id), name, attempt: attempts }
    this.#setup.app.logger[level]({ ...(err === undefined ? {} : { err }), job, requestId }, text)
  }
}

const latest = (one: Date, other: Date = one): Date => (other > one ? other : one)

/** Returns a thrown value as text; not every one can be converted. */
function toText(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'An error without text'
  }
}
