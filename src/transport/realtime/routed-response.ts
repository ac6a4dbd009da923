import type { IncomingHttpHeaders } from 'node:http'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { EventConnection } from './event-connection.ts'

/** How many characters of an answer that is no stream are read: errors are shorter. */
const MAX_LENGTH = 65_536

/** A stream, as far as its connection ends it. */
interface EndingStream {
  end(reason: 'closing'): void
}

/** What answers of several requests are written to. */
export interface SharedConnection {
  readonly connection: EventConnection
  /** Called if the answer is no stream. */
  refuse(response: RoutedResponse): void
  /** Called once when the answer has ended. */
  release(response: RoutedResponse): void
}

/** A `GET` that a client has not sent by itself, but in the body of another request. */
export class RoutedRequest extends IncomingMessage {
  /** @param outer the request that names it */
  constructor(
    outer: IncomingMessage,
    url: string,
    headers: IncomingHttpHeaders,
    rawHeaders: string[],
  ) {
    super(outer.socket)
    this.method = 'GET'
    this.url = url
    this.headers = headers
    this.rawHeaders = rawHeaders
    this.httpVersion = outer.httpVersion
    this.httpVersionMajor = outer.httpVersionMajor
    this.httpVersionMinor = outer.httpVersionMinor
    this.complete = true
    this.push(null)
  }

  /** That of Node would end the connection, which others use. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    callback(error)
  }
}

/** The answer to a {@link RoutedRequest}: a stream writes to the shared connection, and only the error of another is read. */
export class RoutedResponse extends ServerResponse {
  /** Names the subscription. */
  readonly id: string
  /** The beginning of the body, if the answer is no stream. */
  body = ''
  retryAfter: number | undefined
  /** The stream that answers, `null` if none does. */
  answer: EndingStream | null = null
  readonly #shared: SharedConnection

  constructor(request: RoutedRequest, id: string, shared: SharedConnection) {
    super(request)
    // Without it the answer would wait for its turn, behind that of the outer request.
    Object.assign(this, { socket: request.socket })
    this.id = id
    this.#shared = shared
  }

  /** Returns the connection that a stream is to write to. */
  begin(stream: EndingStream): EventConnection {
    this.answer = stream
    return this.#shared.connection
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    const { 'retry-after': retryAfter } = Object(rest.at(-1)) as Record<string, unknown>
    if (retryAfter !== undefined) this.retryAfter = Number(retryAfter)
    return super.writeHead(status, ...(rest as []))
  }

  override write(chunk: unknown): boolean {
    if (this.body.length < MAX_LENGTH) this.body += String(chunk)
    return true
  }

  override end(chunk?: unknown): this {
    if (this.finished || this.destroyed) return this
    if (chunk != null && typeof chunk !== 'function') this.write(chunk)
    this.finished = true
    process.nextTick(() => {
      this.emit('finish')
      this.destroy()
    })
    return this
  }

  override destroy(): this {
    if (this.destroyed) return this
    this.destroyed = true
    if (this.answer === null) this.#shared.refuse(this)
    this.#shared.release(this)
    // As Node does: hooks of Fastify for clients that leave look at it.
    this.req.aborted = !this.finished
    this.req.destroy()
    this.emit('close')
    return this
  }
}
