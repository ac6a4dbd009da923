import type { FastifyReply } from 'fastify'
import { sendBody } from '../replies/body.ts'
import { isGone } from '../replies/reply-state.ts'

/** How soon a client whose connection has ended comes back, in milliseconds. */
const RETRY_MS = 2_000

/** How long a reader may take for the rest of a stream that ends, in milliseconds. */
const END_MS = 1_000

/** Why a stream ends. A reader that is too slow is told nothing: it would read that too late. */
export type EndReason = 'closing' | 'expired' | 'refused'

/**
 * The answer of a stream, in frames.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class EventStream {
  /** When something was last written, in ms since the epoch. */
  writtenAt: number = Date.now()
  readonly #raw: FastifyReply['raw']
  readonly #maxWaitingBytes: number
  /** The length of the longest write since the reader had read everything. */
  #largest = 0
  /** Whether {@link drained} waits for the reader. */
  #isAwaited = false

  /**
   * Begins the answer, with the headers that were set for it.
   * @param onClose called once when it has ended, whoever has ended it
   */
  constructor(reply: FastifyReply, maxWaitingBytes: number, onClose: () => void) {
    const { raw } = reply
    this.#raw = raw
    this.#maxWaitingBytes = maxWaitingBytes
    setEventHeaders(reply)
    const headers = reply.getHeaders()
    reply.hijack()
    raw.once('close', onClose)
    try {
      raw.writeHead(200, headers as Record<string, string | string[]>)
    } catch (error) {
      // A header that HTTP can't carry: nothing else ends the answer now.
      raw.destroy()
      throw error
    }
    this.write(`retry: ${RETRY_MS}\n\n`)
  }

  get isOpen(): boolean {
    return !this.#raw.writableEnded && !isGone(this.#raw)
  }

  /**
   * Writes frames. A reader for whom too many bytes wait is cut off: the client comes back for what it
   * has missed. One write may be longer than that: a snapshot comes whole, however long it is.
   */
  write(frames: string): void {
    if (!this.isOpen) return
    const { writableLength } = this.#raw
    if (writableLength === 0) this.#largest = 0
    if (writableLength > this.#maxWaitingBytes + this.#largest) {
      this.#raw.destroy()
      return
    }
    this.#largest = Math.max(this.#largest, frames.length)
    this.#raw.write(frames)
    this.writtenAt = Date.now()
  }

  /** Whether more than `maxWaitingBytes` wait for the reader: write nothing before {@link drained}. */
  get isFull(): boolean {
    return this.#raw.writableLength > this.#maxWaitingBytes
  }

  /** Resolves when the reader has read everything, or the stream has ended. */
  drained(): Promise<void> {
    this.#isAwaited = true
    return new Promise((resolve) => {
      const done = (): void => {
        this.#isAwaited = false
        this.#raw.off('drain', done).off('close', done)
        resolve()
      }
      this.#raw.on('drain', done).on('close', done)
    })
  }

  /** Writes a heartbeat, so that proxies keep the connection open. Cuts off a reader that {@link drained} waits for. */
  beat(): void {
    if (this.#isAwaited) this.#raw.destroy()
    else this.write(':\n\n')
  }

  /** Says why the stream ends, and ends it. Nobody waits for a reader that does not read. */
  end(reason: EndReason, message?: string): void {
    if (!this.isOpen) return
    this.write(toFrame('end', JSON.stringify({ reason, message })))
    this.#raw.end()
    const timer = setTimeout(() => this.#raw.destroy(), END_MS).unref()
    this.#raw.once('close', () => clearTimeout(timer))
  }
}

/** Responds to a `HEAD` with the headers of a stream, and without events. */
export function sendHead(reply: FastifyReply): void {
  setEventHeaders(reply)
  sendBody(reply, null)
}

function setEventHeaders(reply: FastifyReply): void {
  reply.header('content-type', 'text/event-stream; charset=utf-8')
  reply.header('cache-control', 'no-store')
  reply.header('x-content-type-options', 'nosniff')
  // nginx would collect frames to send them together.
  reply.header('x-accel-buffering', 'no')
}

/** Returns the frame of an event. It has no id: the place that a client comes back to stays what it was. */
export function toFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`
}

/** Makes clients forget where they are: they begin anew. */
export const RESYNC: string = `id:\n${toFrame('resync', '{}')}`
