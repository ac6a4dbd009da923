import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as a server has received it. */
export interface ReceivedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** An answer; what is an object is sent as JSON, what is a string as HTML. */
export interface LocalAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | object
}

/** Writes an answer of its own: one that is slow, endless or broken. */
export type WriteAnswer = (response: ServerResponse) => unknown

export type Answered = LocalAnswer | WriteAnswer

/** A server on a free port of the loopback interface. */
export interface LocalServer {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** What it has received, in the order of arrival. */
  readonly requests: readonly ReceivedRequest[]
  /** Paths of the answers that the client did not wait to the end for. */
  readonly cut: readonly string[]
  /** Ends open answers as well. */
  close(): Promise<void>
}

/** Resolves to a server that hands each request to a function of Node's kind. */
export async function listenLocally(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<Pick<LocalServer, 'origin' | 'close'>> {
  const server = createServer(handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Resolves to a server that keeps what it receives and answers by a function. */
export async function startLocalServer(
  answer: (request: ReceivedRequest) => Answered | Promise<Answered>,
): Promise<LocalServer> {
  const requests: ReceivedRequest[] = []
  const cut: string[] = []
  const server = await listenLocally(async (incoming, response) => {
    const request = await readRequest(incoming)
    requests.push(request)
    response.on('close', () => {
      if (!response.writableFinished) cut.push(request.path)
    })
    const answered = await answer(request)
    if (typeof answered === 'function') answered(response)
    else writeAnswer(response, answered)
  })
  return { ...server, requests, cut }
}

async function readRequest(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const { pathname, searchParams } = new URL(`http://local${incoming.url}`)
  return {
    method: incoming.method ?? '',
    path: pathname,
    query: searchParams,
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString(),
  }
}

function writeAnswer(response: ServerResponse, answer: LocalAnswer): void {
  const { status = 200, headers = {}, body = '' } = answer
  const isText = typeof body === 'string' || Buffer.isBuffer(body)
  const type = isText ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(isText ? body : JSON.stringify(body))
}
