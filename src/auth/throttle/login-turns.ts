import { TooManyRequests } from '../../core/index.ts'
import { WorkQueue } from '../work-queue.ts'

/**
 * As many passwords as are hashed at a time by default. With one, callers behind a proxy that is
 * not trusted, who share an address, would get through half as many logins.
 */
const PLACES = 2
const MAX_WAITING = 50
const MAX_TURN_MS = 5000

/**
 * Has logins of one address take turns, two at a time: most begin when it is known whether those
 * before went well. The limits do not depend on this, as every login is counted when it begins; it
 * only keeps valid logins that come at the same time from being refused. So a turn ends after five
 * seconds at the latest, and a login that hangs does not hold up the others.
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
   * @param signal ends the wait
   * @throws {TooManyRequests} too many of this address are waiting
   */
  async run<T>(address: string, login: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const queue = this.#queues.get(address) ?? new WorkQueue(PLACES, MAX_WAITING)
    if (queue.size >= PLACES + MAX_WAITING) {
      throw new TooManyRequests('Too many logins at once', { retryAfter: 1 })
    }
    this.#queues.set(address, queue)
    return new Promise((resolve, reject) => {
      const takeTurn = () => endInTime(login().then(resolve, reject), this.#maxTurnMs)
      const end = (): void => {
        if (queue.size === 0) this.#queues.delete(address)
      }
      queue.run(takeTurn, { isPatient: true, signal }).then(end, (reason: unknown) => {
        end()
        reject(reason)
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
