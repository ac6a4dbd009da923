import { RECORD_NOTES } from '../../core/external-form.ts'
import type { HookContext, MethodEntry } from '../../core/index.ts'
import { STANDARD_EVENTS } from '../../core/method-table.ts'
import type { RecordView, SeenChange } from '../../core/services/record-view.ts'
import { hideFields, isFollowable, SEEN_CHANGE } from '../../core/services/record-view.ts'
import { isObject } from '../../core/value-kind.ts'
import { FollowedFind } from '../finds/followed-find.ts'
import type { LoggedEvent, LogLimits, RecordEvent } from './event-log.ts'
import { CHANGED, EVERYTHING, EventLog, RECHECK } from './event-log.ts'
import type { FindLimits } from './find-queue.ts'
import { FindQueue } from './find-queue.ts'
import { RECHECK_STREAMS } from './recheck.ts'
import { Round, toEventKey, toKey } from './round.ts'
import { SharedFinds } from './shared-find.ts'
import type { Turns } from './turns.ts'

/** The part of a stream that a topic uses. */
export interface Follower {
  /** The number of the last event that was sent to it or skipped. */
  readonly cursor: number
  /** Whether it is still handling earlier events: later ones follow when it is done. */
  readonly isBusy: boolean
  readonly view: RecordView | null
  /** Sends the events of a round. Resolves when the next stream may start; hooks may still be running. */
  tell(round: Round): Promise<void>
}

interface EmittingService {
  on(event: string | symbol, listener: (...values: never[]) => void): unknown
  off?(event: string | symbol, listener: (...values: never[]) => void): unknown
  readonly id?: unknown
}

/** Accepts an event that the service has emitted, with the call that caused it, if any. */
export type Publish = (topic: Topic, event: RecordEvent, context?: HookContext) => void

/** Limits of the log of a topic and of its rounds. */
export interface TopicOptions extends LogLimits {
  /** How many bytes of records one round may contain. */
  readonly maxReplayBytes: number
  /** The turns that all streams of the application share. */
  readonly turns: Turns
}

/**
 * The events of one service and the streams that follow them. An event carries only the id: the record is read when the
 * event is sent, one round after the other. So a stream never sends an older version of a record after a newer one, in
 * whatever order events arrive.
 */
export class Topic {
  readonly find: FollowedFind
  /** Runs rechecks and snapshots of the streams, a few at a time. */
  readonly queue: FindQueue
  readonly shared: SharedFinds
  readonly log: EventLog
  readonly followers: Set<Follower> = new Set()
  /** When the last stream left, in ms since the epoch. */
  leftAt: number = Date.now()
  /** The number of rechecks requested for all streams. */
  rechecks = 0
  /** Unique to each topic: a position of another service, or from before this one was closed, means nothing. */
  readonly #epoch = crypto.randomUUID().slice(0, 8)
  readonly #method: MethodEntry
  readonly #listeners = new Map<string | symbol, (...values: never[]) => void>()
  readonly #options: TopicOptions
  #isRunning = false
  #warnsOfId = true

  constructor(method: MethodEntry, options: TopicOptions, finds: FindLimits, publish: Publish) {
    this.#method = method
    this.#options = options
    this.queue = new FindQueue(finds)
    this.shared = new SharedFinds(this.queue, options.turns)
    this.find = new FollowedFind(method)
    this.log = new EventLog(options, `${this.#epoch}.0`)
    const { service } = method.entry
    if (isFollowable(service)) service.isFollowed = true
    for (const name of [...method.entry.options.serviceEvents, CHANGED]) {
      const isOwn = name !== CHANGED && !STANDARD_EVENTS.includes(name)
      this.#listen(name, (item: unknown, context?: HookContext) => {
        const isSeen = !isOwn && isFollowable(service) && service.isWatched
        const event = isSeen ? null : this.toEvent(name, item, context)
        if (event !== null) publish(this, event, context)
      })
    }
    this.#listen(RECHECK_STREAMS, () => {
      // Counted at once in this process, before the event reaches the log or the bus.
      this.rechecks += 1
      publish(this, { ...EVERYTHING, name: RECHECK })
    })
    this.#listen(SEEN_CHANGE, ({ position, storedAt, record, ...event }: SeenChange) => {
      const seen = { ...event, record: this.#hideFields(record) }
      this.append(seen, position ?? this.nextPosition, storedAt)
    })
  }

  /** The field that ids refer to. */
  get idField(): string {
    const { id } = this.#service
    return typeof id === 'string' ? id : '_id'
  }

  /** The position of the next event that was noticed only in this process. */
  get nextPosition(): string {
    return `${this.#epoch}.${this.log.last + 1}`
  }

  add(follower: Follower): void {
    this.followers.add(follower)
    this.wake()
  }

  remove(follower: Follower): void {
    this.followers.delete(follower)
    this.leftAt = Date.now()
  }

  append(event: RecordEvent, position: string, storedAt?: number): void {
    this.log.append(event, position, storedAt)
    if (event.name === RECHECK) this.rechecks += 1
    // No open stream needs the removed records any more: a client that reconnects needs only their ids.
    if (this.followers.size === 0) this.log.release(this.log.last)
    this.wake()
  }

  /** Stops listening. */
  close(): void {
    for (const [name, listener] of this.#listeners) this.#service.off?.(name, listener)
  }

  /**
   * Returns what the log needs of an event: most of it is read when it is sent. `null` for a custom event that no
   * stream can send.
   */
  toEvent(name: string, item: unknown, context: HookContext | undefined): RecordEvent | null {
    const { service } = this.#method.entry
    const id = isObject(item) ? item[this.idField] : undefined
    const isOwn = name !== CHANGED && !STANDARD_EVENTS.includes(name)
    if (isOwn && !this.#isAboutRecord(name, item)) return null
    if (name === CHANGED || (!isOwn && id == null)) {
      if (name !== CHANGED) this.#warnOfId(name)
      return EVERYTHING
    }
    const record = item as object
    if (!isFollowable(service)) {
      const shown = findDispatch(record, context)
      return isObject(shown) ? { name, id: id ?? null, place: '', record: shown } : EVERYTHING
    }
    const located = service.locateRecords(context?.params ?? {})
    // A collection that cannot be opened has no streams.
    const place = typeof located === 'string' ? located : located.catch(() => '')
    if (isOwn) {
      if (!this.#canBeWritten(name, record)) return null
      return { name, id, place, record: this.#hideFields(record) }
    }
    return { name, id, place, record: this.#hideFields(RECORD_NOTES.get(record)?.stored) }
  }

  /** Sends streams the events that they have not handled. Call it when there may be some. */
  wake(): void {
    if (this.#isRunning || this.followers.size === 0) return
    this.#isRunning = true
    // Events emitted by one call, for example for a list of records, are sent together.
    this.#run().catch((error: unknown) => {
      // The next event, or the next visit of the timer, tries again.
      this.#isRunning = false
      const { app, path } = this.#method.entry
      app.logger.warn({ err: error, service: path }, 'Events could not be sent to streams')
    })
  }

  async #run(): Promise<void> {
    await this.#options.turns.next()
    for (;;) {
      const { last } = this.log
      const due = [...this.followers].filter(({ cursor, isBusy }) => !isBusy && cursor < last)
      if (due.length === 0) break
      // Streams furthest behind come first: a round may end before all have had their turn.
      due.sort((a, b) => a.cursor - b.cursor)
      const round = await this.queue.limit(() => this.#createRound(due))
      for (const follower of due) {
        if (round.isTiring && !(await round.rest())) break
        if (this.followers.has(follower)) await follower.tell(round)
      }
      this.log.release(lowestCursor(this.followers, last))
    }
    this.#isRunning = false
  }

  /** Reads the records of the events that some streams have not handled. */
  async #createRound(due: readonly Follower[]): Promise<Round> {
    const { last, size } = this.log
    const first = Math.max(last - size, lowestCursor(due, last))
    let events = this.log.since(first) ?? []
    for (const event of events) {
      if (typeof event.place !== 'string') event.place = await event.place
    }
    const views = new Map<string, RecordView>()
    for (const { view } of due) if (view !== null) views.set(view.place, view)
    for (;;) {
      const records = await this.#readAll(views, events)
      if (records !== null) {
        return new Round(this.#method, this.log, this.#options.turns, events, records)
      }
      // Streams that lack the older half get a new snapshot.
      events = events.slice(Math.ceil(events.length / 2))
    }
  }

  /** Resolves to the records of events by their places, `null` if they exceed `maxReplayBytes`. */
  async #readAll(
    views: ReadonlyMap<string, RecordView>,
    events: readonly LoggedEvent[],
  ): Promise<ReadonlyMap<string, Map<string, object>> | null> {
    const all = new Map<string, Map<string, object>>()
    for (const [place, view] of views) {
      const ids = new Map<string, unknown>()
      for (const event of events) {
        if (event.id !== null && event.place === place) ids.set(toEventKey(event), event.id)
      }
      // A single record is sent however large it is.
      const maxBytes = ids.size > 1 ? this.#options.maxReplayBytes : undefined
      const found = ids.size === 0 ? [] : await view.read([...ids.values()], maxBytes)
      if (found === null) return null
      const byKey = found.map((one) => [toKey(Reflect.get(one, this.idField)), one] as const)
      all.set(place, new Map(byKey))
    }
    return all
  }

  /** Returns a record without hidden fields, which neither the log nor a bus may store. */
  #hideFields(record: object | undefined): object | undefined {
    return hideFields(this.#method.entry.service, record)
  }

  /**
   * Returns whether streams can send a custom event. If records are compared with queries, its id decides who gets it.
   */
  #isAboutRecord(event: string, data: unknown): boolean {
    const { app, path, service } = this.#method.entry
    const isRecord = isObject(data) && !Array.isArray(data)
    if (isRecord && (!isFollowable(service) || data[this.idField] != null)) return true
    const expected = isFollowable(service)
      ? `the record with its '${this.idField}', or an object with that`
      : 'an object'
    app.logger.error(
      { service: path, event },
      `A custom event was not sent to streams: its data must be ${expected}`,
    )
    return false
  }

  #canBeWritten(event: string, record: object): boolean {
    try {
      JSON.stringify(record)
      return true
    } catch (err) {
      const { app, path } = this.#method.entry
      app.logger.error({ err, service: path, event }, 'An event was not sent, as it is not JSON')
      return false
    }
  }

  #listen(event: string | symbol, listener: (...values: never[]) => void): void {
    this.#listeners.set(event, listener)
    this.#service.on(event, listener)
  }

  #warnOfId(event: string): void {
    if (!this.#warnsOfId) return
    this.#warnsOfId = false
    const { app, path } = this.#method.entry
    app.logger.warn(
      { service: path, event },
      `An event has no record with '${this.idField}': streams begin anew`,
    )
  }

  get #service(): EmittingService {
    return this.#method.entry.service as EmittingService
  }
}

function lowestCursor(followers: Iterable<Follower>, highest: number): number {
  let lowest = highest
  for (const { cursor } of followers) lowest = Math.min(lowest, cursor)
  return lowest
}

/** Returns the external form of a record in the result of a call. */
function findDispatch(record: object, context: HookContext | undefined): unknown {
  const { dispatch, result } = context ?? {}
  if (dispatch === undefined) return record
  if (!Array.isArray(result)) return dispatch
  return Array.isArray(dispatch) ? dispatch[result.indexOf(record)] : undefined
}
