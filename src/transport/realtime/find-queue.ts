import { setImmediate as nextTurn } from 'node:timers/promises'
import { WorkQueue } from '../../auth/work-queue.ts'
import { ConnectionLost } from '../../core/errors/coded-errors.ts'
import { isAway } from '../../core/errors/error-classes.ts'
import { toServiceError } from '../../core/index.ts'
import type { TimeLimit } from '../call-time-limit.ts'

/**
 * How many streams of all services may check rights or read a snapshot at the same time. A page takes two database
 * connections. The pool has 50 by default, and other calls need most of them.
 */
const MAX_RUNNING = 16

/** The same for one service: if its hooks hang, streams of other services must not wait. */
const MAX_OF_SERVICE = 8

/** The first wait before another attempt, in milliseconds. It doubles up to the longest wait. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000

/** Attempts for about two minutes. Then the stream ends, and a client that reconnects gets the error. */
const MAX_ATTEMPTS = 9

/** The queue rejects no stream, however many wait. */
const PATIENT = { isPatient: true } as const

/** Shared by the streams of all services. */
export class FindLimits {
  /** Limits how long hooks, reads and snapshots take. */
  timeLimit: TimeLimit
  readonly queue: WorkQueue = new WorkQueue(MAX_RUNNING, 0)

  constructor(timeLimit: TimeLimit) {
    this.timeLimit = timeLimit
  }
}

/**
 * Runs calls of `find` for the streams of one service, a few at a time: one event may make all streams check rights or
 * read a snapshot.
 */
export class FindQueue {
  readonly #limits: FindLimits
  readonly #queue = new WorkQueue(MAX_OF_SERVICE, 0)

  constructor(limits: FindLimits) {
    this.#limits = limits
  }

  /**
   * Runs work when its turn comes, in a separate turn of the event loop, so that other requests run in between.
   * @param isWanted asked before the work starts: the client may have left meanwhile
   * @throws {Timeout} the work takes too long
   * @throws {Unavailable} the work is not wanted any more
   */
  run<T>(work: () => Promise<T>, isWanted?: () => boolean): Promise<T> {
    const start = async (): Promise<T> => {
      await nextTurn()
      if (isWanted?.() === false) throw new ConnectionLost('The client has gone')
      return this.limit(work)
    }
    return this.#queue.run(() => this.#limits.queue.run(start, PATIENT), PATIENT)
  }

  /** Runs work at once. @throws {Timeout} the work takes too long */
  limit<T>(work: () => Promise<T>): Promise<T> {
    return this.#limits.timeLimit.run(work)
  }
}

/**
 * Returns whether an error means that a service or the database is unavailable, so that a later attempt may succeed.
 */
export function isOutage(error: unknown): boolean {
  return isAway(toServiceError(error).code)
}

/**
 * Resolves to the result of work. Repeats it, with increasing waits, while it fails with an error that {@link
 * isOutage}.
 * @param onFailure returns whether to try again
 */
export async function persist<T>(
  work: () => Promise<T>,
  onFailure: (error: unknown, attempt: number) => boolean,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isOutage(error) || attempt === MAX_ATTEMPTS || !onFailure(error, attempt)) throw error
    }
    await wait(Math.min(FIRST_WAIT_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS))
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
