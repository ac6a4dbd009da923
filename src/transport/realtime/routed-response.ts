import type { IncomingHttpHeaders } from 'node:http'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { EventConnection } from './event-connection.ts'

/** How many characters are read of a response that is not a stream: errors are shorter. */
const MAX_LENGTH = 65_536

/** The part of a stream that its connection uses to end it. */
interface EndingStream {
  end(reason: 'closing'): void
}

/** The connection that the responses of several requests are written to. */
export interface SharedConnection {
  readonly connection: EventConnection
  /** Called if the response is not a stream. */
  refuse(response: RoutedResponse): void
  /** Called once when the response has ended. */
  release(response: RoutedResponse): void
}

/** A `GET` that a client has not sent as a request, but listed in the body of another one. */
export class RoutedRequest extends IncomingMessage {
  /** @param outer the request that lists it */
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

  /** Node's method would end the connection, which other streams use. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    callback(error)
  }
}

/**
 * The response to a {@link RoutedRequest}. A stream writes to the shared connection; of any other response only the
 * error is read.
 */
export class RoutedResponse extends ServerResponse {
  /** The id of the subscription. */
  readonly id: string
  /** The beginning of the body, if the response is not a stream. */
  body = ''
  retryAfter: number | undefined
  /** The stream that responds, `null` if there is none. */
  answer: EndingStream | null = null
  readonly #shared: SharedConnection

  constructor(request: RoutedRequest, id: string, shared: SharedConnection) {
    super(request)
    // Without the socket the response would wait in line behind that of the outer request.
    Object.assign(this, { socket: request.socket })
    this.id = id
    this.#shared = shared
  }

  /** Returns the connection that a stream must write to. */
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
    // As in Node: Fastify's hooks for aborted requests read it.
    this.req.aborted = !this.finished
    this.req.destroy()
    this.emit('close')
    return this
  }
}
