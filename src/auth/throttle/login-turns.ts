import { TooManyRequests } from '../../core/index.ts'
import { WorkQueue } from '../work-queue.ts'

/** As many as hash at a time by default: one would halve what a proxy with all callers gets through. */
const PLACES = 2
const MAX_WAITING = 50
const MAX_TURN_MS = 5000

/**
 * Has logins of one address take turns, two at a time, so that most begin when it is known what came
 * of those before. This is a courtesy to right ones that come at the same time: who begins is counted in any
 * case. So a turn ends after five seconds, and a login that hangs does not hold up the others.
 */
export class LoginTurns {
  readonly #queues = new Map<string, WorkQueue>()
  readonly #maxTurnMs: number

  constructor(maxTurnMs: number = MAX_TURN_MS) {
    this.#maxTurnMs = maxTurnMs
  }

  /** How many addresses have logins that run or wait. */
  get size(): number {
    return this.#queues.size
  }

  /**
   * Runs a login when its turn comes, and settles as the login does.
   * @throws {TooManyRequests} too many of this address are waiting
   */
  async run<T>(address: string, login: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(address) ?? new WorkQueue(PLACES, MAX_WAITING)
    if (queue.size >= PLACES + MAX_WAITING) {
      throw new TooManyRequests('Too many logins at once', { retryAfter: 1 })
    }
    this.#queues.set(address, queue)
    return new Promise((resolve, reject) => {
      const takeTurn = () => endInTime(login().then(resolve, reject), this.#maxTurnMs)
      void queue.runLater(takeTurn).then(() => {
        if (queue.size === 0) this.#queues.delete(address)
      })
    })
  }
}

function endInTime(done: Promise<void>, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, maxMs)
    void done.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
