import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestScope } from '../support/http.ts'

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A server that answers whatever a test has it answer. */
export interface OddServer {
  readonly url: string
  /** The requests so far. */
  readonly requests: ReceivedRequest[]
}

/** Resolves to a server on a free port, which is closed with its connections when the test ends. */
export async function startOddServer(
  t: Pick<TestScope, 'teardown'>,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<OddServer> {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    answer(request, response)
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

/** Answers as a service that refuses the token of its caller. */
export function refuse(response: ServerResponse, data: object): void {
  response.writeHead(401, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ name: 'NotAuthenticated', message: 'refused', code: 401, data }))
}
