import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { EventLog, LoggedEvent } from './event-log.ts'
import { toFrame } from './event-stream.ts'
import type { FollowedCall } from './followed-call.ts'
import { takeBack, toLeftFrame } from './left-records.ts'
import { toEventKey } from './round.ts'
import type { EndedStream } from './sent-records.ts'
import { SentRecords } from './sent-records.ts'
import type { Found } from './shared-find.ts'
import type { Shown } from './shown-records.ts'
import { isOwnEvent } from './shown-records.ts'

/** Where a client comes back to. */
interface MissedEvents {
  /** The number of the last event that it has; `null` where nobody knows what came after it. */
  readonly sequence: number | null
  /** Names the view that it had. */
  readonly viewTag: string
  /** Names the stream that it has it from. */
  readonly token: string
}

/** What keeps what streams that have ended have sent. */
export interface EndedStreamKeeper {
  /** Returns, once, what a stream that has ended has sent. */
  takeEnded(token: string): EndedStream | undefined
}

/** An event with the frame of its record, or why there is none. */
export interface ToldEvent {
  readonly event: LoggedEvent
  readonly text: Shown
}

/** Returns where a client comes back to; `null` for one that begins, or takes no events. */
export function findMissed(log: EventLog, request: FastifyRequest): MissedEvents | null {
  const last = request.headers['last-event-id']
  if (last === undefined || last === '' || request.method === 'HEAD') return null
  const parts = String(last).split('.')
  const [viewTag = '', token = ''] = parts.splice(-2)
  return { sequence: log.fromPosition(parts.join('.')), viewTag, token }
}

/** The frames of one stream: the ids by which a client comes back, and the records that it has by them. */
export class StreamFrames {
  /** Names the stream for whoever comes back to it; nobody else can guess it. */
  token: string = randomBytes(16).toString('base64url')
  /** The number of the last event that the stream was told of, or that was not for it. */
  cursor = 0
  readonly #call: FollowedCall
  #sent = new SentRecords([], 0)

  constructor(call: FollowedCall) {
    this.#call = call
  }

  /** How many records the client has. */
  get size(): number {
    return this.#sent.size
  }

  /** Returns what is kept for the client to come back to, `null` for nothing. */
  toEnded(): EndedStream | null {
    const { view } = this.#call
    return view === null ? null : this.#sent.toEnded(view.key)
  }

  /** Goes on where a client has been. Returns whether that is possible. */
  resume({ sequence, viewTag, token }: MissedEvents, keeper: EndedStreamKeeper): boolean {
    const { view } = this.#call
    if (sequence === null || view === null || viewTag !== this.#call.viewTag) return false
    const ended = keeper.takeEnded(token)
    const sent = SentRecords.resume(ended, view.key, sequence)
    if (sent === null) return false
    this.cursor = sequence
    this.#sent = sent
    // As long as nothing is told the client comes back by the name that it has.
    if (ended !== undefined) this.token = token
    return true
  }

  /** Returns the frames of a snapshot. The stream sends the events after it. */
  toSnapshot({ json, keys, sequence }: Found): string {
    this.cursor = sequence
    this.#sent = new SentRecords(keys, sequence)
    return this.#toIdLine(this.#call.topic.log.toPosition(sequence)) + toFrame('snapshot', json)
  }

  /** Returns the frames of events; `null` where nobody knows whether there is one. */
  write(batch: readonly ToldEvent[]): string | null {
    let frames = ''
    for (const { event, text } of batch) {
      const frame = this.#toFrame(event, text)
      if (frame === null) return null
      frames += frame
    }
    return frames
  }

  /** Returns the frame of an event, `''` for none, `null` where nobody knows whether there is one. */
  #toFrame(event: LoggedEvent, text: Shown): string | null {
    const { name, position } = event
    if (text === undefined) return ''
    if (isOwnEvent(name)) return text === null ? '' : this.#toIdLine(position) + text
    if (text === null) {
      const left = toLeftFrame(this.#sent, event, this.#call.topic)
      return left === null || left === '' ? left : this.#toIdLine(position) + left
    }
    if (name === 'removed') takeBack(this.#sent, event, this.#call.topic)
    else this.#sent.add(toEventKey(event))
    return this.#toIdLine(position) + text
  }

  #toIdLine(position: string): string {
    return `id: ${position}.${this.#call.viewTag}.${this.token}\n`
  }
}
