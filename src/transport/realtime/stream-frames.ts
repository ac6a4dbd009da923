import { createHash, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { EventLog, LoggedEvent } from './event-log.ts'
import { isOwnEvent } from './event-log.ts'
import { OWN_HEAD, toFrame } from './event-stream.ts'
import type { FollowedCall } from './followed-call.ts'
import { toEventKey } from './round.ts'
import type { EndedStream, EndedStreams } from './sent-records.ts'
import { SentRecords } from './sent-records.ts'
import type { Found } from './shared-find.ts'
import type { Shown } from './shown-records.ts'

/** The position at which a client reconnects. */
interface MissedEvents {
  /** The number of the last event that it has; `null` if it is unknown which events followed. */
  readonly sequence: number | null
  /** The position of that event, as the client named it. */
  readonly position: string
  /** Identifies the view that it had. */
  readonly viewTag: string
  /** Identifies the stream that sent it. */
  readonly token: string
}

/** An event with the frame of its record, or the reason why there is none. */
export interface ToldEvent {
  readonly event: LoggedEvent
  readonly text: Shown
}

/** The last snapshot that was sent. */
interface SentSnapshot {
  readonly digest: string
  /** The number of the last event that it includes. */
  readonly sequence: number
  /** When it was sent, in ms since the epoch. */
  readonly at: number
}

/** Returns the position at which a client reconnects; `null` for a new client, or one that wants no events. */
export function findMissed(log: EventLog, request: FastifyRequest): MissedEvents | null {
  const last = request.headers['last-event-id']
  if (last === undefined || last === '' || request.method === 'HEAD') return null
  const parts = String(last).split('.')
  const [viewTag = '', token = ''] = parts.splice(-2)
  const position = parts.join('.')
  return { sequence: log.fromPosition(position), position, viewTag, token }
}

/** The frames of one stream: their ids, with which a client reconnects, and the records that the client has. */
export class StreamFrames {
  /** Identifies the stream to a client that reconnects; no other client can guess it. */
  token: string = randomBytes(16).toString('base64url')
  /** The number of the last event that was sent or skipped. */
  cursor = 0
  /** The prefix of each event's name, as returned by `toHead()`. */
  head: string = OWN_HEAD
  readonly #call: FollowedCall
  /**
   * Whether records that were never sent to the client may have left the query: the client's total still counts them.
   */
  isMiscounted = false
  #sent = new SentRecords([], 0)
  #isCut = false
  /** The last snapshot, if `find` may be called again and nothing was sent since. */
  #snapshot: SentSnapshot | null = null

  constructor(call: FollowedCall) {
    this.#call = call
  }

  /** The number of records that the client has. */
  get size(): number {
    return this.#sent.size
  }

  /** Returns the state to keep for a client that reconnects, `null` for none. */
  toEnded(): EndedStream | null {
    const { view } = this.#call
    return view === null ? null : this.#sent.toEnded(view.key)
  }

  /** Continues at the position of a client that reconnects. Returns whether that is possible. */
  resume(
    { sequence, viewTag, token }: MissedEvents,
    streams: EndedStreams,
    caller: string | null,
  ): boolean {
    const { view } = this.#call
    if (sequence === null || view === null || viewTag !== this.#call.viewTag) return false
    const ended = streams.take(token, caller)
    const sent = SentRecords.resume(ended, view.key, sequence)
    if (sent === null) return false
    this.cursor = sequence
    this.#sent = sent
    // The previous stream may have sent a page, and the time to count its records again may have passed.
    this.isMiscounted = view.isPage === true
    // Until something is sent, the client reconnects with its current token. A shared connection sends the token at
    // once.
    if (ended !== undefined && !this.#isShared) this.token = token
    return true
  }

  /**
   * Returns the first frame of a stream on a shared connection, `''` for other streams. It has an id if the stream
   * continues a previous one: that one may have sent later ids before it ended, and the client must not reconnect with
   * those.
   */
  toOpening(missed: MissedEvents | null): string {
    if (!this.#isShared) return ''
    const start = missed === null ? this.head : this.#toStart(missed.position)
    return start + toFrame('open', '{}')
  }

  /** Returns the frame that makes a client forget its position and start over. */
  toResync(): string {
    return `id:\n${this.head}${toFrame('resync', '{}')}`
  }

  /** Returns the frames of a snapshot. The stream continues with the events after it. */
  toSnapshot({ json, keys, isCut, sequence }: Found): string {
    this.cursor = sequence
    this.isMiscounted = false
    this.#isCut = isCut
    this.#sent = new SentRecords(keys, sequence)
    const { repeatsFind } = this.#call
    this.#snapshot =
      repeatsFind || isCut ? { digest: toDigest(json), sequence, at: Date.now() } : null
    return this.#toStart(this.#call.topic.log.toPosition(sequence)) + toFrame('snapshot', json)
  }

  /** Returns the frames of a snapshot; `''` if the client already has it. */
  toChange(found: Found): string {
    const { repeatsFind, hub } = this.#call
    if (this.#snapshot?.digest !== toDigest(found.json)) return this.toSnapshot(found)
    const { sequence, at } = this.#snapshot
    // Sent again from time to time: another request of the client may have seen a state between two calls of `find`.
    const isOld = repeatsFind && at + hub.options.recheckMs <= Date.now()
    if (isOld && sequence !== found.sequence) return this.toSnapshot(found)
    this.cursor = found.sequence
    this.isMiscounted = false
    return ''
  }

  /** Returns the frames of events; `null` if it is unknown whether the client has one of the records. */
  write(batch: readonly ToldEvent[]): string | null {
    let frames = ''
    for (const { event, text } of batch) {
      const frame = this.#toFrame(event, text)
      if (frame === null) return null
      frames += frame
    }
    if (frames !== '') this.#snapshot = null
    return frames
  }

  /**
   * Returns the frame of an event; `''` for none, `null` if it is unknown whether the client has the record. Only a
   * client that has a record needs to know that it was removed or has left the query. If a record leaves before it was
   * ever sent, no event is sent.
   */
  #toFrame(event: LoggedEvent, text: Shown): string | null {
    const { id, name, position } = event
    if (text === undefined) return ''
    if (isOwnEvent(name)) return text === null ? '' : this.#toStart(position) + text
    const key = toEventKey(event)
    if (text !== null && name !== 'removed') {
      this.#sent.add(key)
      return this.#toStart(position) + text
    }
    const { log, idField } = this.#call.topic
    const hadIt = this.#sent.takeBack(key, event.sequence, log.last - log.size + 1)
    if (text !== null) return this.#toStart(position) + text
    // `shown-records.ts` has found that the query or a hook now hides the record.
    if (hadIt === undefined) return null
    if (!hadIt) {
      this.isMiscounted ||= this.#isCut && name !== 'created'
      return ''
    }
    const data = JSON.stringify({ [idField]: id })
    return this.#toStart(position) + toFrame(name === 'removed' ? name : 'left', data)
  }

  get #isShared(): boolean {
    return this.head !== OWN_HEAD
  }

  #toStart(position: string): string {
    return `id: ${position}.${this.#call.viewTag}.${this.token}\n${this.head}`
  }
}

function toDigest(json: string): string {
  return createHash('sha256').update(json).digest('base64url')
}
