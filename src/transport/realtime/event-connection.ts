import type { FastifyReply } from 'fastify'
import { isGone } from '../replies/reply-state.ts'

/** How soon a disconnected client reconnects, in milliseconds. */
const RETRY_MS = 2_000

/** How long a reader may take to read the rest of a stream that ends, in milliseconds. */
const END_MS = 1_000

/** A writer on a connection. */
export interface FrameWriter {
  /** The length of its longest write since the reader had last read everything. */
  largest: number
  /** The connection's count of such moments, at that write. */
  emptied: number
}

/** The connection of a reader, to which one or several streams write. */
export class EventConnection {
  /** When something was last written, in ms since the epoch. */
  writtenAt: number = Date.now()
  readonly #raw: FastifyReply['raw']
  readonly #maxWaitingBytes: number
  /** How many times the reader has read everything. */
  #emptied = 1
  /** The sum of the longest writes of all writers since then. */
  #largest = 0
  /** Resolves when the reader has read everything; `null` if nothing waits for that. */
  #drained: Promise<void> | null = null

  /**
   * Starts the response, with the headers that were set for it.
   * @param onClose called once when either side has ended the response
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
      // A header is invalid in HTTP: nothing else would end the response.
      raw.destroy()
      throw error
    }
    if (this.isOpen) raw.write(`retry: ${RETRY_MS}\n\n`)
  }

  get isOpen(): boolean {
    return !this.#raw.writableEnded && !isGone(this.#raw)
  }

  /**
   * Writes frames. A reader with too many waiting bytes is cut off: the client reconnects for what it missed. One write
   * per writer may exceed the limit: a snapshot is sent whole, however long it is.
   */
  write(frames: string, writer: FrameWriter): void {
    if (!this.isOpen) return
    const { writableLength } = this.#raw
    if (writableLength === 0) {
      this.#emptied += 1
      this.#largest = 0
    }
    if (writableLength > this.#maxWaitingBytes + this.#largest) {
      this.#raw.destroy()
      return
    }
    if (writer.emptied !== this.#emptied) {
      writer.emptied = this.#emptied
      writer.largest = 0
    }
    if (frames.length > writer.largest) {
      this.#largest += frames.length - writer.largest
      writer.largest = frames.length
    }
    this.#write(frames)
  }

  /** Whether more than `maxWaitingBytes` are waiting for the reader: write nothing before {@link drained}. */
  get isFull(): boolean {
    return this.#raw.writableLength > this.#maxWaitingBytes
  }

  /** Resolves when the reader has read everything, or the connection has ended. */
  drained(): Promise<void> {
    this.#drained ??= new Promise((resolve) => {
      const done = (): void => {
        this.#drained = null
        this.#raw.off('drain', done).off('close', done)
        resolve()
      }
      this.#raw.on('drain', done).on('close', done)
    })
    return this.#drained
  }

  /**
   * Writes a heartbeat, so that proxies keep the connection open. Cuts off a reader that has not caught up since {@link
   * drained} was called.
   */
  beat(): void {
    if (this.#drained !== null) this.#raw.destroy()
    else if (this.isOpen) this.#write(':\n\n')
  }

  /** Ends the response. A reader that does not read is cut off. */
  end(): void {
    this.#raw.end()
    const timer = setTimeout(() => this.#raw.destroy(), END_MS).unref()
    this.#raw.once('close', () => clearTimeout(timer))
  }

  #write(frames: string): void {
    this.#raw.write(frames)
    this.writtenAt = Date.now()
  }
}

/** Sets the headers of a response that is an event stream. */
export function setEventHeaders(reply: FastifyReply): void {
  reply.header('content-type', 'text/event-stream; charset=utf-8')
  reply.header('cache-control', 'no-store')
  reply.header('x-content-type-options', 'nosniff')
  // Otherwise nginx would buffer frames.
  reply.header('x-accel-buffering', 'no')
}
