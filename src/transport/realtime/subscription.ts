import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { HookContext, Params } from '../../core/index.ts'
import { BadRequest, NotAcceptable, toServiceError } from '../../core/index.ts'
import { STANDARD_EVENTS } from '../../core/method-table.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import { setHeaders } from '../replies/headers.ts'
import { isAnswered } from '../replies/reply-state.ts'
import type { StreamedCall } from '../request-streams.ts'
import { setCommonHeaders } from '../service-reply.ts'
import type { LoggedEvent } from './event-log.ts'
import { CHANGED } from './event-log.ts'
import type { EndReason } from './event-stream.ts'
import { EventStream, RESYNC, toFrame } from './event-stream.ts'
import { copyParams, listRecords } from './followed-find.ts'
import type { ResolvedRealtimeOptions } from './realtime-options.ts'
import type { Round } from './round.ts'
import { toKey, writeRecord, writeResult } from './round.ts'
import type { Follower, Topic } from './topic.ts'

/** What a stream needs of the streams of its application. */
export interface StreamHub {
  readonly options: ResolvedRealtimeOptions
  /** @throws {TooManyRequests | Unavailable} the caller, or the process, has as many as it may have */
  admit(subscription: Subscription, params: Params): void
  /** Whether the publisher of the service lets a caller hear of a record. */
  allows(topic: Topic, record: object, event: string, params: Params): boolean
  /** Returns, once, what a stream that has ended was sent. */
  takeSent(token: string): Set<string> | undefined
}

/** What a stream is to tell of one event. */
interface Telling {
  readonly event: LoggedEvent
  readonly name: string
  /** `null` where the id alone is told. */
  readonly record: object | null
}

/** The query of `find` that needs nobody to judge records by it. */
const UNJUDGED: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort'])

/** One caller's stream of the records of one query. */
export class Subscription implements Follower {
  /** Names the stream for whoever comes back to it; nobody else can guess it. */
  readonly token: string = randomBytes(16).toString('base64url')
  readonly topic: Topic
  cursor = 0
  isBusy = true
  view: RecordView | null = null
  /** The keys of the ids of the records that the caller has been sent; `null` where nobody knows. */
  sent: Set<string> | null = new Set()
  /** When it is to be looked up next what the caller may read, in ms since the epoch. */
  recheckAt = 0
  readonly #hub: StreamHub
  /** The params as the caller has sent them. */
  readonly #given: Params
  /** The params as the hooks have made them. */
  #params: Params = {}
  #isPage = false
  #stream: EventStream | null = null

  /** @param params those of the call, before its hooks */
  constructor(hub: StreamHub, topic: Topic, params: Params) {
    this.#hub = hub
    this.topic = topic
    this.#given = copyParams(params, params.query)
  }

  /** Who calls, as the hooks have found out. */
  get params(): Params {
    return this.#params
  }

  /** When the token of the caller expires, in ms since the epoch. */
  get expiresAt(): number {
    const { exp } = (this.#params.authentication?.['payload'] ?? {}) as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1_000 : Number.POSITIVE_INFINITY
  }

  /** When something was last written. */
  get writtenAt(): number {
    return this.#stream?.writtenAt ?? Number.POSITIVE_INFINITY
  }

  /**
   * Runs `find` and begins the answer: with its result, or with what the caller has missed since the event
   * that he names. The call is not kept: the stream may last for days, and its context holds the result.
   * @throws whatever `find` refuses the call for
   */
  async open(call: StreamedCall, onClose: () => void): Promise<void> {
    const { context, request, reply, transport } = call
    const missed = this.#findMissed(request)
    const { body, isResumed } = await this.#find(context, missed)
    const { status = 200, location } = context.http
    if (status !== 200 || location !== undefined) {
      throw new NotAcceptable('A hook of find answers by another status: there is no stream')
    }
    // It may have taken too long.
    if (isAnswered(reply)) {
      onClose()
      return
    }
    setCommonHeaders(transport, request, reply, context.service)
    setHeaders(reply, context.http)
    this.#stream = new EventStream(reply, this.#hub.options.maxWaitingBytes, onClose)
    if (!isResumed) {
      if (missed !== null) this.#stream.write(RESYNC)
      this.#writeSnapshot(body)
    }
    this.isBusy = false
    this.topic.add(this)
  }

  tell(round: Round): void {
    if (this.expiresAt <= Date.now()) {
      this.end('expired')
      return
    }
    const events = round.since(this.cursor)
    const tellings = events === null ? null : this.#choose(events, round)
    this.cursor = round.end
    if (tellings === null) void this.#work(() => this.#resync())
    else if (!this.topic.find.shapes) {
      this.#write(tellings, (record) => round.toJSON(this.view, record))
    } else if (tellings.length > 0) void this.#work(() => this.#show(tellings))
  }

  /** Looks up anew what the caller may read. */
  async recheck(): Promise<void> {
    if (this.isBusy) return
    await this.#work(async () => {
      const before = this.view?.key
      const context = this.topic.find.createContext(copyParams(this.#given, this.#given.query))
      await this.topic.find.call(context, async (running) => {
        await this.#follow(running)
        return this.#createResult()
      })
      if (this.view?.key !== before) await this.#resync()
    })
  }

  beat(): void {
    this.#stream?.beat()
  }

  end(reason: EndReason, message?: string): void {
    this.#stream?.end(reason, message)
  }

  /** Works on something that takes time; the stream is told of events when it is done. */
  async #work(task: () => Promise<void>): Promise<void> {
    this.isBusy = true
    try {
      await task()
    } catch (error) {
      this.#endBy(error)
    }
    this.isBusy = false
    this.topic.wake()
  }

  #endBy(thrown: unknown): void {
    const error = toServiceError(thrown)
    if (error.code >= 500) {
      const { entry } = this.topic.find.method
      entry.app.logger.error({ err: thrown, service: entry.path }, 'A stream has failed')
    }
    if (error.code === 401) this.end('expired', error.message)
    else if (error.code >= 500) this.end('closing')
    else this.end('refused', error.message)
  }

  /** Calls `find`. What happens from before its read on is told afterwards. */
  async #find(
    context: HookContext,
    missed: MissedEvents | null,
  ): Promise<{ body: unknown; isResumed: boolean }> {
    let isResumed = false
    const { body } = await this.topic.find.call(context, async (running) => {
      await this.#follow(running)
      isResumed = missed !== null && missed.sequence !== null && this.view !== null
      this.cursor = isResumed ? Number(missed?.sequence) : this.topic.log.last
      if (!isResumed) return this.topic.find.method.call(running)
      this.sent = missed?.sent ?? null
      return this.#createResult()
    })
    if (listRecords(body) === null) {
      throw new NotAcceptable('find answers neither by a page nor by a list: there is no stream')
    }
    this.#isPage = !Array.isArray(body)
    return { body, isResumed }
  }

  /** Takes over what the hooks have made of a call: who calls, and what he may read. */
  async #follow({ params }: HookContext): Promise<void> {
    const { service } = this.topic.find.method.entry
    this.#hub.admit(this, params)
    this.#params = params
    this.recheckAt = Date.now() + this.#hub.options.recheckMs
    if (isFollowable(service)) {
      this.view = await service.followRecords(params)
      return
    }
    const condition = Object.keys(params.query ?? {}).find((name) => !UNJUDGED.has(name))
    if (condition === undefined) return
    throw new BadRequest(
      `The service can't judge its records: no stream is possible by ${condition}`,
    )
  }

  #createResult(): unknown {
    const isPage = this.view?.isPage ?? this.#isPage
    return isPage ? { total: 0, limit: 0, skip: 0, data: [] } : []
  }

  async #resync(): Promise<void> {
    this.#stream?.write(RESYNC)
    const context = this.topic.find.createContext(copyParams(this.#given, this.#given.query))
    const { body } = await this.#find(context, null)
    this.#writeSnapshot(body)
  }

  #writeSnapshot(body: unknown): void {
    const { idField, find, log } = this.topic
    const ids = (listRecords(body) ?? []).map(
      (record) => (record as Record<string, unknown>)[idField],
    )
    const { maxRecords } = this.#hub.options
    if (ids.length > maxRecords) {
      throw new BadRequest(`A stream follows at most ${maxRecords} records: set $limit`)
    }
    this.sent = new Set(ids.filter((id) => id != null).map(toKey))
    const id = `id: ${log.toPosition(this.cursor)}.${this.token}\n`
    this.#stream?.write(id + toFrame('snapshot', writeResult(find.method, body)))
  }

  /** Returns where a client comes back to; `null` for one that begins. */
  #findMissed({ headers }: FastifyRequest): MissedEvents | null {
    const last = headers['last-event-id']
    if (last === undefined || last === '') return null
    const id = String(last)
    const end = id.lastIndexOf('.')
    const sequence = this.topic.log.fromPosition(id.slice(0, Math.max(0, end)))
    return { sequence, sent: this.#hub.takeSent(id.slice(end + 1)) }
  }

  /** Returns what is to be told of some events; `null` where only a new snapshot can tell it. */
  #choose(events: readonly LoggedEvent[], round: Round): readonly Telling[] | null {
    const tellings: Telling[] = []
    const told = new Set<string>()
    for (const event of events) {
      if (event.name === CHANGED) return null
      if (this.view !== null && event.place !== this.view.place) continue
      const key = toKey(event.id)
      const isChange = STANDARD_EVENTS.includes(event.name) && event.name !== 'removed'
      // All of them would tell the record as it is now. What can't be read again has a state for each.
      if (isChange && told.has(key) && this.view !== null) continue
      const telling = this.#judge(event, key, round)
      if (telling === undefined) return null
      if (telling !== null) tellings.push(telling)
      if (isChange) told.add(key)
      else if (event.name === 'removed') told.delete(key)
    }
    if ((this.sent?.size ?? 0) > this.#hub.options.maxRecords) return null
    return tellings
  }

  /** Returns what is to be told of one event, `null` for nothing, `undefined` where nobody knows. */
  #judge(event: LoggedEvent, key: string, round: Round): Telling | null | undefined {
    const { name } = event
    const isRemoved = name === 'removed'
    const record = isRemoved ? event.record : round.recordOf(event, this.view)
    // Gone by now: the event of that is on its way.
    if (record === undefined && !isRemoved) return null
    if (record !== undefined && this.#isShown(record, name, round)) {
      if (isRemoved) this.sent?.delete(key)
      else if (STANDARD_EVENTS.includes(name)) this.sent?.add(key)
      else return { event, name, record: event.record ?? record }
      return { event, name, record }
    }
    // It may have been sent before, by another process.
    if (this.sent === null) return undefined
    if (!STANDARD_EVENTS.includes(name) || !this.sent.has(key)) return null
    if (!isRemoved && record !== undefined && round.matches(this.view, record)) return null
    this.sent.delete(key)
    return { event, name: isRemoved ? name : 'left', record: null }
  }

  #isShown(record: object, name: string, round: Round): boolean {
    return (
      round.matches(this.view, record) && this.#hub.allows(this.topic, record, name, this.#params)
    )
  }

  /** Has the hooks of `find` make what is told. */
  async #show(tellings: readonly Telling[]): Promise<void> {
    const { find } = this.topic
    const texts = new Map<object, string>()
    const shown: Telling[] = []
    for (const telling of tellings) {
      const { record, event } = telling
      if (record === null) {
        shown.push(telling)
        continue
      }
      const picked = this.view?.pick(record) ?? record
      const params = copyParams(this.#params, this.#given.query)
      const seen = await find.show(params, picked, this.#isPage)
      if (seen !== undefined) {
        texts.set(record, writeRecord(find.method, seen))
        shown.push(telling)
      } else if (this.sent?.delete(toKey(event.id))) {
        shown.push({ event, name: 'left', record: null })
      }
    }
    this.#write(shown, (record) => texts.get(record) ?? '')
  }

  #write(tellings: readonly Telling[], toJSON: (record: object) => string): void {
    if (tellings.length === 0) return
    const { idField } = this.topic
    const frames = tellings.map(({ event, name, record }) => {
      const data = record === null ? JSON.stringify({ [idField]: event.id }) : toJSON(record)
      return `id: ${event.position}.${this.token}\n${toFrame(name, data)}`
    })
    this.#stream?.write(frames.join(''))
  }
}

/** Where a client comes back to. */
interface MissedEvents {
  /** The number of the last event that it has; `null` where nobody knows what came behind it. */
  readonly sequence: number | null
  /** What it was sent, where this process has sent it. */
  readonly sent: Set<string> | undefined
}
