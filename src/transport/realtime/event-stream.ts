import type { FastifyReply } from 'fastify'
import { sendBody } from '../replies/body.ts'
import { isGone } from '../replies/reply-state.ts'
import type { FrameWriter } from './event-connection.ts'
import { EventConnection, setEventHeaders } from './event-connection.ts'
import { RoutedResponse } from './routed-response.ts'

/** Why a stream ends. A reader that is too slow gets no reason: it would arrive too late. */
export type EndReason = 'closing' | 'expired' | 'refused'

/**
 * The response of a stream, in frames, on its own connection or on a shared one.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class EventStream implements FrameWriter {
  largest = 0
  emptied = 0
  readonly connection: EventConnection
  readonly #raw: FastifyReply['raw']

  /**
   * Starts the response, with the headers that were set for it.
   * @param onClose called once when either side has ended the response
   */
  constructor(reply: FastifyReply, maxWaitingBytes: number, onClose: () => void) {
    const { raw } = reply
    this.#raw = raw
    if (raw instanceof RoutedResponse) {
      reply.hijack()
      // The event is emitted only once anyway. With thousands of idle streams, `once` would take more memory.
      raw.on('close', onClose)
      this.connection = raw.begin(this)
    } else this.connection = new EventConnection(reply, maxWaitingBytes, onClose)
  }

  get isOpen(): boolean {
    return !this.#raw.writableEnded && !isGone(this.#raw) && this.connection.isOpen
  }

  /** Writes frames, as {@link EventConnection.write} does. */
  write(frames: string): void {
    if (this.isOpen) this.connection.write(frames, this)
  }

  /** Sends the reason and ends the stream. */
  end(reason: EndReason, message?: string): void {
    this.write(toHead(this.#raw) + toFrame('end', JSON.stringify({ reason, message })))
    this.leave()
  }

  /** Ends the stream. Returns whether it was open. */
  leave(): boolean {
    if (!this.isOpen) return false
    if (this.#raw instanceof RoutedResponse) this.#raw.end()
    else this.connection.end()
    return true
  }
}

/** Responds to a `HEAD` with the headers of a stream, without events. */
export function sendHead(reply: FastifyReply): void {
  setEventHeaders(reply)
  sendBody(reply, null)
}

/** The prefix of each event's name on a stream with its own connection. */
export const OWN_HEAD = 'event: '

/** Returns the prefix of each event's name: on a shared connection it includes the id of the subscription. */
export function toHead(raw: FastifyReply['raw']): string {
  return raw instanceof RoutedResponse ? `event: ${raw.id}/` : OWN_HEAD
}

/**
 * Returns the frame of an event, without the prefix that {@link toHead} returns. It has no id, so the position for a
 * reconnect does not change.
 */
export function toFrame(event: string, data: string): string {
  return `${event}\ndata: ${data}\n\n`
}
