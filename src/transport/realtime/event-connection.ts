import type { FastifyReply } from 'fastify'
import { isGone } from '../replies/reply-state.ts'

/** How soon a client whose connection has ended comes back, in milliseconds. */
const RETRY_MS = 2_000

/** How long a reader may take for the rest of a stream that ends, in milliseconds. */
const END_MS = 1_000

/** What writes to a connection. */
export interface FrameWriter {
  /** The length of its longest write since the reader had read everything. */
  largest: number
  /** How often the reader had read everything by then. */
  emptied: number
}

/** The connection of a reader, which one stream writes to, or several. */
export class EventConnection {
  /** When something was last written, in ms since the epoch. */
  writtenAt: number = Date.now()
  readonly #raw: FastifyReply['raw']
  readonly #maxWaitingBytes: number
  /** How often the reader had read everything. */
  #emptied = 1
  /** The sum of the longest writes of all writers since then. */
  #largest = 0
  /** Resolves when the reader has read everything; `null` if nothing waits for that. */
  #drained: Promise<void> | null = null

  /**
   * Begins the answer, with the headers that were set for it.
   * @param onClose called once when it has ended, by either side
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
    if (this.isOpen) raw.write(`retry: ${RETRY_MS}\n\n`)
  }

  get isOpen(): boolean {
    return !this.#raw.writableEnded && !isGone(this.#raw)
  }

  /**
   * Writes frames. A reader for whom too many bytes wait is cut off: the client comes back for what it
   * has missed. One write of each writer may be longer than that: a snapshot comes whole, however long it is.
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

  /** Whether more than `maxWaitingBytes` wait for the reader: write nothing before {@link drained}. */
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

  /** Writes a heartbeat, so that proxies keep the connection open. Cuts off a reader that {@link drained} waits for. */
  beat(): void {
    if (this.#drained !== null) this.#raw.destroy()
    else if (this.isOpen) this.#write(':\n\n')
  }

  /** Ends the answer. Nobody waits for a reader that does not read. */
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

/** Sets the headers of an answer in events. */
export function setEventHeaders(reply: FastifyReply): void {
  reply.header('content-type', 'text/event-stream; charset=utf-8')
  reply.header('cache-control', 'no-store')
  reply.header('x-content-type-options', 'nosniff')
  // nginx would collect frames to send them together.
  reply.header('x-accel-buffering', 'no')
}
