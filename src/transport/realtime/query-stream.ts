import { isPassing } from '../../core/errors/error-classes.ts'
import type { Params } from '../../core/index.ts'
import { Timeout, toServiceError } from '../../core/index.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { beginAnswer } from '../finds/request-streams.ts'
import type { StreamedCall } from '../rest-plan.ts'
import type { LoggedEvent } from './event-log.ts'
import { CHANGED } from './event-log.ts'
import type { EndReason } from './event-stream.ts'
import { EventStream, sendHead, toHead } from './event-stream.ts'
import { persist } from './find-queue.ts'
import type { CallHub } from './followed-call.ts'
import { FollowedCall } from './followed-call.ts'
import type { Round } from './round.ts'
import type { EndedStream, EndedStreams } from './sent-records.ts'
import type { Found } from './shared-find.ts'
import { chooseEvent, shareRecord, showRecord } from './shown-records.ts'
import type { ToldEvent } from './stream-frames.ts'
import { findMissed, StreamFrames } from './stream-frames.ts'
import type { Follower, Topic } from './topic.ts'

/** The part of the event hub that a stream uses. */
export interface StreamHub extends CallHub {
  readonly ended: EndedStreams
  /** @throws {TooManyRequests | Unavailable} the caller or the process has reached its maximum number of streams */
  admit(stream: QueryStream, params: Params): void
}

/** How many characters of records are written to a stream at once. */
const BATCH_LENGTH = 65_536

/**
 * One caller's stream of the records of one query. It is a state machine: it is opening until the response starts, then
 * alternates between idle and busy (`isBusy`), and ends for good when its connection closes. Its invariants:
 *
 * - Only one task works on a stream at a time. A round of events skips a busy stream, which wakes the topic when it is
 * done.
 * - After a recheck was requested, no record is written until the hooks of `find` have succeeded: they decide what the
 * caller may read. Each later write of records first ends a stream whose token has expired.
 * - `cursor` is the number of the last event that was sent or skipped. While the stream is open, it moves on only
 * together with the frames up to that event, so a client that reconnects misses none.
 * - If the events since `cursor` are unknown, too many or too costly to compare, the stream sends `resync` and a new
 * snapshot instead.
 * - A record that the client has is taken back when it is removed or leaves the query. An ended stream never reopens;
 * the hub keeps what it has sent, for the client's next one.
 */
export class QueryStream implements Follower {
  readonly topic: Topic
  isBusy = true
  /** The caller that the stream counts for, `null` until it is admitted. */
  caller: string | null = null
  /** The token of the stream that this one continues, `''` for none. */
  follows = ''
  readonly #hub: StreamHub
  readonly call: FollowedCall
  readonly frames: StreamFrames
  #stream: EventStream | null = null

  /** @param params those of the call, before its hooks */
  constructor(hub: StreamHub, topic: Topic, params: Params) {
    this.#hub = hub
    this.topic = topic
    this.call = new FollowedCall(hub, topic, params, (after) => hub.admit(this, after))
    this.frames = new StreamFrames(this.call)
  }

  get view(): RecordView | null {
    return this.call.view
  }

  get cursor(): number {
    return this.frames.cursor
  }

  /**
   * Runs `find` and starts the response: with its result, or with the events that the caller has missed. The call is
   * not kept: the stream may last for days, and its context holds the result.
   * @throws the error with which `find` rejects the call
   */
  async open(call: StreamedCall, onClose: () => void): Promise<void> {
    const { context, request, reply } = call
    const missed = findMissed(this.topic.log, request)
    this.follows = missed?.token ?? ''
    this.frames.head = toHead(reply.raw)
    const found = await this.call.find(
      context,
      () => missed !== null && this.frames.resume(missed, this.#hub.ended, this.caller),
    )
    if (!beginAnswer(call)) return onClose()
    // Created before the response starts, so that a failure here is an ordinary error response.
    const snapshot = found === null ? '' : this.frames.toSnapshot(found)
    if (request.method === 'HEAD') {
      sendHead(reply)
      return onClose()
    }
    this.#stream = new EventStream(reply, this.#hub.options.maxWaitingBytes, onClose)
    this.#stream.write(this.frames.toOpening(found === null ? missed : null))
    this.topic.add(this)
    if (this.call.recheck.isAsked) {
      void this.#work(() => this.#renew(found !== null))
      return
    }
    const resync = found === null || missed === null ? '' : this.frames.toResync()
    this.#stream.write(resync + snapshot)
    this.isBusy = false
  }

  /** Returns the state to keep for a client that reconnects, `null` for none. */
  toEnded(): EndedStream | null {
    return this.#stream === null ? null : this.frames.toEnded()
  }

  async tell(round: Round): Promise<void> {
    const { cursor } = this
    // A recheck may have advanced the stream in the meantime.
    if (this.isBusy || cursor >= round.end) return
    this.#endIfExpired()
    if (!this.#stream?.isOpen) {
      this.frames.cursor = round.end
      return
    }
    if (this.call.recheck.isDue || this.call.repeatsFind) {
      // A round after the recheck sends the events. If events call `find` again, the snapshot of the recheck replaces
      // them.
      void this.recheck()
      return
    }
    this.call.recheck.noteTold()
    const telling = this.#tellEvents(round.since(cursor), round)
    void this.#work(async () => {
      if (!(await telling)) await this.#renew(true)
      else if (this.cursor < round.end && this.#stream?.connection.isFull)
        await this.#stream.connection.drained()
    })
    // Hooks may be slow, and other streams must not wait for them.
    if (!this.topic.find.shapes) await telling.catch(() => undefined)
  }

  /** Runs the hooks of `find` again. A busy stream does so itself before it sends any records. */
  async recheck(): Promise<void> {
    if (this.isBusy || !this.#stream?.isOpen) return
    await this.#work(() => this.#renew(false))
  }

  /** Requests a recheck: no records are sent before it has succeeded. */
  askRecheck(): void {
    this.call.recheck.ask()
    void this.recheck()
  }

  /** Ends the stream if its token has expired; otherwise starts a recheck that is due. Sends a heartbeat if one is. */
  visit(now: number): void {
    const { expiresAt, recheck } = this.call
    if (expiresAt <= now) this.end('expired')
    else if (recheck.isAsked || recheck.isTime) void this.recheck()
    const { connection } = this.#stream ?? {}
    if (connection && connection.writtenAt + this.#hub.options.heartbeatMs <= now) connection.beat()
  }

  end(reason: EndReason, message?: string): void {
    // While the stream is opening, its hooks may have checked the login just before it ended.
    if (this.#stream === null && reason === 'expired') this.call.recheck.ask()
    this.#stream?.end(reason, message)
  }

  /** Ends the stream without a reason, as another one continues it. Returns whether it was open. */
  leave(): boolean {
    return this.#stream?.leave() ?? false
  }

  /** Runs a task that takes time; the stream gets further events when it is done. */
  async #work(task: () => Promise<unknown>): Promise<void> {
    this.isBusy = true
    try {
      await task()
    } catch (error) {
      this.#endBy(error)
    }
    this.isBusy = false
    if (this.call.recheck.isAsked) void this.recheck()
    this.topic.wake()
  }

  #endIfExpired(): void {
    if (this.call.expiresAt <= Date.now()) this.end('expired')
  }

  #endBy(thrown: unknown): void {
    const error = toServiceError(thrown)
    // The client has left. If the server is closing, its database may be closed already.
    if (!this.#stream?.isOpen) return
    if (error.code >= 500 || error.code === Timeout.code) {
      this.#log('error', thrown, 'A stream has failed')
    }
    // A 429 may come from a hook that counts calls: it says nothing about what the caller may read.
    if (isPassing(error.code)) this.end('closing')
    else this.end(error.code === 401 ? 'expired' : 'refused', error.message)
  }

  #log(level: 'warn' | 'error', err: unknown, message: string): void {
    const { entry } = this.topic.find.method
    entry.app.logger[level]({ err, service: entry.path }, message)
  }

  /**
   * Runs the hooks of `find` again. Sends a snapshot if one is wanted, or if what the caller may read has changed.
   * Resolves to whether it has sent one.
   */
  async #renew(wantsSnapshot: boolean): Promise<boolean> {
    const call = this.call
    const before = this.view?.key
    let isResync = wantsSnapshot
    let isWanted = isResync || call.repeatsFind
    // Reads no snapshot for a client that is not reading.
    if (isWanted && this.#stream?.connection.isFull) await this.#stream.connection.drained()
    if (isResync) this.#stream?.write(this.frames.toResync())
    for (;;) {
      let isShared = false
      // Hooks that shape results run with the `find` below.
      if (!isWanted || !(call.repeatsFind || this.topic.find.shapes)) {
        isShared = await this.#persist(() => this.#queue(() => call.lookUp()))
        if (!isWanted && (call.repeatsFind || this.view?.key !== before)) {
          isWanted = true
          isResync = true
          this.#stream?.write(this.frames.toResync())
        }
        if (this.call.recheck.isAsked) continue
        if (!isWanted && !this.frames.isMiscounted) return false
      }
      const find = (): Promise<Found> => (isShared ? call.share() : this.#queue(() => call.find()))
      const found = await this.#persist(find)
      // The snapshot may contain more than the caller may now read.
      if (this.call.recheck.isAsked) continue
      // Only a round sends custom events. The next recheck corrects the total.
      if (!isWanted && this.topic.log.hasOwn(this.cursor, found.sequence)) return false
      this.#endIfExpired()
      const frames = isResync ? this.frames.toSnapshot(found) : this.frames.toChange(found)
      if (frames !== '') this.#stream?.write(frames)
      return true
    }
  }

  /** Runs work that reads the database when the turn of the stream comes. */
  #queue<T>(work: () => Promise<T>): Promise<T> {
    return this.topic.queue.run(work, () => this.#stream?.isOpen === true)
  }

  /** Repeats work that fails because a service or the database is unavailable. No records are sent in the meantime. */
  #persist<T>(work: () => Promise<T>): Promise<T> {
    return persist(work, (error, attempt) => {
      if (!this.#stream?.isOpen) return false
      if (attempt === 1) this.#log('warn', error, 'A stream waits for its records')
      return true
    })
  }

  /**
   * Sends events until the reader falls behind or a recheck is due; a later round sends the rest. Resolves to `false`
   * if a new snapshot is needed instead.
   */
  async #tellEvents(events: readonly LoggedEvent[] | null, round: Round): Promise<boolean> {
    const { maxRecords, maxComparedBytes } = this.#hub.options
    if (events === null || events.some(({ name }) => name === CHANGED)) return false
    if (this.frames.size > maxRecords) return false
    const { shapes } = this.topic.find
    const told = new Set<string>()
    let batch: ToldEvent[] = []
    let [cost, length, reached] = [0, 0, this.cursor]
    for (const logged of events) {
      if (round.isTiring && !(await round.rest())) {
        if (!shapes) return true
        break
      }
      if (shapes ? await this.#isRenewed() : this.call.recheck.isAsked) return true
      if (length >= BATCH_LENGTH) {
        if (!this.#write(batch, reached)) return false
        if (this.#stream?.connection.isFull) return true
        batch = []
        length = 0
      }
      // The client has left.
      if (!this.#stream?.isOpen) return true
      if (this.view !== null) cost += round.costOf(this.view, logged)
      if (cost > maxComparedBytes) return false
      const event = chooseEvent(this.view, logged, told, round)
      if (event !== null) {
        const text = shapes
          ? await showRecord(this.call, event, round)
          : shareRecord(this.call, event, round)
        if (text === false) return false
        batch.push({ event, text })
        length += text?.length ?? 0
      }
      reached = logged.sequence
    }
    // The hooks may have shown more than the caller may now read.
    if (shapes && (await this.#isRenewed())) return true
    return this.#write(batch, reached)
  }

  /** Runs a recheck if one is due. Resolves to whether it has sent a snapshot, which replaces the events. */
  async #isRenewed(): Promise<boolean> {
    return this.call.recheck.isDue && (await this.#renew(false))
  }

  /**
   * Writes the frames of events. Returns `false` if a new snapshot is needed instead.
   * @param reached the number of the last event that was handled
   */
  #write(batch: readonly ToldEvent[], reached: number): boolean {
    this.#endIfExpired()
    // The client left while hooks were running: none of this counts as sent when it reconnects.
    if (!this.#stream?.isOpen) return true
    const frames = this.frames.write(batch)
    if (frames === null) return false
    if (frames !== '') this.#stream.write(frames)
    this.frames.cursor = reached
    return true
  }
}
