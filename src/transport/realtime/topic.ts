import { findNotes } from '../../core/external-form.ts'
import type { HookContext, MethodEntry } from '../../core/index.ts'
import { STANDARD_EVENTS } from '../../core/method-table.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import { isObject } from '../../core/value-kind.ts'
import type { LoggedEvent } from './event-log.ts'
import { CHANGED, EventLog } from './event-log.ts'
import { FollowedFind } from './followed-find.ts'
import type { ResolvedRealtimeOptions } from './realtime-options.ts'
import { Round, toKey } from './round.ts'

/** A stream, as far as it is told of events. */
export interface Follower {
  /** The number of the last event that it was told of, or that was not for it. */
  readonly cursor: number
  /** Whether it is still at earlier events: it is told of others when it has done with them. */
  readonly isBusy: boolean
  readonly view: RecordView | null
  tell(round: Round): void
}

interface EmittingService {
  on(event: string, listener: (...values: never[]) => void): unknown
  off(event: string, listener: (...values: never[]) => void): unknown
  readonly id?: unknown
}

/**
 * The events of one service and the streams that follow them. Of an event only the id counts: the
 * record is read when streams are told of it, one round after the other. So what they are told is never
 * older than what they were told before, in whatever order events arrive.
 */
export class Topic {
  readonly find: FollowedFind
  readonly log: EventLog
  readonly followers: Set<Follower> = new Set()
  /** When the last stream has left, in ms since the epoch. */
  leftAt = 0
  readonly #method: MethodEntry
  readonly #listeners = new Map<string, (...values: never[]) => void>()
  #isRunning = false
  #warnsOfId = true

  constructor(method: MethodEntry, options: ResolvedRealtimeOptions, epoch: string) {
    this.#method = method
    this.find = new FollowedFind(method)
    this.log = new EventLog(options, epoch)
    for (const name of [...method.entry.options.serviceEvents, CHANGED]) {
      const listener = (item: unknown, context?: HookContext): void =>
        this.#log(name, item, context)
      this.#listeners.set(name, listener)
      this.#service.on(name, listener)
    }
  }

  /** The field that ids refer to. */
  get idField(): string {
    const { id } = this.#service
    return typeof id === 'string' ? id : '_id'
  }

  add(follower: Follower): void {
    this.followers.add(follower)
    this.wake()
  }

  remove(follower: Follower): void {
    this.followers.delete(follower)
    this.leftAt = Date.now()
  }

  /** Stops listening. */
  close(): void {
    for (const [name, listener] of this.#listeners) this.#service.off(name, listener)
  }

  /** Tells the streams of what they have not been told of. Call it when there may be something. */
  wake(): void {
    if (this.#isRunning || this.followers.size === 0) return
    this.#isRunning = true
    // What one call emits, a list of records for example, is told together.
    setImmediate(() => {
      this.#run().catch((error: unknown) => {
        // Tried again by the next event, or the next beat of the hub's clock.
        this.#isRunning = false
        const { app, path } = this.#method.entry
        app.logger.warn({ err: error, service: path }, 'Streams could not be told of events')
      })
    })
  }

  async #run(): Promise<void> {
    for (;;) {
      const due = [...this.followers].filter(
        ({ cursor, isBusy }) => !isBusy && cursor < this.log.last,
      )
      if (due.length === 0) break
      const round = await this.#createRound(due)
      for (const follower of due) if (this.followers.has(follower)) follower.tell(round)
      this.log.release(Math.min(...[...this.followers].map(({ cursor }) => cursor), this.log.last))
    }
    this.#isRunning = false
  }

  /** Reads what the events are about that some streams have not been told of. */
  async #createRound(due: readonly Follower[]): Promise<Round> {
    const end = this.log.last
    const first = Math.max(Math.min(...due.map(({ cursor }) => cursor)), end - this.log.size)
    const events = this.log.since(first) ?? []
    const views = new Map<string, RecordView>()
    for (const { view } of due) if (view !== null) views.set(view.place, view)
    const records = new Map<string, ReadonlyMap<string, object>>()
    for (const event of events) if (typeof event.place !== 'string') event.place = await event.place
    for (const [place, view] of views) records.set(place, await this.#read(view, events))
    return new Round(this.#method, events, end, records)
  }

  async #read(view: RecordView, events: readonly LoggedEvent[]): Promise<Map<string, object>> {
    const ids = new Map<string, unknown>()
    for (const { id, name, place } of events) {
      if (name !== CHANGED && name !== 'removed' && place === view.place) ids.set(toKey(id), id)
    }
    const found = ids.size === 0 ? [] : await view.read([...ids.values()])
    return new Map(found.map((record) => [toKey(Reflect.get(record, this.idField)), record]))
  }

  #log(name: string, item: unknown, context: HookContext | undefined): void {
    const { service } = this.#method.entry
    const id = isObject(item) ? item[this.idField] : undefined
    if (name === CHANGED || id === undefined || id === null) {
      if (name !== CHANGED) this.#warnOfId(name)
      this.log.append({ name: CHANGED, id: null, place: '' })
    } else {
      const isFollowed = isFollowable(service)
      const place = isFollowed ? service.locateRecords(context?.params ?? {}) : ''
      const isOwn = !STANDARD_EVENTS.includes(name)
      const carried = name === 'removed' ? findNotes(item as object)?.stored : undefined
      const record = isOwn || !isFollowed ? (item as object) : carried
      // A collection that can't be opened has no streams.
      const known = typeof place === 'string' ? place : place.catch(() => '')
      this.log.append({ name, id, place: known, record })
    }
    this.wake()
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
