import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestScope } from './http.ts'
import { until } from './until.ts'

/** What a client asks for. */
interface AskedSubscription {
  readonly id: string
  readonly url: string
  readonly after?: string
}

/** One subscription of a connection that a client has opened. */
export class ServedStream {
  readonly id: string
  readonly url: string
  readonly after: string | undefined
  /** Those of the connection. */
  readonly headers: IncomingHttpHeaders
  readonly #response: ServerResponse

  constructor(
    { id, url, after }: AskedSubscription,
    { headers }: IncomingMessage,
    response: ServerResponse,
  ) {
    this.id = id
    this.url = url
    this.after = after
    this.headers = headers
    this.#response = response
  }

  /** Whether the connection has ended. */
  get isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded
  }

  /** Accepts the subscription, whose first event is a snapshot; without one, it has none. */
  open(snapshot?: unknown): this {
    this.send('open', {})
    return snapshot === undefined ? this : this.send('snapshot', snapshot)
  }

  /** Sends an event, with an id if one is given. */
  send(event: string, data: unknown, id?: string): this {
    const idLine = id === undefined ? '' : `id: ${id}\n`
    return this.write(`${idLine}event: ${this.id}/${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  /** Sends characters as they are. */
  write(characters: string): this {
    this.writeBytes(Buffer.from(characters))
    return this
  }

  /** Sends bytes as they are, which may be a part of a character. */
  writeBytes(bytes: Uint8Array): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    }
    this.#response.write(bytes)
  }

  /** Ends the subscription with the reason of an `end` frame if one is given, else the connection. */
  end(reason?: string, message?: string): void {
    if (reason !== undefined) this.send('end', { reason, message })
    else this.#response.end()
  }

  /** Breaks the connection. */
  destroy(): void {
    this.#response.destroy()
  }

  /** Answers the whole request with JSON and no stream. */
  answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers })
    this.#response.end(JSON.stringify(body))
  }

  /** Ends the subscription with the error that its `find` would have been answered with. */
  refuse(status: number, name: string, more: object = {}, retryAfter?: number): void {
    const error = { name, message: `refused: ${name}`, code: status, ...more }
    this.send('end', { reason: 'refused', error, retryAfter })
  }
}

/** A server whose events a test writes by hand. */
export interface EventServer {
  readonly url: string
  /** The subscriptions that clients have asked for so far, those of each connection anew. */
  readonly streams: readonly ServedStream[]
  /** The subscriptions of each connection that clients have opened so far. */
  readonly connections: readonly (readonly ServedStream[])[]
  /** Resolves to the subscription that was asked for as the one of this number, from 0 on. */
  stream(index: number): Promise<ServedStream>
  /** Resolves to the subscriptions of a connection, from 0 on. */
  connection(index: number): Promise<readonly ServedStream[]>
}

/**
 * Resolves to a server on a free port, which is closed with its connections when the test ends.
 * @param answer answers what does not ask for events
 */
export async function startEventServer(
  t: Pick<TestScope, 'teardown'>,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown = (_request, response) =>
    response.writeHead(404).end(),
): Promise<EventServer> {
  const connections: ServedStream[][] = []
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { subscriptions } = JSON.parse(await text(request))
    connections.push(
      subscriptions.map((one: AskedSubscription) => new ServedStream(one, request, response)),
    )
  }
  const server = createServer((request, response) => {
    const { method, headers } = request
    if (headers.accept !== 'text/event-stream' || method !== 'POST')
      return answer(request, response)
    return take(request, response).catch(() => response.writeHead(400).end())
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    connections,
    get streams() {
      return connections.flat()
    },
    async stream(index) {
      await until(() => connections.flat().length > index)
      return connections.flat()[index] as ServedStream
    },
    async connection(index) {
      await until(() => connections.length > index)
      return connections[index] as ServedStream[]
    },
  }
}
