import { createHash } from 'node:crypto'
import { toExpiry } from '../../auth/proof.ts'
import { InvalidStream, StreamUnsupported } from '../../core/errors/coded-errors.ts'
import type { HookContext, Params, Query } from '../../core/index.ts'
import { PAGING_NAMES } from '../../core/query-names.ts'
import { copyPlain } from '../../core/schema/plain-objects.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import type { TransportParams } from '../../core/transport-facts.ts'
import { EVENT_STREAM, TRANSPORT_FACTS } from '../../core/transport-facts.ts'
import { checkRecords, copyParams, toFindResult } from '../finds/followed-find.ts'
import { writeResult } from '../replies/result-serializer.ts'
import { toBody } from '../service-reply.ts'
import type { ResolvedRealtimeOptions } from './realtime-options.ts'
import { Recheck } from './recheck.ts'
import { toKey } from './round.ts'
import type { Found } from './shared-find.ts'
import type { Topic } from './topic.ts'

/** The part of the event hub that a call uses. */
export interface CallHub {
  readonly options: ResolvedRealtimeOptions
  /** Returns whether the publisher of the service lets a caller receive a record. */
  allows(topic: Topic, record: object, event: string, params: Params): boolean
}

/** The call of `find` behind a stream. It is repeated while the stream is open. */
export class FollowedCall {
  readonly hub: CallHub
  readonly topic: Topic
  readonly given: Params
  readonly recheck: Recheck
  view: RecordView | null = null
  /** Identifies the view in the ids of frames, so that a process that does not know the stream recognizes the view. */
  viewTag = ''
  /**
   * Whether each event calls `find` again, because only `find` knows which records it shows: it is a custom
   * implementation, or a hook sets the result. The view is `null` then.
   */
  repeatsFind = false
  readonly #admit: (params: Params) => void
  /** The params after the hooks. */
  #params: Params = {}
  #isPage = false

  /**
   * @param params those of the call, before its hooks; the constructor marks them as belonging to a stream
   * @param admit counts the stream for its caller, by the params after the hooks. Throws if the caller has too many
   */
  constructor(hub: CallHub, topic: Topic, params: Params, admit: (params: Params) => void) {
    this.hub = hub
    this.topic = topic
    const marked: TransportParams = params
    marked[EVENT_STREAM] = true
    this.given = copyParams(params, params.query)
    this.recheck = new Recheck(topic, hub.options.recheckMs)
    this.#admit = admit
  }

  /** The params after the hooks, with the user that the hooks have authenticated. */
  get params(): Params {
    return this.#params
  }

  /** When the token of the caller expires, in ms since the epoch. */
  get expiresAt(): number {
    return toExpiry(this.#params.authentication)
  }

  /**
   * Calls `find`. Resolves to its records, with the number of the last event before they were read: later events must
   * still be sent.
   * @param context that of the call. Default: one like the call that opened the stream
   * @param resume called after the hooks; returns whether the stream continues without a snapshot, so that `find` is
   *   not needed
   */
  async find(context?: HookContext): Promise<Found>
  async find(context: HookContext, resume: () => boolean): Promise<Found | null>
  async find(context = this.#createContext(), resume = () => false): Promise<Found | null> {
    const { find, log } = this.topic
    const done = this.recheck.begin()
    let isResumed = false
    // Hooks that set the result may read it at any time from here on.
    let sequence = log.last
    const run = async (running: HookContext): Promise<unknown> => {
      await this.#follow(running)
      isResumed = resume()
      if (isResumed) return this.createResult()
      if (!this.repeatsFind) sequence = log.last
      return find.method.call(running)
    }
    const body = await this.#call(context, run)
    done()
    checkRecords(body)
    this.#isPage = !Array.isArray(body)
    return isResumed ? null : this.#toFound(body, sequence)
  }

  /**
   * Runs the hooks of `find` around an empty result. Resolves to whether they leave the result as the method returned
   * it: then streams with an equal `findKey` may {@link share} one read.
   */
  async lookUp(): Promise<boolean> {
    const { find } = this.topic
    const done = this.recheck.begin()
    let empty: unknown
    const run = async (running: HookContext): Promise<unknown> => {
      await this.#follow(running)
      empty = this.createResult()
      return empty
    }
    const body = await this.#call(this.#createContext(), run)
    done()
    return body === empty && !find.shapes && this.view?.findKey != null
  }

  /** Runs the hooks of `find` around a function. Afterwards the stream keeps nothing that only this call needed. */
  async #call(context: HookContext, run: (running: HookContext) => unknown): Promise<unknown> {
    try {
      return await this.topic.find.call(context, run, (running) => this.#repeat(running))
    } finally {
      ;(this.given as TransportParams)[TRANSPORT_FACTS]?.release()
    }
  }

  /** Resolves to the records for the last {@link lookUp}, in one read for all streams with the same `findKey`. */
  share(): Promise<Found> {
    const { find, log, shared } = this.topic
    const { params } = this
    return shared.find(this.view?.findKey ?? '', async () => {
      const sequence = log.last
      // A copy without the signal: a client that leaves must not abort the call of all streams.
      const context = find.createContext({ ...params, query: copyPlain(params.query) as Query })
      return this.#toFound(toBody(await find.method.call(context)), sequence)
    })
  }

  createResult(data: readonly object[] = []): unknown {
    return toFindResult(this.view ?? { isPage: this.#isPage }, data)
  }

  /** Returns the context of a call like the one that opened the stream. */
  #createContext(): HookContext {
    return this.topic.find.createContext(copyParams(this.given, this.given.query))
  }

  /**
   * Stores the params after the hooks, which identify the caller and what that caller may read.
   * @throws {BadRequest} the query has too many conditions, or one that cannot be compared with a record
   */
  async #follow(context: HookContext): Promise<void> {
    const { params } = context
    const { service } = this.topic.find.method.entry
    this.#admit(params)
    this.#params = params
    const isJudge = isFollowable(service)
    const view = isJudge ? await service.followRecords(params) : null
    const isPaging = (name: string): boolean => PAGING_NAMES.includes(name)
    if (view === null && (isJudge || !Object.keys(params.query ?? {}).every(isPaging))) {
      this.#repeat(context)
      return
    }
    this.repeatsFind = false
    this.view = view
    if (view === null) return
    const { maxConditions } = this.hub.options
    if ((view.conditions ?? 0) > maxConditions) {
      throw new InvalidStream(`The query of a stream can have at most ${maxConditions} conditions`)
    }
    this.viewTag = toViewTag(view)
  }

  /**
   * Stores the params of a call whose records only `find` knows.
   * @throws {NotAcceptable} the caller wants only events and no records: there are none
   */
  #repeat({ params }: HookContext): void {
    this.#admit(params)
    this.#params = params
    this.repeatsFind = true
    this.view = null
    this.viewTag = ''
    if (Number(params.query?.['$limit']) !== 0) return
    throw new StreamUnsupported(
      'The stream would only send the results of find, not single events: $limit must not be 0',
    )
  }

  /** @throws {BadRequest} there are more records than a stream may have */
  #toFound(body: unknown, sequence: number): Found {
    const { idField, find } = this.topic
    const ids = checkRecords(body).map((record) => (record as Document)[idField])
    const { maxRecords } = this.hub.options
    if (ids.length > maxRecords) {
      throw new InvalidStream(`A stream follows at most ${maxRecords} records: set $limit`)
    }
    const keys = this.repeatsFind ? [] : ids.filter((id) => id != null).map(toKey)
    const isCut = Number((body as Document)['total'] ?? 0) > ids.length
    return { json: writeResult(find.method, body), keys, isCut, sequence }
  }
}

type Document = Readonly<Record<string, unknown>>

/** Returns a short string that is the same in all processes for the same view. */
function toViewTag({ key }: RecordView): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 6)
}
