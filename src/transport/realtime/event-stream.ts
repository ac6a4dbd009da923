import type { FastifyReply } from 'fastify'
import { sendBody } from '../replies/body.ts'
import { isGone } from '../replies/reply-state.ts'
import type { FrameWriter } from './event-connection.ts'
import { EventConnection, setEventHeaders } from './event-connection.ts'
import { RoutedResponse } from './routed-response.ts'

/** Why a stream ends. A reader that is too slow is told nothing: it would read that too late. */
export type EndReason = 'closing' | 'expired' | 'refused'

/**
 * The answer of a stream, in frames, on its own connection or on a shared one.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class EventStream implements FrameWriter {
  largest = 0
  emptied = 0
  readonly connection: EventConnection
  readonly #raw: FastifyReply['raw']

  /**
   * Begins the answer, with the headers that were set for it.
   * @param onClose called once when it has ended, by either side
   */
  constructor(reply: FastifyReply, maxWaitingBytes: number, onClose: () => void) {
    const { raw } = reply
    this.#raw = raw
    if (raw instanceof RoutedResponse) {
      reply.hijack()
      // The event comes once in any case. For thousands of idle streams, `once` would take more memory.
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

  /** Says why the stream ends, and ends it. */
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

/** Responds to a `HEAD` with the headers of a stream, and without events. */
export function sendHead(reply: FastifyReply): void {
  setEventHeaders(reply)
  sendBody(reply, null)
}

/** What stands before the name of each event of a stream with its own connection. */
export const OWN_HEAD = 'event: '

/** Returns what stands before the name of each event of a stream: on a shared connection, also whose event it is. */
export function toHead(raw: FastifyReply['raw']): string {
  return raw instanceof RoutedResponse ? `event: ${raw.id}/` : OWN_HEAD
}

/**
 * Returns the frame of an event, without what {@link toHead} returns. It has no id: the place that a client comes back to
 * stays what it was.
 */
export function toFrame(event: string, data: string): string {
  return `${event}\ndata: ${data}\n\n`
}
