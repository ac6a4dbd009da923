import { followSignal } from '../../core/follow-signal.ts'
import type { LiveService } from './live-connections.ts'
import type { LiveStatus, ReceivedEvent, SubscriptionParams } from './live-event.ts'
import type { LiveQuery, Subscriber } from './live-query.ts'

type Result = IteratorResult<ReceivedEvent, undefined>

/** Replaces events that were dropped. */
const RESYNC: ReceivedEvent = { type: 'resync', data: {} }

/** The events of a query, for one loop. The first `next()` connects. */
export class Subscription implements AsyncIterableIterator<ReceivedEvent, undefined>, Subscriber {
  status: LiveStatus = 'connecting'
  /** Why the connection was lost, or the subscription has ended. */
  error: unknown
  readonly #live: LiveService
  readonly #params: SubscriptionParams
  readonly #onStatus: () => void
  #followed: LiveQuery | undefined
  #queue: ReceivedEvent[] = []
  /** Whether events were dropped. Later ones are dropped too, until there is a new snapshot. */
  #isStale = false
  /** Set while a snapshot is fetched that replaces everything waiting. */
  #fetching: object | undefined
  /** The error that the next `next()` throws. */
  #failure: unknown
  #wake: (() => void)[] = []
  #unfollow: (() => void)[] = []

  constructor(
    live: LiveService,
    params: SubscriptionParams,
    onStatus: () => void = () => undefined,
  ) {
    this.#live = live
    this.#params = params
    this.#onStatus = onStatus
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<Result> {
    if (this.#followed === undefined) this.#start()
    for (;;) {
      const event = this.#fetching === undefined ? this.#queue.shift() : undefined
      if (event === RESYNC && this.#isStale) this.refresh()
      if (event !== undefined) return { done: false, value: event }
      if (this.status === 'closed') break
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) throw failure
    return { done: true, value: undefined }
  }

  async return(): Promise<Result> {
    this.#end()
    this.#queue = []
    return { done: true, value: undefined }
  }

  /** Drops the waiting events and fetches a new snapshot. */
  refresh(): void {
    const query = this.#followed
    const fetching = {}
    this.#queue = []
    this.#isStale = false
    this.#fetching = fetching
    query?.fetchSnapshot().then(
      (data) => {
        if (this.#fetching !== fetching) return
        this.#fetching = undefined
        this.#queue.unshift({ type: 'snapshot', data })
        this.#goOn()
      },
      // The query knows which errors are temporary, and how long to wait. Its snapshot counts too.
      () => {
        if (this.#fetching === fetching) query.restart()
      },
    )
  }

  receive(event: ReceivedEvent): void {
    const isSnapshot = event.type === 'snapshot'
    if (isSnapshot && this.#fetching !== undefined) {
      this.#fetching = undefined
      this.#queue = []
    }
    if (this.#queue.length >= this.#live.options.maxWaiting) {
      this.#queue = [RESYNC]
      this.#isStale = true
    }
    if (isSnapshot) this.#isStale = false
    if (!this.#isStale) this.#queue.push(event)
    this.#goOn()
  }

  notice({ status, error }: LiveQuery): void {
    if (status === 'closed') {
      this.#end(error)
      return
    }
    this.status = status
    this.error = error
    this.#onStatus()
  }

  #start(): void {
    const { signal, connection } = this.#params
    const { signal: ownSignal } = (connection ?? {}) as SubscriptionParams
    const signals = [signal, ownSignal].filter((one) => one !== undefined)
    if (signals.some(({ aborted }) => aborted)) this.#end()
    if (this.status === 'closed') return
    this.#unfollow = signals.map((one) => followSignal(one, () => this.#end()))
    try {
      this.#followed = this.#live.join(this.#params, this)
    } catch (error) {
      this.#end(error)
      return
    }
    if (this.#followed.hasSnapshot) this.refresh()
    this.notice(this.#followed)
  }

  #end(error?: unknown): void {
    if (this.status === 'closed') return
    this.status = 'closed'
    this.error = error
    this.#failure = error
    this.#fetching = undefined
    for (const unfollow of this.#unfollow) unfollow()
    this.#followed?.leave(this)
    this.#goOn()
    this.#onStatus()
  }

  #goOn(): void {
    const wake = this.#wake
    this.#wake = []
    for (const resolve of wake) resolve()
  }
}
