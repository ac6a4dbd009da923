import { PasswordsBusy } from '../core/errors/coded-errors.ts'
import { followSignal } from '../core/follow-signal.ts'
import type { Unavailable } from '../core/index.ts'

/** The priority of a task, and how it waits. */
export interface Turn {
  /** The caller of the task: callers take turns. Default: all tasks without one share a turn. */
  readonly caller?: string | undefined
  /** Runs before tasks that are not urgent. Default: `false`. */
  readonly isUrgent?: boolean
  /** Waits however long the queue is, and displaces no other task. Default: `false`. */
  readonly isPatient?: boolean
  /** Ends the wait; a task that is already running continues. */
  readonly signal?: AbortSignal | undefined
}

/** After this many urgent tasks in a row, one that is not urgent gets a turn. */
const MAX_URGENT = 4

/** The caller of patient tasks. Not a string, since addresses may be any string. */
const PATIENT = Symbol('patient')

type Caller = string | symbol | undefined

interface Task {
  readonly caller: Caller
  readonly isUrgent: boolean
  start(): void
  refuse(error: unknown): void
}

/**
 * Runs a few tasks at a time and lets a limited number wait. Callers take turns, with their urgent tasks first. If too
 * many are waiting, a task of the caller with the most tasks is rejected, so that one who floods the queue takes
 * nothing from the others. Rejection is immediate: a caller who had to wait for half a minute would have given up by
 * then.
 */
export class WorkQueue {
  readonly #concurrency: number
  readonly #maxQueued: number
  /** The waiting tasks, in the order of their turns. */
  #waiting: Task[] = []
  #running = 0
  #urgentInRow = 0

  constructor(concurrency: number, maxQueued: number) {
    this.#concurrency = concurrency
    this.#maxQueued = maxQueued
  }

  /** The number of running and waiting tasks. */
  get size(): number {
    return this.#running + this.#waiting.length
  }

  /**
   * Runs a task when its turn comes, and settles as the task does, or rejects with the reason of its signal.
   * @throws {Unavailable} too many are waiting, and no other caller has more of them
   */
  run<T>(work: () => Promise<T>, turn: Turn = {}): Promise<T> {
    const { signal, isUrgent = false, isPatient = false } = turn
    const caller = isPatient ? PATIENT : turn.caller
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (!isPatient && !this.#makeRoom(caller, isUrgent)) return Promise.reject(createOverload())
    return new Promise((resolve, reject) => {
      let unfollow = (): void => undefined
      const task: Task = {
        caller,
        isUrgent,
        start: () => {
          unfollow()
          // The next task starts before the caller learns that this one has ended.
          void work()
            .finally(() => {
              this.#running -= 1
              this.#startNext()
            })
            .then(resolve, reject)
        },
        refuse: (error) => {
          unfollow()
          this.#remove(task)
          reject(error)
        },
      }
      if (signal !== undefined) unfollow = followSignal(signal, () => task.refuse(signal.reason))
      this.#waiting.push(task)
      this.#startNext()
    })
  }

  /**
   * Returns whether there is room for a task. If there is none, it rejects the newest task of the caller with the most:
   * one with more than the requesting caller would have, or with as many if an urgent task displaces one that is not;
   * never the other way round.
   */
  #makeRoom(caller: Caller, isUrgent: boolean): boolean {
    if (this.#running < this.#concurrency) return true
    const limited = this.#waiting.filter((task) => task.caller !== PATIENT)
    if (limited.length < this.#maxQueued) return true
    const sizes = new Map<Caller, number>()
    for (const task of limited) sizes.set(task.caller, (sizes.get(task.caller) ?? 0) + 1)
    const own = sizes.get(caller) ?? 0
    let victim: Task | undefined
    let most = 0
    for (const task of limited.reverse()) {
      const size = sizes.get(task.caller) ?? 0
      const isDisplaced = isUrgent && !task.isUrgent && size >= own
      if (!isDisplaced && (size <= own + 1 || (task.isUrgent && !isUrgent))) continue
      const isPlainer = size === most && victim?.isUrgent === true && !task.isUrgent
      if (size <= most && !isPlainer) continue
      victim = task
      most = size
    }
    victim?.refuse(createOverload())
    return victim !== undefined
  }

  #startNext(): void {
    if (this.#running >= this.#concurrency) return
    const isUrgent = this.#urgentInRow < MAX_URGENT
    const [first] = this.#waiting
    const task = this.#waiting.find((one) => one.isUrgent === isUrgent) ?? first
    if (task === undefined) return
    this.#remove(task)
    // The other tasks of its caller move behind those of all other callers.
    const others = this.#waiting.filter(({ caller }) => caller !== task.caller)
    if (others.length > 0 && others.length < this.#waiting.length) {
      const own = this.#waiting.filter(({ caller }) => caller === task.caller)
      this.#waiting = [...others, ...own]
    }
    this.#urgentInRow = task.isUrgent ? this.#urgentInRow + 1 : 0
    this.#running += 1
    task.start()
  }

  #remove(task: Task): void {
    this.#waiting.splice(this.#waiting.indexOf(task), 1)
  }
}

function createOverload(): Unavailable {
  return new PasswordsBusy('Too many passwords at once', { retryAfter: 1 })
}
