/** Longest time between two looks at the calls under way, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** A call with a time limit. */
export interface TimedCall {
  /** Called once when the time is up. */
  timeOut(limitMs: number): void
}

/** A node of a doubly linked list: a call, or `null` for the head of a list. */
interface Link {
  readonly call: TimedCall | null
  previous: Link
  next: Link
}

/** The watch over one call, for {@link endWatch}. */
export type Watch = Link

/**
 * One time limit for many calls, with one timer for all of them. A timer for each call, or a set of
 * calls, would cost as much as the call itself; links are only put in and taken out. A call is told
 * at the limit or up to a tenth later, two seconds at most; in a process that is too busy for its
 * timers as much later as these are.
 */
export class TimeLimit {
  readonly #limitMs: number
  readonly #stepMs: number
  /** A ring: the list of the calls of each step, the oldest right after the current one. */
  readonly #steps: Link[]
  #current = 0
  /** When the current step began. */
  #beganAt = 0
  #timer: NodeJS.Timeout | null = null

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#stepMs = Math.max(1, Math.min(LONGEST_STEP_MS, Math.ceil(limitMs / 20)))
    // Two more than the limit takes: a call may begin at the end of a step whose timer is late.
    const count = Math.ceil(limitMs / this.#stepMs) + 2
    this.#steps = Array.from({ length: count }, createList)
  }

  /** Begins to watch a call, until {@link endWatch}. */
  start(call: TimedCall): Watch {
    if (this.#timer === null) this.#begin()
    const list = this.#steps[this.#current] as Link
    const link: Link = { call, previous: list, next: list.next }
    list.next.previous = link
    list.next = link
    return link
  }

  /** Stops watching. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #begin(): void {
    this.#timer = setInterval(() => this.#catchUp(), this.#stepMs).unref()
    this.#beganAt = performance.now()
  }

  /**
   * Moves to the step of the present: in a busy process the timer is late, by several steps perhaps.
   * The calls of its last step begin anew then, since the clock is not looked at for each of them:
   * none has less time than it is promised.
   */
  #catchUp(): void {
    const steps = Math.floor((performance.now() - this.#beganAt) / this.#stepMs)
    this.#beganAt += steps * this.#stepMs
    const latest = createList()
    if (steps > 1) moveAll(this.#steps[this.#current] as Link, latest)
    for (let step = 0; step < Math.min(steps, this.#steps.length); step += 1) this.#step()
    moveAll(latest, this.#steps[this.#current] as Link)
  }

  #step(): void {
    this.#current = (this.#current + 1) % this.#steps.length
    const due = this.#steps[this.#current] as Link
    for (let { next } = due; next.call !== null; next = due.next) {
      endWatch(next)
      next.call.timeOut(this.#limitMs)
    }
  }
}

/** Ends the watch over a call; a second time does nothing. */
export function endWatch(watch: Watch): void {
  watch.previous.next = watch.next
  watch.next.previous = watch.previous
  watch.previous = watch
  watch.next = watch
}

/** Moves all calls of a list to the end of another one. */
function moveAll(from: Link, to: Link): void {
  if (from.next === from) return
  const { next: first, previous: last } = from
  from.next = from
  from.previous = from
  first.previous = to.previous
  to.previous.next = first
  last.next = to
  to.previous = last
}

function createList(): Link {
  const list = { call: null } as Link
  list.previous = list
  list.next = list
  return list
}
