import { followSignal } from '../core/follow-signal.ts'
import { Unavailable } from '../core/index.ts'

/** Whose turn a task takes, and how it waits for it. */
export interface Turn {
  /** Who asks: callers take turns. Default: all who say nothing are one. */
  readonly caller?: string | undefined
  /** Comes before tasks that are not urgent. Default: `false`. */
  readonly isUrgent?: boolean
  /** Waits however many are waiting, and takes the place of nobody. Default: `false`. */
  readonly isPatient?: boolean
  /** Ends the wait; a task that has begun goes on. */
  readonly signal?: AbortSignal | undefined
}

/** After so many urgent tasks in a row one that is not urgent has its turn. */
const MAX_URGENT = 4

/** Who asks for patient tasks, and who says nothing: no strings, since addresses may be any. */
const PATIENT = Symbol('patient')
const UNKNOWN = Symbol('unknown')

type Caller = string | symbol

interface Task {
  readonly isUrgent: boolean
  start(): void
  refuse(error: unknown): void
}

/**
 * Runs a few tasks at a time and lets a limited number wait. Callers take turns, with their urgent tasks
 * first. Where too many wait, the caller who has most is refused, so that one who floods the queue takes
 * nothing from the others. Whoever is refused is so at once: callers who would wait for half a minute
 * have given up by then.
 */
export class WorkQueue {
  readonly #concurrency: number
  readonly #maxQueued: number
  /** The tasks that wait, by their callers in the order of their next turns. No list is empty. */
  readonly #waiting = new Map<Caller, Task[]>()
  #running = 0
  #urgentInRow = 0

  constructor(concurrency: number, maxQueued: number) {
    this.#concurrency = concurrency
    this.#maxQueued = maxQueued
  }

  /** How many tasks run or wait. */
  get size(): number {
    return this.#running + this.#limited + this.#count(PATIENT)
  }

  /** How many tasks wait that are not patient. */
  get #limited(): number {
    let count = -this.#count(PATIENT)
    for (const tasks of this.#waiting.values()) count += tasks.length
    return count
  }

  /**
   * Runs a task when its turn comes, and settles as the task does, or as its signal says.
   * @throws {Unavailable} too many are waiting, and no other caller has more of them
   */
  run<T>(work: () => Promise<T>, turn: Turn = {}): Promise<T> {
    const { signal, isUrgent = false, isPatient = false } = turn
    const caller = isPatient ? PATIENT : (turn.caller ?? UNKNOWN)
    if (signal?.aborted) return Promise.reject(signal.reason)
    const isFull = this.#running >= this.#concurrency && this.#limited >= this.#maxQueued
    if (isFull && !isPatient && !this.#makeRoom(caller, isUrgent)) {
      return Promise.reject(createOverload())
    }
    return new Promise((resolve, reject) => {
      let unfollow = (): void => undefined
      const task: Task = {
        isUrgent,
        start: () => {
          unfollow()
          // The next task begins before the caller hears that this one has ended.
          void work()
            .finally(() => this.#leave())
            .then(resolve, reject)
        },
        refuse: (error) => {
          unfollow()
          reject(error)
        },
      }
      if (signal !== undefined) {
        unfollow = followSignal(signal, () => {
          this.#remove(caller, task)
          reject(signal.reason)
        })
      }
      this.#add(caller, task)
      this.#startNext()
    })
  }

  #count(caller: Caller): number {
    return this.#waiting.get(caller)?.length ?? 0
  }

  /**
   * Refuses a task of somebody who has more waiting than the one who asks, or as many where an urgent
   * task takes the place of one that is not; never the other way round. Returns whether there was one.
   */
  #makeRoom(caller: Caller, isUrgent: boolean): boolean {
    const own = this.#count(caller)
    const lines = [...this.#waiting]
      .filter(([other]) => other !== PATIENT)
      .sort(([, one], [, other]) => other.length - one.length)
    for (const [other, tasks] of lines) {
      const newest =
        tasks.findLast((task) => !task.isUrgent) ?? (isUrgent ? tasks.at(-1) : undefined)
      if (newest === undefined) continue
      const isDisplaced = isUrgent && !newest.isUrgent && tasks.length >= own
      if (!isDisplaced && tasks.length <= own + 1) continue
      this.#remove(other, newest)
      newest.refuse(createOverload())
      return true
    }
    return false
  }

  #startNext(): void {
    if (this.#running >= this.#concurrency) return
    const isUrgent = this.#urgentInRow < MAX_URGENT
    const task = this.#take(isUrgent) ?? this.#take(!isUrgent)
    if (task === undefined) return
    this.#urgentInRow = task.isUrgent ? this.#urgentInRow + 1 : 0
    this.#running += 1
    task.start()
  }

  /** Takes the oldest of such tasks of the first caller who has one, whose next turn comes last then. */
  #take(isUrgent: boolean): Task | undefined {
    for (const [caller, tasks] of this.#waiting) {
      const task = tasks.find((one) => one.isUrgent === isUrgent)
      if (task === undefined) continue
      this.#remove(caller, task)
      const others = this.#waiting.get(caller)
      this.#waiting.delete(caller)
      if (others !== undefined) this.#waiting.set(caller, others)
      return task
    }
    return undefined
  }

  #add(caller: Caller, task: Task): void {
    const tasks = this.#waiting.get(caller)
    if (tasks === undefined) this.#waiting.set(caller, [task])
    else tasks.push(task)
  }

  #remove(caller: Caller, task: Task): void {
    const tasks = this.#waiting.get(caller) ?? []
    tasks.splice(tasks.indexOf(task), 1)
    if (tasks.length === 0) this.#waiting.delete(caller)
  }

  #leave(): void {
    this.#running -= 1
    this.#startNext()
  }
}

function createOverload(): Unavailable {
  return new Unavailable('Too many passwords at once', { retryAfter: 1 })
}
