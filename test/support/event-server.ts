import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestScope } from './http.ts'
import { until } from './until.ts'

/** A stream that a client has asked for. */
export class ServedStream {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly #response: ServerResponse

  constructor({ url = '', headers }: IncomingMessage, response: ServerResponse) {
    this.url = url
    this.headers = headers
    this.#response = response
  }

  /** Whether the connection has ended. */
  get isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded
  }

  /** Answers with a stream, whose first frame is a snapshot; without one, it has none. */
  open(snapshot?: unknown): this {
    this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    this.#response.flushHeaders()
    return snapshot === undefined ? this : this.send('snapshot', snapshot)
  }

  /** Sends an event, with an id if one is given. */
  send(event: string, data: unknown, id?: string): this {
    return this.write(
      `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    )
  }

  /** Sends characters as they are. */
  write(text: string): this {
    this.#response.write(text)
    return this
  }

  /** Sends bytes as they are, which may be a part of a character. */
  writeBytes(bytes: Uint8Array): void {
    this.#response.write(bytes)
  }

  /** Ends the answer, with the reason of an `end` frame if one is given. */
  end(reason?: string, message?: string): void {
    if (reason !== undefined) this.send('end', { reason, message })
    this.#response.end()
  }

  /** Breaks the connection. */
  destroy(): void {
    this.#response.destroy()
  }

  /** Answers with JSON and no stream. */
  answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers })
    this.#response.end(JSON.stringify(body))
  }

  /** Answers with the error of a service. */
  refuse(
    status: number,
    name: string,
    more: object = {},
    headers: Record<string, string> = {},
  ): void {
    this.answer(status, { name, message: `refused: ${name}`, code: status, ...more }, headers)
  }
}

/** A server whose streams a test writes by hand. */
export interface EventServer {
  readonly url: string
  /** The streams that clients have asked for so far. */
  readonly streams: readonly ServedStream[]
  /** Resolves to the stream that was asked for as the one of this number, from 0 on. */
  stream(index: number): Promise<ServedStream>
}

/**
 * Resolves to a server on a free port, which is closed with its connections when the test ends.
 * @param answer answers what does not ask for a stream
 */
export async function startEventServer(
  t: Pick<TestScope, 'teardown'>,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown = (_request, response) =>
    response.writeHead(404).end(),
): Promise<EventServer> {
  const streams: ServedStream[] = []
  const server = createServer((request, response) => {
    if (request.headers.accept !== 'text/event-stream') return answer(request, response)
    return streams.push(new ServedStream(request, response))
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    streams,
    async stream(index) {
      await until(() => streams.length > index)
      return streams[index] as ServedStream
    },
  }
}
